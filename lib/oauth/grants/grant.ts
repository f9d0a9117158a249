import type { SingleUseParameters } from '../../events/event.ts'
import type { Options } from '../../options/options.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { GrantType } from '../../protocol/clients/client-metadata.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { timeOf } from '../../protocol/explanation.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { Authorization } from '../../protocol/requests/authorization.ts'
import {
  type AuthorizationDetail,
  narrowedDetails,
  parseAuthorizationDetails,
} from '../../protocol/requests/authorization-details.ts'
import { chooseOrganization } from '../../protocol/requests/organization.ts'
import { parseResources, tokenResources, tokenScopes } from '../../protocol/requests/resource.ts'
import { type ProofRecord, usedProof } from '../../protocol/tokens/dpop-proof.ts'
import type { RefreshToken } from '../../protocol/tokens/refresh-token.ts'
import type { TokenContext } from '../../protocol/tokens/token-context.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import { type Condition, writeAll, writeIf } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'
import {
  type ClientLookup,
  createReplay,
  lockAuthorization,
  lockLogin,
  revokeAuthorization,
} from '../../storage/repositories/index.ts'
import { belongsToOrganization, findOrganizations, type User } from '../../users/users.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { whenGranted } from '../clients/register.ts'
import { type IssuedAccessToken, storeAccessToken } from '../tokens/access-token.ts'
import { type AllowedUser, type AskedAccess, allowedUser } from '../tokens/allowed.ts'

/** The stored rows of what a token request presents; undefined for an unknown value. */
export interface Presented {
  readonly authorization?: Authorization | undefined
  readonly refreshToken?: RefreshToken | undefined
}

/** A grant that the token endpoint exchanges for tokens (RFC 6749 §1.3), by its registered name. */
export interface Grant {
  readonly grantType: GrantType
  /** Whether the host has turned it on; absent for a grant that is always on. */
  isOn?(options: Options): boolean
  /** Whether it reads `authorization_details` (RFC 9396 §6); all other grants refuse the parameter. */
  readonly readsDetails?: true
  /** Whether a client may come here before any page, so that one that describes itself elsewhere may be new. */
  readonly introducesClient?: true
  /** Reads the client together with what the request presents; undefined if it presents nothing that can be stored. */
  findPresented?(
    database: Database,
    parameters: Parameters,
    lookup: ClientLookup,
  ): Promise<(Presented & { readonly client: Client }) | undefined> | undefined
  /**
   * @param presented as it was read with the client; only a conditional write uses it up
   * @throws OAuthError if the grant is refused
   */
  exchange(
    server: AuthorizationServer,
    client: Client,
    request: TokenRequest,
    presented: Presented,
  ): Promise<TokenResponse>
}

/** The scopes and resources of an access token. */
export interface TokenTarget {
  readonly scopes: readonly string[]
  /** Identifiers; empty for no resource. */
  readonly resources: readonly string[]
  /** Contents of the token beyond its authorization, if the request names a part of the details. */
  readonly context?: TokenContext
}

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

export const removedClient = (): OAuthError =>
  new OAuthError('invalid_grant', 'the client was removed meanwhile')

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
  of?: Authorization,
): Promise<boolean> => {
  const now = server.now()
  const conditions: Condition<'ended' | 'gone'>[] = [
    ...(of && !of.offline ? [['ended', lockLogin({ sid: of.sid, now })] as const] : []),
    ...(of ? [['ended', lockAuthorization({ id: of.id })] as const] : []),
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

/** The resources that a token request names (RFC 8707 §2.2). A host without resources ignores the parameter. */
export const requestedResources = (
  server: AuthorizationServer,
  { parameters }: Pick<TokenRequest, 'parameters'>,
): string[] => {
  const hostResources = server.resources
  return hostResources.length > 0 ? parseResources(parameters.all('resource'), hostResources) : []
}

/**
 * The authorization details that a token request names (RFC 9396 §6). A host without types ignores the parameter.
 *
 * @throws OAuthError `invalid_authorization_details` for an object that was not granted
 */
const requestedPart = (
  server: AuthorizationServer,
  request: Pick<TokenRequest, 'parameters'>,
  { authorizationDetails: granted = [] }: Pick<Authorization['details'], 'authorizationDetails'>,
): { context?: TokenContext } => {
  const part = partOf(server, request, granted)
  return part === undefined ? {} : { context: { authorization_details: part } }
}

/**
 * The objects among those that were granted that a token request names; undefined if it names none.
 *
 * @throws OAuthError `invalid_authorization_details` for an object that was not granted
 */
export const partOf = (
  { options }: AuthorizationServer,
  { parameters }: Pick<TokenRequest, 'parameters'>,
  granted: readonly AuthorizationDetail[],
): readonly AuthorizationDetail[] | undefined => {
  const isOn = Object.keys(options.features.authorizationDetails).length > 0
  const json = isOn ? parameters.optional('authorization_details') : undefined
  return json === undefined ? undefined : narrowedDetails(parseAuthorizationDetails(json), granted)
}

/**
 * The target of an access token for an authorization: the resources that the request names, or all of the authorization,
 * and the scopes that these know.
 *
 * @param scopes of the authorization, or those among them that the request names
 * @throws OAuthError `invalid_target` for a resource that was not granted, `invalid_scope` if no scope is left,
 *   `invalid_authorization_details` for details that were not granted
 */
export const targetOf = (
  server: AuthorizationServer,
  request: Pick<TokenRequest, 'parameters'>,
  { details }: Pick<Authorization, 'details'>,
  scopes: readonly string[],
): TokenTarget => {
  const hostResources = server.resources
  const resources = tokenResources(requestedResources(server, request), details.resources, hostResources)
  const part = requestedPart(server, request, details)
  if (resources.length === 0) return { scopes, resources, ...part }
  const left = tokenScopes(scopes, resources, details.resources, hostResources)
  if (left.length === 0 && request.parameters.has('scope')) {
    throw new OAuthError('invalid_scope', 'scope includes no scope of the requested resource')
  }
  return { scopes: left, resources, ...part }
}

/** @throws OAuthError `invalid_grant` if the user is gone or disabled */
export const existingUser = async (server: AuthorizationServer, subject: string): Promise<User> => {
  const user = await server.users.find(subject)
  if (user === undefined) throw new OAuthError('invalid_grant', 'the user is disabled or no longer exists')
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
  const request = { prompt: [], ...(named !== undefined && { organization: named }) }
  const choice = chooseOrganization({ request, organizations })
  if (choice.outcome === 'settled') return choice.organization
  throw new OAuthError(
    'invalid_grant',
    choice.outcome === 'open'
      ? 'the user belongs to several organizations, and the grant names none of them'
      : 'the user does not belong to the organization',
  )
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
  { subject, details }: Pick<Authorization, 'subject' | 'details'>,
  { info }: Pick<TokenRequest, 'info'>,
  access: Pick<AskedAccess, 'client' | 'scopes' | 'step'>,
): Promise<AllowedUser> => {
  const user = await existingUser(server, subject)
  if (!(await belongsToOrganization(server.options.organizations, user, details.organization))) {
    throw new OAuthError('invalid_grant', 'the user no longer belongs to the organization')
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
  { id, clientId, subject, consumedAt }: Authorization,
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
  throw new OAuthError('invalid_grant', `${what}; every token issued for it is revoked`, {
    explanation: { expected: 'a value that was not used', received: used },
  })
}
