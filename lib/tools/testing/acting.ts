import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { parseResources } from '../../protocol/requests/resource.ts'
import { parseScope } from '../../protocol/scope.ts'
import { type AuthRouter, serverBehind } from '../../router.ts'

/** A token, and the header that contains it. */
export interface ActingAs {
  /** The access token. */
  readonly token: string
  /** The headers of a request with the token. */
  readonly headers: { readonly Authorization: string }
}

/** Separated by spaces, or a list. */
export type Scopes = string | readonly string[]

/** Lifetime of test tokens in seconds. */
export const lifetime = 300

export const refuseMisuse = (message: string): never => {
  throw new Error(`latchkey/testing: ${message}`)
}

/** @throws Error for any other router, and in production */
export const serverOf = (oauth: AuthRouter): ServerSetup => {
  const server =
    serverBehind(oauth) ?? refuseMisuse('the first argument must be the router that authRouter() returned')
  if (server.options.production || process.env.NODE_ENV === 'production') {
    refuseMisuse('test tokens are not available with NODE_ENV=production')
  }
  return server
}

/**
 * The identifier of the resource that a test token is for, as a list; empty for a token without one.
 *
 * @throws Error for a resource that the option `resources` does not name
 */
export const resourcesOf = (server: ServerSetup, resource: string | undefined): string[] => {
  try {
    return resource === undefined ? [] : parseResources([resource], server.resources)
  } catch {
    return refuseMisuse(`${resource} is not in the option resources`)
  }
}

export const listOf = (scopes: Scopes): string[] =>
  parseScope(typeof scopes === 'string' ? scopes : scopes.join(' '))

export const acting = (token: string): ActingAs => ({ token, headers: { Authorization: `Bearer ${token}` } })
