import { hash } from 'node:crypto'
import { signJwt } from '../../keys/jwt.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { SigningAlgorithm } from '../../protocol/clients/client-metadata.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { AuthorizationState } from '../../protocol/requests/authorization.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { AllowedUser } from './allowed.ts'
import { notTooLong } from './longest-token.ts'
import { idTokenUserClaims, sidFor, subjectFor } from './user-claims.ts'

/** OIDC Core §3.1.3.6: the left half of the hash of the signature algorithm; Ed25519 uses SHA-512. */
const leftHalfHash = (value: string, algorithm: SigningAlgorithm): string => {
  const digest = hash(algorithm === 'EdDSA' ? 'sha512' : 'sha256', value, 'buffer')
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

export interface IdTokenContent {
  readonly client: Client
  readonly user: AllowedUser
  readonly authorization: Pick<AuthorizationState, 'sid' | 'details'>
  /** The scopes of this response; a refresh may have narrowed them. */
  readonly scopes: readonly string[]
  /** The access token of the same response, if any. */
  readonly accessToken?: string
  /** The code of the same response, with a hybrid response type. */
  readonly code?: string
  /** Only in the first ID token of an authorization (OIDC Core §12.2). */
  readonly nonce?: string
}

/** The claims of an ID token (OIDC Core §2, §3.1.3.6, Back-Channel Logout §2.1). */
const idTokenClaims = async (
  server: AuthorizationServer,
  content: IdTokenContent,
): Promise<Record<string, unknown>> => {
  const { client, user, authorization, scopes, accessToken, nonce, code } = content
  const { authTime, amr, acr, claims, organization } = authorization.details
  const now = server.now()
  const algorithm = client.metadata.id_token_signed_response_alg
  // Without an access token the client cannot call UserInfo (OIDC Core §5.4).
  const showsClaims =
    client.metadata.id_token_scope_claims || (accessToken === undefined && code === undefined)
  return {
    ...(await idTokenUserClaims(server, user, { client, scopes, organization, claims, all: showsClaims })),
    iss: server.issuer,
    sub: subjectFor(server, client, user.subject),
    aud: client.clientId,
    exp: now + (client.metadata.id_token_lifetime ?? server.options.lifetimes.idToken),
    iat: now,
    // The clock of the host may be ahead: clients refuse a login that is later than the token.
    auth_time: Math.min(authTime, now),
    nonce,
    amr,
    acr,
    sid: sidFor(server, client, authorization.sid),
    org_id: organization,
    at_hash: accessToken && leftHalfHash(accessToken, algorithm),
    c_hash: code && leftHalfHash(code, algorithm),
  }
}

/** Issues an ID token, signed with the algorithm that the client registered. */
export const issueIdToken = async (server: AuthorizationServer, content: IdTokenContent): Promise<string> => {
  const key = server.keys.signingKey(content.client.metadata.id_token_signed_response_alg)
  return notTooLong(server, 'an ID token', await signJwt(key, await idTokenClaims(server, content)))
}

/** The subject, the client and the login of an ID token that this server issued. */
export interface IdTokenHint {
  readonly subject: string
  readonly clientId: string
  /** Of the login, as this client sees it. */
  readonly sid: string | undefined
}

/**
 * Reads the ID token that a client sends back as a hint, if it does. It may be expired, but must be valid in every other respect
 * (OIDC Core §3.1.2.1, RP-Initiated Logout §2).
 *
 * @throws OAuthError `invalid_request` if it is not an ID token of this issuer
 */
export const readIdTokenHint = async (
  server: AuthorizationServer,
  parameters: Parameters,
): Promise<IdTokenHint | undefined> => {
  const hint = parameters.optional('id_token_hint')
  if (hint === undefined) return undefined
  const claims = await server.keys.open(hint, 'JWT')
  const { iss, sub, aud, exp, sid } = claims ?? {}
  // A signed UserInfo response has the same type, but no `exp` (OIDC Core §5.3.2).
  const isIdToken = iss === server.issuer && typeof exp === 'number'
  if (!isIdToken || typeof sub !== 'string' || typeof aud !== 'string') {
    throw refusal('hint_invalid')
  }
  return { subject: sub, clientId: aud, sid: typeof sid === 'string' ? sid : undefined }
}
