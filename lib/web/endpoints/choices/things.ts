import {
  type ConsentView,
  clientCard,
  consentSubject,
  openConsent,
} from '../../../oauth/authorization/consent.ts'
import { signInAgain } from '../../../oauth/authorization/continue.ts'
import { formTarget } from '../../../oauth/authorization/login-location.ts'
import { requestParameter } from '../../../oauth/authorization/pending-request.ts'
import type { PendingRequest } from '../../../oauth/authorization/request-kind.ts'
import { findThings } from '../../../oauth/choices/things.ts'
import { mostChosen } from '../../../protocol/choices.ts'
import type { ConsentDraft } from '../../../protocol/requests/next-step.ts'
import type { Outcome, PageContext } from '../../http/context.ts'
import { ownPath } from '../../http/urls.ts'
import { clearNotice, leaveNotice, readNotice } from '../../sessions/notice.ts'
import { type PendingHandler, pendingForm, pendingPage, shownLanguage } from '../pending-page.ts'
import { draftFor, keepDraft, kindsOf, thingsContext, thingsPath } from './consent-things.ts'
import { type Choosing, chosenAfter, markedThings, movedTo, shownPage } from './picking.ts'

/** The choice that the user is making for a request. */
interface PendingChoice extends Choosing {
  readonly draft: ConsentDraft
}

const choosing = (context: PageContext, consentView: ConsentView): PendingChoice | undefined => {
  const draft = draftFor(consentView)
  const picking = draft?.picking
  const kind = kindsOf(context, consentView).find((each) => each.kind === picking?.kind)
  return draft && picking && kind && { about: thingsContext(consentView), draft, picking, kind }
}

const toConsent = ({ server }: PageContext, { secret }: PendingRequest): Outcome => ({
  redirectToPage: ownPath(server, '/consent', { [requestParameter]: secret }),
})

const show: PendingHandler = async (context, pending) => {
  const { server, language } = context
  const consentView = await openConsent(context, pending)
  if (consentView === undefined) return signInAgain(context, pending)
  const now = choosing(context, consentView)
  if (now === undefined) return toConsent(context, pending)
  const { marks, model } = await shownPage(now, language)
  const { account } = consentSubject(consentView)
  const page = {
    ...pendingForm(context, pending, { [shownLanguage]: language, account, [markedThings]: marks }),
    client: clientCard(server, pending.client, pending.request.redirectUri, language),
    username: consentView.user.username,
    ...model,
    ...(readNotice(context, pending.id)?.kind === 'limit' && { limit: mostChosen }),
  }
  return context.page('things', page, { redirectUri: formTarget(server, pending.request.redirectUri) })
}

const submit: PendingHandler = async (context, pending, form) => {
  const consentView = await openConsent(context, pending)
  if (consentView === undefined) return signInAgain(context, pending)
  const now = choosing(context, consentView)
  // Another user has signed in, or the choice was made in another tab.
  if (now === undefined || form.optional('account') !== consentSubject(consentView).account)
    return toConsent(context, pending)
  clearNotice(context)
  const { picking: _, ...draft } = now.draft
  const { kind } = now.kind
  const ticked = pending.decision?.ticked
  const decision = form.required('decision')
  if (decision === 'back') return keepDraft(context, consentView, draft, { path: '/consent', ticked })
  const { ids, isTooMany } = chosenAfter(now.picking, form)
  if (decision === 'use') {
    const found = await findThings(now.kind, now.about, ids)
    if (found.length < ids.length) leaveNotice(context, pending.id, { kind: 'lost', about: kind })
    const things = { ...draft.things, [kind]: found.map(({ id }) => id) }
    const modes = { ...draft.modes, [kind]: 'these' as const }
    return keepDraft(context, consentView, { ...draft, things, modes }, { path: '/consent', ticked })
  }
  if (isTooMany) leaveNotice(context, pending.id, { kind: 'limit' })
  const picking = { ...(await movedTo(now, decision, form)), ids }
  return keepDraft(context, consentView, { ...draft, picking }, { path: thingsPath, ticked })
}

/** Chooses among many things. It allows nothing by itself. */
export const thingsEndpoint = pendingPage(thingsPath, show, submit)
