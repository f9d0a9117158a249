import {
  allowedBefore,
  type ConsentView,
  clientCard,
  consentChange,
  consentSubject,
  openConsent,
  receiptOf,
  sharedClaims,
} from '../../../oauth/authorization/consent.ts'
import { consentRows, withPreviews } from '../../../oauth/authorization/consent-rows.ts'
import { consentScopes, scopeWords, withTicks } from '../../../oauth/authorization/consent-scopes.ts'
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
import { signOut } from '../../sessions/login.ts'
import { clearNotice, leaveNotice, noticeOf, readNotice } from '../../sessions/notice.ts'
import {
  type AnsweredThings,
  allowedLines,
  allowedThings,
  filledIn,
  leaveForThings,
  presetsOnConsent,
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
  noticeOf(readNotice(context, id), ['account', 'changed', 'gone', 'moved', 'things', 'lost'])

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
const consentPage = async (context: PageContext, consentView: ConsentView): Promise<Outcome> => {
  const { server } = context
  const { pending, leftOut, wording, user, login, offered = [], organization } = consentView
  const { client, request, decision } = pending
  const { consent, onlyOrganization: only } = allowedBefore(server, consentView)
  const lines = only ? [] : consentScopes(server, client, request, consent, wording.locale)
  // The scopes of a resource name it already.
  const named = shownEntries(consentEntries(request))
  const scopes = lines.filter(({ name, resources }) => resources !== undefined || named.includes(name))
  const ticked = decision?.sid === login.sid ? decision.ticked : undefined
  const previewed = await withPreviews(server, ticked ? withTicks(scopes, ticked) : scopes, user)
  const claims = only ? {} : await sharedClaims(server, consentView)
  const { fields, ...things } = await thingsOnConsent(context, consentView)
  const card = clientCard(server, client, request.redirectUri, wording.locale)
  const { scopes: rows, ...presets } = presetsOnConsent(context, previewed, {
    isDraft: ticked !== undefined,
    isKnown: consent !== undefined,
    isVouchedFor: !card.unverified,
  })
  const model = {
    ...pendingForm(context, pending, {
      [shownLanguage]: wording.locale,
      ...consentSubject(consentView),
      ...fields,
    }),
    client: card,
    username: user.username,
    ...(organization && {
      organization: { ...organization, hasOthers: offered.length > 1, ...(only && { only }) },
    }),
    scopes: consentRows(server, rows, claims, wording.locale),
    ...(leftOut.length > 0 && {
      leftOut: leftOut.map((scope) => scopeWords(server, scope, wording.locale)),
    }),
    ...presets,
    ...(consentView.details.length > 0 && { details: consentView.details }),
    ...things,
    redirectTo: consentView.wording.client.host || undefined,
    ...(request.redirectUri === undefined && { device: true }),
    accountUrl: ownPath(server, '/account'),
    notice: noticeFor(context, pending),
  }
  server.observe?.({ kind: 'consent', info: context.info, clientId: client.clientId, subject: user.subject })
  return context.page('consent', model, { redirectUri: formTarget(server, request.redirectUri) })
}

const show: PendingHandler = async (context, pending) => {
  const consentView = await openConsent(context, pending)
  if (consentView === undefined) return signInAgain(context, pending)
  // Without an organization the user can allow nothing: they choose one, or learn that there is none.
  if (consentView.offered && !consentView.organization) return { changes: { active: consentView } }
  return consentPage(context, consentView)
}

export const deny = ({ server, info }: PageContext, { pending, login }: ConsentView): Decision => {
  const { clientId } = pending.client
  server.events.announce('consent.denied', info, { subject: login.subject, clientId })
  return { allowed: false, sid: login.sid, scopes: [] }
}

/** The decision to allow. */
const allow = async (
  { server, info }: PageContext,
  consentView: ConsentView,
  entries: readonly string[],
  { receipt: chosen, ...things }: AnsweredThings,
): Promise<Decision> => {
  const { pending, login, organization } = consentView
  const { subject } = login
  const receipt = await receiptOf(server, consentView, entries)
  const scopes = intersectScopes(pending.request.scopes, entries)
  server.events.announce('consent.allowed', info, {
    subject,
    clientId: pending.client.clientId,
    scopes,
    ...(organization && { organization: organization.id }),
    ...(things.choices && { choices: things.choices }),
  })
  return { ...answerOf(consentView), scopes: entries, receipt: { ...receipt, ...chosen }, ...things }
}

/** The part of every answer that allows. */
const answerOf = ({ login, organization }: ConsentView) => ({
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
  { pending, login }: Pick<ConsentView, 'pending' | 'login'>,
): Promise<PendingOutcome> => {
  const { server } = context
  if (replacesLogins(server)) {
    const location = loginLocation(server, pending.secret, pending.request, { replaces: login.sid })
    return { redirectToPage: location }
  }
  await signOut(context)
  return { changes: { signedOut: true } }
}

/** Leads to the choice of another organization. What is ticked stays ticked; things do if the user comes back to this one. */
const changeOrganization = async (
  context: PageContext,
  consentView: ConsentView,
  form: Parameters,
): Promise<Outcome> => {
  const { pending, login, wording, organization } = consentView
  const { id, secret } = pending
  const draft = filledIn(context, consentView, form)
  const ticked = allowedLines(context, wording, form)
  const decision = {
    allowed: true,
    sid: login.sid,
    scopes: [],
    organizationOnly: true,
    ticked,
    ...(organization && { left: organization.id }),
    ...(draft && { draft }),
  }
  await decidePendingRequest(context.server.database, { id, decision })
  return { redirectToPage: ownPath(context.server, organizationPath, { [requestParameter]: secret }) }
}

/** Applies the answer and continues the request. */
const submit: PendingHandler = async (context, pending, form) => {
  const consentView = await openConsent(context, pending, form.optional('organization'))
  if (consentView === undefined) return signInAgain(context, pending)
  const { offered } = consentView
  const choice = form.required('decision')
  if (choice === 'switch') return switchUser(context, consentView)
  const change = consentChange(consentView, form)
  if (change) return askAgain(context, pending, { kind: change })
  clearNotice(context)
  if (choice === 'deny') return { changes: { active: consentView, decision: deny(context, consentView) } }
  if (choice === 'organization' && offered) return changeOrganization(context, consentView, form)
  const [step, kind] = choice.split(':')
  const entries = allowedLines(context, consentView.wording, form)
  const toThings = step === 'things' && kind
  const away = toThings && (await leaveForThings(context, consentView, form, { kind, ticked: entries }))
  if (away) return away
  // If nothing but the organization was asked, only its choice counts.
  if (choice === 'choose' && offered) {
    return {
      changes: {
        active: consentView,
        decision: { ...answerOf(consentView), scopes: [], organizationOnly: true },
      },
    }
  }
  if (choice !== 'allow') {
    throw refusal('decision_unknown', { values: { decisions: 'allow, deny or switch' } })
  }
  const again = (kind: ConsentNotice): void => leaveNotice(context, pending.id, { kind })
  const things = await allowedThings(context, consentView, form, entries, again)
  if ('redirectToPage' in things) return things
  return { changes: { active: consentView, decision: await allow(context, consentView, entries, things) } }
}

export const consentEndpoint = pendingPage('/consent', show, submit)
