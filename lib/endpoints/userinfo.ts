import type { RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { bearerToken, withBearerChallenge } from '../http/bearer-token.ts'
import { formParameters } from '../http/form.ts'
import { addressOf } from '../http/request-info.ts'
import { sendJson, sendJwt } from '../http/send.ts'
import { signJwt } from '../keys/jwt.ts'
import { OAuthError } from '../protocol/errors.ts'
import { verifyAccessToken } from '../tokens/access-token.ts'
import { userinfoClaims } from '../tokens/scope-claims.ts'
import { subjectFor } from '../tokens/subject.ts'

/**
 * OIDC Core §5.3: what the user allowed the client to know; by GET, or by POST with the token in header or body.
 * As JSON, or signed for a client that is registered so.
 */
export const userinfoEndpoint =
  (server: AuthorizationServer): RequestHandler =>
  async (req, res) => {
    const failing = { address: addressOf(req) }
    try {
      const form = req.method === 'POST' ? formParameters(req) : undefined
      const { token, user, client, details } = await verifyAccessToken(server, bearerToken(req, form))
      if (user === undefined || !token.scopes.includes('openid')) {
        throw new OAuthError('insufficient_scope', 'the access token was not granted the scope openid')
      }
      const claims = {
        ...(await userinfoClaims(server, user, token.scopes, details?.claims)),
        sub: subjectFor(server, { metadata: client }, user.subject),
        ...(token.organization !== undefined && { org_id: token.organization }),
      }
      const algorithm = client.userinfo_signed_response_alg
      if (algorithm === undefined) return sendJson(res, claims)
      const signed = { ...claims, iss: server.issuer, aud: token.clientId, iat: server.now() }
      sendJwt(res, await signJwt(server.keys.signingKey(algorithm), signed))
    } catch (error) {
      const isDead = error instanceof OAuthError && error.code === 'invalid_token'
      throw (isDead && (await server.throttle.userinfo.failed(failing))) || withBearerChallenge(error)
    }
  }
