import type { AuthorizationServer } from '../authorization-server.ts'
import type { Context } from '../http/context.ts'
import { hashSecret, isEqual } from '../keys/secrets.ts'
import {
  type Passkey,
  type PasskeyFailure,
  type PasskeyResponse,
  parsePasskeyResponse,
  passkeyMethods,
} from '../protocol/passkey.ts'
import { findPasskey, usePasskey } from '../repositories/index.ts'
import type { LoginOutcome } from '../throttle/login-throttle.ts'
import type { User } from '../users/users.ts'
import { deviceOf } from './device-cookie.ts'
import { limitedAttempt } from './login-attempt.ts'
import { type ChallengePurpose, consumeChallenge, openChallenge, userHandleOf } from './passkey-challenge.ts'

/** A sign-in with a passkey. */
export interface PasskeyAttempt {
  /** What our script sent: JSON. */
  readonly response: string
  readonly purpose: ChallengePurpose
  /** The only user who may sign in, if the account is fixed. */
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
}

/** The user of a passkey and how they authenticated (RFC 8176). */
export type PasskeyOutcome = LoginOutcome<User> & { readonly amr: readonly string[] }

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
  { response, passkey: { hash, publicKey } }: Candidate,
  purpose: ChallengePurpose,
): Promise<{ failure: PasskeyFailure } | { amr: readonly string[] }> => {
  const { database, options, passkeys } = server
  if (passkeys === undefined || options.passkeys === undefined) return { failure: 'unknown' }
  const challenge = openChallenge(server, response.challenge, purpose)
  if (typeof challenge === 'string') return { failure: challenge }
  const { origin, rpId } = options.passkeys
  const expected = { challenge: challenge.value, origin, rpId }
  const used = await passkeys.verifyAssertion(response, expected, publicKey)
  if (used === undefined) return { failure: 'invalid' }
  if (!(await consumeChallenge(server, challenge))) return { failure: 'replayed' }
  const { counter, isBackedUp, isSynced } = used
  const isUsed = await usePasskey(database, { hash, counter, isBackedUp, now: server.now() })
  return isUsed ? { amr: passkeyMethods(isSynced) } : { failure: 'counter' }
}

/**
 * Checks a passkey as far as the limits allow, and announces the outcome. Its failures are not counted with the wrong
 * passwords for the account, so that guesses of a password cannot lock out a passkey, which cannot be guessed.
 *
 * @throws OAuthError `temporarily_unavailable` when it could not be checked; that does not count as a failure
 */
export const attemptPasskey = async (
  context: Context,
  { response: text, purpose, subject, clientId }: PasskeyAttempt,
): Promise<PasskeyOutcome> => {
  const { server, info } = context
  const response = parsePasskeyResponse(text)
  const found = await findCandidate(server, response, subject)
  const id = `passkey ${hashSecret(response?.id ?? '')}`
  const username = 'user' in found ? found.user.username : undefined
  const device = username === undefined ? undefined : deviceOf(context, username)
  const names = { username: username ?? id, countedAs: id, device, clientId }
  let failure = 'failure' in found ? found.failure : undefined
  let amr: readonly string[] = []
  const result = await limitedAttempt(context, names, async () => {
    if ('failure' in found) return undefined
    const verified = await verify(server, found, purpose)
    if ('failure' in verified) failure = verified.failure
    else amr = verified.amr
    return 'failure' in verified ? undefined : found.user
  })
  const about = { ...(found.passkey && { subject: found.passkey.subject }), ...(clientId && { clientId }) }
  if (result.outcome === 'succeeded') {
    server.events.announce('passkey.used', info, { subject: result.user.subject, ...about })
  } else if (result.outcome === 'failed' && failure !== undefined) {
    server.events.announce('passkey.failed', info, { reason: failure, ...about })
  }
  return { ...result, amr }
}
