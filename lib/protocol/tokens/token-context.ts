import type { Choices } from '../choices.ts'
import { isObject } from '../json.ts'
import type { AuthorizationDetail } from '../requests/authorization-details.ts'

/**
 * The actor for the subject of a token (RFC 8693 §4.1): the claim `act`. A client has `client_id` too, a user has `sub` alone.
 */
export interface ActClaim {
  /** The client, or the id of another user. */
  readonly sub: string
  /** Set if it is a client. */
  readonly client_id?: string
  /** The actor before this one. */
  readonly act?: ActClaim
}

/** Contents of an access token beyond its authorization. */
export interface TokenContext {
  readonly act?: ActClaim
  /** Its objects of `authorization_details`, if they are not those of the authorization (RFC 9396 §6). */
  readonly authorization_details?: readonly AuthorizationDetail[]
  /** The things that it is for, if they are fewer than those of the authorization. */
  readonly choices?: Choices
  /** Of a client that belongs to an organization: the generation of its credentials. */
  readonly generation?: number
}

/**
 * Reads the claim `act` of a token whose signature is right.
 *
 * @returns undefined unless it names an actor
 */
export const parseActClaim = (value: unknown): ActClaim | undefined => {
  if (!isObject(value) || typeof value.sub !== 'string') return undefined
  const earlier = parseActClaim(value.act)
  return {
    sub: value.sub,
    ...(typeof value.client_id === 'string' && { client_id: value.client_id }),
    ...(earlier && { act: earlier }),
  }
}
