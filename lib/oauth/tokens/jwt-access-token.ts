import { signJwt } from '../../keys/jwt.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import { randomId } from '../../keys/secrets.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import { lateExplanation } from '../../protocol/explanation.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { AuthorizationDetails } from '../../protocol/requests/authorization.ts'
import { formatScope } from '../../protocol/scope.ts'
import type { SigningAlgorithm } from '../../protocol/signing-algorithms.ts'
import {
  accessTokenType,
  isJwtAccessToken,
  type JwtAccessToken,
  parseJwtAccessToken,
} from '../../protocol/tokens/jwt-access-token.ts'
import { confirmationClaim } from '../../protocol/tokens/token-binding.ts'
import { findStateOfToken } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { AccessTokenFormat } from './access-token-format.ts'
import { notTooLong } from './longest-token.ts'
import { subjectFor, tokenClaims } from './user-claims.ts'

/** RS256, which every resource server supports (RFC 9068 §2.1), unless the client has a profile that forbids it. */
const algorithmFor = ({ metadata }: Client): SigningAlgorithm =>
  metadata.security_profile ? 'PS256' : 'RS256'

/** Claims about the login (RFC 9068 §2.2.1), and the user's organization. */
const loginClaims = (
  { authTime, amr, acr, organization }: AuthorizationDetails,
  now: number,
): Record<string, unknown> => ({
  // The clock of the host may be ahead.
  auth_time: Math.min(authTime, now),
  amr,
  acr,
  org_id: organization,
})

/** The claims of a JWT of the type of access tokens that a published key of this server signed. */
const open = ({ keys }: AuthorizationServer, value: string): ReturnType<KeyRing['open']> =>
  value.includes('.') ? keys.open(value, accessTokenType, { onlyPublished: true }) : undefined

/** The error for a JWT that is not valid. @param claims undefined if its signature is not right */
const refusedJwt = (claims: Readonly<Record<string, unknown>> | undefined, now: number): OAuthError => {
  const { exp, client_id: clientId } = claims ?? {}
  if (typeof exp !== 'number' || typeof clientId !== 'string' || exp > now) return refusal('token_unknown')
  return refusal('token_expired', { clientId, explanation: lateExplanation(exp, now) })
}

/**
 * Verifies a JWT access token by its signature alone, without a statement. Whether its authorization still stands is not
 * known; {@link jwtAccessToken} reads that.
 *
 * @returns its claims
 * @throws OAuthError `invalid_token` unless it is an access token of this issuer that has not expired
 */
export const verifyJwtAccessToken = async (
  server: AuthorizationServer,
  value: string,
): Promise<Readonly<Record<string, unknown>>> => {
  const claims = await open(server, value)
  const now = server.now()
  if (claims && isJwtAccessToken(claims, server.issuer, now)) return claims
  throw refusedJwt(claims, now)
}

/** Reads a JWT access token of this server, without a statement. @returns undefined if it is no valid one */
export const readJwtAccessToken = async (
  server: AuthorizationServer,
  value: string,
): Promise<JwtAccessToken | undefined> => {
  const claims = await open(server, value)
  return claims && parseJwtAccessToken(claims, server.issuer, server.now())
}

/** A signed JWT (RFC 9068). It is not stored: a claim names its authorization, whose state introspection reads. */
export const jwtAccessToken: AccessTokenFormat = {
  async issue(server, draft, { now, expiresAt, authorizationDetails }) {
    const { client, authorization, scopes, resources, binding, context, ownerId } = draft
    const { clientId } = client
    const owner = authorization ? undefined : client.metadata.owned_by
    const [audience, ...more] = resources
    const holder = { client, user: draft.user, scopes, resources }
    const claims = {
      ...(await tokenClaims(
        server,
        { ...holder, organization: authorization?.details.organization ?? owner?.id },
        'access_token',
      )),
      iss: server.issuer,
      // A token that a client requested for itself has neither auth_time nor authorization_id (RFC 9068 §5).
      sub: authorization ? subjectFor(server, client, authorization.subject) : clientId,
      aud: more.length > 0 ? resources : audience,
      client_id: clientId,
      iat: now,
      exp: expiresAt,
      jti: randomId(),
      scope: formatScope(scopes) || undefined,
      ...confirmationClaim(binding),
      act: context?.act,
      authorization_details: authorizationDetails.length > 0 ? authorizationDetails : undefined,
      authorization_client: ownerId,
      org_id: owner?.id,
      org_generation: context?.generation,
      ...(authorization && {
        authorization_id: authorization.id,
        ...loginClaims(authorization.details, now),
      }),
    }
    const value = await signJwt(server.keys.signingKey(algorithmFor(client)), claims, accessTokenType)
    notTooLong(server, 'a JWT access token', value)
    return { value, binding, expiresIn: expiresAt - now, authorizationDetails }
  },

  async verify(server, value) {
    const token = await readJwtAccessToken(server, value)
    if (token === undefined) return undefined
    const { clientId, authorizationId = null, ownerId = clientId } = token
    const state = await findStateOfToken(server.database, { clientId, authorizationId, ownerId })
    // An authorization that was removed has ended.
    if (state === undefined || (authorizationId !== null && state.family === undefined)) return undefined
    return { ...token, ...state, ownerId, revokedAt: null }
  },
}
