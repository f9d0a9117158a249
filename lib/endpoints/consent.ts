import type { RequestHandler, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import {
  type ConsentRequest,
  openConsent,
  purposeOf,
  receiptOf,
  sharedClaims,
  shownLanguage,
} from '../http/consent-request.ts'
import { asFilledIn, consentScopes, grantedScopes } from '../http/consent-scopes.ts'
import { assertCsrf, csrfToken } from '../http/csrf.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { keepLanguage } from '../http/language.ts'
import { endLogin } from '../http/login.ts'
import { ownPath } from '../http/names.ts'
import { occasionOf } from '../http/occasion.ts'
import { clientCard, type Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { consentFor, rememberedConsents } from '../http/situation.ts'
import { requestParameter } from '../http/waiting-request.ts'
import { consentEntries } from '../protocol/claims-request.ts'
import type { Consent } from '../protocol/consent.ts'
import { OAuthError } from '../protocol/errors.ts'
import { needsConsent } from '../protocol/next-step.ts'
import type { Occasion } from '../protocol/occasion.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { redirectUriHost, redirectUriKind } from '../protocol/redirect-uri.ts'
import { lastTenant, type Tenant } from '../protocol/tenant.ts'
import { decideAuthorizationRequest, type KeptConsent } from '../repositories/index.ts'

const destination = (redirectUri: string): string =>
  redirectUriKind(redirectUri) === 'private-use' ? redirectUriHost(redirectUri) : new URL(redirectUri).origin

/** A form that came back without a workspace that the user belongs to. */
interface Refused {
  readonly form: Parameters
  readonly error: 'missing' | 'gone'
}

const backToAuthorize = (server: AuthorizationServer, res: Response, { waiting }: ConsentRequest): void =>
  sendRedirect(res, ownPath(server, '/authorize', { [requestParameter]: waiting.secret }))

/** What the user allowed before; and whether nothing is left to ask but the workspace, whichever it will be. */
const allowedBefore = (
  server: AuthorizationServer,
  { waiting: { client, request }, offered = [] }: ConsentRequest,
  consents: readonly KeptConsent[],
): { consent: Consent | undefined; only: boolean } => {
  const consentIn = (tenant: Tenant | undefined): Consent | undefined =>
    consentFor(server, request, consents, tenant?.id).consent
  const asksMore = offered.some((tenant) => needsConsent({ request, client, consent: consentIn(tenant) }))
  const [first, another] = offered
  // Of several nobody knows yet which one it is about.
  return { consent: another ? undefined : consentIn(first), only: first !== undefined && !asksMore }
}

/** What the user chose when this very request asked before. */
const chosenBefore = ({ waiting: { decision }, login }: ConsentRequest): string | undefined =>
  decision?.sid === login.sid ? decision.tenant : undefined

/** Shows what the client asks for, once more as it was filled in. */
const show = async (
  server: AuthorizationServer,
  pages: Pages,
  res: Response,
  { asked, refused }: { asked: ConsentRequest; refused?: Refused },
): Promise<void> => {
  const { waiting, shown, user, offered } = asked
  const { client, request } = waiting
  const consents = await rememberedConsents(server, request, asked.login)
  const { consent, only } = allowedBefore(server, asked, consents)
  const scopes = only ? [] : consentScopes(server, consentEntries(request), consent, shown.locale)
  const chosen = refused?.form.optional('tenant') ?? chosenBefore(asked) ?? lastTenant(consents, offered)
  const model = {
    action: ownPath(server, '/consent'),
    hidden: {
      [requestParameter]: waiting.secret,
      [shownLanguage]: shown.locale,
      csrf_token: csrfToken(server, purposeOf(asked)),
    },
    client: clientCard(client, request.redirectUri, shown.locale),
    username: user.username,
    tenants: offered && { choices: offered, chosen, error: refused?.error, only },
    scopes: refused ? asFilledIn(scopes, refused.form) : scopes,
    claims: only ? [] : await sharedClaims(server, asked),
    redirectTo: destination(request.redirectUri),
    accountUrl: ownPath(server, '/account'),
  }
  pages.send(res, 'consent', model, { redirectUri: request.redirectUri, status: refused ? 400 : 200 })
}

/** Shows what the client asks for. */
export const consentPageEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const asked = await openConsent(server, req, queryParameters(req))
    // Without a workspace there is nothing to allow: the authorization endpoint tells the client.
    if (asked.offered?.length === 0) backToAuthorize(server, res, asked)
    else await show(server, pages, res, { asked })
  }

interface Answer {
  readonly form: Parameters
  readonly occasion: Occasion
}

const deny = async (
  server: AuthorizationServer,
  asked: ConsentRequest,
  { occasion }: Answer,
): Promise<void> => {
  const { waiting, login } = asked
  const decision = { allowed: false, sid: login.sid, scopes: [] }
  await decideAuthorizationRequest(server.database, { id: waiting.id, decision })
  const about = { subject: login.subject, clientId: waiting.client.clientId }
  server.events.announce('consent.denied', occasion, about)
}

/** Records what the user allows and for which workspace, or only the workspace where nothing else was asked. */
const allow = async (
  server: AuthorizationServer,
  { asked, tenant, tenantOnly }: { asked: ConsentRequest; tenant: Tenant | undefined; tenantOnly: boolean },
  { form, occasion }: Answer,
): Promise<void> => {
  const { waiting, login } = asked
  const { database, events } = server
  const { sid, subject } = login
  const answer = { allowed: true, sid, tenant: tenant?.id }
  if (tenantOnly) {
    const decision = { ...answer, scopes: [], tenantOnly }
    return decideAuthorizationRequest(database, { id: waiting.id, decision })
  }
  const scopes = grantedScopes(server, waiting.request.scopes, form)
  const decision = { ...answer, scopes, receipt: await receiptOf(server, asked, scopes, tenant) }
  await decideAuthorizationRequest(database, { id: waiting.id, decision })
  const about = { subject, clientId: waiting.client.clientId, scopes }
  events.announce('consent.allowed', occasion, { ...about, ...(tenant && { tenant: tenant.id }) })
}

/** Records the answer; the authorization endpoint acts on it. */
export const consentFormEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    keepLanguage(req, form.optional(shownLanguage))
    const asked = await openConsent(server, req, form)
    assertCsrf(server, req, form, purposeOf(asked))
    const { offered } = asked
    const answer = { form, occasion: occasionOf(req) }
    const decision = form.required('decision')
    if (decision === 'switch') await endLogin(server, req)
    else if (decision === 'deny') await deny(server, asked, answer)
    else if (decision !== 'allow' && !(decision === 'choose' && offered)) {
      throw new OAuthError('invalid_request', 'decision must be allow, deny or switch')
    } else if (offered?.length !== 0) {
      const named = form.optional('tenant')
      const tenant = offered?.find(({ id }) => id === named)
      if (offered && !tenant) {
        const refused: Refused = { form, error: named === undefined ? 'missing' : 'gone' }
        return show(server, pages, res, { asked, refused })
      }
      await allow(server, { asked, tenant, tenantOnly: decision === 'choose' }, answer)
    }
    backToAuthorize(server, res, asked)
  }
