import { HostError } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import { standardScopes } from '../../protocol/scope.ts'
import type { DeveloperOption } from './option.ts'
import type { DeveloperRules } from './rules.ts'

/**
 * Asks the host about a redirect URI. A mistake in its function must not accept one.
 *
 * @throws OAuthError `server_error` if it throws, or returns something else than true or false: other errors in a transaction
 *   would say that the database is unavailable
 */
const isAccepted = (redirectUris: (uri: string) => unknown, uri: string): boolean => {
  try {
    const said = redirectUris(uri)
    if (said && said !== true)
      throw new HostError('developers.redirectUris must return true or false, and no promise')
    return said === true
  } catch (thrown) {
    const cause = new HostError('developers.redirectUris failed', { cause: thrown })
    throw refusal('unexpected', { cause })
  }
}

/** The host's rules for its developers, also after it has turned the option off. */
export const developerRules = (option: DeveloperOption | undefined): DeveloperRules => {
  const { scopes = standardScopes, redirectUris } = option ?? {}
  return { scopes, ...(redirectUris && { redirectUris: (uri) => isAccepted(redirectUris, uri) }) }
}
