import type { ServerSetup } from '../authorization-server.ts'
import { hostLink } from '../protocol/links.ts'

/** The path of an endpoint as a browser sees it, with a query. */
export const ownPath = (
  server: ServerSetup,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string => {
  const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`
  return `${server.options.basePath}${path}${search}`
}

/** Where a page leads that has no other way on: the product's home page, or the user's connected apps. */
export const homeUrl = (server: ServerSetup): string =>
  hostLink(server.options.pages.home) ?? ownPath(server, '/account')
