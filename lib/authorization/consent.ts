import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { languageOf } from '../http/language.ts'
import { clientCard } from '../http/pages.ts'
import { hashSecret } from '../keys/secrets.ts'
import type { ConsentReceipt } from '../protocol/consent.ts'
import { consentEntries } from '../protocol/consent.ts'
import type { Organization } from '../protocol/organization.ts'
import type { Parameters } from '../protocol/parameters.ts'
import type { FormPurpose } from '../sessions/csrf.ts'
import { userClaims } from '../tokens/scope-claims.ts'
import { findOrganizations } from '../users/organizations.ts'
import { consentClaims, type ShownConsent, shownConsent } from './consent-scopes.ts'
import { type ActiveLogin, activeLogin } from './context.ts'
import { ExpiredRequestError } from './expired-request.ts'
import { type OpenPendingRequest, openPending } from './pending-request.ts'

/** The language that the page was in: the answer is to what it said. The token vouches for it. */
export const shownLanguage = 'locale'

/** A request for consent, in the hands of the user who is to answer it. */
export interface ConsentRequest extends ActiveLogin {
  readonly waiting: OpenPendingRequest
  readonly shown: ShownConsent
  /** Workspaces that it may be for: those of the user, or of them the one that the request names. */
  readonly offered: readonly Organization[] | undefined
}

/**
 * The request that a consent page or its form names, and what there is to say of it.
 *
 * @throws ExpiredRequestError also without a login: consent is asked of somebody
 */
export const openConsent = async (
  server: AuthorizationServer,
  req: Request,
  parameters: Parameters,
): Promise<ConsentRequest> => {
  const waiting = await openPending(server, req, parameters)
  const active = await activeLogin(server, req)
  if (active === undefined) throw new ExpiredRequestError()
  const { client, request } = waiting
  const language = languageOf(server, req)
  const card = clientCard(client, request.redirectUri, language)
  const shown = shownConsent(server, card, consentEntries(request), language)
  const organizations = await findOrganizations(server.options.organizations, active.user, req)
  const named = request.organization
  const offered = named === undefined ? organizations : organizations?.filter(({ id }) => id === named)
  return { waiting, shown, offered, ...active }
}

/** An answer is that of the user who was shown the page, and to what it said: a form that is older than either is refused. */
export const purposeOf = ({ waiting, shown, login }: ConsentRequest): FormPurpose => ({
  action: 'consent',
  pendingId: hashSecret(JSON.stringify([waiting.id, login.subject, shown])),
  browser: waiting.browser,
})

/** The data that the page lists beside the scopes. */
export const sharedClaims = async (
  server: AuthorizationServer,
  { user, shown, waiting: { request } }: ConsentRequest,
) => {
  const claims = await userClaims(server, user, request.scopes, request.claims?.beyondScopes)
  return consentClaims(server, claims, shown.locale)
}

/** What was shown, and what the user left ticked of it. A claim has no box: it comes with Allow. */
export const receiptOf = async (
  server: AuthorizationServer,
  asked: ConsentRequest,
  granted: readonly string[],
  organization: Organization | undefined,
): Promise<ConsentReceipt> => {
  const { scopes } = asked.waiting.request
  const lines = asked.shown.scopes.map((scope) => ({
    ...scope,
    allowed: granted.includes(scope.name) || !scopes.includes(scope.name),
  }))
  const claims = (await sharedClaims(server, asked)).map(({ name }) => name)
  return { ...asked.shown, scopes: lines, claims, ...(organization && { organization }) }
}
