import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import { callback, object, optional, required } from './schema.ts'
import type { Awaitable, HostUser, WithRequest } from './users.ts'

/**
 * The moments at which `access.allow` is asked, each before a user's code or token is issued. Features add theirs by
 * declaration merging.
 */
export interface AccessSteps {
  /** In the browser: a client would get a code, or tokens in the response itself. */
  readonly authorize: true
  /** A client exchanges its code for tokens. */
  readonly code: true
  /** A client refreshes its tokens. */
  readonly refresh: true
  /** A client exchanges a token of the user (RFC 8693). */
  readonly exchange: true
  /** A client presents an assertion about the user (RFC 7523). */
  readonly assertion: true
  /** A grant of the host names the user (`protocol.grants`). */
  readonly grant: true
}

/** The name of a moment. */
export type AccessStep = keyof AccessSteps

/** A code or token that is about to be issued, as `access.allow` sees it. */
export interface AccessRequest extends Partial<WithRequest> {
  /** The client that would get the code or token, by the names of RFC 7591. */
  readonly client: Readonly<ClientMetadata> & { readonly client_id: string }
  /** The scopes that it would get. Before the consent page: those that the user cannot untick. */
  readonly scopes: readonly string[]
  /** The organization, with the option `organizations`. */
  readonly organization?: string
  /** The authentication level of the login, if it has one. */
  readonly acr?: string
  readonly step: AccessStep
}

/** The answer of `access.allow`. */
export type AccessAnswer =
  | boolean
  /** The user is refused, for this reason. The page shows it to the user as text. */
  | { readonly deny: string }
  /** The login must have one of these levels, which are in the option `acrValues`. Others sign in again. */
  | { readonly acr: readonly string[] }

const membersOf = <User extends object>() => ({
  /** Decides whether a user may use a client: docs/access.md. */
  allow: required(callback<(user: User, asked: AccessRequest) => Awaitable<AccessAnswer>>()),
})

type AccessSchemasMembers<User extends object> = ReturnType<typeof membersOf<User>>

/** The members of `access`. */
export interface AccessSchemas<User extends object = HostUser> extends AccessSchemasMembers<User> {}

export const access = optional(object<AccessSchemas>(membersOf<HostUser>(), 'an object with allow'))
