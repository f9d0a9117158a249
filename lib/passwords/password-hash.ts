/** A stored password hash, taken apart as far as checking it needs. */
export interface PasswordHash {
  readonly algorithm: 'bcrypt' | 'argon2' | 'scrypt'
  /** A hash of nobody's password that costs as much to check as this one. */
  readonly dummy: string
  /** Only of scrypt, which Node's own function checks. */
  readonly scrypt?: ScryptHash
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
 * A stored hash in a format that is not checked here, or that asks for more memory or time than is given.
 * Meant for the operator: it names the option to set, and never holds the hash.
 */
export class UnsupportedPasswordHashError extends Error {
  override readonly name = 'UnsupportedPasswordHashError'

  constructor() {
    super(
      'the stored password hash is not a bcrypt, argon2 or scrypt hash within the limits of cost; ' +
        'set users.verify, which checks hashes of any other kind',
    )
  }
}

const KiB = 1024
// A hash comes from a database, so it may not ask for any amount of memory: 256 MiB, four times over, at most.
const largestMemory = 256 * KiB * KiB
const largestWork = 4 * largestMemory
// Each step doubles the time: 16 takes seconds on a thread that others wait for.
const bcryptCosts = { least: 4, most: 16 }

const isWithin = (memory: number, passes: number): boolean =>
  memory > 0 && passes > 0 && memory <= largestMemory && memory * passes <= largestWork

const bcryptFormat = /^\$2[aby]\$([0-9]{2})\$[./A-Za-z0-9]{53}$/
const bcryptDummy = 'jjR18lNorSyPjKYeVojgWOnzspnVlk59pZHbzRx.4CiiN6OddpCtu'

const parseBcrypt = (hash: string): PasswordHash | undefined => {
  const cost = Number(bcryptFormat.exec(hash)?.[1])
  if (!(cost >= bcryptCosts.least && cost <= bcryptCosts.most)) return undefined
  return { algorithm: 'bcrypt', dummy: hash.slice(0, 7) + bcryptDummy }
}

// A PHC string: parameters by name, then salt and hash in base64 without padding.
const phcDummy = '$bm9ib2R5IGF0IGFsbA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

const isBase64 = (text: string): boolean =>
  Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text

/** A hash of nobody's password that costs as much to check as the ones made here. */
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
      ...{ cost, blockSize, parallelization },
      ...{ salt: Buffer.from(salt, 'base64'), hash: Buffer.from(derived, 'base64') },
    },
  }
}

/**
 * Reads a stored hash, without checking any password.
 *
 * - bcrypt: `$2a$`, `$2b$` and `$2y$`, cost 4 to 16
 * - argon2id, argon2i, argon2d as PHC strings: `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`
 * - scrypt as PHC strings: `$scrypt$ln=14,r=8,p=1$salt$hash`, or with `n=16384`
 *
 * @returns undefined when the format is another, ill-formed, or asks for more than 256 MiB or four times their work
 */
export const parsePasswordHash = (hash: string): PasswordHash | undefined =>
  parseBcrypt(hash) ?? parseArgon2(hash) ?? parseScrypt(hash)

/** Whether passwords can be checked against this hash, so that a user can be brought along with it. */
export const isPasswordHash = (hash: unknown): hash is string =>
  typeof hash === 'string' && parsePasswordHash(hash) !== undefined
