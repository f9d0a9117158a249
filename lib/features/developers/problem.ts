const problems = [
  ['https', /must use https|must be an https URL/],
  ['wildcard', /wildcard/],
  ['name', /^client_name is required/],
  ['redirects', /^redirect_uris is required/],
  ['scopes', /^scope must name/],
  ['unaccepted', /does not accept/],
  ['address', /absolute URI/],
] as const

/** A frequent mistake, for which the form has words of its own. */
export type DeveloperProblem = (typeof problems)[number][0]

/**
 * The frequent mistake that an error of registration is about.
 *
 * @param error in English
 * @returns undefined for an error that is rare: the form then shows it as it is
 * @example problemOf('redirect_uri must use https beyond loopback') // 'https'
 */
export const problemOf = (error: string): DeveloperProblem | undefined =>
  problems.find(([, pattern]) => pattern.test(error))?.[0]
