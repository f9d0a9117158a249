import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { hostLink } from '../../protocol/links.ts'

/** The path of an endpoint as a browser sees it, with a query. */
export const ownPath = (
  server: ServerSetup,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string => {
  const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`
  return `${server.options.basePath}${path}${search}`
}

/** The parameter by which the URL of a front end names the page to show: the path of our own page, without the slash. */
export const stepParameter = 'step'

/**
 * Where a front end of the host (`pages.url`) shows one of our pages, with the query of that page.
 *
 * @param location of our page
 * @returns undefined if the host has no front end, or if it does not render that page
 */
export const frontEndLocation = (
  { options, endpoints, issuer }: ServerSetup,
  location: string,
): string | undefined => {
  const { basePath, pages } = options
  if (pages.url === undefined || !location.startsWith('/')) return undefined
  const { origin } = new URL(issuer)
  const { pathname, searchParams } = new URL(location, origin)
  const shown = endpoints.find(
    ({ path, isInteraction }) => isInteraction && pathname === `${basePath}${path}`,
  )
  if (shown === undefined) return undefined
  const url = new URL(pages.url, origin)
  for (const [name, value] of searchParams) url.searchParams.append(name, value)
  url.searchParams.set(stepParameter, shown.path.slice(1))
  return `${url.pathname}${url.search}`
}

/** Where a page leads that has no other way on: the product's home page, or the user's connected apps. */
export const homeUrl = (server: ServerSetup): string =>
  hostLink(server.options.pages.home) ?? ownPath(server, '/account')
