import { scrypt as deriveKey, pbkdf2, type ScryptOptions, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { loadArgon2, loadBcrypt } from './libraries.ts'
import {
  ownDummyHash,
  type PasswordHash,
  type Pbkdf2Hash,
  parsePasswordHash,
  type ScryptHash,
  UnsupportedPasswordHashError,
} from './password-hash.ts'

export { isPasswordHash, UnsupportedPasswordHashError } from './password-hash.ts'

/** Maximum length of a password in UTF-16 code units; a longer one never matches. */
export const maxPasswordLength = 1024

/** Whether this can be a password: not empty, not too long, and without NUL. Passwords are never trimmed. */
export const isPassword = (password: unknown): password is string =>
  typeof password === 'string' &&
  password !== '' &&
  password.length <= maxPasswordLength &&
  !password.includes('\0')

// OWASP's recommendation: argon2id (the library's default), 19 MiB, two passes, one lane.
const ownParameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * Hashes a password for storage as an argon2id PHC string.
 *
 * @throws TypeError if it cannot be a password
 * @example await hashPassword('correct horse battery staple') // '$argon2id$v=19$m=19456,t=2,p=1$…'
 */
export const hashPassword = async (password: string): Promise<string> => {
  if (!isPassword(password)) throw new TypeError('a password must have 1 to 1,024 characters and no NUL')
  const { hash } = await loadArgon2()
  return hash(password, ownParameters)
}

/**
 * Whether a stored hash is easier to attack than one of {@link hashPassword}: of another algorithm, or with less memory
 * or fewer passes.
 */
export const isWeakerThanOwn = (hash: string): boolean => {
  const [, memory, passes] = /^\$argon2id\$v=19\$m=([0-9]{1,7}),t=([0-9]{1,7}),/.exec(hash) ?? []
  return !(Number(memory) >= ownParameters.memoryCost && Number(passes) >= ownParameters.timeCost)
}

/**
 * Checks a password against a stored bcrypt, argon2, scrypt or PBKDF2 hash, on libuv's thread pool. An invalid password and a
 * missing hash never match, but cost as much as a check. Only the first 72 bytes count for bcrypt.
 *
 * @throws UnsupportedPasswordHashError if the hash has an unknown format, is malformed or exceeds the cost limits
 */
export const verifyPassword = async (password: string, hash: string | null | undefined): Promise<boolean> => {
  const parsed = parsePasswordHash(hash || ownDummyHash)
  if (parsed === undefined) throw new UnsupportedPasswordHashError()
  const mayMatch = isPassword(password) && Boolean(hash)
  const matches = await matcherOf(parsed)
  try {
    return (await matches(mayMatch ? password : 'refused', hash || ownDummyHash)) && mayMatch
  } catch {
    // The library rejects the hash. Its error might contain the hash, so it is not the cause.
    throw new UnsupportedPasswordHashError()
  }
}

type Matcher = (password: string, hash: string) => Promise<boolean>

const matcherOf = async ({ algorithm, scrypt, pbkdf2: ofPbkdf2 }: PasswordHash): Promise<Matcher> => {
  if (scrypt) return (password) => matchesScrypt(password, scrypt)
  if (ofPbkdf2) return (password) => matchesPbkdf2(password, ofPbkdf2)
  if (algorithm === 'bcrypt') return (await loadBcrypt()).verify
  const { verify } = await loadArgon2()
  return (password, hash) => verify(hash, password)
}

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(deriveKey)

const matchesScrypt = async (password: string, stored: ScryptHash): Promise<boolean> => {
  const { cost, blockSize, parallelization, salt, hash } = stored
  const maxmem = 128 * blockSize * (cost + parallelization + 4)
  return timingSafeEqual(
    hash,
    await derive(password, salt, hash.length, { cost, blockSize, parallelization, maxmem }),
  )
}

const deriveBits = promisify<string, string, number, number, string, Buffer>(pbkdf2)

const matchesPbkdf2 = async (password: string, { iterations, salt, hash }: Pbkdf2Hash): Promise<boolean> =>
  timingSafeEqual(hash, await deriveBits(password, salt, iterations, hash.length, 'sha256'))
