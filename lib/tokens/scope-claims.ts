import type { AuthorizationServer } from '../authorization-server.ts'
import type { Options } from '../options/resolve.ts'
import { releasedClaims, standardScopeClaims } from '../protocol/claims.ts'
import type { ClaimsRequest } from '../protocol/claims-request.ts'
import type { User } from '../users/users.ts'

type ScopeClaims = Readonly<Record<string, readonly string[]>>

/** Computed once for each router. */
const known = new WeakMap<object, ScopeClaims>()

/** Claims by scope: the standard ones and the host's own. */
export const scopeClaims = ({ options: { scopes } }: AuthorizationServer): ScopeClaims => {
  const all = known.get(scopes) ?? withStandardClaims(scopes)
  known.set(scopes, all)
  return all
}

const withStandardClaims = (scopes: Options['scopes']): ScopeClaims => {
  const own = Object.entries(scopes).filter(([, { claims }]) => claims !== undefined)
  return {
    ...standardScopeClaims,
    ...Object.fromEntries(own.map(([name, { claims = [] }]) => [name, claims])),
  }
}

/**
 * What these scopes reveal of a user, with the types that OIDC Core §5.1 asks for.
 *
 * @param further claims beyond the scopes that the user allowed one by one
 */
export const userClaims = async (
  server: AuthorizationServer,
  user: User,
  scopes: readonly string[],
  further: readonly string[] = [],
): Promise<Record<string, unknown>> =>
  releasedClaims(await server.users.claims(user, scopes), scopes, scopeClaims(server), further)

/** What UserInfo tells: what the scopes reveal, and what was asked for there one by one. */
export const userinfoClaims = (
  server: AuthorizationServer,
  user: User,
  scopes: readonly string[],
  claims: ClaimsRequest | undefined,
): Promise<Record<string, unknown>> =>
  userClaims(server, user, scopes, intersect(claims?.userinfo, claims?.beyondScopes))

/**
 * What an ID token tells of a user.
 *
 * @param all whether everything that the scopes reveal stands in it, or only what was asked for there one by one
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
