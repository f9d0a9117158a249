import type { Request } from 'express'
import type { CallLimit } from '../limits/call-limit.ts'
import { refuse } from '../options/check.ts'
import { custom, flag, isRecord, number, object, oneOf, optional, required, text } from '../options/schema.ts'
import { isWithinChosen } from '../protocol/choices.ts'
import type { OAuthErrorOptions } from '../protocol/errors.ts'
import { OAuthError } from '../protocol/errors.ts'
import { type Explanation, listed } from '../protocol/explanation.ts'
import { isHostId } from '../protocol/host-id.ts'
import { refusal } from '../protocol/refusal.ts'
import { formatScope, type ImpliedScopes, parseScope, withImpliedScopes } from '../protocol/scope.ts'
import { audienceOf, tokenOwner } from './auth-info.ts'
import type { AuthInfo, CallLimitOptions, RequireTokenOptions } from './types.ts'

/** The requirement of a guard for access tokens. */
export interface Requirement {
  readonly scopes: readonly string[]
  /** Scopes that the challenge of a request without a valid token names as well. */
  readonly ask: readonly string[]
  readonly user: boolean
  /** The login must have one of these authentication levels; empty if any will do. */
  readonly acrValues: readonly string[]
  /** Seconds. */
  readonly maxAge?: number
  /** The token must have details of this type. */
  readonly authorizationDetails?: string
  /** The things that a call is about, by kind. */
  readonly choice?: GuardedThings
  /** Undefined if the token must be for no resource. */
  readonly resource?: string
  readonly limit?: GuardLimit
}

/** Ids of things by kind, or functions that read them from a request. */
export type GuardedThings = NonNullable<RequireTokenOptions['choice']>

/** A limit on the calls of one client or user. */
export type GuardLimit = Readonly<Required<Omit<CallLimitOptions, 'name'>>> & Pick<CallLimitOptions, 'name'>

/** Where a guard is made, for the errors of its options. */
export const placeOf = (scope: string | undefined): string =>
  `requireToken(${scope === undefined ? '' : `'${scope}'`})`

const limit = object(
  {
    max: required(number()),
    seconds: required(number({ max: 2_678_400 }, ' of seconds')),
    by: required(oneOf('client', 'user')),
    name: text('at most 40 letters, digits, - and _', (value) => /^[\w-]{1,40}$/.test(value)),
  },
  'an object with max, seconds and by',
)

const choice = custom<GuardedThings>('an object with a function for each kind', (value) =>
  isRecord(value) ? (value as GuardedThings) : undefined,
)

const schema = object({
  user: flag(true),
  ask: text('a list of scopes, separated by spaces', (value) => value.trim() !== ''),
  acr: text('a list of levels, separated by spaces', (value) => value.trim() !== ''),
  maxAge: number({ min: 0 }, ' of seconds'),
  resource: text(),
  authorizationDetails: text(),
  choice,
  limit: optional(limit),
})

/**
 * Checks the arguments of `requireToken()`.
 *
 * @throws OAuthError `invalid_scope` for a malformed scope, OptionsError for a wrong argument
 */
export const parseRequirement = (
  scope: string | undefined,
  options: RequireTokenOptions = {},
): Requirement => {
  if (scope !== undefined && typeof scope !== 'string')
    refuse('requireToken() takes the scopes first, as one string; its options come second')
  const { acr, ask, ...others } = schema.check(options, placeOf(scope))
  const acrValues = acr?.split(' ').filter((value) => value !== '') ?? []
  return { scopes: parseScope(scope), ask: parseScope(ask), acrValues, ...others }
}

/** The surroundings of a guard. */
export interface GuardContext {
  /** Scopes that include others. */
  readonly implied: ImpliedScopes
  /** Epoch seconds. */
  now(): number
}

type About = Pick<OAuthErrorOptions, 'clientId' | 'subject'>

const assertAudience = (claims: AuthInfo['claims'], resource: string | undefined, about: About): void => {
  const audience = audienceOf(claims)
  if (resource === undefined ? audience.length > 0 : !audience.includes(resource)) {
    const explanation = { expected: resource ?? 'no resource', received: listed(audience.map(String)) }
    throw refusal('token_for_other_resource', { ...about, explanation })
  }
}

/** RFC 9470 §3. */
const assertAuthentication = (
  { acr, auth_time: authTime }: AuthInfo['claims'],
  { acrValues, maxAge }: Requirement,
  now: number,
  about: About,
): void => {
  if (acrValues.length > 0 && !acrValues.some((value) => value === acr)) {
    throw refusal('token_level_too_low', about)
  }
  if (maxAge !== undefined && !(now - Number(authTime) <= maxAge)) {
    throw refusal('token_login_too_old', about)
  }
}

/** The user did not choose what a call is about. */
export class NotChosenError extends OAuthError {
  readonly kind: string

  /** @param call the things of the call, and those that were chosen */
  constructor(kind: string, call: Explanation, about: About) {
    super(
      'insufficient_scope',
      `the user did not choose this ${kind} for the client, which may ask again so that they can`,
      { ...about, explanation: call },
    )
    this.kind = kind
  }
}

/** The most ids that an explanation names. */
const mostExplained = 20

/** A call about no thing is refused too: the guard of a path without that parameter would let it pass. */
const assertChosen = (auth: AuthInfo, choice: GuardedThings, req: unknown, about: About): void => {
  for (const [kind, of] of Object.entries(choice)) {
    const ids = [typeof of === 'function' ? of(req as Request) : of].flat()
    const chosen = auth.chosen(kind)
    if (ids.length > 0 && ids.every(isHostId) && isWithinChosen(ids, chosen)) continue
    const received = chosen === 'all' ? chosen : listed(chosen.slice(0, mostExplained))
    const expected = `${kind} ${listed(ids.slice(0, mostExplained).map(String))}`
    throw new NotChosenError(kind, { expected, received }, about)
  }
}

/**
 * Requires a verified token to be enough for a guard.
 *
 * @param req the request, for the guards of things
 * @throws OAuthError `invalid_token` for another resource, `insufficient_scope` (RFC 6750 §3.1),
 *   `insufficient_user_authentication` (RFC 9470 §3)
 */
export const assertSufficient = (
  auth: AuthInfo,
  requirement: Requirement,
  { implied, now }: GuardContext,
  req?: unknown,
): void => {
  const { scopes, subject, claims, authorizationDetails = [] } = auth
  const { authorizationId: _, ...about } = tokenOwner(auth)
  assertAudience(claims, requirement.resource, about)
  const missing = requirement.scopes.filter((name) => !scopes.includes(name))
  // Nearly every token has the scope itself.
  const covered = missing.length > 0 ? withImpliedScopes(scopes, implied) : scopes
  const lacking = missing.filter((name) => !covered.includes(name))
  if (lacking.length > 0) {
    const explanation = { expected: formatScope(requirement.scopes), received: listed(scopes) }
    throw refusal('token_scope_missing', { values: { scope: formatScope(lacking) }, ...about, explanation })
  }
  if (requirement.user && subject === undefined) {
    throw refusal('token_user_missing', about)
  }
  const { authorizationDetails: type } = requirement
  if (type !== undefined && !authorizationDetails.some((detail) => detail.type === type)) {
    throw refusal('token_details_missing', { values: { type }, ...about })
  }
  if (requirement.choice) assertChosen(auth, requirement.choice, req, about)
  assertAuthentication(claims, requirement, now(), about)
}

/**
 * The limit of a guard as the throttle counts it, and whose call this is.
 *
 * @returns undefined for a guard without a limit
 */
export const countedCall = (
  { clientId, subject }: AuthInfo,
  { limit, scopes, resource = '' }: Requirement,
): readonly [limit: CallLimit, of: string] | undefined => {
  if (limit === undefined) return undefined
  const { by, name, max, seconds } = limit
  const scope = name === undefined ? JSON.stringify([resource, scopes, max, seconds]) : ''
  const of = by === 'user' && subject !== undefined ? ['user', subject] : ['client', clientId]
  return [{ name: name ?? by, scope, max, seconds }, JSON.stringify([by, ...of])]
}
