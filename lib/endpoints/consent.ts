import type { Request, RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import {
  consentClaims,
  consentScopes,
  grantedScopes,
  type ShownConsent,
  shownConsent,
} from '../http/consent-scopes.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../http/csrf.ts'
import { ExpiredRequestError } from '../http/expired-request.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { endLogin } from '../http/login.ts'
import { ownPath } from '../http/names.ts'
import { occasionOf } from '../http/occasion.ts'
import { clientCard, type Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { type ActiveLogin, activeLogin, rememberedConsent } from '../http/situation.ts'
import { type OpenRequest, openRequest, requestParameter } from '../http/waiting-request.ts'
import { hashSecret } from '../keys/secrets.ts'
import { consentEntries } from '../protocol/claims-request.ts'
import type { ConsentReceipt } from '../protocol/consent.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { redirectUriHost, redirectUriKind } from '../protocol/redirect-uri.ts'
import { decideAuthorizationRequest } from '../repositories/index.ts'
import { userClaims } from '../tokens/scope-claims.ts'

interface ConsentRequest extends ActiveLogin {
  readonly waiting: OpenRequest
  readonly shown: ShownConsent
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
  const { client, request } = waiting
  const shown = shownConsent(server, clientCard(client, request.redirectUri), consentEntries(request))
  return { waiting, shown, ...active }
}

/** An answer is that of the user who was shown the page, and to what it said: a form that is older than either is refused. */
const purposeOf = ({ waiting, shown, login }: ConsentRequest): FormPurpose => ({
  action: 'consent',
  requestId: hashSecret(JSON.stringify([waiting.id, login.subject, shown])),
  browser: waiting.browser,
})

/** The data that the page lists beside the scopes. */
const sharedClaims = async (server: AuthorizationServer, { user, waiting: { request } }: ConsentRequest) =>
  consentClaims(await userClaims(server, user, request.scopes, request.claims?.beyondScopes))

/** What was shown, and what the user left ticked of it. A claim has no box: it comes with Allow. */
const receiptOf = async (
  server: AuthorizationServer,
  asked: ConsentRequest,
  granted: readonly string[],
): Promise<ConsentReceipt> => {
  const { scopes } = asked.waiting.request
  const lines = asked.shown.scopes.map((scope) => ({
    ...scope,
    allowed: granted.includes(scope.name) || !scopes.includes(scope.name),
  }))
  const claims = (await sharedClaims(server, asked)).map(({ name }) => name)
  return { ...asked.shown, scopes: lines, claims }
}

const destination = (redirectUri: string): string =>
  redirectUriKind(redirectUri) === 'private-use' ? redirectUriHost(redirectUri) : new URL(redirectUri).origin

/** Shows what the client asks for. */
export const consentPageEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const asked = await openConsent(server, req, queryParameters(req))
    const { waiting, user, login } = asked
    const { client, request } = waiting
    const { consent } = await rememberedConsent(server, request, login)
    const model = {
      action: ownPath(server, '/consent'),
      hidden: {
        [requestParameter]: waiting.secret,
        csrf_token: csrfToken(server, purposeOf(asked)),
      },
      client: clientCard(client, request.redirectUri),
      username: user.username,
      scopes: consentScopes(server, consentEntries(request), consent),
      claims: await sharedClaims(server, asked),
      redirectTo: destination(request.redirectUri),
      accountUrl: ownPath(server, '/account'),
    }
    pages.send(res, 'consent', model, { redirectUri: request.redirectUri })
  }

/** Records the answer; the authorization endpoint acts on it. */
export const consentFormEndpoint =
  (server: AuthorizationServer): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    const asked = await openConsent(server, req, form)
    const { waiting, login } = asked
    assertCsrf(server, req, form, purposeOf(asked))
    const answer = form.required('decision')
    if (answer === 'switch') await endLogin(server, req)
    else if (answer === 'allow' || answer === 'deny') {
      const allowed = answer === 'allow'
      const scopes = allowed ? grantedScopes(server, waiting.request.scopes, form) : []
      const receipt = allowed ? await receiptOf(server, asked, scopes) : undefined
      const decision = { allowed, sid: login.sid, scopes, receipt }
      await decideAuthorizationRequest(server.database, { id: waiting.id, decision })
      const about = { subject: login.subject, clientId: waiting.client.clientId }
      if (allowed) server.events.announce('consent.allowed', occasionOf(req), { ...about, scopes })
      else server.events.announce('consent.denied', occasionOf(req), about)
    } else throw new OAuthError('invalid_request', 'decision must be allow, deny or switch')
    sendRedirect(res, ownPath(server, '/authorize', { [requestParameter]: waiting.secret }))
  }
