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
import { thingsName, tickedIds } from '../../../oauth/choices/consent-things.ts'
import { findThings, listThings } from '../../../oauth/choices/things.ts'
import type { Choice } from '../../../options/choices/option.ts'
import { mostChosen } from '../../../protocol/choices.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import type { ConsentDraft, Picking } from '../../../protocol/requests/next-step.ts'
import type { Thing } from '../../../protocol/things.ts'
import type { Outcome, PageContext } from '../../http/context.ts'
import { ownPath } from '../../http/urls.ts'
import { clearNotice, leaveNotice, readNotice } from '../../sessions/notice.ts'
import { type PendingHandler, pendingForm, pendingPage, shownLanguage } from '../pending-page.ts'
import {
  draftFor,
  keepDraft,
  kindsOf,
  markedThings,
  markOf,
  thingsContext,
  thingsPath,
} from './consent-things.ts'

/** Things on one page, and how many of those that are chosen stand above the first. */
const pageSize = 50
const mostPinned = 40

/** What the user is choosing now. */
interface Choosing {
  readonly consentView: ConsentView
  readonly draft: ConsentDraft
  readonly picking: Picking
  readonly kind: Choice
}

const choosing = (context: PageContext, consentView: ConsentView): Choosing | undefined => {
  const draft = draftFor(consentView)
  const picking = draft?.picking
  const kind = kindsOf(context, consentView).find((each) => each.kind === picking?.kind)
  return draft && picking && kind && { consentView, draft, picking, kind }
}

const toConsent = ({ server }: PageContext, { secret }: PendingRequest): Outcome => ({
  redirectToPage: ownPath(server, '/consent', { [requestParameter]: secret }),
})

/** The things of the page: on the first one what is chosen stands above. */
const pageOf = async ({ consentView, picking, kind }: Choosing) => {
  const { query, trail, ids } = picking
  const isFirst = trail.length === 0 && query === ''
  const about = thingsContext(consentView)
  const pinned = isFirst ? await findThings(kind, about, ids.slice(0, mostPinned)) : []
  const after = trail.at(-1)
  const { things, next, total } = await listThings(kind, about, {
    limit: pageSize - pinned.length,
    ...(after !== undefined && { after }),
    ...(query !== '' && { search: query }),
  })
  const above = new Set(pinned.map(({ id }) => id))
  return { things: [...pinned, ...things.filter(({ id }) => !above.has(id))], next, total }
}

const show: PendingHandler = async (context, pending) => {
  const { server, language } = context
  const consentView = await openConsent(context, pending)
  if (consentView === undefined) return signInAgain(context, pending)
  const now = choosing(context, consentView)
  if (now === undefined) return toConsent(context, pending)
  const { picking, kind } = now
  const { things, next, total } = await pageOf(now)
  const row = (thing: Thing) => ({ ...thing, checked: picking.ids.includes(thing.id) })
  const { account } = consentSubject(consentView)
  const model = {
    ...pendingForm(context, pending, {
      [shownLanguage]: language,
      account,
      [markedThings]: things.map(({ id }) => markOf(id)).join(' '),
    }),
    client: clientCard(server, pending.client, pending.request.redirectUri, language),
    username: consentView.user.username,
    name: thingsName(kind, language),
    things: things.map(row),
    query: picking.query,
    count: picking.ids.length,
    ...(total !== undefined && { total }),
    hasPrevious: picking.trail.length > 0,
    hasNext: next !== undefined,
    ...(readNotice(context, pending.id)?.kind === 'limit' && { limit: mostChosen }),
    mayAll: kind.all,
  }
  return context.page('things', model, { redirectUri: formTarget(server, pending.request.redirectUri) })
}

/** What is chosen after this page: other pages as they were, of this one what is ticked. */
const chosenAfter = ({ picking }: Choosing, form: Parameters): readonly string[] => {
  const shown = new Set(form.optional(markedThings)?.split(' '))
  const ticked = tickedIds(form, 'thing:')
  const stays = picking.ids.filter((id) => !shown.has(markOf(id)) || ticked.includes(id))
  return [...new Set([...stays, ...ticked])]
}

/** Where the list goes on: what the browser sends is never a cursor of the host. */
const moved = async (now: Choosing, decision: string, form: Parameters): Promise<Picking> => {
  const { picking } = now
  const { trail } = picking
  if (decision === 'search') return { ...picking, query: form.optional('q') ?? '', trail: [] }
  if (decision === 'previous') return { ...picking, trail: trail.slice(0, -1) }
  if (decision !== 'next')
    throw refusal('decision_unknown', { values: { decisions: 'use, back, search, next or previous' } })
  const { next } = await pageOf(now)
  return next === undefined ? picking : { ...picking, trail: [...trail, next] }
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
  const wanted = chosenAfter(now, form)
  const ids = wanted.slice(0, mostChosen)
  if (decision === 'use') {
    const found = await findThings(now.kind, thingsContext(consentView), ids)
    if (found.length < ids.length) leaveNotice(context, pending.id, { kind: 'lost', about: kind })
    const things = { ...draft.things, [kind]: found.map(({ id }) => id) }
    const modes = { ...draft.modes, [kind]: 'these' as const }
    return keepDraft(context, consentView, { ...draft, things, modes }, { path: '/consent', ticked })
  }
  if (ids.length < wanted.length) leaveNotice(context, pending.id, { kind: 'limit' })
  const picking = { ...(await moved(now, decision, form)), ids }
  return keepDraft(context, consentView, { ...draft, picking }, { path: thingsPath, ticked })
}

/** Chooses among many things. It allows nothing by itself. */
export const thingsEndpoint = pendingPage(thingsPath, show, submit)
