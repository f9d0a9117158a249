import type { Explanation } from '../../protocol/explanation.ts'

/** Where a call was seen. */
interface CallFields {
  /** The resource of the guard. */
  readonly resource?: string
  /** The path of the request; absent for a guard in another process. */
  readonly path?: string
  /** The client that guards an API in another process. */
  readonly api?: string
}

declare module '../../events/event.ts' {
  interface EventDetails {
    /** A guard let a call through, for the first time with an access token. */
    'call.accepted': CallFields & {
      readonly clientId: string
      readonly subject?: string
      readonly authorizationId?: string
    }
    /** A guard refused a call. */
    'call.refused': CallFields & {
      readonly code: string
      readonly status: number
      readonly reason?: string
      readonly description: string
      readonly clientId?: string
      readonly subject?: string
    } & Partial<Explanation>
    /** A document about a resource or this server was asked for. */
    'document.requested': {
      readonly path: string
      readonly result: 'served' | 'not served'
      /** An authentication method that clients without a secret need, and that the metadata does not have. */
      readonly lacks?: 'none'
    }
    /** A client sent a browser with a valid authorization request. */
    'authorization.requested': { readonly clientId: string }
    /** A user who is signed in saw what the client asks for. */
    'consent.shown': { readonly clientId: string; readonly subject: string }
    /** A client was told why its authorization request was refused. */
    'authorization.refused': {
      readonly code: string
      readonly reason?: string
      readonly description: string
      readonly clientId?: string
    } & Partial<Explanation>
  }
}
