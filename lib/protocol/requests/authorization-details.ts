import { createHash } from 'node:crypto'
import { invisible, misleading } from '../clients/client-metadata-checks.ts'
import { pointlessJoiner } from '../clients/client-name.ts'
import type { OAuthError } from '../errors.ts'
import { isObject, isPlainText } from '../json.ts'
import { refusal } from '../refusal.ts'

/** One object of `authorization_details` (RFC 9396 §2). */
export interface AuthorizationDetail {
  /** One of the option `authorizationDetails`. */
  readonly type: string
  readonly [member: string]: unknown
}

/** The most objects of a request, and of each object the most values and levels. */
const maxDetails = 10
export const maxValues = 100
const maxDepth = 5

/** Space-separated lists and entries of consents must stay readable. */
const typeName = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/

/** Whether a name can be a type (RFC 9396 §2.1). */
export const isDetailType = (name: string): boolean => typeName.test(name)

/** @returns an `invalid_authorization_details` error (RFC 9396 §5) */
export const invalidDetails = (problem: string): OAuthError =>
  refusal('authorization_details_invalid', { values: { problem } })

/** Refuses characters by which the page would show another text than the API reads. */
const assertReadable = (text: string): void => {
  if (misleading.test(text) || !isPlainText(text))
    throw invalidDetails('must not contain control or direction characters')
  if (invisible.test(text) || pointlessJoiner.test(text))
    throw invalidDetails('must not contain invisible characters')
}

/** Counts the values of an object, and refuses what is too deep or cannot be shown to a user. */
const countValues = (value: unknown, depth: number): number => {
  if (depth > maxDepth) throw invalidDetails(`must not have more than ${maxDepth} levels`)
  if (typeof value === 'string') assertReadable(value)
  if (typeof value !== 'object' || value === null) return 1
  const members = Object.entries(value)
  for (const [name] of members) {
    if (name === '__proto__') throw invalidDetails('must not contain such a member name')
    assertReadable(name)
  }
  return members.reduce((sum, [, member]) => sum + countValues(member, depth + 1), 1)
}

const assertBounded = (detail: AuthorizationDetail, most: number): void => {
  if (countValues(detail, 0) > most) throw invalidDetails(`must not have more than ${most} values each`)
}

const isDetail = (value: unknown): value is AuthorizationDetail =>
  isObject(value) && typeof value.type === 'string' && isDetailType(value.type)

const parseJson = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/**
 * Parses the parameter `authorization_details` (RFC 9396 §2). Equal objects count once.
 *
 * @param most values of each object
 * @throws OAuthError `invalid_authorization_details`
 */
export const parseAuthorizationDetails = (json: string, most = maxValues): AuthorizationDetail[] =>
  checkedDetails(parseJson(json), most)

/**
 * Checks details that are JSON already, such as those of a claim, in the same way.
 *
 * @throws OAuthError `invalid_authorization_details`
 */
export const checkedDetails = (values: unknown, most = maxValues): AuthorizationDetail[] => {
  if (
    !Array.isArray(values) ||
    values.length === 0 ||
    values.length > maxDetails ||
    !values.every(isDetail)
  ) {
    throw invalidDetails(`must be a JSON array of 1 to ${maxDetails} objects with a type`)
  }
  for (const detail of values) assertBounded(detail, most)
  return [...new Map(values.map((detail) => [canonical(detail), detail])).values()]
}

/** One string for all objects that are equal: members in order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )

/**
 * Requires types that the client may use.
 *
 * @param known of the host
 * @param registered the client's `authorization_details_types`
 * @throws OAuthError `invalid_authorization_details` (RFC 9396 §5)
 */
export const assertDetailTypes = (
  details: readonly AuthorizationDetail[],
  known: readonly string[],
  registered: readonly string[] = [],
): void => {
  for (const { type } of details) {
    if (!known.includes(type)) throw invalidDetails(`has the type ${type}, which this server does not know`)
    if (!registered.includes(type)) {
      throw invalidDetails(`has the type ${type}, which is not registered for this client`)
    }
  }
}

/**
 * The objects of a token request. Each must have been granted (RFC 9396 §6).
 *
 * @throws OAuthError `invalid_authorization_details`
 */
export const narrowedDetails = (
  requested: readonly AuthorizationDetail[],
  granted: readonly AuthorizationDetail[],
): readonly AuthorizationDetail[] => {
  const known = new Map(granted.map((detail) => [canonical(detail), detail]))
  return requested.map((detail) => {
    const found = known.get(canonical(detail))
    if (found === undefined) throw invalidDetails('has an object that was not granted')
    return found
  })
}

/** The name of an object among the entries of a consent; no type contains a quote. */
export const detailEntry = (detail: AuthorizationDetail): string =>
  `detail"${detail.type}"${createHash('sha256').update(canonical(detail)).digest('base64url').slice(0, 22)}`
