import { hashSecret, isEqual } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { User } from '../../users/users.ts'
import type { LoginPage, ProvenUser } from '../../web/endpoints/login-form.ts'
import type { PageContext } from '../../web/http/context.ts'
import { accountOf, deviceOf } from '../../web/sessions/device-cookie.ts'
import { limitedAttempt } from '../../web/sessions/login-attempt.ts'
import type { Notice } from '../../web/sessions/notice.ts'
import { type ChallengePurpose, consumeChallenge, openChallenge, userHandleOf } from './challenge.ts'
import type { PasskeyOption } from './option.ts'
import {
  type Passkey,
  type PasskeyFailure,
  type PasskeyResponse,
  parsePasskeyResponse,
  passkeyMethods,
} from './rules.ts'
import { findPasskey, usePasskey } from './table.ts'
import { verifyAssertion } from './verifier.ts'

interface Candidate {
  readonly response: PasskeyResponse
  readonly passkey: Passkey
  readonly user: User
}

const findCandidate = async (
  server: AuthorizationServer,
  response: PasskeyResponse | undefined,
  subject: string | undefined,
): Promise<Candidate | { failure: PasskeyFailure; passkey?: Passkey }> => {
  if (response === undefined) return { failure: 'malformed' }
  const passkey = await findPasskey(server.database, { hash: hashSecret(response.id) })
  if (passkey === undefined) return { failure: 'unknown' }
  const { userHandle = userHandleOf(server, passkey.subject) } = response.members
  const isExpected =
    (subject === undefined || passkey.subject === subject) &&
    isEqual(userHandle, userHandleOf(server, passkey.subject))
  const user = isExpected ? await server.users.find(passkey.subject) : undefined
  return user ? { response, passkey, user } : { failure: 'user', passkey }
}

/** Verifies one response and records its use. What may happen once is decided by the database. */
const verify = async (
  server: AuthorizationServer,
  { origin, rpId }: PasskeyOption,
  { response, passkey: { hash, publicKey } }: Candidate,
  purpose: ChallengePurpose,
): Promise<{ failure: PasskeyFailure } | { amr: readonly string[] }> => {
  const challenge = openChallenge(server, response.challenge, purpose)
  if (typeof challenge === 'string') return { failure: challenge }
  const expected = { challenge: challenge.value, origin, rpId }
  const used = await verifyAssertion(response, expected, publicKey)
  if (used === undefined) return { failure: 'invalid' }
  if (!(await consumeChallenge(server, challenge))) return { failure: 'replayed' }
  const { counter, isBackedUp, isSynced } = used
  const isUsed = await usePasskey(server.database, { hash, counter, isBackedUp, now: server.now() })
  return isUsed ? { amr: passkeyMethods(isSynced) } : { failure: 'counter' }
}

/**
 * Checks a passkey unless a limit is reached, and announces the outcome. Its failures are not counted with the wrong
 * passwords for the account, so that guesses of a password cannot lock out a passkey, which cannot be guessed.
 *
 * @param value what our script sent: JSON
 * @throws OAuthError `temporarily_unavailable` when it could not be checked; that does not count as a failure
 */
export const attemptPasskey = async (
  context: PageContext,
  option: PasskeyOption,
  { topic: page, browser, account, clientId }: LoginPage,
  value: string,
): Promise<ProvenUser | Notice> => {
  const { server, info } = context
  const response = parsePasskeyResponse(value)
  const found = await findCandidate(server, response, account?.subject)
  const id = `passkey ${hashSecret(response?.id ?? '')}`
  const username = 'user' in found ? found.user.username : undefined
  const device = username === undefined ? undefined : deviceOf(context, username)
  const names = { username: username ?? id, account: accountOf(server, id), device, clientId }
  let failure = 'failure' in found ? found.failure : undefined
  let amr: readonly string[] = []
  const result = await limitedAttempt(context, names, async () => {
    if ('failure' in found) return undefined
    const verified = await verify(server, option, found, { action: 'sign in', about: page, browser })
    if ('failure' in verified) failure = verified.failure
    else amr = verified.amr
    return 'failure' in verified ? undefined : found.user
  })
  const about = { ...(found.passkey && { subject: found.passkey.subject }), ...(clientId && { clientId }) }
  // The password is not locked with it.
  if (result.outcome === 'refused')
    return { kind: 'throttled', about: 'passkey', retryAt: server.now() + result.retryAfter }
  if (result.outcome === 'failed') {
    if (failure !== undefined) server.events.announce('passkey.failed', info, { reason: failure, ...about })
    return { kind: 'method', about: 'passkey' }
  }
  const { user } = result
  server.events.announce('passkey.used', info, { subject: user.subject, ...about })
  return { user, proof: { amr, acr: option.acr } }
}
