import type { SingleUseParameters } from '../../events/event.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import { timeOf } from '../../protocol/explanation.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { AuthorizationState } from '../../protocol/requests/authorization.ts'
import { chooseOrganization } from '../../protocol/requests/organization.ts'
import { type ProofRecord, usedProof } from '../../protocol/tokens/dpop-proof.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { type Condition, writeAll, writeIf } from '../../storage/database/transaction.ts'
import { createReplay, lockAsRead, lockLogin, revokeAuthorization } from '../../storage/repositories/index.ts'
import { belongsToOrganization, findOrganizations, type User } from '../../users/users.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { whenGranted } from '../clients/client-data.ts'
import { type IssuedAccessToken, storeAccessToken } from '../tokens/access-token.ts'
import { type AllowedAccess, type AskedAccess, allowedUser } from '../tokens/allowed.ts'

/**
 * Uses the DPoP proof of a request up. Call it once for each request, when only the write is left that could refuse it:
 * otherwise anyone who knows the id of a public client could have proofs stored.
 *
 * @throws OAuthError `invalid_dpop_proof` if it was used before (RFC 9449 §11.1)
 */
export const consumeProof = async (
  { database }: Pick<AuthorizationServer, 'database'>,
  { proof }: { readonly proof?: ProofRecord | undefined },
): Promise<void> => {
  if (proof !== undefined && !(await createReplay(database, proof))) throw usedProof()
}

/** Nothing is used up: the next request gets what the user has left. */
export const narrowedMeanwhile = (): OAuthError =>
  refusal('consent_busy', { headers: { 'Retry-After': '1' } })

/** The condition under which tokens of an authorization are stored, if users choose things: it was not narrowed since it was read. */
export const asRead = (
  { options }: Pick<AuthorizationServer, 'options'>,
  authorization: Pick<AuthorizationState, 'id' | 'narrowed'>,
): Condition<'narrowed'>[] => (options.choices.length > 0 ? [['narrowed', lockAsRead(authorization)]] : [])

export const removedClient = (): OAuthError => refusal('client_removed')

/**
 * Stores an access token for which its client gets no authorization of its own.
 *
 * @param of the authorization to which the token belongs, if to any
 * @returns false if that has ended meanwhile
 * @throws OAuthError `invalid_grant` if the client was removed meanwhile
 */
export const storeOwnToken = async (
  server: AuthorizationServer,
  client: Client,
  accessToken: IssuedAccessToken,
  of?: AuthorizationState,
): Promise<boolean> => {
  const now = server.now()
  const conditions: Condition<'ended' | 'gone'>[] = [
    ...(of && !of.offline ? [['ended', lockLogin({ sid: of.sid, now })] as const] : []),
    ...(of ? [['ended', lockAsRead(of)] as const] : []),
    ...whenGranted(server, client, { until: now + accessToken.expiresIn, now }),
  ]
  const writes = storeAccessToken(accessToken)
  if (conditions.length === 0) {
    await writeAll(server.database, writes)
    return true
  }
  const obstacle = await writeIf(server.database, conditions, writes)
  if (obstacle === 'gone') throw removedClient()
  return obstacle === undefined
}

/** @throws OAuthError `invalid_grant` if the user is gone or disabled */
export const existingUser = async (server: AuthorizationServer, subject: string): Promise<User> => {
  const user = await server.users.find(subject)
  if (user === undefined) throw refusal('user_inactive')
  return user
}

/**
 * The organization of tokens that a user gets without a page, as the authorization endpoint settles it: the named one, or
 * else the only one.
 *
 * @param named what the grant says, if anything
 * @returns what was named if the host has no organizations
 * @throws OAuthError `invalid_grant` if the user does not belong to it, or if it is not clear which one is meant
 */
export const settledOrganization = async (
  server: AuthorizationServer,
  user: User,
  named: string | undefined,
): Promise<string | undefined> => {
  const organizations = await findOrganizations(server.options.organizations, user)
  if (organizations === undefined) return named
  const request = { prompt: [], organization: named }
  const choice = chooseOrganization({ request, organizations })
  if (choice.outcome === 'settled') return choice.organization
  throw refusal(choice.outcome === 'open' ? 'organization_open' : 'user_foreign')
}

/**
 * The user of an authorization, as the host has them now, and as it allows them now. A user who left the organization, or who
 * may not use the client, is refused, but the tokens are not revoked: they work again if the host changes its mind.
 *
 * @param access what is about to be issued
 * @throws OAuthError `invalid_grant` if the user is gone, disabled, or no longer in the organization · as `allowedUser()`
 */
export const activeUser = async (
  server: AuthorizationServer,
  { subject, details }: Pick<AuthorizationState, 'subject' | 'details'>,
  { info }: Pick<TokenRequest, 'info'>,
  access: Pick<AskedAccess, 'client' | 'scopes' | 'step'>,
): Promise<AllowedAccess> => {
  const user = await existingUser(server, subject)
  if (!(await belongsToOrganization(server.options.organizations, user, details.organization))) {
    throw refusal('user_left')
  }
  const { organization, acr } = details
  return allowedUser(server, info, { ...access, user, organization, acr })
}

/**
 * Revokes every token of an authorization because its code or refresh token was used twice.
 *
 * @throws OAuthError `invalid_grant`, always
 */
export const revokeReplayed = async (
  server: AuthorizationServer,
  { id, clientId, subject, consumedAt }: AuthorizationState,
  { info }: TokenRequest,
  parameter: keyof SingleUseParameters,
): Promise<never> => {
  const reason = `${parameter}_replayed` as const
  await server.events.change(server.database, async (tx, tell) => {
    await revokeAuthorization(tx, { id, now: server.now() })
    await tell('authorization.revoked', info, { authorizationId: id, clientId, subject, reason })
  })
  const what = `${parameter} was ${parameter === 'refresh_token' ? 'used' : 'redeemed'} before`
  server.options.logger.warn(`latchkey: ${what}; all tokens of authorization ${id} are revoked`)
  const used =
    consumedAt === null ? 'one that another request has just used' : `one used ${timeOf(consumedAt)}`
  throw refusal(`${parameter}_used`, {
    explanation: { expected: 'a value that was not used', received: used },
  })
}
