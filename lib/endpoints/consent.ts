import type { Request, RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { consentClaims, consentScopes, grantedScopes } from '../http/consent-scopes.ts'
import { assertCsrf, csrfToken } from '../http/csrf.ts'
import { ExpiredRequestError } from '../http/expired-request.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { endLogin } from '../http/login.ts'
import { ownPath } from '../http/names.ts'
import { occasionOf } from '../http/occasion.ts'
import { clientCard, type Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { type ActiveLogin, activeLogin } from '../http/situation.ts'
import { type OpenRequest, openRequest, requestParameter } from '../http/waiting-request.ts'
import { consentEntries } from '../protocol/claims-request.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { redirectUriHost, redirectUriKind } from '../protocol/redirect-uri.ts'
import { decideAuthorizationRequest, findConsent } from '../repositories/index.ts'
import { userClaims } from '../tokens/scope-claims.ts'

interface ConsentRequest extends ActiveLogin {
  readonly waiting: OpenRequest
}

/** Consent is asked of somebody: without a login there is nothing to show. */
const openConsent = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
): Promise<ConsentRequest> => {
  const waiting = await openRequest(server, req, parameters)
  const active = await activeLogin(server, req)
  if (active === undefined) throw new ExpiredRequestError()
  return { waiting, ...active }
}

const destination = (redirectUri: string): string =>
  redirectUriKind(redirectUri) === 'private-use' ? redirectUriHost(redirectUri) : new URL(redirectUri).origin

/** Shows what the client asks for. */
export const consentPageEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const { waiting, user, login } = await openConsent(server, req, queryParameters(req))
    const { client, request, id: requestId, browser } = waiting
    const consent = await findConsent(server.database, { subject: login.subject, clientId: client.clientId })
    const model = {
      action: ownPath(server, '/consent'),
      hidden: {
        [requestParameter]: waiting.secret,
        csrf_token: csrfToken(server, { action: 'consent', requestId, browser }),
      },
      client: clientCard(client, request.redirectUri),
      username: user.username,
      scopes: consentScopes(server, consentEntries(request), consent),
      claims: consentClaims(await userClaims(server, user, request.scopes, request.claims?.beyondScopes)),
      redirectTo: destination(request.redirectUri),
    }
    pages.send(res, 'consent', model, { redirectUri: request.redirectUri })
  }

/** Records the answer; the authorization endpoint acts on it. */
export const consentFormEndpoint =
  (server: AuthorizationServer): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    const { waiting, login } = await openConsent(server, req, form)
    assertCsrf(server, req, form, { action: 'consent', requestId: waiting.id, browser: waiting.browser })
    const answer = form.required('decision')
    if (answer === 'switch') await endLogin(server, req)
    else if (answer === 'allow' || answer === 'deny') {
      const scopes = answer === 'allow' ? grantedScopes(server, waiting.request.scopes, form) : []
      const decision = { allowed: answer === 'allow', sid: login.sid, scopes }
      await decideAuthorizationRequest(server.database, { id: waiting.id, decision })
      const about = { subject: login.subject, clientId: waiting.client.clientId }
      if (decision.allowed)
        server.events.announce('consent.allowed', occasionOf(req), { ...about, scopes: decision.scopes })
      else server.events.announce('consent.denied', occasionOf(req), about)
    } else throw new OAuthError('invalid_request', 'decision must be allow, deny or switch')
    sendRedirect(res, ownPath(server, '/authorize', { [requestParameter]: waiting.secret }))
  }
