import { isObject } from '../json.ts'
import { HostError } from '../problem.ts'

/** A key or a certificate that the client must prove to have, with its SHA-256 thumbprint in base64url. */
export interface KeyBinding {
  /** `dpop`: a key that signs proofs (RFC 9449). `certificate`: a client certificate of the TLS connection (RFC 8705 §3). */
  readonly type: 'dpop' | 'certificate'
  /** SHA-256 in base64url, as in the claim `cnf`. */
  readonly thumbprint: string
}

/** The proof that a client needs, beyond the access token, to use it. A bearer token needs no proof (RFC 6750 §1.2). */
export type TokenBinding = { readonly type: 'bearer' } | KeyBinding

// RFC 8705 §3: a token that is bound to a certificate is used like a bearer token.
const tokenTypes = { bearer: 'Bearer', dpop: 'DPoP', certificate: 'Bearer' } as const

/** A `token_type` (RFC 6749 §7.1), which is also the scheme of the Authorization header. */
export type TokenType = (typeof tokenTypes)[TokenBinding['type']]

/** The binding of a token that anyone who holds it can use. */
export const bearer: TokenBinding = { type: 'bearer' }

/** @example tokenType(bearer) // 'Bearer' */
export const tokenType = ({ type }: Pick<TokenBinding, 'type'>): TokenType => tokenTypes[type]

/** Whether both require the same proof. */
export const isSameBinding = (one: TokenBinding, other: TokenBinding): boolean =>
  thumbprintOf(one) === thumbprintOf(other) && one.type === other.type

const thumbprintOf = (binding: TokenBinding): string | undefined =>
  binding.type === 'bearer' ? undefined : binding.thumbprint

/** The member of `cnf` for each binding (RFC 9449 §6.1, RFC 8705 §3.1). */
const confirmationMembers = { dpop: 'jkt', certificate: 'x5t#S256' } as const

/** Whether a value has the form of a SHA-256 hash in base64url. */
export const isThumbprint = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z0-9_-]{43}$/.test(value)

/** The claim `cnf` of a token (RFC 7800 §3.1), as a claim set without it for a bearer token. */
export const confirmationClaim = (binding: TokenBinding): { cnf?: Readonly<Record<string, string>> } =>
  binding.type === 'bearer' ? {} : { cnf: { [confirmationMembers[binding.type]]: binding.thumbprint } }

/**
 * Reads the claim `cnf` of a token.
 *
 * @returns undefined if it requires anything else than one proof that is supported here
 */
export const parseConfirmation = (cnf: unknown): TokenBinding | undefined => {
  if (cnf === undefined) return bearer
  if (!isObject(cnf) || Object.keys(cnf).length !== 1) return undefined
  for (const type of ['dpop', 'certificate'] as const) {
    const thumbprint = cnf[confirmationMembers[type]]
    if (isThumbprint(thumbprint)) return { type, thumbprint }
  }
  return undefined
}

/**
 * A binding as the database stores it; null for none.
 *
 * @example formatBinding({ type: 'dpop', thumbprint: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I' }) // 'dpop:0ZcOCORZ…'
 */
export const formatBinding = (binding: TokenBinding): string | null =>
  binding.type === 'bearer' ? null : `${binding.type}:${binding.thumbprint}`

/**
 * Reads a value of {@link formatBinding}.
 *
 * @throws Error for any other value: a token must not become a bearer token because its binding is not understood
 */
export const parseBinding = (stored: string): KeyBinding => {
  const [type, thumbprint] = stored.split(':')
  if ((type === 'dpop' || type === 'certificate') && isThumbprint(thumbprint)) return { type, thumbprint }
  throw new HostError('the binding of a token is not one that this version knows')
}

/** A binding as an explanation names it. The thumbprint is not secret. */
export const explainedBinding = (binding: TokenBinding): string =>
  binding.type === 'bearer' ? 'no proof' : `a proof of the ${binding.type} key ${binding.thumbprint}`
