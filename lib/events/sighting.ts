import type { OAuthError } from '../protocol/errors.ts'
import type { RequestInfo } from '../protocol/requests/request-info.ts'

/** A call of an API, as its guard saw it. */
export interface SeenCall {
  readonly kind: 'call'
  /** Undefined where the request is not known here: behind the guard of the MCP SDK, and in another process. */
  readonly info: RequestInfo | undefined
  /** The path of the request; undefined as above. */
  readonly path: string | undefined
  /** The client that guards an API in another process, and asked about the token. */
  readonly api?: string
  /** The resource that the guard requires tokens for. */
  readonly resource: string | undefined
  /** The token, if the guard accepted it. */
  readonly accepted?: {
    readonly clientId: string
    /** The id of the user in the host; undefined if it is not known, or if the client acts for itself. */
    readonly subject: string | undefined
    /** The authorization, where the token names it. */
    readonly authorizationId: string | undefined
    /** Epoch seconds; undefined if it is not known. */
    readonly issuedAt: number | undefined
  }
  /** Why the guard refused the call. */
  readonly refused?: OAuthError
}

/** A document about a resource (RFC 9728) or this server (RFC 8414) that was asked for. */
export interface SeenDocument {
  readonly kind: 'document'
  readonly info: RequestInfo
  readonly path: string
  /** False if no document of this server has the path. */
  readonly isServed: boolean
}

/** An authorization request that is valid. */
export interface SeenRequest {
  readonly kind: 'request'
  readonly info: RequestInfo
  readonly clientId: string
}

/** A consent page that a user was shown. */
export interface SeenConsent {
  readonly kind: 'consent'
  readonly info: RequestInfo
  readonly clientId: string
  readonly subject: string
}

/** An authorization request whose error the client got. */
export interface SeenError {
  readonly kind: 'error'
  readonly info: RequestInfo
  readonly error: OAuthError
}

/**
 * A sight of a client that is no event, because strangers can cause it without end. Features may choose
 * what of it is worth an event.
 */
export type Sighting = SeenCall | SeenDocument | SeenRequest | SeenConsent | SeenError

/**
 * Receives sightings. It must be fast, and must not throw.
 *
 * @returns of a call that was refused: the id of the request whose stored event says why, which may be an earlier one that was
 *   refused for the same reason; undefined if no event is stored
 */
export type Observe = (sighting: Sighting) => string | undefined
