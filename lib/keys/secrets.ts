import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomInt,
  randomUUID,
  timingSafeEqual,
} from 'node:crypto'

/** Prefixes by kind of secret: secret scanners recognise them, and one kind is never accepted as another. */
export const secretPrefixes = {
  accessToken: 'lk_at_',
  refreshToken: 'lk_rt_',
  authorizationCode: 'lk_ac_',
  authorizationRequest: 'lk_ar_',
  deviceCode: 'lk_dc_',
  clientSecret: 'lk_cs_',
  registrationToken: 'lk_rg_',
  browser: 'lk_br_',
  session: 'lk_se_',
} as const

export type SecretKind = keyof typeof secretPrefixes

/** A random identifier of 128 bits. */
export const randomId = (): string => randomBytes(16).toString('base64url')

/** An id for one request that people can read out, such as `7F3C-91A2-B4`. */
export const createRequestId = (): string => {
  const id = randomUUID().toUpperCase()
  return `${id.slice(0, 4)}-${id.slice(4, 8)}-${id.slice(9, 11)}`
}

/** A random string of these characters. */
export const randomString = (characters: string, length: number): string =>
  Array.from({ length }, () => characters[randomInt(characters.length)]).join('')

/** A new bearer secret of 256 bits, such as `lk_at_…`. */
export const createSecret = (kind: SecretKind): string =>
  `${secretPrefixes[kind]}${randomBytes(32).toString('base64url')}`

/** Whether a presented value has the form of this kind of secret; anything else need not be looked up. */
export const isSecretOf = (kind: SecretKind, value: string): boolean =>
  value.startsWith(secretPrefixes[kind]) &&
  /^[A-Za-z0-9_-]{43}$/.test(value.slice(secretPrefixes[kind].length))

/** Refresh tokens of other servers that can be imported: printable, and long enough not to be guessed. */
const foreignToken = /^(?!lk_)[\x21-\x7e]{20,1024}$/

/** Whether a presented value may be a refresh token: our own, or one that was imported from another server. */
export const mayBeRefreshToken = (value: string): boolean =>
  isSecretOf('refreshToken', value) || foreignToken.test(value)

/** The stored form of a secret: SHA-256 in base64url. With 256 random bits a slow hash is unnecessary. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url')

/**
 * The stored form of a secret of a cookie, which counts at this issuer only: routers can share a database, and a visitor can
 * rename a cookie.
 */
export const hashAtIssuer = (issuer: string, secret: string): string => hashSecret(`${issuer} ${secret}`)

/**
 * Stands where the hash of a client's secret would be, while only the hash of another server is known. It differs for
 * each such hash, and no secret has it as its own hash.
 */
export const importedMark = (hash: string): string => `~${hashSecret(hash).slice(1)}`

/** Whether a stored hash is one of {@link importedMark}. */
export const isImportedMark = (stored: string): boolean => stored.startsWith('~')

/** Compares in constant time. */
export const isEqual = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Derives a key for one purpose from a secret (HKDF, RFC 5869). */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `latchkey ${purpose}`, 32))

/**
 * An HMAC-SHA-256 over a purpose and a list of parts, encoded as JSON, so that no two inputs are the same.
 * The purpose is part of the message, not of a derived key: HKDF for each form would take ten times as long.
 */
export const authenticationCode = (
  secret: string | KeyObject,
  purpose: string,
  parts: readonly string[],
): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify([purpose, ...parts]))
    .digest('base64url')

/** A secret of this kind that is the same for the same parts, under a secret of the server. */
export const derivedSecret = (kind: SecretKind, secret: string, parts: readonly string[]): string =>
  `${secretPrefixes[kind]}${authenticationCode(secret, kind, parts)}`

/** The subject identifier for the clients of one sector, which other sectors cannot correlate (OIDC Core §8.1). */
export const pairwiseSubject = (salt: KeyObject, sector: string, subject: string): string =>
  authenticationCode(salt, 'sub', [sector, subject])

/** Whether a subject may be a pairwise one, by its form. */
export const isPairwiseForm = (subject: string): boolean => /^[\w-]{43}$/.test(subject)

/** The identifier of a login for one client, which other clients cannot correlate (Back-Channel Logout §2.1). */
export const pairwiseSid = (salt: KeyObject, clientId: string, sid: string): string =>
  authenticationCode(salt, 'sid', [clientId, sid]).slice(0, 22)

const ivLength = 12
const tagLength = 16

/**
 * Encrypts a value under a key derived from a secret or token (AES-256-GCM), so that only its holder can read it.
 *
 * @param purpose what is encrypted: a value of one purpose cannot be opened for another
 */
export const sealUnder = (secret: string, value: string, purpose: string): string => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret, purpose), iv)
  const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/**
 * Decrypts a value of {@link sealUnder}.
 *
 * @throws Error if the secret or the purpose is a different one, or the value was changed
 */
export const openUnder = (secret: string, value: string, purpose: string): string => {
  const bytes = Buffer.from(value, 'base64url')
  const [key, iv] = [deriveKey(secret, purpose), bytes.subarray(0, ivLength)]
  // Node would otherwise accept a tag of four bytes.
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagLength })
  decipher.setAuthTag(bytes.subarray(ivLength, ivLength + tagLength))
  return decipher.update(bytes.subarray(ivLength + tagLength), undefined, 'utf8') + decipher.final('utf8')
}
