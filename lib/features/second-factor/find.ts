import { authenticationCode } from '../../keys/secrets.ts'
import type { LoginOutcome } from '../../limits/login-throttle.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { sizes } from '../../protocol/lengths.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { HostError } from '../../protocol/problem.ts'
import { createReplay } from '../../storage/repositories/replays.ts'
import type { AnswerCounter } from '../../users/answer-counters.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'
import type { SignInMoment } from '../../web/endpoints/login-form.ts'
import type { Context, PageContext } from '../../web/http/context.ts'
import { deviceOf } from '../../web/sessions/device-cookie.ts'
import { assertMethods } from '../../web/sessions/host-login.ts'
import { limitedAttempt } from '../../web/sessions/login-attempt.ts'
import type { SecondFactor, SecondFactorOption } from './option.ts'
import { findSecondFactorRecord } from './second-factors-table.ts'
import { storedSecondFactor } from './stored-totp.ts'

const isSecondFactor = (factor: unknown): factor is SecondFactor => {
  const { kind, verify } = Object(factor)
  return kind === 'code' && typeof verify === 'function'
}

/** Characters of where a code is sent. */
const maxPlace = 100

/**
 * The second factor that this user needs, by the option `secondFactor()` or `authenticatorApps()`. If the host returns anything
 * else, that is an error, so that a mistake does not sign a user in.
 *
 * @param acrValues the levels that the request asks for; empty if it asks for none
 * @returns undefined if the password is enough
 */
export const findSecondFactor = async (
  context: Context,
  { apps, find }: SecondFactorOption,
  { subject, record }: User,
  acrValues: readonly string[],
): Promise<SecondFactor | undefined> => {
  const { server, req } = context
  if (apps) return storedSecondFactor(context, apps, { subject })
  const call = (): unknown => find(record, { req, acrValues })
  const factor = (await callHost('secondFactor({ find })', call)) || undefined
  if (factor === undefined) return undefined
  if (!isSecondFactor(factor)) {
    throw new HostError("secondFactor({ find }) must return nothing, or { kind: 'code', verify }")
  }
  if (factor.acr !== undefined && !server.options.acrValues.includes(factor.acr)) {
    throw new HostError('secondFactor({ find }) must return an acr that the option acrValues contains')
  }
  if (factor.to !== undefined && !(typeof factor.to === 'string' && factor.to.length <= maxPlace)) {
    throw new HostError(`secondFactor({ find }) must return a to of at most ${maxPlace} characters`)
  }
  assertMethods(factor.amr, 'secondFactor({ find })')
  return factor
}

/** Whether a user needed a second factor at this sign-in; with `secondFactor()`, whether they need one now. */
export const neededSecondFactor = async (
  context: PageContext,
  option: SecondFactorOption,
  user: User,
  { time, acrValues }: SignInMoment,
): Promise<boolean> => {
  if (option.find) return (await findSecondFactor(context, option, user, acrValues)) !== undefined
  const record = await findSecondFactorRecord(context.server.database, user)
  return record?.expiresAt === null && record.createdAt < time
}

/** Seconds for which an accepted code is remembered, which is longer than any code should be valid. */
const memory = 3600

/** Records that a code was accepted (RFC 6238 §5.2). @returns false if it was accepted before */
const isFirstUse = (
  { database, pairwiseSalt, now }: AuthorizationServer,
  subject: string,
  code: string,
): Promise<boolean> => {
  const hash = authenticationCode(pairwiseSalt, 'accepted code', [subject, code])
  return createReplay(database, { hash, expiresAt: now() + memory })
}

/** Whether the second factor accepts a code, and no one has used that code before. */
const isRightCode = async (
  server: AuthorizationServer,
  { subject }: Pick<User, 'subject'>,
  factor: SecondFactor,
  code: string,
): Promise<boolean> => {
  const isRight: unknown = await callHost('verify of secondFactor({ find })', () => factor.verify(code))
  // An object such as { valid: false } must not sign a user in.
  if (isRight && isRight !== true) {
    throw new HostError('verify of secondFactor({ find }) must return true or false')
  }
  return isRight === true && isFirstUse(server, subject, code)
}

/** Counts wrong codes. It has not the key of passwords: otherwise the next right password would forgive wrong codes. */
export const codeCounter: AnswerCounter = {
  name: 'Codes of two-step sign-in',
  account: ({ pairwiseSalt }, subject) => authenticationCode(pairwiseSalt, 'second factor', [subject]),
}

/** A code that a user typed, and the second factor that checks it. */
export interface CodeAttempt {
  readonly user: User
  readonly factor: SecondFactor
  readonly code: string
  /** The name with which the user signs in, or has signed in. */
  readonly username: string
  /** The client that waits for the login, if any. */
  readonly clientId?: string | undefined
}

/**
 * Checks a code unless a limit is reached, and announces what failed.
 *
 * @throws OAuthError `temporarily_unavailable` when it could not be checked; that does not count as a failure
 */
export const checkCode = async (
  context: Context,
  { user, factor, code, username, clientId }: CodeAttempt,
): Promise<LoginOutcome<User>> => {
  const { server, info } = context
  const { subject } = user
  const known = deviceOf(context, username)
  const device = known && { ...known, id: `code:${known.id}` }
  return limitedAttempt(
    context,
    { username, clientId, account: codeCounter.account(server, subject), device },
    async () => ((await isRightCode(server, user, factor, code)) ? user : undefined),
    (details) => server.events.announce('second_factor.failed', info, { ...details, subject }),
  )
}

/** Characters; more cannot be a code. */
const maxCode = 64

/** The code that a form has, without spaces; undefined if it cannot be one. */
export const typedCode = (form: Parameters): string | undefined => {
  const code = (form.verbatim('code', sizes.pageForm) ?? '').replace(/\s/g, '')
  return code === '' || code.length > maxCode ? undefined : code
}
