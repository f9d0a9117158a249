import { createSecret, hashSecret, randomId } from '../../keys/secrets.ts'
import type { Choices } from '../../protocol/choices.ts'
import { absoluteLifetime, profileLifetime } from '../../protocol/clients/client.ts'
import type { AuthorizationDetails } from '../../protocol/requests/authorization.ts'
import type { ClaimsRequest } from '../../protocol/requests/claims-request.ts'
import { agreedTerms, type ConsentTerms, entriesOf } from '../../protocol/requests/consent.ts'
import { EndedRequestError } from '../../protocol/requests/ended-request.ts'
import { provenTime } from '../../protocol/requests/login.ts'
import type { AuthorizationContext, Decision } from '../../protocol/requests/next-step.ts'
import { isFrontChannel, returnsPart } from '../../protocol/requests/response-type.ts'
import { formatScope } from '../../protocol/scope.ts'
import { bearer, tokenType } from '../../protocol/tokens/token-binding.ts'
import type { Write } from '../../storage/database/statement.ts'
import { type Condition, writeIf } from '../../storage/database/transaction.ts'
import {
  consumePendingRequest,
  createAuthorization,
  createConsentReceipt,
  keepConsent,
  type LoginRecord,
  lockConsent,
  lockLogin,
  type NewAuthorization,
  noOrganization,
  saveConsent,
} from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { whenGranted } from '../clients/client-data.ts'
import { type IssuedAccessToken, issueAccessToken, storeAccessToken } from '../tokens/access-token.ts'
import type { AllowedUser } from '../tokens/allowed.ts'
import { issueIdToken } from '../tokens/id-token.ts'

/** An allowed request, ready to be issued: its scopes and claims, its client and its user. */
export interface ApprovedRequest {
  readonly context: AuthorizationContext
  readonly login: LoginRecord
  readonly user: AllowedUser
  readonly scopes: readonly string[]
  /** Claims requested individually, as far as they are allowed. */
  readonly claims?: ClaimsRequest
  /** Undefined if the host has no organizations. */
  readonly organization?: string
  /** The things that the user chose, by kind. */
  readonly choices?: Choices
  /** When it ends by the user's wish, in epoch seconds. */
  readonly until?: number
  /** Hash of the pending request's id; undefined if the user did not have to be asked. */
  readonly pendingId: string | undefined
  /** The code that the client has already; by default it gets a new one. */
  readonly polledCode?: PolledCode
}

/** A code that a client polls with. What is granted is redeemed by it. */
export interface PolledCode {
  readonly hash: string
  /** Epoch seconds. */
  readonly expiresAt: number
  /** Approves it, once and until it expires. */
  readonly approve: Write
}

/** A stored authorization, with the parameters of the response. */
export interface IssuedAuthorization {
  readonly authorizationId: string
  readonly parameters: Readonly<Record<string, string>>
}

/** Why nothing is issued. */
type Obstacle = 'used' | 'gone' | 'signed-out' | 'withdrawn'

/** `signed-out` if the login has just ended, `withdrawn` if the consent was just removed. */
export type AuthorizationOutcome = IssuedAuthorization | 'signed-out' | 'withdrawn'

/** Seconds that a code lives with a security profile (FAPI 2.0 Security Profile §5.3.2.1). */
const longestCode = 60

const newAuthorization = (
  server: AuthorizationServer,
  {
    context: { request, client },
    login,
    scopes,
    claims,
    organization,
    polledCode,
    choices,
    until,
  }: ApprovedRequest,
  code: string,
): NewAuthorization => {
  const { lifetimes } = server.options
  const now = server.now()
  const { redirectUri, codeChallenge, nonce, resources, authorizationDetails, binding } = request
  const { amr, acr } = login
  const details: AuthorizationDetails = {
    redirectUri,
    codeChallenge,
    nonce,
    claims,
    organization,
    resources,
    binding,
    authorizationDetails,
    authTime: provenTime(login),
    amr,
    acr,
  }
  const returnsCode = returnsPart(request.responseType, 'code')
  return {
    id: randomId(),
    clientId: client.clientId,
    subject: login.subject,
    sid: login.sid,
    scopes,
    offline: returnsCode && scopes.includes('offline_access'),
    codeHash: polledCode?.hash ?? hashSecret(code),
    // Without a code in the response, the code of the family is unknown and has expired.
    codeExpiresAt: Math.max(
      returnsCode ? now + profileLifetime(client.metadata, lifetimes.code, longestCode) : now,
      polledCode?.expiresAt ?? 0,
    ),
    now,
    expiresAt: Math.min(
      now + absoluteLifetime(client.metadata, lifetimes),
      until ?? Number.POSITIVE_INFINITY,
    ),
    details,
    ...(choices && { choices }),
  }
}

/** Tokens in the response itself, for the implicit and hybrid response types (OIDC Core §3.2.2.5, §3.3.2.5). */
const frontChannelTokens = async (
  server: AuthorizationServer,
  { context: { client, request }, user, scopes }: ApprovedRequest,
  authorization: NewAuthorization,
  code: string | undefined,
): Promise<{ accessToken?: IssuedAccessToken; parameters: Record<string, string> }> => {
  const resources = Object.keys(request.resources ?? {})
  const accessToken = returnsPart(request.responseType, 'token')
    ? await issueAccessToken(server, { client, user, scopes, authorization, resources, binding: bearer })
    : undefined
  const parameters: Record<string, string> = {}
  if (accessToken) {
    parameters.access_token = accessToken.value
    parameters.token_type = tokenType(accessToken.binding)
    parameters.expires_in = String(accessToken.expiresIn)
    if (scopes.length > 0) parameters.scope = formatScope(scopes)
  }
  if (returnsPart(request.responseType, 'id_token')) {
    const content = { client, user, authorization, scopes, nonce: request.nonce, code }
    parameters.id_token = await issueIdToken(server, { ...content, accessToken: accessToken?.value })
  }
  return { accessToken, parameters }
}

/** The answer on the consent page, if it was about this login and organization. */
const answerOf = ({ context: { decision }, login, organization }: ApprovedRequest): Decision | undefined =>
  decision?.sid === login.sid && decision.organization === organization ? decision : undefined

/** The writes that store a consent that the user has just given, if any, and the receipt of the page. */
const rememberConsent = (
  approved: ApprovedRequest,
  { id: authorizationId, subject, clientId, now }: NewAuthorization,
): Write[] => {
  const { context, organization = noOrganization } = approved
  const answer = answerOf(approved)
  if (answer === undefined) return []
  const { request, client, terms, narrowed = 0 } = context
  if (answer.organizationOnly) {
    // Nothing had to be allowed, but the chosen organization is remembered.
    return client.metadata.first_party ? [keepConsent({ subject, clientId, organization, now })] : []
  }
  const { receipt } = answer
  const entries = (receipt?.scopes ?? []).flatMap((line) =>
    entriesOf(line.name, request).map((name) => ({ ...line, name })),
  )
  const remembered = (receipt?.details ?? []).filter((detail) => detail.remembered)
  const details = remembered.map(({ name, meaning }) => ({ name, meaning, allowed: true }))
  const agreed = (earlier?: ConsentTerms): ConsentTerms =>
    agreedTerms(earlier, request.redirectUri, [...entries, ...details], approved, context.kinds)
  return [
    saveConsent({
      subject,
      clientId,
      organization,
      terms: agreed(),
      withOthers: agreed(terms),
      narrowed,
      now,
    }),
    ...(receipt
      ? [createConsentReceipt({ id: randomId(), subject, clientId, authorizationId, receipt, now })]
      : []),
  ]
}

/** The conditions of issuing: those that only lock a row come first, and the one that uses the request up last. */
const conditionsOf = (
  server: AuthorizationServer,
  approved: ApprovedRequest,
  { offline, sid, subject, clientId, now, expiresAt }: NewAuthorization,
): Condition<Obstacle>[] => {
  const { context, polledCode, login, pendingId, organization = noOrganization } = approved
  const { client, narrowed = 0 } = context
  const answer = answerOf(approved)
  const isConsentNew = answer !== undefined && !answer.organizationOnly
  const isConsentLocked = !isConsentNew && !client.metadata.first_party
  // Without `offline_access` the authorization ends with the login.
  const until = offline ? expiresAt : Math.min(expiresAt, login.expiresAt)
  const conditions: (Condition<Obstacle> | false)[] = [
    // Nothing is written under a login that has just ended.
    offline && ['signed-out', lockLogin({ sid, now })],
    ...whenGranted(server, client, { until, now }),
    isConsentLocked && ['withdrawn', lockConsent({ subject, clientId, organization, narrowed, now })],
    polledCode
      ? ['used', polledCode.approve]
      : pendingId !== undefined && ['used', consumePendingRequest({ id: pendingId, now })],
  ]
  return conditions.filter((condition) => condition !== false)
}

/**
 * Issues what the response type asks for: a code (RFC 6749 §4.1.2), and tokens if the host has enabled them. What a
 * client polls for is redeemed by the code that it has. Signatures come first. Then one act locks the consent or stores
 * it, consumes the pending request, and creates the authorization. If a condition does not hold, nothing is issued.
 *
 * @throws EndedRequestError if the request was answered meanwhile, or its client was removed
 */
export const issueAuthorizationResponse = async (
  server: AuthorizationServer,
  approved: ApprovedRequest,
): Promise<AuthorizationOutcome> => {
  const { responseType } = approved.context.request
  const code = createSecret('authorizationCode')
  const authorization = newAuthorization(server, approved, code)
  const shownCode = returnsPart(responseType, 'code') ? code : undefined
  const tokens = isFrontChannel(responseType)
    ? await frontChannelTokens(server, approved, authorization, shownCode)
    : { parameters: {} }
  const { accessToken } = tokens
  const { polledCode, pendingId } = approved
  const obstacle = await writeIf(server.database, conditionsOf(server, approved, authorization), [
    // Who approves the code answers the pending request too.
    ...(polledCode && pendingId !== undefined
      ? [consumePendingRequest({ id: pendingId, now: authorization.now })]
      : []),
    ...rememberConsent(approved, authorization),
    createAuthorization(authorization),
    ...(accessToken ? storeAccessToken(accessToken) : []),
  ])
  if (obstacle === 'gone') throw new EndedRequestError('unknown')
  if (obstacle === 'used') throw new EndedRequestError('used', approved.context.client)
  const parameters = { ...(shownCode === undefined ? {} : { code: shownCode }), ...tokens.parameters }
  return obstacle ?? { authorizationId: authorization.id, parameters }
}
