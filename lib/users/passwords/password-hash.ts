/** A parsed password hash. */
export interface PasswordHash {
  readonly algorithm: 'bcrypt' | 'argon2' | 'scrypt' | 'pbkdf2'
  /** A hash that no password matches, and that costs as much to check as this one. */
  readonly dummy: string
  /** Only for scrypt, which node:crypto checks. */
  readonly scrypt?: ScryptHash
  /** Only for PBKDF2, which node:crypto checks. */
  readonly pbkdf2?: Pbkdf2Hash
}

/** PBKDF2 with HMAC-SHA-256 (RFC 8018 §5.2). */
export interface Pbkdf2Hash {
  readonly iterations: number
  /** The salt as it is written: its characters are the salt. */
  readonly salt: string
  readonly hash: Buffer
}

export interface ScryptHash {
  /** N of RFC 7914 §2, a power of two. */
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: Buffer
  readonly hash: Buffer
}

/**
 * A stored hash has an unknown format, or needs more memory or time than allowed. The message is for the operator: it
 * names the option to set, and never contains the hash.
 */
export class UnsupportedPasswordHashError extends Error {
  override readonly name = 'UnsupportedPasswordHashError'

  constructor() {
    super(
      'the stored password hash is not a bcrypt, argon2, scrypt or PBKDF2 hash within the cost limits; ' +
        'set users.verify to check hashes of other formats',
    )
  }
}

const KiB = 1024
// Limits for hashes from a database: 256 MiB of memory, and four passes over it.
const maxMemory = 256 * KiB * KiB
const maxWork = 4 * maxMemory
// Each step doubles the time: a cost of 16 already takes seconds on a thread.
const bcryptCosts = { min: 4, max: 16 }

const isWithin = (memory: number, passes: number): boolean =>
  memory > 0 && passes > 0 && memory <= maxMemory && memory * passes <= maxWork

const bcryptFormat = /^\$2[aby]\$([0-9]{2})\$[./A-Za-z0-9]{53}$/
const bcryptDummy = 'jjR18lNorSyPjKYeVojgWOnzspnVlk59pZHbzRx.4CiiN6OddpCtu'

const parseBcrypt = (hash: string): PasswordHash | undefined => {
  const cost = Number(bcryptFormat.exec(hash)?.[1])
  if (!(cost >= bcryptCosts.min && cost <= bcryptCosts.max)) return undefined
  return { algorithm: 'bcrypt', dummy: hash.slice(0, 7) + bcryptDummy }
}

// A PHC string: parameters by name, then salt and hash in base64 without padding.
const phcDummy = '$bm9ib2R5IGF0IGFsbA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

const isBase64 = (value: string): boolean =>
  Buffer.from(value, 'base64').toString('base64').replaceAll('=', '') === value

/** A hash that no password matches, and that costs as much to check as those made by `hashPassword`. */
export const ownDummyHash = `$argon2id$v=19$m=19456,t=2,p=1${phcDummy}`

const argon2Format =
  /^(\$argon2(?:id|i|d)(?:\$v=(?:16|19))?\$m=([0-9]{1,7}),t=([0-9]{1,7}),p=([0-9]{1,3}))\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{22,86})$/

const parseArgon2 = (hash: string): PasswordHash | undefined => {
  const [, parameters, memory, passes, lanes, salt = '', derived = ''] = argon2Format.exec(hash) ?? []
  if (!isBase64(salt) || !isBase64(derived)) return undefined
  if (!isWithin(Number(memory) * KiB, Number(passes))) return undefined
  // RFC 9106 §3.1: at least 8 KiB for each lane.
  if (Number(lanes) < 1 || Number(memory) < 8 * Number(lanes)) return undefined
  return { algorithm: 'argon2', dummy: parameters + phcDummy }
}

// Written with N itself (`n=16384`) or with its binary logarithm (`ln=14`).
const scryptFormat =
  /^(\$scrypt\$(l?n)=([0-9]{1,7}),r=([0-9]{1,4}),p=([0-9]{1,4}))\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,171})$/

const parseScrypt = (hash: string): PasswordHash | undefined => {
  const [, parameters, name, given, r, p, salt = '', derived = ''] = scryptFormat.exec(hash) ?? []
  const cost = name === 'ln' ? 2 ** Number(given) : Number(given)
  const [blockSize, parallelization] = [Number(r), Number(p)]
  if (!isBase64(salt) || !isBase64(derived)) return undefined
  // RFC 7914 §2 and §6: N is a power of two, and below 2^(16·r); 128·r·(N + p) bytes.
  if (!(cost > 1) || !Number.isInteger(Math.log2(cost)) || Math.log2(cost) >= 16 * blockSize) return undefined
  if (!isWithin(128 * blockSize * (cost + parallelization), parallelization)) return undefined
  return {
    algorithm: 'scrypt',
    dummy: parameters + phcDummy,
    scrypt: {
      cost,
      blockSize,
      parallelization,
      salt: Buffer.from(salt, 'base64'),
      hash: Buffer.from(derived, 'base64'),
    },
  }
}

// As Django writes it: the salt is text, the hash is base64 with padding. A million iterations take a third of a second.
const pbkdf2Format = /^(pbkdf2_sha256\$([0-9]{1,8}))\$([!-#%-~]{8,128})\$([A-Za-z0-9+/]{43}=)$/
const maxIterations = 10_000_000
const pbkdf2Dummy = `$nobodyatall$${'A'.repeat(43)}=`

const parsePbkdf2 = (hash: string): PasswordHash | undefined => {
  const [, parameters, given, salt = '', derived = ''] = pbkdf2Format.exec(hash) ?? []
  const iterations = Number(given)
  if (!(iterations > 0 && iterations <= maxIterations)) return undefined
  return {
    algorithm: 'pbkdf2',
    dummy: parameters + pbkdf2Dummy,
    pbkdf2: { iterations, salt, hash: Buffer.from(derived, 'base64') },
  }
}

/**
 * Parses a stored hash.
 *
 * - bcrypt: `$2a$`, `$2b$` and `$2y$`, cost 4 to 16
 * - argon2id, argon2i, argon2d as PHC strings: `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`
 * - scrypt as PHC strings: `$scrypt$ln=14,r=8,p=1$salt$hash`, or with `n=16384`
 * - PBKDF2 with SHA-256 as Django writes it: `pbkdf2_sha256$600000$salt$hash`
 *
 * @returns undefined if the format is unknown or malformed, or the hash exceeds the cost limits: 256 MiB, four passes,
 *   ten million iterations
 */
export const parsePasswordHash = (hash: string): PasswordHash | undefined =>
  parseBcrypt(hash) ?? parseArgon2(hash) ?? parseScrypt(hash) ?? parsePbkdf2(hash)

/** Whether passwords can be checked against this hash, so that a user can be imported with it. */
export const isPasswordHash = (hash: unknown): hash is string =>
  typeof hash === 'string' && parsePasswordHash(hash) !== undefined
