import type { AuthorizationServer } from '../authorization-server.ts'
import { pairwiseSid, pairwiseSubject } from '../keys/secrets.ts'
import { claimNames, releasedClaims } from '../protocol/claims.ts'
import { allowedScopes, type Client, sectorOf } from '../protocol/clients/client.ts'
import { type ClaimsRequest, matchingClaims } from '../protocol/requests/claims-request.ts'
import type { User } from '../users/users.ts'

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

/**
 * The claims of a user that these scopes reveal, with the types of OIDC Core §5.1.
 *
 * @param further claims beyond the scopes that the user allowed individually
 */
export const userClaims = async (
  server: AuthorizationServer,
  user: User,
  scopes: readonly string[],
  further: readonly string[] = [],
): Promise<Record<string, unknown>> =>
  releasedClaims(await server.users.claims(user, scopes), scopes, server.scopeClaims, further)

/** Which claims of a user a client gets. */
export interface ClaimsGrant {
  readonly client: Pick<Client, 'metadata'>
  readonly scopes: readonly string[]
  /** The claims that were requested individually, and allowed. */
  readonly claims: ClaimsRequest | undefined
}

/** The claims requested individually for one place that the user allowed and that a scope of the client still reveals. */
const individualClaims = (
  { scopeClaims }: AuthorizationServer,
  { client, claims }: ClaimsGrant,
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
  grant: ClaimsGrant,
): Promise<Record<string, unknown>> => {
  const revealed = await userClaims(server, user, grant.scopes, individualClaims(server, grant, 'userinfo'))
  const values = grant.claims?.values?.userinfo
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
  { all, ...grant }: ClaimsGrant & { all: boolean },
): Promise<Record<string, unknown>> => {
  const { claims, scopes } = grant
  if (!all && !claims?.idToken.length) return {}
  const known = await userClaims(server, user, scopes, individualClaims(server, grant, 'idToken'))
  const values = claims?.values?.idToken
  const revealed = values ? matchingClaims(known, values) : known
  if (all) return revealed
  return Object.fromEntries(Object.entries(revealed).filter(([name]) => claims?.idToken.includes(name)))
}
