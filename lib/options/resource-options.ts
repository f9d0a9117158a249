import type { HostUser } from './user-options.ts'

/** The request for an access token, as a resource's `claims` function sees it. */
export interface ResourceTokenRequest {
  /** The client that gets the token. */
  clientId: string
  /** The scopes of the access token. */
  scopes: readonly string[]
  /** The resources of the access token: usually this one alone. */
  resources: readonly string[]
  /** The organization that the user chose, if the option `organizations` is used. */
  organization?: string
}

/** An API that has access tokens of its own (RFC 8707). */
export interface ResourceOptions {
  /** The name on the consent page and in the metadata (RFC 9728 §2). @default the URL's host and path */
  name?: string
  /** The scopes that the API knows. Each is in the option `scopes`. */
  scopes: readonly string[]
  /**
   * `'opaque'` tokens stop working at once when a user is disabled or removes a client. `'jwt'` (RFC 9068) tokens can be
   * checked without a request to this server, and work until they expire. @default 'opaque'
   */
  accessToken?: 'opaque' | 'jwt'
  /** Client ids of confidential clients that may introspect the access tokens of this resource (RFC 7662). @default [] */
  introspection?: readonly string[]
  /**
   * Returns more claims for JWT access tokens. `user` is undefined when a client acts for itself. Claims that Latchkey
   * sets itself, such as `sub` and `scope`, cannot be changed. @default no more claims
   */
  claims?(
    user: HostUser | undefined,
    request: ResourceTokenRequest,
  ): Record<string, unknown> | Promise<Record<string, unknown>>
}
