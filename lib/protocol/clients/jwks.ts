import { isObject, isPlainText } from '../json.ts'
import { refusal } from '../refusal.ts'

/** A public key as JSON (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2), reduced to the members that verifying needs. */
export interface PublicJwk {
  kty: 'RSA' | 'EC' | 'OKP'
  kid?: string
  use?: string
  alg?: string
  key_ops?: string[]
  n?: string
  e?: string
  crv?: string
  x?: string
  y?: string
}

/** RFC 7517 §5. */
export interface PublicJwks {
  keys: PublicJwk[]
}

const maxKeys = 20
const maxMemberLength = 2048
// Verifying with a longer modulus or exponent takes milliseconds; RFC 7518 §3.3 forbids a shorter modulus.
const modulusBits = { min: 2048, max: 4096 }
const maxExponentBytes = 4

const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const descriptions = ['kty', 'kid', 'use', 'alg'] as const

/** The members that hold the key, by key type. */
const keyMembers: Readonly<Record<string, readonly ('n' | 'e' | 'crv' | 'x' | 'y')[]>> = {
  RSA: ['n', 'e'],
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
}

const isMember = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= maxMemberLength && isPlainText(value)

/** A number in base64url (RFC 7518 §2) without the zeros before it, which some libraries write. */
const numberOf = (encoded: string): Buffer => {
  const bytes = Buffer.from(encoded, 'base64url')
  const first = bytes.findIndex((byte) => byte !== 0)
  return first === -1 ? Buffer.alloc(0) : bytes.subarray(first)
}

const bitsOf = (number: Buffer): number => number.length * 8 - Math.clz32(number[0] ?? 0) + 24

/** A fault in the numbers of an RSA key; undefined if there is none. */
const rsaFault = ({ n, e }: Readonly<Record<string, unknown>>): string | undefined => {
  const bits = bitsOf(numberOf(String(n)))
  const exponent = numberOf(String(e))
  if (bits < modulusBits.min) return `an RSA key of fewer than ${modulusBits.min} bits`
  if (bits > modulusBits.max) return `an RSA key of more than ${modulusBits.max} bits`
  const isSmall = exponent.length > 0 && exponent.length <= maxExponentBytes
  return isSmall ? undefined : `an RSA key whose e has more than ${maxExponentBytes} bytes, or none`
}

/**
 * Parses one public key, wherever it comes from.
 *
 * @returns a string that names what it is instead, if it is refused
 */
export const parsePublicJwk = (value: unknown): PublicJwk | string => {
  if (!isObject(value)) return 'something that is not a key'
  const jwk = value
  if (jwk.kty === 'oct') return 'a symmetric key'
  if (secretMembers.some((name) => Object.hasOwn(jwk, name))) return 'a private key; send only the public one'
  const members = Object.hasOwn(keyMembers, String(jwk.kty)) ? (keyMembers[String(jwk.kty)] ?? []) : []
  if (members.length === 0) return 'a key of a kty other than RSA, EC and OKP'
  if (!members.every((name) => isMember(jwk[name]))) return `a key without ${members.join(', ')}`
  const fault = jwk.kty === 'RSA' ? rsaFault(jwk) : undefined
  if (fault !== undefined) return fault
  const stated = descriptions.filter((name) => jwk[name] !== undefined)
  if (!stated.every((name) => isMember(jwk[name]))) return `a key whose ${stated.join(', ')} are not strings`
  const { key_ops } = jwk
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.length <= 8 && key_ops.every(isMember))) {
    return 'a key whose key_ops are not an array of strings'
  }
  const kept = [...stated, ...members, ...(key_ops === undefined ? [] : ['key_ops'])]
  // Each member was checked above.
  return Object.fromEntries(kept.map((name) => [name, jwk[name]])) as unknown as PublicJwk
}

const keysOf = (value: unknown): readonly unknown[] | undefined =>
  isObject(value) && Array.isArray(value.keys) ? value.keys : undefined

/**
 * Checks the keys that a client registers (RFC 7591 §2); all must be public.
 *
 * @throws OAuthError `invalid_client_metadata`
 */
export const parseJwks = (name: string, value: unknown): PublicJwks => {
  const refuse = (problem: string): never => {
    throw refusal('metadata_invalid', { values: { parameter: name, problem } })
  }
  const given = keysOf(value) ?? refuse('must be an object with an array of keys')
  if (given.length === 0 || given.length > maxKeys) refuse(`must have 1 to ${maxKeys} keys`)
  const keys = given.map((item) => {
    const key = parsePublicJwk(item)
    return typeof key === 'string' ? refuse(`has ${key}`) : key
  })
  return { keys }
}

/**
 * The keys of a published set, without unsupported ones (RFC 7517 §5).
 *
 * @returns undefined if it is not a set of keys
 */
export const usableJwks = (value: unknown): PublicJwks | undefined => {
  const keys = keysOf(value)
    ?.slice(0, maxKeys)
    .map(parsePublicJwk)
    .filter((key) => typeof key !== 'string')
  return keys && { keys }
}
