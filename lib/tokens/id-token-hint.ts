import type { AuthorizationServer } from '../authorization-server.ts'
import { OAuthError } from '../protocol/errors.ts'

/** The subject, the client and the login of an ID token that this server issued. */
export interface IdTokenHint {
  readonly subject: string
  readonly clientId: string
  /** Of the login, as this client sees it. */
  readonly sid: string | undefined
}

/**
 * Reads an ID token that a client sends back as a hint. It may be expired, but must be valid in every other respect
 * (OIDC Core §3.1.2.1, RP-Initiated Logout §2).
 *
 * @throws OAuthError `invalid_request` if it is not an ID token of this issuer
 */
export const readIdTokenHint = async (server: AuthorizationServer, hint: string): Promise<IdTokenHint> => {
  const claims = await server.keys.open(hint, 'JWT')
  const { iss, sub, aud, exp, sid } = claims ?? {}
  // A signed UserInfo response has the same type, but no `exp` (OIDC Core §5.3.2).
  const isIdToken = iss === server.issuer && typeof exp === 'number'
  if (!isIdToken || typeof sub !== 'string' || typeof aud !== 'string') {
    throw new OAuthError('invalid_request', 'id_token_hint is not an ID token of this issuer')
  }
  return { subject: sub, clientId: aud, sid: typeof sid === 'string' ? sid : undefined }
}
