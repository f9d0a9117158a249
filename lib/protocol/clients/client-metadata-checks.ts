import { isIP } from 'node:net'
import { OAuthError } from '../errors.ts'
import { lengths } from '../lengths.ts'
import { formatScope, parseScope } from '../scope.ts'
import type { CertificateSubjectName } from './client-certificate.ts'
import { isDistinguishedName } from './distinguished-name.ts'
import { assertRegistrableRedirectUri } from './redirect-uri.ts'

/** Checks one field of client metadata and returns its value, or throws `invalid_client_metadata` naming it. */
export type Check = (name: string, value: unknown) => unknown

export const refuse = (description: string): never => {
  throw new OAuthError('invalid_client_metadata', description)
}

// Bidi controls would let one name look like another on the consent page.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
export const misleading = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd]/

// Characters without a shape, except those that scripts and emoji need: joiners and variation selectors. U+2800 is a
// symbol without dots.
export const invisible =
  /(?!\u200c|\u200d|[\ufe00-\ufe0f])[\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}\u2800]/u
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

// `new URL()` would remove or change anything else: spaces, backslashes, and characters beyond ASCII.
const plainUri = /^[\x21-\x5b\x5d-\x7e]+$/

export const text: Check = (name, value) => {
  if (typeof value !== 'string' || value.trim() === '') return refuse(`${name} must be a string`)
  if (value.length > 255) refuse(`${name} must not exceed 255 characters`)
  if (misleading.test(value)) refuse(`${name} must not contain control or direction characters`)
  if (invisible.test(value) || !visible.test(value)) refuse(`${name} must not contain invisible characters`)
  return value
}

export const flag: Check = (name, value) =>
  typeof value === 'boolean' ? value : refuse(`${name} must be true or false`)

export const seconds: Check = (name, value) =>
  Number.isSafeInteger(value) && Number(value) > 0
    ? value
    : refuse(`${name} must be a whole number of seconds above 0`)

/** Epoch seconds; 0 stands for never. */
export const time: Check = (name, value) => {
  const isTime = Number.isSafeInteger(value) && Number(value) >= 0
  return isTime ? value || undefined : refuse(`${name} must be a time in epoch seconds, or 0`)
}

export const maxAge: Check = (name, value) =>
  Number.isSafeInteger(value) && Number(value) >= 0
    ? value
    : refuse(`${name} must be a whole number of seconds`)

export const httpsUri: Check = (name, value) => {
  if (
    typeof value !== 'string' ||
    value.length > lengths.other ||
    !plainUri.test(value) ||
    !URL.canParse(value)
  ) {
    return refuse(`${name} must be an https URL in plain ASCII`)
  }
  const { protocol, hostname, username, password } = new URL(value)
  // The pages show this link, and a user would read the part before the @ as the host.
  if (username !== '' || password !== '') refuse(`${name} must not contain user information`)
  if (protocol === 'https:' || (protocol === 'http:' && /(?:^|\.)localhost$/.test(hostname))) return value
  return refuse(`${name} must be an https URL`)
}

/** A URL that this server calls: https, or http on this machine. */
export const webUri: Check = (name, value) => {
  if (typeof value !== 'string' || value.includes('#'))
    return refuse(`${name} must be a URL without a fragment`)
  return httpsUri(name, value.replace(/^http:\/\/(127\.0\.0\.1|\[::1\])/, 'http://localhost')) && value
}

export const list = (name: string, value: unknown): string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? [...new Set<string>(value)]
    : refuse(`${name} must be an array of strings`)

export const oneOf =
  (choices: readonly string[]): Check =>
  (name, value) =>
    choices.some((choice) => choice === value)
      ? value
      : refuse(`${name} must be one of ${choices.join(', ')}`)

export const someOf =
  (choices: readonly string[]): Check =>
  (name, value) =>
    list(name, value).map((item) => oneOf(choices)(name, item))

export const redirectUris: Check = (name, value) => {
  const uris = list(name, value)
  uris.forEach(assertRegistrableRedirectUri)
  return uris
}

export const acrValues: Check = (name, value) => {
  const levels = list(name, value)
  const isLevel = (level: string): boolean => /^[\x21-\x7e]{1,255}$/.test(level)
  return levels.every(isLevel) ? levels : refuse(`${name} must be a list of strings without spaces`)
}

/** OIDC Core §6.2: the fragment is a hash of the object. RFC 9101 §5.2: at most 512 characters. */
export const requestUris: Check = (name, value) => {
  const uris = list(name, value)
  if (uris.length > 20) refuse(`${name} must not have more than 20 entries`)
  if (uris.some((uri) => uri.length > 512)) refuse(`${name} must not exceed 512 characters each`)
  for (const uri of uris) webUri(name, uri.replace('#', ''))
  return uris
}

export const scope: Check = (name, value) => {
  if (typeof value !== 'string') return refuse(`${name} must be a space-separated string`)
  try {
    return formatScope(parseScope(value)) || undefined
  } catch {
    // Registration has no `invalid_scope` (RFC 7591 §3.2.2).
    return refuse(`${name} has characters that RFC 6749 does not allow`)
  }
}

const subject =
  (isValid: (value: string) => boolean, form: string): Check =>
  (name, value) =>
    typeof value === 'string' && value.length <= 1024 && isValid(value)
      ? value
      : refuse(`${name} must be ${form}`)

const isHostName = (value: string): boolean => value.split('.').every((label) => /^[a-z0-9_-]+$/i.test(label))

/** RFC 8705 §2.1.2. A name that stands for several, as with a wildcard, is refused. */
export const certificateSubjectChecks = {
  tls_client_auth_subject_dn: subject(isDistinguishedName, 'a distinguished name, such as CN=shop,O=Example'),
  tls_client_auth_san_dns: subject(isHostName, 'a host name without a wildcard'),
  tls_client_auth_san_uri: subject((value) => URL.canParse(value), 'an absolute URI'),
  tls_client_auth_san_ip: subject((value) => isIP(value) !== 0, 'an IP address'),
  tls_client_auth_san_email: subject((value) => /^[^\s@]+@[^\s@]+$/.test(value), 'an e-mail address'),
} satisfies Readonly<Record<CertificateSubjectName, Check>>
