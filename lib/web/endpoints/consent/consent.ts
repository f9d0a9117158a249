import {
  allowedBefore,
  type ConsentRequest,
  clientCard,
  consentChange,
  consentSubject,
  openConsent,
  receiptOf,
  sharedClaims,
} from '../../../oauth/authorization/consent.ts'
import { consentRows, withPreviews } from '../../../oauth/authorization/consent-rows.ts'
import { consentScopes, grantedEntries, withTicks } from '../../../oauth/authorization/consent-scopes.ts'
import { organizationPath, signInAgain } from '../../../oauth/authorization/continue.ts'
import { formTarget, loginLocation, replacesLogins } from '../../../oauth/authorization/login-location.ts'
import { requestParameter } from '../../../oauth/authorization/pending-request.ts'
import type { PendingRequest } from '../../../oauth/authorization/request-kind.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import { consentEntries, shownEntries } from '../../../protocol/requests/consent.ts'
import type { Decision } from '../../../protocol/requests/next-step.ts'
import { intersectScopes } from '../../../protocol/scope.ts'
import { decidePendingRequest } from '../../../storage/repositories/index.ts'
import type { Outcome, PageContext } from '../../http/context.ts'
import { ownPath } from '../../http/urls.ts'
import type { ConsentNotice } from '../../pages/page-models.ts'
import { endLogin } from '../../sessions/login.ts'
import { clearNotice, leaveNotice, noticeOf, readNotice } from '../../sessions/notice.ts'
import {
  type AnsweredThings,
  allowedThings,
  leaveForThings,
  thingsOnConsent,
} from '../choices/consent-things.ts'
import {
  type PendingHandler,
  type PendingOutcome,
  pendingForm,
  pendingPage,
  shownLanguage,
} from '../pending-page.ts'

/** Why the user is asked again. */
export const noticeFor = (context: PageContext, { id }: PendingRequest): ConsentNotice | undefined =>
  noticeOf(readNotice(context, id), ['account', 'changed', 'gone', 'things', 'lost'])

/** Leads to a page about the request that says why the user is asked again. */
export const askAgain = (
  context: PageContext,
  { id, secret }: PendingRequest,
  { kind, path = '/consent' }: { kind: ConsentNotice; path?: string },
): Outcome => {
  leaveNotice(context, id, { kind })
  return { redirectToPage: ownPath(context.server, path, { [requestParameter]: secret }) }
}

/** The page with the scopes that the client asks for. */
const consentPage = async (context: PageContext, asked: ConsentRequest): Promise<Outcome> => {
  const { server } = context
  const { pending, shown, user, login, offered = [], organization } = asked
  const { client, request, decision } = pending
  const { consent, onlyOrganization: only } = allowedBefore(server, asked)
  const lines = only ? [] : consentScopes(server, client, request, consent, shown.locale)
  // The scopes of a resource name it already.
  const named = shownEntries(consentEntries(request))
  const scopes = lines.filter(({ name, resources }) => resources !== undefined || named.includes(name))
  const ticked = decision?.sid === login.sid ? decision.ticked : undefined
  const previewed = await withPreviews(server, ticked ? withTicks(scopes, ticked) : scopes, user)
  const claims = only ? {} : await sharedClaims(server, asked)
  const { fields, ...things } = await thingsOnConsent(context, asked)
  const model = {
    ...pendingForm(context, pending, { [shownLanguage]: shown.locale, ...consentSubject(asked), ...fields }),
    client: clientCard(server, client, request.redirectUri, shown.locale),
    username: user.username,
    ...(organization && {
      organization: { ...organization, hasOthers: offered.length > 1, ...(only && { only }) },
    }),
    scopes: consentRows(server, previewed, claims, shown.locale),
    ...(asked.details.length > 0 && { details: asked.details }),
    ...things,
    redirectTo: asked.shown.client.host || undefined,
    ...(request.redirectUri === undefined && { device: true }),
    accountUrl: ownPath(server, '/account'),
    notice: noticeFor(context, pending),
  }
  server.observe?.({ kind: 'consent', info: context.info, clientId: client.clientId, subject: user.subject })
  return context.page('consent', model, { redirectUri: formTarget(server, request.redirectUri) })
}

const show: PendingHandler = async (context, pending) => {
  const asked = await openConsent(context, pending)
  if (asked === undefined) return signInAgain(context, pending)
  // Without an organization the user can allow nothing: they choose one, or learn that there is none.
  if (asked.offered && !asked.organization) return { changes: { active: asked } }
  return consentPage(context, asked)
}

export const deny = ({ server, info }: PageContext, { pending, login }: ConsentRequest): Decision => {
  const about = { subject: login.subject, clientId: pending.client.clientId }
  server.events.announce('consent.denied', info, about)
  return { allowed: false, sid: login.sid, scopes: [] }
}

/** The decision to allow. */
const allow = async (
  { server, info }: PageContext,
  asked: ConsentRequest,
  entries: readonly string[],
  { receipt: chosen, ...things }: AnsweredThings,
): Promise<Decision> => {
  const { pending, login, organization } = asked
  const { subject } = login
  const receipt = await receiptOf(server, asked, entries)
  const scopes = intersectScopes(pending.request.scopes, entries)
  const about = { subject, clientId: pending.client.clientId, scopes }
  server.events.announce('consent.allowed', info, {
    ...about,
    ...(organization && { organization: organization.id }),
    ...(things.choices && { choices: things.choices }),
  })
  return { ...answerOf(asked), scopes: entries, receipt: { ...receipt, ...chosen }, ...things }
}

/** The part of every answer that allows. */
const answerOf = ({ login, organization }: ConsentRequest) => ({
  allowed: true,
  sid: login.sid,
  organization: organization?.id,
})

/**
 * "Not you?": shows the sign-in form. The login ends when another user has signed in, unless the host's own login stands
 * behind it: Latchkey could not replace that one later.
 */
export const switchUser = async (
  context: PageContext,
  { pending, login }: Pick<ConsentRequest, 'pending' | 'login'>,
): Promise<PendingOutcome> => {
  const { server } = context
  if (replacesLogins(server)) {
    const location = loginLocation(server, pending.secret, pending.request, { replaces: login.sid })
    return { redirectToPage: location }
  }
  await endLogin(context)
  return { changes: { signedOut: true } }
}

/** Leads to the choice of another organization. What is ticked stays ticked. */
const changeOrganization = async (
  context: PageContext,
  { pending: { id, secret }, login, shown, organization }: ConsentRequest,
  form: Parameters,
): Promise<Outcome> => {
  const ticked = grantedEntries(shown.scopes, form)
  const decision = {
    allowed: true,
    sid: login.sid,
    scopes: [],
    organizationOnly: true,
    ticked,
    ...(organization && { left: organization.id }),
  }
  await decidePendingRequest(context.server.database, { id, decision })
  return { redirectToPage: ownPath(context.server, organizationPath, { [requestParameter]: secret }) }
}

/** Applies the answer and continues the request. */
const submit: PendingHandler = async (context, pending, form) => {
  const asked = await openConsent(context, pending, form.optional('organization'))
  if (asked === undefined) return signInAgain(context, pending)
  const { offered } = asked
  const choice = form.required('decision')
  if (choice === 'switch') return switchUser(context, asked)
  const change = consentChange(asked, form)
  if (change) return askAgain(context, pending, { kind: change })
  clearNotice(context)
  if (choice === 'deny') return { changes: { active: asked, decision: deny(context, asked) } }
  if (choice === 'organization' && offered) return changeOrganization(context, asked, form)
  const [step, kind] = choice.split(':')
  const entries = grantedEntries(asked.shown.scopes, form)
  const hasKinds = context.server.options.choices.length > 0
  if (hasKinds && step === 'things' && kind)
    return leaveForThings(context, asked, form, { kind, ticked: entries })
  // If nothing but the organization was asked, only its choice counts.
  if (choice === 'choose' && offered) {
    return {
      changes: { active: asked, decision: { ...answerOf(asked), scopes: [], organizationOnly: true } },
    }
  }
  if (choice !== 'allow') {
    throw refusal('decision_unknown', { values: { decisions: 'allow, deny or switch' } })
  }
  const again = (kind: ConsentNotice): void => leaveNotice(context, pending.id, { kind })
  const things = await allowedThings(context, asked, form, entries, again)
  if ('redirectToPage' in things) return things
  return { changes: { active: asked, decision: await allow(context, asked, entries, things) } }
}

export const consentEndpoint = pendingPage('/consent', show, submit)
