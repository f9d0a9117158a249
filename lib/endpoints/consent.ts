import type { RequestHandler, Response } from 'express'
import {
  type ConsentRequest,
  openConsent,
  purposeOf,
  receiptOf,
  sharedClaims,
  shownLanguage,
} from '../authorization/consent.ts'
import { asFilledIn, consentScopes, grantedScopes } from '../authorization/consent-scopes.ts'
import { consentFor, rememberedConsents } from '../authorization/context.ts'
import { requestParameter } from '../authorization/pending-request.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { keepLanguage } from '../http/language.ts'
import { clientCard, type Pages } from '../http/pages.ts'
import { requestInfo } from '../http/request-info.ts'
import { sendRedirect } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import type { Consent } from '../protocol/consent.ts'
import { consentEntries } from '../protocol/consent.ts'
import { OAuthError } from '../protocol/errors.ts'
import { needsConsent } from '../protocol/next-step.ts'
import { lastOrganization, type Organization } from '../protocol/organization.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { redirectUriHost, redirectUriKind } from '../protocol/redirect-uri.ts'
import type { RequestInfo } from '../protocol/request-info.ts'
import { decidePendingRequest, type KeptConsent } from '../repositories/index.ts'
import { assertCsrf, csrfToken } from '../sessions/csrf.ts'
import { endLogin } from '../sessions/login.ts'

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
  const consentIn = (organization: Organization | undefined): Consent | undefined =>
    consentFor(server, request, consents, organization?.id).consent
  const asksMore = offered.some((organization) =>
    needsConsent({ request, client, consent: consentIn(organization) }),
  )
  const [first, another] = offered
  // Of several nobody knows yet which one it is about.
  return { consent: another ? undefined : consentIn(first), only: first !== undefined && !asksMore }
}

/** What the user chose when this very request asked before. */
const chosenBefore = ({ waiting: { decision }, login }: ConsentRequest): string | undefined =>
  decision?.sid === login.sid ? decision.organization : undefined

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
  const chosen =
    refused?.form.optional('organization') ?? chosenBefore(asked) ?? lastOrganization(consents, offered)
  const model = {
    action: ownPath(server, '/consent'),
    hidden: {
      [requestParameter]: waiting.secret,
      [shownLanguage]: shown.locale,
      csrf_token: csrfToken(server, purposeOf(asked)),
    },
    client: clientCard(client, request.redirectUri, shown.locale),
    username: user.username,
    organizations: offered && { choices: offered, chosen, error: refused?.error, only },
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
  readonly info: RequestInfo
}

const deny = async (server: AuthorizationServer, asked: ConsentRequest, { info }: Answer): Promise<void> => {
  const { waiting, login } = asked
  const decision = { allowed: false, sid: login.sid, scopes: [] }
  await decidePendingRequest(server.database, { id: waiting.id, decision })
  const about = { subject: login.subject, clientId: waiting.client.clientId }
  server.events.announce('consent.denied', info, about)
}

/** Records what the user allows and for which workspace, or only the workspace where nothing else was asked. */
const allow = async (
  server: AuthorizationServer,
  {
    asked,
    organization,
    organizationOnly,
  }: { asked: ConsentRequest; organization: Organization | undefined; organizationOnly: boolean },
  { form, info }: Answer,
): Promise<void> => {
  const { waiting, login } = asked
  const { database, events } = server
  const { sid, subject } = login
  const answer = { allowed: true, sid, organization: organization?.id }
  if (organizationOnly) {
    const decision = { ...answer, scopes: [], organizationOnly }
    return decidePendingRequest(database, { id: waiting.id, decision })
  }
  const scopes = grantedScopes(server, waiting.request.scopes, form)
  const decision = { ...answer, scopes, receipt: await receiptOf(server, asked, scopes, organization) }
  await decidePendingRequest(database, { id: waiting.id, decision })
  const about = { subject, clientId: waiting.client.clientId, scopes }
  events.announce('consent.allowed', info, {
    ...about,
    ...(organization && { organization: organization.id }),
  })
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
    const answer = { form, info: requestInfo(req) }
    const decision = form.required('decision')
    if (decision === 'switch') await endLogin(server, req)
    else if (decision === 'deny') await deny(server, asked, answer)
    else if (decision !== 'allow' && !(decision === 'choose' && offered)) {
      throw new OAuthError('invalid_request', 'decision must be allow, deny or switch')
    } else if (offered?.length !== 0) {
      const named = form.optional('organization')
      const organization = offered?.find(({ id }) => id === named)
      if (offered && !organization) {
        const refused: Refused = { form, error: named === undefined ? 'missing' : 'gone' }
        return show(server, pages, res, { asked, refused })
      }
      await allow(server, { asked, organization, organizationOnly: decision === 'choose' }, answer)
    }
    backToAuthorize(server, res, asked)
  }
