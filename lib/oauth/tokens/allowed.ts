import type { Request } from 'express'
import type { AccessRequest, AccessStep } from '../../options/access.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isObject, setMembers } from '../../protocol/json.ts'
import { HostError } from '../../protocol/problem.ts'
import { refusal, temporarilyUnavailable } from '../../protocol/refusal.ts'
import type { HostAnswer, HostRefusal } from '../../protocol/requests/decide.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { isRuled, judgeAccess } from './access-rules.ts'

declare const allowed: unique symbol

/**
 * A user whom the host allows what is about to be issued. Only {@link decideAccess} makes one, and nothing is issued for a
 * user without it.
 */
export type AllowedUser = User & { readonly [allowed]: true }

/** The user and the client of what is about to be issued. */
export interface AskedAccess {
  readonly user: User
  readonly client: { readonly clientId: string; readonly metadata: ClientMetadata }
  readonly scopes: readonly string[]
  readonly organization: string | undefined
  readonly acr: string | undefined
  readonly step: AccessStep
  /** The request of the user's own browser, if it is one. */
  readonly req?: Request
}

/** The decision of the host. */
export type AccessDecision = HostAnswer<AllowedUser>

/** Characters of a reason that are kept. */
const longestReason = 500

/** A user whom everyone allows what is about to be issued, with the scopes that they may have. */
export interface AllowedAccess {
  readonly user: AllowedUser
  readonly scopes: readonly string[]
}

const allowing = ({ user, scopes }: AskedAccess): AccessDecision => ({
  outcome: 'allowed',
  user: user as AllowedUser,
  scopes,
})

const isListOfLevels = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((level) => typeof level === 'string')

/** The meaning of an answer for this login; undefined if the option does not allow this answer. */
const decisionOf = (answer: unknown, asked: AskedAccess): AccessDecision | undefined => {
  if (answer === true) return allowing(asked)
  if (answer === false) return { outcome: 'denied', reason: undefined }
  if (!isObject(answer)) return undefined
  const { deny, acr: levels } = answer
  if (typeof deny === 'string' && levels === undefined)
    return { outcome: 'denied', reason: deny.trim().slice(0, longestReason) || undefined }
  if (deny !== undefined || !isListOfLevels(levels)) return undefined
  return asked.acr !== undefined && levels.includes(asked.acr)
    ? allowing(asked)
    : { outcome: 'step-up', acrValues: levels }
}

/** A user is not refused because the host's function fails: the request can be made again. */
const unavailable = (error: unknown): OAuthError =>
  error instanceof OAuthError && error.status === 503 ? error : temporarilyUnavailable(error)

const ask = async (
  allow: (user: User['record'], asked: AccessRequest) => unknown,
  asked: AskedAccess,
): Promise<AccessDecision> => {
  const { user, client, scopes, organization, acr, step, req } = asked
  const about = { client_id: client.clientId, ...client.metadata }
  const request: AccessRequest = setMembers({ client: about, scopes, step, organization, acr, req })
  try {
    const decision = decisionOf(await callHost('access.allow', () => allow(user.record, request)), asked)
    if (decision) return decision
  } catch (error) {
    throw unavailable(error)
  }
  throw temporarilyUnavailable(
    new HostError("access.allow must return true, false, { deny: 'a reason' } or { acr: ['a level'] }"),
  )
}

/** The access as far as the rules of features leave it, or their refusal. */
const ruled = async (server: AuthorizationServer, asked: AskedAccess): Promise<AskedAccess | HostRefusal> => {
  const { user, scopes } = asked
  const answer = await judgeAccess(server, { ...asked, subject: user.subject })
  if (answer.outcome === 'denied') return { ...answer, reason: answer.reason }
  const isNothingLeft = scopes.length > 0 && answer.scopes.length === 0
  return isNothingLeft ? { outcome: 'denied', reason: undefined } : { ...asked, scopes: answer.scopes }
}

/**
 * Asks the rules of features, and then the host, whether a user may have what is about to be issued (`access.allow`). It is the
 * only source of an {@link AllowedUser}. Without rules and without the option every user is allowed everything.
 *
 * @param asked read right before: the answer is about this moment
 * @throws OAuthError `temporarily_unavailable` if the function fails, is late, or returns nothing that it may return
 * @example await decideAccess(server, { user, client, scopes, organization, acr, step: 'refresh' })
 */
export const decideAccess = async (
  server: AuthorizationServer,
  asked: AskedAccess,
): Promise<AccessDecision> => {
  const { access } = server.options
  const left = isRuled(server) ? await ruled(server, asked) : asked
  if ('outcome' in left) return left
  return access ? ask(access.allow, left) : allowing(left)
}

/** Announces that the host refused a user. */
export const announceDenied = (
  { events }: Pick<AuthorizationServer, 'events'>,
  info: RequestInfo | undefined,
  { user: { subject }, client, scopes, organization, step }: AskedAccess,
  refused: HostRefusal,
): void => {
  const reason =
    refused.outcome === 'denied' ? refused.reason : `the sign-in has none of: ${refused.acrValues.join(' ')}`
  events.announce('access.denied', info, {
    subject,
    clientId: client.clientId,
    step,
    scopes,
    organization,
    reason,
  })
}

/**
 * Like {@link decideAccess}, where no page can ask the user for anything. The user keeps everything: the client may try again later.
 *
 * @throws OAuthError `access_denied` if the user may not use the client · `interaction_required` if the user must sign in at
 *   a higher level first · as {@link decideAccess}
 */
export const allowedUser = async (
  server: AuthorizationServer,
  info: RequestInfo | undefined,
  asked: AskedAccess,
): Promise<AllowedAccess> => {
  const decision = await decideAccess(server, asked)
  if (decision.outcome === 'allowed') return decision
  announceDenied(server, info, asked, decision)
  if (decision.outcome === 'denied') throw refusal('user_not_allowed')
  const levels = decision.acrValues.join(' ')
  throw refusal('level_needed', { values: { levels } })
}
