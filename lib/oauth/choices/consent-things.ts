import type { Choice } from '../../options/choices/option.ts'
import { type Choices, chosenOf, mostChosen } from '../../protocol/choices.ts'
import { isHostId } from '../../protocol/host-id.ts'
import { lookUpLanguage } from '../../protocol/languages.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { ReceiptThings } from '../../protocol/requests/consent.ts'
import type { ConsentDraft } from '../../protocol/requests/next-step.ts'
import type { Thing } from '../../protocol/things.ts'
import type { ConsentThings, CountedThings } from '../../web/pages/page-models.ts'
import { findThings, listThings, type ThingsContext } from './things.ts'

/** From this many things on, they are chosen on a page of their own. */
const manyThings = 8
/** Chosen things that the consent page names. */
const namedThings = 3

/** The name of a kind of things, in the language of the page or else in the default language. */
export const thingsName = ({ name, locales }: Choice, language: string): string => {
  const tag = lookUpLanguage([language], Object.keys(locales)) ?? ''
  return (locales[tag] ?? name).other
}

/** How many things of each kind were chosen; nothing if the host has no kinds. */
export const countedThings = (
  kinds: readonly Choice[],
  choices: Choices = {},
  language: string,
): { readonly things?: readonly CountedThings[] } => {
  if (kinds.length === 0) return {}
  const things = kinds.flatMap((kind) => {
    const chosen = chosenOf(choices, kind.kind) ?? []
    if (chosen.length === 0) return []
    return [{ name: thingsName(kind, language), count: chosen === 'all' ? chosen : chosen.length }]
  })
  return { things }
}

/** The sources from which the consent page selects things at first. */
export interface FirstChoice {
  readonly draft: ConsentDraft | undefined
  /** The user's choice of an earlier time. */
  readonly remembered: Choices | undefined
  /** The client's suggestion. */
  readonly suggested: Choices | undefined
  /** Whether the host vouches for the client: for others nothing is selected. */
  readonly isVouchedFor: boolean
}

const firstMode = (kind: Choice, { draft, remembered, suggested, isVouchedFor }: FirstChoice) => {
  const before = chosenOf(remembered ?? {}, kind.kind) ?? chosenOf(suggested ?? {}, kind.kind)
  const mode = draft?.modes[kind.kind] ?? (before && (before === 'all' ? 'all' : 'these'))
  if (mode !== undefined) return mode === 'all' && !kind.all ? undefined : mode
  if (!kind.all) return 'these'
  return isVouchedFor ? 'all' : undefined
}

/** The ids that are ticked at first: those of the draft, of the choice before, or of the client. */
export const firstIds = (
  { kind }: Pick<Choice, 'kind'>,
  { draft, remembered, suggested }: Omit<FirstChoice, 'isVouchedFor'>,
): readonly string[] => {
  const before = chosenOf(remembered ?? {}, kind) ?? chosenOf(suggested ?? {}, kind)
  return draft?.things[kind] ?? (before === undefined || before === 'all' ? [] : before)
}

const shownKind = async (
  kind: Choice,
  { about, first, language }: { about: ThingsContext; first: FirstChoice; language: string },
): Promise<ConsentThings> => {
  const { things, next, total } = await listThings(kind, about, { limit: manyThings })
  const ids = firstIds(kind, first)
  const mode = firstMode(kind, first)
  const shown = {
    kind: kind.kind,
    name: thingsName(kind, language),
    mayAll: kind.all,
    ...(mode && { mode }),
    ...(total !== undefined && { total }),
  }
  if (things.length < manyThings && next === undefined) {
    const items = things.map((thing) => ({ ...thing, checked: ids.includes(thing.id) }))
    return { ...shown, total: things.length, items }
  }
  const chosen = await findThings(kind, about, ids)
  const names = chosen.slice(0, namedThings).map(({ name }) => name)
  return { ...shown, chosen: { names, more: chosen.length - names.length } }
}

/** The things of the kinds that a request asks about, as the consent page shows them. */
export const shownThings = async (
  kinds: readonly Choice[],
  about: ThingsContext,
  first: FirstChoice,
  language: string,
): Promise<readonly ConsentThings[]> => {
  const shown: ConsentThings[] = []
  for (const kind of kinds) shown.push(await shownKind(kind, { about, first, language }))
  return shown
}

/** The hidden field with the kinds whose things stand on the page itself. */
export const listedKinds = 'listed'

/** The ids in the names of fields that begin like this. */
export const tickedIds = (form: Parameters, prefix: string): readonly string[] =>
  form
    .names()
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter(isHostId)

/** The choices in a form of the consent page; the things of kinds that it did not list stay as they were. */
export const draftOf = (
  kinds: readonly Choice[],
  form: Parameters,
  things: (kind: Choice) => readonly string[],
): Pick<ConsentDraft, 'modes' | 'things'> => {
  const listed = form.optional(listedKinds)?.split(' ') ?? []
  const modes = kinds.flatMap(({ kind, all }) => {
    const mode = form.optional(`choice:${kind}`)
    return mode === 'these' || (mode === 'all' && all) ? [[kind, mode] as const] : []
  })
  const ids = kinds.map((kind) => [
    kind.kind,
    listed.includes(kind.kind) ? tickedIds(form, `thing:${kind.kind}:`) : things(kind),
  ])
  return { modes: Object.fromEntries(modes), things: Object.fromEntries(ids) }
}

/** The user's answer about things: their choice, or why they are asked again. */
export type ThingsAnswer =
  | { readonly outcome: 'chosen'; readonly choices: Choices; readonly receipt: readonly ReceiptThings[] }
  /** Nothing of a kind is chosen, or some of it is not the user's to give: then the draft has what is left. */
  | {
      readonly outcome: 'things' | 'lost'
      readonly kind: string
      readonly things: ConsentDraft['things']
    }

/**
 * Decides what a form chooses: only what the host says that the user may give.
 *
 * @param kinds that the granted scopes are about
 */
export const answeredThings = async (
  kinds: readonly Choice[],
  about: ThingsContext,
  draft: Pick<ConsentDraft, 'modes' | 'things'>,
  language: string,
): Promise<ThingsAnswer> => {
  const choices: Record<string, Choices[string]> = {}
  const receipt: ReceiptThings[] = []
  for (const kind of kinds) {
    const name = thingsName(kind, language)
    if (draft.modes[kind.kind] === 'all') {
      choices[kind.kind] = 'all'
      receipt.push({ kind: kind.kind, name, chosen: 'all' })
      continue
    }
    const asked = draft.modes[kind.kind] === 'these' ? (draft.things[kind.kind] ?? []) : []
    const found = await findThings(kind, about, asked.slice(0, mostChosen))
    const things = { ...draft.things, [kind.kind]: found.map(({ id }) => id) }
    if (found.length < asked.length) return { outcome: 'lost', kind: kind.kind, things }
    if (found.length === 0) return { outcome: 'things', kind: kind.kind, things: draft.things }
    choices[kind.kind] = found.map(({ id }) => id)
    receipt.push({ kind: kind.kind, name, chosen: found.map(named) })
  }
  return { outcome: 'chosen', choices, receipt }
}

const named = ({ id, name }: Thing): { id: string; name: string } => ({ id, name })
