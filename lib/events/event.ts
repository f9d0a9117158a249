/** Why every token of an authorization ended. */
export type RevocationReason = 'code_replayed' | 'refresh_token_replayed' | 'revoked_by_client'

/** The workspace that something was for, where the host knows workspaces. */
interface OfOrganization {
  readonly organization?: string
}

/** What a family of tokens is known by. */
interface Family {
  readonly clientId: string
  readonly subject: string
  readonly authorizationId: string
}

/** Somebody typed a login name and a password. */
interface Attempt {
  readonly account: string
  /** The client that waits for the login; absent when the user came by themselves, to see their connected apps. */
  readonly clientId?: string
}

/**
 * What can happen, and what is told of it. No password, token, code or secret is among the details. A login name that
 * somebody typed is told as a hash, since people type passwords there too.
 */
export interface EventDetails {
  'login.succeeded': Attempt & { readonly subject: string }
  'login.failed': Attempt
  /** A limit was used up by this failure; `seconds` until the next attempt is looked at. */
  'login.locked': Attempt & { readonly seconds: number }
  /** Not looked at, because a limit was used up before. */
  'login.refused': Attempt & { readonly seconds: number }
  /** By sign-out, another user's sign-in, or because the host said that the user has changed. */
  'login.ended': { readonly subject: string }
  'consent.allowed': OfOrganization & {
    readonly subject: string
    readonly clientId: string
    readonly scopes: readonly string[]
  }
  'consent.denied': { readonly subject: string; readonly clientId: string }
  /** The user took a client's access away, with every token of it. */
  'consent.removed': OfOrganization & { readonly subject: string; readonly clientId: string }
  'authorization.issued': Family &
    OfOrganization & { readonly scopes: readonly string[]; readonly responseType: string }
  'authorization.revoked': Family & { readonly reason: RevocationReason }
  'tokens.issued': OfOrganization & {
    readonly grantType: string
    readonly clientId: string
    readonly scopes: readonly string[]
    /** Absent when the client acts for itself. */
    readonly subject?: string
    readonly authorizationId?: string
  }
  'token.revoked': { readonly clientId: string }
  /** Client authentication failed; `clientId` where one is registered under the name that was presented. */
  'client.refused': { readonly clientId: string | undefined; readonly endpoint: string }
  'user.changed': { readonly subject: string }
  'user.erased': { readonly subject: string }
  'key.published': { readonly keyId: string; readonly algorithm: string; readonly signsFrom: number }
  'request.failed': { readonly code: string; readonly status: number }
}

export type EventType = keyof EventDetails

/** One thing that happened. */
export type AuthEvent<Type extends EventType = EventType> = {
  [Each in Type]: {
    readonly type: Each
    /** Epoch seconds. */
    readonly time: number
    /** The same for everything that one request led to; on an error page it is the error id. */
    readonly requestId: string
    /** Where the request came from; absent when no request led to it. */
    readonly address?: string
  } & EventDetails[Each]
}[Type]
