import { hash } from 'node:crypto'
import { thingsName, tickedIds } from '../../../oauth/choices/consent-things.ts'
import { findThings, listThings, type ThingsContext, type ThingsPage } from '../../../oauth/choices/things.ts'
import type { Choice } from '../../../options/choices/option.ts'
import { mostChosen } from '../../../protocol/choices.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import type { Picking } from '../../../protocol/requests/next-step.ts'
import type { PageModels } from '../../pages/page-models.ts'

/** Things on one page, and how many of those that are chosen stand above the first. */
const pageSize = 50
const mostPinned = 40

/** The hidden field with the marks of the things of a page: what is not ticked of them is no longer chosen. */
export const markedThings = 'rows'

/** A short stand-in for an id among those that a page showed. */
export const markOf = (id: string): string => hash('sha256', id, 'base64url').slice(0, 8)

/** The state of a page on which a user chooses among many things of a kind. */
export interface Choosing {
  readonly about: ThingsContext
  readonly picking: Picking
  readonly kind: Choice
}

/** The things of the page: on the first one what is chosen stands above. */
const pageOf = async ({ about, picking, kind }: Choosing): Promise<ThingsPage> => {
  const { query, trail, ids } = picking
  const isFirst = trail.length === 0 && query === ''
  const pinned = isFirst ? await findThings(kind, about, ids.slice(0, mostPinned)) : []
  const after = trail.at(-1)
  const { things, ...rest } = await listThings(kind, about, {
    limit: pageSize - pinned.length,
    ...(after !== undefined && { after }),
    ...(query !== '' && { search: query }),
  })
  const above = new Set(pinned.map(({ id }) => id))
  return { things: [...pinned, ...things.filter(({ id }) => !above.has(id))], ...rest }
}

type ThingsModel = PageModels['things']

/** The list of the page of choosing, and the marks of what it shows. */
export const shownPage = async (
  choosing: Choosing,
  language: string,
): Promise<{
  readonly marks: string
  readonly model: Omit<ThingsModel, 'action' | 'hidden' | 'username'>
}> => {
  const { picking, kind } = choosing
  const { things, next, total } = await pageOf(choosing)
  const model = {
    name: thingsName(kind, language),
    things: things.map((thing) => ({ ...thing, checked: picking.ids.includes(thing.id) })),
    query: picking.query,
    count: picking.ids.length,
    ...(total !== undefined && { total }),
    hasPrevious: picking.trail.length > 0,
    hasNext: next !== undefined,
    mayAll: kind.all,
  }
  return { marks: things.map(({ id }) => markOf(id)).join(' '), model }
}

/** The choice after a page: on other pages as it was, on this one the ticked things; at most 200. */
export const chosenAfter = (
  { ids }: Picking,
  form: Parameters,
): { readonly ids: readonly string[]; readonly isTooMany: boolean } => {
  const shown = new Set(form.optional(markedThings)?.split(' '))
  const ticked = tickedIds(form, 'thing:')
  const stays = ids.filter((id) => !shown.has(markOf(id)) || ticked.includes(id))
  const wanted = [...new Set([...stays, ...ticked])]
  return { ids: wanted.slice(0, mostChosen), isTooMany: wanted.length > mostChosen }
}

/** Where the list goes on: what the browser sends is never a cursor of the host. */
export const movedTo = async (choosing: Choosing, decision: string, form: Parameters): Promise<Picking> => {
  const { picking } = choosing
  const { trail } = picking
  if (decision === 'search') return { ...picking, query: form.optional('q') ?? '', trail: [] }
  if (decision === 'previous') return { ...picking, trail: trail.slice(0, -1) }
  if (decision !== 'next')
    throw refusal('decision_unknown', { values: { decisions: 'use, back, search, next or previous' } })
  const { next } = await pageOf(choosing)
  return next === undefined ? picking : { ...picking, trail: [...trail, next] }
}
