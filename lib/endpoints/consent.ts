import {
  allowedBefore,
  type ConsentRequest,
  chosenBefore,
  clientCard,
  consentChange,
  consentSubject,
  openConsent,
  receiptOf,
  sharedClaims,
} from '../authorization/consent.ts'
import { withPreviews } from '../authorization/consent-previews.ts'
import { consentRows } from '../authorization/consent-rows.ts'
import { asFilledIn, consentScopes, grantedEntries } from '../authorization/consent-scopes.ts'
import { rememberedConsents } from '../authorization/context.ts'
import { continueRequest, signInAgain, toDecide } from '../authorization/continue.ts'
import { formTarget, loginLocation, replacesLogins } from '../authorization/login-location.ts'
import { type PendingRequest, requestParameter } from '../authorization/pending-request.ts'
import type { PageContext } from '../http/context.ts'
import { redirectToPage } from '../http/redirect.ts'
import { ownPath } from '../http/urls.ts'
import type { PageModels } from '../pages/page-models.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { consentEntries, shownEntries } from '../protocol/requests/consent.ts'
import type { Decision } from '../protocol/requests/next-step.ts'
import { lastOrganization, type Organization } from '../protocol/requests/organization.ts'
import { intersectScopes } from '../protocol/scope.ts'
import { endLogin } from '../sessions/login.ts'
import { clearNotice, leaveNotice, readNotice } from '../sessions/notice.ts'
import { pendingForm, pendingPage, shownLanguage } from './pending-page.ts'

/** A form that named none of the user's organizations. */
interface Refused {
  readonly form: Parameters
  readonly error: 'missing' | 'gone'
}

/** Why the user is asked again. */
const noticeFor = (context: PageContext, { id }: PendingRequest): PageModels['consent']['notice'] => {
  const kind = readNotice(context, id)?.kind
  return kind === 'account' || kind === 'changed' ? kind : undefined
}

/** Shows what the client asks for; a refused form as the user filled it in. */
const showPage = async (context: PageContext, asked: ConsentRequest, refused?: Refused): Promise<void> => {
  const { server } = context
  const { pending, shown, user, offered } = asked
  const { client, request } = pending
  const consents = await rememberedConsents(server, pending, asked.login)
  const { consent, onlyOrganization: only } = allowedBefore(server, asked, consents)
  const lines = only ? [] : consentScopes(server, client, request, consent, shown.locale)
  // The scopes of a resource name it already.
  const named = shownEntries(consentEntries(request))
  const scopes = lines.filter(({ name, resources }) => resources !== undefined || named.includes(name))
  const filledIn = refused ? asFilledIn(scopes, refused.form) : scopes
  const previewed = await withPreviews(server, filledIn, user)
  const claims = only ? {} : await sharedClaims(server, asked)
  const chosen =
    refused?.form.optional('organization') ?? chosenBefore(asked) ?? lastOrganization(consents, offered)
  const model = {
    ...pendingForm(context, pending, { [shownLanguage]: shown.locale, ...consentSubject(asked) }),
    client: clientCard(server, client, request.redirectUri, shown.locale),
    username: user.username,
    organizations: offered && { choices: offered, chosen, error: refused?.error, only },
    scopes: consentRows(server, previewed, claims, shown.locale),
    ...(asked.details.length > 0 && { details: asked.details }),
    redirectTo: asked.shown.client.host || undefined,
    ...(request.redirectUri === undefined && { device: true }),
    accountUrl: ownPath(server, '/account'),
    notice: noticeFor(context, pending),
  }
  context.send('consent', model, {
    redirectUri: formTarget(server, request.redirectUri),
    status: refused ? 400 : 200,
  })
}

const show = async (context: PageContext, pending: PendingRequest): Promise<void> => {
  const asked = await openConsent(context, pending)
  if (asked === undefined) return signInAgain(context, pending)
  // Without an organization the user can allow nothing, so the client gets an error.
  if (asked.offered?.length === 0) await continueRequest(context, toDecide(pending), { active: asked })
  else await showPage(context, asked)
}

const deny = ({ server, info }: PageContext, { pending, login }: ConsentRequest): Decision => {
  const about = { subject: login.subject, clientId: pending.client.clientId }
  server.events.announce('consent.denied', info, about)
  return { allowed: false, sid: login.sid, scopes: [] }
}

/** The decision to allow; if nothing but the organization was asked, only its choice. */
const allow = async (
  { server, info }: PageContext,
  asked: ConsentRequest,
  form: Parameters,
  organization: Organization | undefined,
): Promise<Decision> => {
  const { pending, login } = asked
  const { sid, subject } = login
  const answer = { allowed: true, sid, organization: organization?.id }
  if (form.required('decision') === 'choose') return { ...answer, scopes: [], organizationOnly: true }
  const entries = grantedEntries(asked.shown.scopes, form)
  const receipt = await receiptOf(server, asked, entries, organization)
  const scopes = intersectScopes(pending.request.scopes, entries)
  const about = { subject, clientId: pending.client.clientId, scopes }
  server.events.announce('consent.allowed', info, {
    ...about,
    ...(organization && { organization: organization.id }),
  })
  return { ...answer, scopes: entries, receipt }
}

/**
 * "Not you?": shows the sign-in form. The login ends when another user has signed in, unless the host's own login stands
 * behind it: Latchkey could not replace that one later.
 */
export const switchUser = async (
  context: PageContext,
  { pending, login }: Pick<ConsentRequest, 'pending' | 'login'>,
): Promise<void> => {
  const { server } = context
  if (replacesLogins(server)) {
    const location = loginLocation(server, pending.secret, pending.request, { replaces: login.sid })
    return redirectToPage(context, location)
  }
  await endLogin(context)
  await continueRequest(context, { ...toDecide(pending), known: undefined })
}

/** Applies the answer and continues the request. */
const submit = async (context: PageContext, pending: PendingRequest, form: Parameters): Promise<void> => {
  const asked = await openConsent(context, pending)
  if (asked === undefined) return signInAgain(context, pending)
  const request = toDecide(pending)
  const { offered } = asked
  const choice = form.required('decision')
  if (choice === 'switch') return switchUser(context, asked)
  const change = consentChange(asked, form)
  if (change) {
    leaveNotice(context, pending.id, { kind: change })
    return redirectToPage(
      context,
      ownPath(context.server, '/consent', { [requestParameter]: pending.secret }),
    )
  }
  clearNotice(context)
  if (choice === 'deny') {
    return continueRequest(context, request, { active: asked, decision: deny(context, asked) })
  }
  if (choice !== 'allow' && !(choice === 'choose' && offered)) {
    throw new OAuthError('invalid_request', 'decision must be allow, deny or switch')
  }
  if (offered?.length === 0) return continueRequest(context, request, { active: asked })
  const named = form.optional('organization')
  const organization = offered?.find(({ id }) => id === named)
  if (offered && !organization) {
    return showPage(context, asked, { form, error: named === undefined ? 'missing' : 'gone' })
  }
  const decision = await allow(context, asked, form, organization)
  await continueRequest(context, request, { active: asked, decision })
}

export const consentEndpoint = pendingPage('/consent', show, submit)
