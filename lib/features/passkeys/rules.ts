import { isObject, parseJsonObject } from '../../protocol/json.ts'

/** A passkey of a user: a credential of WebAuthn that its authenticator finds without a user name. */
export interface Passkey {
  /** SHA-256 of the credential ID, base64url. */
  readonly hash: string
  readonly subject: string
  /** Base64url. */
  readonly credentialId: string
  /** A COSE key (RFC 9052 §7), base64url. */
  readonly publicKey: string
  /** The number of its uses, as its authenticator says; 0 if it does not count. */
  readonly counter: number
  /** Ways in which the browser can reach its authenticator, such as `internal` and `hybrid`. */
  readonly transports: readonly string[]
  /** As the user knows it. */
  readonly name: string
  /** Whether copies exist beyond its device. */
  readonly isBackedUp: boolean
  /** Epoch seconds. */
  readonly createdAt: number
  /** Epoch seconds; null before the first sign-in. */
  readonly lastUsedAt: number | null
}

/** The public key credential of the browser, which our script sends as JSON (WebAuthn §5.1.8), checked for its shape. */
export interface PasskeyResponse {
  /** The credential ID, base64url. */
  readonly id: string
  /** The challenge that the authenticator signed, base64url. */
  readonly challenge: string
  /** The members of `response` that are strings; all are base64url. */
  readonly members: Readonly<Record<string, string>>
  readonly transports: readonly string[]
}

/**
 * Why a passkey was not accepted. `challenge`: that of another browser or request; `unknown`: it is not stored here; `user`:
 * it is another user's than the one who must sign in, or its user is disabled; `invalid`: the origin, the RP ID, the user
 * verification or the signature is wrong; `counter`: the authenticator may have been copied; `exists`: it was added before; `signed-out`: the login that adds it has just ended.
 */
export type PasskeyFailure =
  | 'malformed'
  | 'challenge'
  | 'expired'
  | 'replayed'
  | 'unknown'
  | 'user'
  | 'invalid'
  | 'counter'
  | 'exists'
  | 'signed-out'

const base64url = /^[A-Za-z0-9_-]+$/
/** WebAuthn §5.8.4; a browser may know others. */
const transportName = /^[a-z-]{1,20}$/
const maxTransports = 8
/** A credential ID has at most 1,023 bytes (WebAuthn §4). */
const maxIdLength = 1364

/**
 * Reads what the browser returned, without verifying it.
 *
 * @param text JSON with `id` and `response`
 * @returns undefined for what no browser returns
 */
export const parsePasskeyResponse = (text: string): PasskeyResponse | undefined => {
  const { id, response } = parseJsonObject(text) ?? {}
  if (!isObject(response) || typeof id !== 'string' || id.length > maxIdLength || !base64url.test(id))
    return undefined
  const members = Object.entries(response).filter(
    (member): member is [string, string] => typeof member[1] === 'string' && base64url.test(member[1]),
  )
  const { clientDataJSON = '' } = Object.fromEntries(members)
  const { challenge, crossOrigin } =
    parseJsonObject(Buffer.from(clientDataJSON, 'base64url').toString()) ?? {}
  // Our pages are never in a frame.
  if (typeof challenge !== 'string' || crossOrigin === true) return undefined
  const transports = (Array.isArray(response.transports) ? response.transports : [])
    .filter((each): each is string => typeof each === 'string' && transportName.test(each))
    .slice(0, maxTransports)
  return { id, challenge, members: Object.fromEntries(members), transports }
}

/**
 * The authentication methods of a login with a passkey (RFC 8176 §2): possession of a key, in hardware or copied between
 * devices; the user was there; and the device verified who it is, which makes two factors.
 *
 * @param isSynced whether the passkey may be copied to other devices (WebAuthn §6.1.3: it is eligible for backup)
 */
export const passkeyMethods = (isSynced: boolean): readonly string[] => [
  isSynced ? 'swk' : 'hwk',
  'user',
  'mfa',
]

const maxNameLength = 60

/** A name that a user typed: one line, at most 60 characters; undefined if nothing is left of it. */
export const passkeyName = (typed: string | undefined): string | undefined =>
  [...(typed ?? '').trim()].slice(0, maxNameLength).join('').trim() || undefined
