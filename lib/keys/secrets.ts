import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** What a random value is for; its prefix tells people and scanners, and no kind is accepted as another. */
export const secretPrefixes = {
  accessToken: 'lk_at_',
  refreshToken: 'lk_rt_',
  authorizationCode: 'lk_ac_',
  authorizationRequest: 'lk_ar_',
  clientSecret: 'lk_cs_',
  browser: 'lk_br_',
} as const

export type SecretKind = keyof typeof secretPrefixes

/** A name that nothing else has and nobody guesses, of 128 bits; it stands in many rows and indexes. */
export const randomId = (): string => randomBytes(16).toString('base64url')

/** A new bearer secret of 256 bits, such as `lk_at_…`. */
export const createSecret = (kind: SecretKind): string =>
  `${secretPrefixes[kind]}${randomBytes(32).toString('base64url')}`

/** Whether a presented text has the form of this kind of secret; anything else need not be looked up. */
export const isSecretOf = (kind: SecretKind, value: string): boolean =>
  value.startsWith(secretPrefixes[kind]) &&
  /^[A-Za-z0-9_-]{43}$/.test(value.slice(secretPrefixes[kind].length))

/** The form in which a secret is stored: SHA-256 in base64url. High entropy makes a slow hash needless. */
export const hashSecret = (secret: string): string =>
  createHash('sha256').update(secret, 'utf8').digest('base64url')

/** Compares in constant time. */
export const isEqual = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** A key for one purpose, derived from a secret (HKDF, RFC 5869). */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `latchkey ${purpose}`, 32))

/** An HMAC-SHA-256 over parts that cannot run into each other. */
export const authenticationCode = (secret: string, purpose: string, parts: readonly string[]): string =>
  createHmac('sha256', deriveKey(secret, purpose)).update(JSON.stringify(parts)).digest('base64url')

const ivLength = 12
const tagLength = 16

/** Encrypts a value so that only a bearer of the token can read it (AES-256-GCM); the database cannot. */
export const sealUnder = (token: string, value: string): string => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(token, 'successor'), iv)
  const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/**
 * The way back.
 *
 * @throws Error when the token is another one, or the value was changed
 */
export const openUnder = (token: string, value: string): string => {
  const bytes = Buffer.from(value, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', deriveKey(token, 'successor'), bytes.subarray(0, ivLength))
  decipher.setAuthTag(bytes.subarray(ivLength, ivLength + tagLength))
  return decipher.update(bytes.subarray(ivLength + tagLength), undefined, 'utf8') + decipher.final('utf8')
}
