import type { AuthorizationServer } from '../authorization-server.ts'
import type { Context } from '../http/context.ts'
import { authenticationCode } from '../keys/secrets.ts'
import type { SecondFactor } from '../options/options.ts'
import { createReplay } from '../repositories/index.ts'
import { callHost } from '../users/host-function.ts'
import type { User } from '../users/users.ts'

const isSecondFactor = (factor: unknown): factor is SecondFactor =>
  typeof factor === 'object' &&
  factor !== null &&
  'kind' in factor &&
  factor.kind === 'code' &&
  'verify' in factor &&
  typeof factor.verify === 'function'

/**
 * The second factor that this user needs, by the option `login.secondFactor`. Anything that is neither nothing nor a second
 * factor is an error, so that a mistake does not sign a user in.
 *
 * @param acrValues the levels that the request asks for; empty if it asks for none
 * @returns undefined if the password is enough
 */
export const findSecondFactor = async (
  { server, req }: Context,
  { record }: User,
  acrValues: readonly string[],
): Promise<SecondFactor | undefined> => {
  const { login, acrValues: declared } = server.options
  if (login.secondFactor === undefined) return undefined
  const call = (): unknown => login.secondFactor?.(record, req, { acrValues })
  const factor = (await callHost('login.secondFactor', call)) || undefined
  if (factor === undefined) return undefined
  if (!isSecondFactor(factor)) {
    throw new TypeError("latchkey: login.secondFactor must return nothing, or { kind: 'code', verify }")
  }
  if (factor.acr !== undefined && !declared.includes(factor.acr)) {
    throw new TypeError('latchkey: login.secondFactor must return an acr that the option acrValues contains')
  }
  return factor
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
export const isRightCode = async (
  server: AuthorizationServer,
  { subject }: Pick<User, 'subject'>,
  factor: SecondFactor,
  code: string,
): Promise<boolean> => {
  const isRight: unknown = await callHost('verify of login.secondFactor', () => factor.verify(code))
  // An object such as { valid: false } must not sign a user in.
  if (isRight && isRight !== true) {
    throw new TypeError('latchkey: verify of login.secondFactor must return true or false')
  }
  return isRight === true && isFirstUse(server, subject, code)
}
