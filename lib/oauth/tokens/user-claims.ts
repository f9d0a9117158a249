import { pairwiseSid, pairwiseSubject } from '../../keys/secrets.ts'
import type { ClaimsAsked, ClaimTarget } from '../../options/users.ts'
import { claimNames, jsonOfClaim, protocolClaims, releasedClaims } from '../../protocol/claims.ts'
import { allowedScopes, type Client, sectorOf } from '../../protocol/clients/client.ts'
import { isObject, setMembers } from '../../protocol/json.ts'
import { HostError } from '../../protocol/problem.ts'
import { type ClaimsRequest, matchingClaims } from '../../protocol/requests/claims-request.ts'
import { isStandardScope } from '../../protocol/scope.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'
import type { AuthorizationServer } from '../authorization-server.ts'

/**
 * The subject identifier of a user for a client (OIDC Core §8): the user's id, or for a client with pairwise subjects
 * a value that clients of other sectors cannot correlate.
 */
export const subjectFor = (
  server: AuthorizationServer,
  client: Pick<Client, 'clientId' | 'metadata'>,
  subject: string,
): string => {
  if (client.metadata.subject_type !== 'pairwise') return subject
  return pairwiseSubject(server.pairwiseSalt, sectorOf(client), subject)
}

/** The `sid` of a login in the ID tokens and logout tokens of a client (Back-Channel Logout §2.1, §2.4). */
export const sidFor = (
  server: AuthorizationServer,
  { clientId }: Pick<Client, 'clientId'>,
  sid: string,
): string => pairwiseSid(server.pairwiseSalt, clientId, sid)

/** A user, and the client and scopes by which claims of the user are released. */
export interface ClaimsHolder {
  readonly client: Pick<Client, 'clientId' | 'metadata'>
  readonly scopes: readonly string[]
  /** Undefined if the host has no organizations. */
  readonly organization: string | undefined
}

const askedOf = (holder: ClaimsHolder, target: ClaimTarget): ClaimsAsked => {
  const { client, scopes, organization } = holder
  return setMembers({
    client: { client_id: client.clientId, ...client.metadata },
    scopes,
    organization,
    for: target,
  })
}

/**
 * The claims of a user that the scopes of a client reveal in one place, with the types of OIDC Core §5.1.
 *
 * @param further claims beyond the scopes that the user allowed individually
 */
export const userClaims = async (
  server: AuthorizationServer,
  user: User,
  holder: ClaimsHolder,
  target: ClaimTarget,
  further: readonly string[] = [],
): Promise<Record<string, unknown>> => {
  const { scopes } = holder
  const given = await server.users.claims(user, askedOf(holder, target))
  return releasedClaims(given, scopes, server.scopeClaims, further)
}

/** An access token whose claims are wanted. */
export interface TokenClaimsHolder extends ClaimsHolder {
  /** Undefined if the client acts for itself. */
  readonly user: User | undefined
  readonly resources: readonly string[]
}

/**
 * The claims of the host in an access token, and at its introspection: those of the user that the scopes of its API reveal,
 * and those that its resources add. Names that this server uses itself are left out.
 */
export const tokenClaims = async (
  server: AuthorizationServer,
  holder: TokenClaimsHolder,
  target: 'access_token' | 'introspection',
): Promise<Record<string, unknown>> => {
  const { user, resources } = holder
  // `profile` and `email` reveal claims to the client, which asks UserInfo for them.
  const scopes = holder.scopes.filter((scope) => !isStandardScope(scope))
  // Most tokens of APIs reveal nothing of their user.
  const reveals = user !== undefined && claimNames(scopes, server.scopeClaims).length > 0
  const given = reveals ? await server.users.claims(user, askedOf(holder, target)) : {}
  const found = releasedClaims(given, scopes, server.scopeClaims)
  for (const resource of resources) {
    const claims = server.options.resources[resource]?.claims
    if (claims === undefined) continue
    const request = { ...askedOf(holder, target), resources }
    const added: unknown = await callHost('resources.claims', () => claims(user?.record, request))
    if (!isObject(added)) throw new HostError(`claims of resources['${resource}'] must return an object`)
    for (const [name, value] of Object.entries(added)) found[name] = jsonOfClaim(name, value)
  }
  return Object.fromEntries(Object.entries(found).filter(([name]) => !isOwnClaim(name)))
}

/** Whether a resource may not add a claim of this name: introspection has a `username` of its own (RFC 7662 §2.2). */
const isOwnClaim = (name: string): boolean => protocolClaims.has(name) || name === 'username'

/** The claims of a user that a client gets. */
export interface ClaimsContext extends ClaimsHolder {
  /** The claims that were requested individually, and allowed. */
  readonly claims: ClaimsRequest | undefined
}

/** The claims requested individually for one place that the user allowed and that a scope of the client still reveals. */
const individualClaims = (
  { scopeClaims }: AuthorizationServer,
  { client, claims }: ClaimsContext,
  place: 'userinfo' | 'idToken',
): string[] => {
  if (claims === undefined || claims.beyondScopes.length === 0) return []
  const known = claimNames(allowedScopes(client), scopeClaims)
  return claims[place].filter((name) => claims.beyondScopes.includes(name) && known.includes(name))
}

/** The claims of a UserInfo response: those of the scopes, and those requested individually for it. */
export const userinfoClaims = async (
  server: AuthorizationServer,
  user: User,
  context: ClaimsContext,
): Promise<Record<string, unknown>> => {
  const revealed = await userClaims(
    server,
    user,
    context,
    'userinfo',
    individualClaims(server, context, 'userinfo'),
  )
  const values = context.claims?.values?.userinfo
  return values ? matchingClaims(revealed, values) : revealed
}

/**
 * The user's claims of an ID token.
 *
 * @param all whether it has all claims of the scopes, or only those requested individually for it
 */
export const idTokenUserClaims = async (
  server: AuthorizationServer,
  user: User,
  { all, ...context }: ClaimsContext & { all: boolean },
): Promise<Record<string, unknown>> => {
  const { claims } = context
  if (!all && !claims?.idToken.length) return {}
  const known = await userClaims(
    server,
    user,
    context,
    'id_token',
    individualClaims(server, context, 'idToken'),
  )
  const values = claims?.values?.idToken
  const revealed = values ? matchingClaims(known, values) : known
  if (all) return revealed
  return Object.fromEntries(Object.entries(revealed).filter(([name]) => claims?.idToken.includes(name)))
}
