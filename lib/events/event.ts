import type { AccessStep } from '../options/access.ts'
import type { Choices } from '../protocol/choices.ts'
import type { Explanation } from '../protocol/explanation.ts'

/** Parameters whose values work once. */
export interface SingleUseParameters {
  readonly code: true
  readonly refresh_token: true
}

/** Why all tokens of an authorization were revoked. */
export type RevocationReason =
  /** A code or refresh token was used twice. */
  | `${keyof SingleUseParameters}_replayed`
  | 'revoked_by_client'
  /** By an operator, on our pages. */
  | 'revoked_by_admin'
  /** By the host, with `oauth.authorizations.end`. */
  | 'revoked_by_host'
  /** The user had more for this client than the option `limits.authorizationsPerClient`. */
  | 'too_many'

/** Set when the option `organizations` is used. */
export interface OrganizationFields {
  readonly organization?: string
}

/** Set when an operator did it on our pages. */
interface ActorFields {
  /** The host's name of the operator; undefined if it did not say. */
  readonly actor?: string
}

export interface AuthorizationFields {
  readonly clientId: string
  readonly subject: string
  readonly authorizationId: string
}

export interface LoginAttemptFields {
  /** A keyed hash of the login name that was typed, because people sometimes type passwords there. */
  readonly account: string
  /** The client that asked for the login; undefined when the user opened the account page. */
  readonly clientId?: string
}

interface ClientFields extends ActorFields {
  readonly clientId: string
  /** The user who did it to a client of their own. */
  readonly subject?: string
}

/** All events with their fields. No field contains a password, token, code or secret. */
export interface EventDetails {
  'login.succeeded': LoginAttemptFields & { readonly subject: string }
  'login.failed': LoginAttemptFields
  /** This failure reached a limit. `seconds` is the time until the next attempt is checked. */
  'login.locked': LoginAttemptFields & { readonly seconds: number }
  /** The attempt was not checked, because a limit had been reached before. */
  'login.refused': LoginAttemptFields & { readonly seconds: number }
  /** The host, a command or an administrator let sign-ins under a login name go on. */
  'login.unlocked': ActorFields & { readonly account: string; readonly subject?: string }
  /**
   * A login ended: the user signed out, another user signed in, the host called `users.revokeAll()` or `erase()`, or an
   * administrator ended it.
   */
  'login.ended': ActorFields & { readonly subject: string }
  'consent.allowed': OrganizationFields & {
    readonly subject: string
    readonly clientId: string
    readonly scopes: readonly string[]
    /** The things that the user chose, by kind; with the option `choices`. */
    readonly choices?: Choices
  }
  'consent.denied': { readonly subject: string; readonly clientId: string }
  /** The user, or an administrator, removed a client's access, which revokes all its tokens. */
  'consent.removed': OrganizationFields &
    ActorFields & { readonly subject: string; readonly clientId: string }
  /** The user took something away from a client that has access: scopes, things, or time. */
  'authorization.narrowed': OrganizationFields & {
    readonly subject: string
    readonly clientId: string
    /** The scopes that it has lost. */
    readonly scopes: readonly string[]
    /** The things that it keeps, by kind. */
    readonly choices?: Choices
    /** When its access ends at the latest, in epoch seconds. */
    readonly expiresAt?: number
  }
  /** The host's function `access.allow` refused a user, or asked for a level that the login does not have. */
  'access.denied': OrganizationFields & {
    readonly subject: string
    /** Begins with `personal:` for a personal access token. */
    readonly clientId: string
    readonly step: AccessStep
    readonly scopes: readonly string[]
    /** The text of the host for the user, or the levels that it asks for; undefined if it gave no reason. */
    readonly reason?: string
  }
  'authorization.issued': AuthorizationFields &
    OrganizationFields & { readonly scopes: readonly string[]; readonly responseType: string }
  'authorization.revoked': AuthorizationFields & ActorFields & { readonly reason: RevocationReason }
  'tokens.issued': OrganizationFields & {
    readonly grantType: string
    readonly clientId: string
    readonly scopes: readonly string[]
    /** The audience of the access token, if it is for resources. */
    readonly resources?: readonly string[]
    /** Undefined when the client acts for itself. */
    readonly subject?: string
    /** Undefined when the client acts for itself. */
    readonly authorizationId?: string
    /** After a token exchange: the `sub` of the actor. */
    readonly actor?: string
  }
  /**
   * A client repeated a refresh within the grace period and got the same successor. `address` is that of this request,
   * `firstAddress` that of the first. If they differ, the token may be stolen.
   */
  'token.repeated': AuthorizationFields & { readonly firstAddress?: string }
  'token.revoked': { readonly clientId: string }
  'client.created': ClientFields
  'client.updated': ClientFields
  'client.disabled': ClientFields
  'client.enabled': ClientFields
  'client.deleted': ClientFields
  'client.secret_rotated': ClientFields
  /** Client authentication failed. `clientId` is undefined if no client with the presented id is registered. */
  'client.refused': {
    readonly clientId: string | undefined
    readonly endpoint: string
    readonly reason?: 'secret_expired'
  }
  /** The host called `users.revokeAll()`, or an administrator ended everything of a user. */
  'user.revoked': ActorFields & { readonly subject: string; readonly reason?: string }
  'user.erased': { readonly subject: string }
  'key.published': ActorFields & {
    readonly keyId: string
    readonly algorithm: string
    readonly signsFrom: number
  }
  /** A key was withdrawn, because it may be compromised. */
  'key.revoked': { readonly keyId: string; readonly algorithm: string; readonly reason?: string }
  /** A person saw an error page that is not the server's fault, such as for an unregistered redirect URI. */
  'request.refused': {
    readonly code: string
    readonly status: number
    /** The endpoint, below the mount. */
    readonly path: string
    /** See docs/errors.md; undefined for an error that a function of the host throws without one. */
    readonly reason?: string
    /** The error description, which names what to fix. */
    readonly description: string
    /** The registered client that the refusal is about, if any. */
    readonly clientId?: string
  } & Partial<Explanation>
  /** An API endpoint refused a request of a client, such as for a code that has expired; or sign-out did not use what it sent. */
  'api.refused': EventDetails['request.refused']
  /** More was caused than is stored. Announced once in ten minutes and process. */
  'events.limited': {
    /** Who caused it first: a network, or a client with its user. */
    readonly of: string
  }
  /** The answer was 500 or 503. The description names the option or the kind of error; the log has the error itself. */
  'request.failed': { readonly code: string; readonly status: number; readonly description: string }
}

/** The name of an event. */
export type EventType = keyof EventDetails

/** Events of features that others act on. Each feature adds its own members. */
// biome-ignore lint/suspicious/noEmptyInterface: features add the members by declaration merging.
export interface FeatureChanges {}

/**
 * The events that others act on. Each is stored in the transaction of its change, so that neither can be lost without the other:
 * see `Events.change`.
 */
export type ChangeType =
  | Extract<EventType, `user.${string}`>
  | Exclude<Extract<EventType, `client.${string}`>, 'client.refused'>
  | 'consent.removed'
  | 'authorization.narrowed'
  | 'authorization.revoked'
  | 'login.ended'
  | Extract<EventType, keyof FeatureChanges>

/** An event: its type and time, the request that caused it, and the fields of {@link EventDetails}. */
export type AuthEvent<Type extends EventType = EventType> = {
  [Each in Type]: {
    readonly type: Each
    /** Epoch seconds. */
    readonly time: number
    /** One id for all events of a request; the error id on an error page. */
    readonly requestId: string
    /** The IP address of the request; undefined when no request caused the event. */
    readonly address?: string
    /** The program that sent the request, such as `cursor/1.2`, if connections are recorded; never a browser. */
    readonly agent?: string
  } & EventDetails[Each]
}[Type]
