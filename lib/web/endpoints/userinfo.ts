import { signJwt } from '../../keys/jwt.ts'
import { verifyAccessToken } from '../../oauth/tokens/access-token.ts'
import { subjectFor, userinfoClaims } from '../../oauth/tokens/user-claims.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { Context } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { formParameters } from '../http/form.ts'
import { senderChecksOf, urlsOfEndpoint } from '../http/own-proofs.ts'
import { presentedToken, schemesFor, withChallenge } from '../http/presented-token.ts'
import { sendJson, sendJwt } from '../http/send.ts'
import { assertSender } from '../http/sender.ts'

const answer = async ({ server, endpoint, req, res }: Context): Promise<void> => {
  const form = req.method === 'POST' ? formParameters(req) : undefined
  const checks = senderChecksOf(server, () => urlsOfEndpoint(server, endpoint))
  const presented = presentedToken(req, { form, dpop: checks.dpop !== undefined })
  const { token, binding, user, client, details } = await verifyAccessToken(server, presented.value, 'any')
  await assertSender(checks, req, presented, binding)
  if (user === undefined || !token.scopes.includes('openid')) {
    throw refusal('token_openid_missing')
  }
  const owner = { clientId: token.clientId, metadata: client }
  const claims = {
    ...(await userinfoClaims(server, user, {
      client: owner,
      scopes: token.scopes,
      organization: token.organization,
      claims: details?.claims,
    })),
    sub: subjectFor(server, owner, user.subject),
    ...(token.organization !== undefined && { org_id: token.organization }),
  }
  const algorithm = client.userinfo_signed_response_alg
  if (algorithm === undefined) return sendJson(res, claims)
  const signed = { ...claims, iss: server.issuer, aud: token.clientId, iat: server.now() }
  sendJwt(res, await signJwt(server.keys.signingKey(algorithm), signed))
}

/** Counts invalid tokens of an address; a valid token always passes. */
const userinfo = async (context: Context): Promise<void> => {
  const { server, endpoint, req, info } = context
  try {
    await answer(context)
  } catch (error) {
    const isInvalidToken = error instanceof OAuthError && error.code === 'invalid_token'
    const refusal = isInvalidToken
      ? await server.throttle.of(endpoint).failed({ address: info.address })
      : undefined
    throw refusal ?? withChallenge(error, {}, schemesFor(req, server.options.protocol.dpop !== undefined))
  }
}

/**
 * OIDC Core §5.3: the claims that the user allowed the client to read. The token comes in the header, or by POST in the
 * body. The answer is JSON, or signed for a client that registered so.
 */
export const userinfoEndpoint: Endpoint<Context> = {
  path: '/userinfo',
  metadataName: 'userinfo_endpoint',
  cors: true,
  limit: 'userinfo',
  methods: { GET: userinfo, POST: userinfo },
}
