import type { ConsentView } from '../../../oauth/authorization/consent.ts'
import { allowedBefore, clientCard } from '../../../oauth/authorization/consent.ts'
import { grantedEntries } from '../../../oauth/authorization/consent-scopes.ts'
import { consentFor } from '../../../oauth/authorization/context.ts'
import { requestParameter } from '../../../oauth/authorization/pending-request.ts'
import {
  answeredThings,
  draftOf,
  firstIds,
  listedKinds,
  shownThings,
} from '../../../oauth/choices/consent-things.ts'
import { type FirstPreset, presetEntries, withPresets } from '../../../oauth/choices/presets.ts'
import type { ThingsContext } from '../../../oauth/choices/things.ts'
import type { Choice } from '../../../options/choices/option.ts'
import { askedKinds, type Choices } from '../../../protocol/choices.ts'
import { absoluteLifetime } from '../../../protocol/clients/client.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import type { ReceiptThings } from '../../../protocol/requests/consent.ts'
import {
  type ConsentDraft,
  type Decision,
  type Duration,
  durations,
} from '../../../protocol/requests/next-step.ts'
import { intersectScopes } from '../../../protocol/scope.ts'
import { decidePendingRequest } from '../../../storage/repositories/index.ts'
import type { PageContext } from '../../http/context.ts'
import { ownPath } from '../../http/urls.ts'
import type { ConsentNotice, ConsentScope, PageModels } from '../../pages/page-models.ts'

/** The page where users choose among many things. */
export const thingsPath = '/things'

/** For whom things are asked for. */
export const thingsContext = ({ user, pending, organization }: ConsentView): ThingsContext => ({
  user,
  client: pending.client,
  organization: organization?.id,
})

/** The draft of the user, if it was made under this login and for this organization. */
export const draftFor = ({ pending, login, organization }: ConsentView): ConsentDraft | undefined => {
  const { decision } = pending
  return decision?.sid === login.sid && decision.organization === organization?.id
    ? decision.draft
    : undefined
}

/** The kinds of things that a request asks about. */
export const kindsOf = ({ server }: PageContext, { pending }: ConsentView): readonly Choice[] =>
  askedKinds(server.options.choices, pending.request.scopes)

const rememberedChoices = ({ server }: PageContext, consentView: ConsentView): Choices | undefined =>
  consentFor(server, consentView.pending, consentView.consents, consentView.organization?.id).terms?.choices

/** The ids of a kind that are ticked when the page is opened, or when it did not show them. */
const idsOf =
  (context: PageContext, consentView: ConsentView) =>
  (kind: Choice): readonly string[] =>
    firstIds(kind, {
      draft: draftFor(consentView),
      remembered: rememberedChoices(context, consentView),
      suggested: consentView.pending.request.suggested,
    })

/** Whether the client keeps access after the login: only then a limit means something. */
const mayLimit = ({ server }: PageContext, { pending }: ConsentView): boolean =>
  server.options.choices.length > 0 && pending.request.scopes.includes('offline_access')

const isDuration = (name: string | undefined): name is Duration =>
  name !== undefined && Object.hasOwn(durations, name)

const durationRows = (context: PageContext, consentView: ConsentView): PageModels['consent']['durations'] => {
  if (!mayLimit(context, consentView)) return undefined
  const selected = draftFor(consentView)?.duration ?? 'lasting'
  const longest = absoluteLifetime(consentView.pending.client.metadata, context.server.options.lifetimes)
  return Object.entries(durations)
    .filter(([, seconds]) => seconds === undefined || seconds < longest)
    .map(([name, seconds]) => ({
      duration: name as Duration,
      seconds: seconds ?? longest,
      checked: name === selected,
    }))
}

/** The parts of the consent page about things and the end of access; nothing if the host has no kinds. */
export const thingsOnConsent = async (
  context: PageContext,
  consentView: ConsentView,
): Promise<Pick<PageModels['consent'], 'things' | 'durations'> & { readonly fields: object }> => {
  const { server } = context
  if (server.options.choices.length === 0 || allowedBefore(server, consentView).onlyOrganization)
    return { fields: {} }
  const { pending, wording } = consentView
  const { client, request } = pending
  const card = clientCard(server, client, request.redirectUri, wording.locale)
  const things = await shownThings(
    kindsOf(context, consentView),
    thingsContext(consentView),
    {
      draft: draftFor(consentView),
      remembered: rememberedChoices(context, consentView),
      suggested: request.suggested,
      isVouchedFor: !card.unverified,
    },
    wording.locale,
  )
  const rows = durationRows(context, consentView)
  const listed = things.filter(({ items }) => items !== undefined).map(({ kind }) => kind)
  return {
    ...(things.length > 0 && { things }),
    ...(rows && { durations: rows }),
    fields: listed.length > 0 ? { [listedKinds]: listed.join(' ') } : {},
  }
}

/** The lines of the consent page with answers to all of them at once, if the host has kinds. */
export const presetsOnConsent = (
  { server }: PageContext,
  lines: readonly ConsentScope[],
  first: FirstPreset,
): ReturnType<typeof withPresets> =>
  server.options.choices.length > 0 ? withPresets(lines, first) : { scopes: [...lines] }

/** The lines that a form allows, by name. */
export const allowedLines = (
  { server }: PageContext,
  { scopes }: ConsentView['wording'],
  form: Parameters,
): string[] => {
  const ofPreset = server.options.choices.length > 0 ? presetEntries(scopes, form) : undefined
  return ofPreset ?? grantedEntries(scopes, form)
}

/** Keeps what is filled in, and leads to another page of the request. */
export const keepDraft = async (
  context: PageContext,
  { pending: { id, secret }, login, organization }: ConsentView,
  draft: ConsentDraft,
  { path, ticked }: { readonly path: string; readonly ticked: readonly string[] | undefined },
): Promise<{ readonly redirectToPage: string }> => {
  const decision: Decision = {
    allowed: true,
    sid: login.sid,
    scopes: [],
    organizationOnly: true,
    ...(organization && { organization: organization.id }),
    ...(ticked && { ticked }),
    draft,
  }
  await decidePendingRequest(context.server.database, { id, decision })
  return { redirectToPage: ownPath(context.server, path, { [requestParameter]: secret }) }
}

const durationIn = (context: PageContext, consentView: ConsentView, form: Parameters): Duration => {
  const name = form.optional('duration')
  return mayLimit(context, consentView) && isDuration(name) ? name : 'lasting'
}

/** The answers of a form about things; undefined if the host has no kinds. */
export const filledIn = (
  context: PageContext,
  consentView: ConsentView,
  form: Parameters,
): ConsentDraft | undefined =>
  context.server.options.choices.length === 0
    ? undefined
    : {
        ...draftOf(kindsOf(context, consentView), form, idsOf(context, consentView)),
        duration: durationIn(context, consentView, form),
      }

/** Whether things are chosen one by one. They are of one organization, so another one empties the choice. */
export const hasThings = ({ things }: ConsentDraft): boolean =>
  Object.values(things).some((ids) => ids.length > 0)

/** "Choose…": leads to the page of a kind; what is filled in stays. Undefined if the host has no kinds. */
export const leaveForThings = async (
  context: PageContext,
  consentView: ConsentView,
  form: Parameters,
  { kind, ticked }: { readonly kind: string; readonly ticked: readonly string[] },
): Promise<{ readonly redirectToPage: string } | undefined> => {
  const draft = filledIn(context, consentView, form)
  if (draft === undefined) return undefined
  const isAsked = kindsOf(context, consentView).some((each) => each.kind === kind)
  const picking = { kind, ids: draft.things[kind] ?? [], query: '', trail: [] }
  const path = isAsked ? thingsPath : '/consent'
  return keepDraft(context, consentView, isAsked ? { ...draft, picking } : draft, { path, ticked })
}

/** The user's choices beside the scopes. */
export interface AnsweredThings extends Pick<Decision, 'choices' | 'until'> {
  readonly receipt: { readonly things?: readonly ReceiptThings[]; readonly until?: number }
}

/**
 * The things and the end of access that a form allows.
 *
 * @param entries the lines that the user left ticked
 * @param again leads to the page that says why the user is asked again
 * @returns where that page is, if the user is asked again
 */
export const allowedThings = async (
  context: PageContext,
  consentView: ConsentView,
  form: Parameters,
  entries: readonly string[],
  again: (kind: ConsentNotice) => void,
): Promise<AnsweredThings | { readonly redirectToPage: string }> => {
  const { server } = context
  const { choices: all } = server.options
  const draft = filledIn(context, consentView, form)
  if (draft === undefined) return { receipt: {} }
  const kinds = askedKinds(all, intersectScopes(consentView.pending.request.scopes, entries))
  const answer = await answeredThings(kinds, thingsContext(consentView), draft, consentView.wording.locale)
  if (answer.outcome !== 'chosen') {
    again(answer.outcome)
    const left = { ...draft, things: answer.things }
    return keepDraft(context, consentView, left, { path: '/consent', ticked: entries })
  }
  const { duration = 'lasting' } = draft
  const seconds = durations[duration]
  const end = seconds === undefined ? {} : { until: server.now() + seconds }
  return {
    ...(kinds.length > 0 && { choices: answer.choices }),
    ...end,
    receipt: { ...(kinds.length > 0 && { things: answer.receipt }), ...end },
  }
}
