import { isIP } from 'node:net'
import { lengths } from '../lengths.ts'
import { refusal } from '../refusal.ts'
import { formatScope, parseScope } from '../scope.ts'
import { isDistinguishedName } from './distinguished-name.ts'
import { assertRegistrableRedirectUri } from './redirect-uri.ts'

/** The form of a value. Fields of a form and columns of a table are read by it. A `choice` is one of several values. */
export type MemberForm =
  | 'text'
  | 'uri'
  | 'lines'
  | 'choice'
  | 'choices'
  | 'flag'
  | 'number'
  | 'time'
  | 'object'

/** A member of client metadata. */
export interface Member<Value, Form extends MemberForm = MemberForm> {
  readonly form: Form
  /**
   * @returns the value; undefined if it says nothing
   * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` that names the member
   */
  check(name: string, value: unknown): Value | undefined
}

/** A member of client metadata with this check. */
export const member = <Value, Form extends MemberForm>(
  form: Form,
  check: Member<Value>['check'],
): Member<Value, Form> => ({ form, check })

/** @throws OAuthError `invalid_client_metadata` about a member whose value is wrong */
export const refuseMetadata = (
  parameter: string,
  problem: string,
  reason:
    | 'metadata_invalid'
    | 'metadata_missing'
    | 'metadata_insecure'
    | 'metadata_unaccepted' = 'metadata_invalid',
): never => {
  throw refusal(reason, { values: { parameter, problem } })
}

/** @throws OAuthError `invalid_client_metadata` about a value that this server cannot use, though it is well formed */
export const refuseUnknown = (values: { readonly parameter: string; readonly problem: string }): never => {
  throw refusal('metadata_unknown', { values })
}

/** @throws OAuthError `invalid_client_metadata` about all that describes a client */
export const refuseClient = (problem: string): never => {
  throw refusal('metadata_refused', { values: { problem } })
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

const checkedText = (name: string, value: unknown): string => {
  if (typeof value !== 'string' || value.trim() === '') return refuseMetadata(name, 'must be a string')
  if (value.length > 255) refuseMetadata(name, 'must not exceed 255 characters')
  if (misleading.test(value)) refuseMetadata(name, 'must not contain control or direction characters')
  if (invisible.test(value) || !visible.test(value))
    refuseMetadata(name, 'must not contain invisible characters')
  return value
}

export const displayText = member('text', checkedText)

export const trueOrFalse = member('flag', (name, value) =>
  typeof value === 'boolean' ? value : refuseMetadata(name, 'must be true or false'),
)

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)

export const wholeSeconds = member('number', (name, value) =>
  isWhole(value) && value > 0 ? value : refuseMetadata(name, 'must be a whole number of seconds above 0'),
)

/** Epoch seconds; 0 stands for never. */
export const epochTime = member('time', (name, value) =>
  isWhole(value) && value >= 0
    ? value || undefined
    : refuseMetadata(name, 'must be a time in epoch seconds, or 0'),
)

export const maxAge = member('number', (name, value) =>
  isWhole(value) && value >= 0 ? value : refuseMetadata(name, 'must be a whole number of seconds'),
)

const checkedUri = (name: string, value: unknown): string => {
  if (
    typeof value !== 'string' ||
    value.length > lengths.other ||
    !plainUri.test(value) ||
    !URL.canParse(value)
  ) {
    return refuseMetadata(name, 'must be an https URL in plain ASCII', 'metadata_insecure')
  }
  const { protocol, hostname, username, password } = new URL(value)
  // The pages show this link, and a user would read the part before the @ as the host.
  if (username !== '' || password !== '') refuseMetadata(name, 'must not contain user information')
  if (protocol === 'https:' || (protocol === 'http:' && /(?:^|\.)localhost$/.test(hostname))) return value
  return refuseMetadata(name, 'must be an https URL', 'metadata_insecure')
}

export const httpsUri = member('uri', checkedUri)

/** A URL that this server calls: https, or http on this machine. */
export const webUri = member('uri', (name, value): string => {
  if (typeof value !== 'string' || value.includes('#'))
    return refuseMetadata(name, 'must be a URL without a fragment')
  checkedUri(name, value.replace(/^http:\/\/(127\.0\.0\.1|\[::1\])/, 'http://localhost'))
  return value
})

export const checkedList = (name: string, value: unknown): string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? [...new Set<string>(value)]
    : refuseMetadata(name, 'must be an array of strings')

export const chosen = <Value extends string>(
  choices: readonly Value[],
  name: string,
  value: unknown,
): Value =>
  choices.find((choice) => choice === value) ?? refuseMetadata(name, `must be one of ${choices.join(', ')}`)

export const oneChoice = <const Value extends string>(choices: readonly Value[]) =>
  member('choice', (name, value) => chosen(choices, name, value))

export const someChoices = <const Value extends string>(choices: readonly Value[]) =>
  member('choices', (name, value) => checkedList(name, value).map((item) => chosen(choices, name, item)))

export const texts = member('lines', (name, value) =>
  checkedList(name, value).map((item) => checkedText(name, item)),
)

export const strings = member('lines', checkedList)

export const redirectUris = member('lines', (name, value) => {
  const uris = checkedList(name, value)
  uris.forEach(assertRegistrableRedirectUri)
  return uris
})

export const acrValues = member('lines', (name, value) => {
  const levels = checkedList(name, value)
  const isLevel = (level: string): boolean => /^[\x21-\x7e]{1,255}$/.test(level)
  return levels.every(isLevel) ? levels : refuseMetadata(name, 'must be a list of strings without spaces')
})

/** OIDC Core §6.2: the fragment is a hash of the object. RFC 9101 §5.2: at most 512 characters. */
export const requestUris = member('lines', (name, value) => {
  const uris = checkedList(name, value)
  if (uris.length > 20) refuseMetadata(name, 'must not have more than 20 entries')
  if (uris.some((uri) => uri.length > 512)) refuseMetadata(name, 'must not exceed 512 characters each')
  for (const uri of uris) webUri.check(name, uri.replace('#', ''))
  return uris
})

export const scopeString = member('text', (name, value) => {
  if (typeof value !== 'string') return refuseMetadata(name, 'must be a space-separated string')
  try {
    return formatScope(parseScope(value)) || undefined
  } catch {
    // Registration has no `invalid_scope` (RFC 7591 §3.2.2).
    return refuseMetadata(name, 'has characters that RFC 6749 does not allow')
  }
})

const subject = (isValid: (value: string) => boolean, form: string) =>
  member('text', (name, value) =>
    typeof value === 'string' && value.length <= 1024 && isValid(value)
      ? value
      : refuseMetadata(name, `must be ${form}`),
  )

const isHostName = (value: string): boolean => value.split('.').every((label) => /^[a-z0-9_-]+$/i.test(label))

/** A name that stands for several, as with a wildcard, is refused (RFC 8705 §2.1.2). */
export const distinguishedName = subject(
  isDistinguishedName,
  'a distinguished name, such as CN=shop,O=Example',
)
export const hostName = subject(isHostName, 'a host name without a wildcard')
export const absoluteUri = subject((value) => URL.canParse(value), 'an absolute URI')
export const ipAddress = subject((value) => isIP(value) !== 0, 'an IP address')
export const mailAddress = subject((value) => /^[^\s@]+@[^\s@]+$/.test(value), 'an e-mail address')
