import type { AuthorizationServer } from '../authorization-server.ts'
import { releasedClaims } from '../protocol/claims.ts'
import type { ClaimsRequest } from '../protocol/claims-request.ts'
import type { User } from '../users/users.ts'

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

/** The claims of a UserInfo response: those of the scopes, and those requested individually for it. */
export const userinfoClaims = (
  server: AuthorizationServer,
  user: User,
  scopes: readonly string[],
  claims: ClaimsRequest | undefined,
): Promise<Record<string, unknown>> =>
  userClaims(server, user, scopes, intersect(claims?.userinfo, claims?.beyondScopes))

/**
 * The user's claims of an ID token.
 *
 * @param all whether it has all claims of the scopes, or only those requested individually for it
 */
export const idTokenUserClaims = async (
  server: AuthorizationServer,
  user: User,
  { scopes, claims, all }: { scopes: readonly string[]; claims: ClaimsRequest | undefined; all: boolean },
): Promise<Record<string, unknown>> => {
  if (!all && !claims?.idToken.length) return {}
  const revealed = await userClaims(server, user, scopes, intersect(claims?.idToken, claims?.beyondScopes))
  if (all) return revealed
  return Object.fromEntries(Object.entries(revealed).filter(([name]) => claims?.idToken.includes(name)))
}

const intersect = (names: readonly string[] = [], allowed: readonly string[] = []): string[] =>
  names.filter((name) => allowed.includes(name))
