import type { Choice, ThingList, ThingsAsked } from '../../options/choices/option.ts'
import {
  askedKinds,
  type Choices,
  chosenOf,
  intersectChosen,
  mostChosen,
  withoutEmpty,
} from '../../protocol/choices.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { isObject, isPlainText } from '../../protocol/json.ts'
import { HostError } from '../../protocol/problem.ts'
import { parseThings, type Thing } from '../../protocol/things.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'

/** For whom things are asked for. */
export interface ThingsContext {
  readonly user: User
  readonly client: Pick<Client, 'clientId' | 'metadata'>
  readonly organization: string | undefined
}

const askedBy = ({ client, organization }: ThingsContext): ThingsAsked => ({
  client: { client_id: client.clientId, ...client.metadata },
  ...(organization !== undefined && { organization }),
})

/** An error of the host's function, with the option that it belongs to. */
const checked = <Value>(name: string, check: () => Value): Value => {
  try {
    return check()
  } catch (cause) {
    throw new HostError(`${name} returned something else than it must`, { cause })
  }
}

/**
 * Those of some things that exist and that the user may give now, in the order of the ids.
 *
 * @param ids at most 200
 * @throws Error if the host's function fails, and 503 if what it needs is unavailable
 */
export const findThings = async (
  kind: Choice,
  about: ThingsContext,
  ids: readonly string[],
): Promise<readonly Thing[]> => {
  if (ids.length === 0) return []
  const name = `choices['${kind.kind}'].find`
  const returned = await callHost(name, () => kind.find(about.user.record, { ids, ...askedBy(about) }))
  const found = new Map(
    checked(name, () => parseThings(returned, mostChosen)).map((thing) => [thing.id, thing]),
  )
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** One page of the things of a user. */
export interface ThingsPage {
  readonly things: readonly Thing[]
  readonly next?: string
  readonly total?: number
}

/**
 * One page of the things that the user may give.
 *
 * @param part.after the `next` of the page before
 * @throws Error as {@link findThings}
 */
export const listThings = async (
  kind: Choice,
  about: ThingsContext,
  part: { readonly search?: string; readonly after?: string; readonly limit: number },
): Promise<ThingsPage> => {
  const name = `choices['${kind.kind}'].list`
  const returned: unknown = await callHost(name, () =>
    kind.list(about.user.record, { ...part, ...askedBy(about) }),
  )
  return checked(name, () => pageOf(returned, part.limit))
}

const isCursor = (next: unknown): next is string =>
  typeof next === 'string' && next !== '' && next.length <= 255 && isPlainText(next)

const pageOf = (returned: unknown, limit: number): ThingsPage => {
  if (!isObject(returned)) throw new TypeError('it must return an object with items')
  const { items, next, total } = returned as Partial<ThingList>
  if (next !== undefined && next !== null && !isCursor(next))
    throw new TypeError('next must be a string of at most 255 characters without control characters')
  if (total !== undefined && !(Number.isSafeInteger(total) && total >= 0))
    throw new TypeError('total must be a whole number')
  return {
    things: parseThings(items, limit),
    ...(isCursor(next) && { next }),
    ...(total !== undefined && { total }),
  }
}

/**
 * The part of a choice that a token may have now: what the user may still give, of the kinds that its scopes are about. All
 * things are asked about where they are used.
 *
 * @param scopes of the token
 */
export const issuedChoices = async (
  kinds: readonly Choice[],
  about: ThingsContext,
  scopes: readonly string[],
  choices: Choices,
): Promise<Choices> => {
  const left: Record<string, Choices[string] | undefined> = {}
  for (const kind of askedKinds(kinds, scopes)) {
    const chosen = chosenOf(choices, kind.kind) ?? []
    if (chosen === 'all') left[kind.kind] = kind.all ? 'all' : undefined
    else {
      const found = await findThings(kind, about, chosen)
      left[kind.kind] = intersectChosen(
        chosen,
        found.map(({ id }) => id),
      )
    }
  }
  return withoutEmpty(left)
}
