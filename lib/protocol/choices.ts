import { isHostId } from './host-id.ts'
import type { AuthorizationDetail } from './requests/authorization-details.ts'

/** The things of one kind that a user chose: all, also those that come later, or these ids. */
export type Chosen = 'all' | readonly string[]

/** The things that a user chose, by kind. A kind without any is absent. */
export type Choices = Readonly<Record<string, Chosen>>

/** A kind of things that users choose among, such as projects. */
export interface ChoiceKind {
  /** The type of its objects in `authorization_details` (RFC 9396 §2.1). */
  readonly kind: string
  /** The scopes that are about things of this kind. */
  readonly scopes: readonly string[]
  /** Whether users may choose all, also things that come later. */
  readonly all: boolean
}

/** The most things of a kind that are chosen one by one. */
export const mostChosen = 200

/** The choice of a kind; undefined if nothing of it was chosen. */
export const chosenOf = (choices: Choices, kind: string): Chosen | undefined =>
  Object.hasOwn(choices, kind) ? choices[kind] : undefined

/** Choices without the kinds that are empty. */
export const withoutEmpty = (choices: Readonly<Record<string, Chosen | undefined>>): Choices =>
  Object.fromEntries(
    Object.entries(choices).flatMap(([kind, chosen]) =>
      chosen === undefined || chosen.length === 0 ? [] : [[kind, chosen] as const],
    ),
  )

/** The things that are in both. */
export const intersectChosen = (one: Chosen, other: Chosen): Chosen => {
  if (one === 'all') return other
  if (other === 'all') return one
  const known = new Set(other)
  return one.filter((id) => known.has(id))
}

/**
 * The choices that are in both, in the order of the first.
 *
 * @example intersectChoices({ project: 'all' }, { project: ['p1'] }) // { project: ['p1'] }
 */
export const intersectChoices = (one: Choices, other: Choices): Choices =>
  withoutEmpty(
    Object.fromEntries(
      Object.entries(one).map(([kind, chosen]) => [
        kind,
        intersectChosen(chosen, chosenOf(other, kind) ?? []),
      ]),
    ),
  )

/** The things that are in one or the other, in each kind. */
export const unionChoices = (one: Choices, other: Choices): Choices => {
  const kinds = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  const both = kinds.map((kind) => {
    const [first, second] = [chosenOf(one, kind) ?? [], chosenOf(other, kind) ?? []]
    return [kind, first === 'all' || second === 'all' ? 'all' : [...new Set([...first, ...second])]] as const
  })
  return withoutEmpty(Object.fromEntries(both))
}

/** Whether every thing of the first is in the second. */
export const isWithinChosen = (part: Chosen, whole: Chosen): boolean => {
  if (whole === 'all') return true
  if (part === 'all') return false
  // A call is nearly always about one thing.
  if (part.length === 1) return whole.includes(String(part[0]))
  const known = new Set(whole)
  return part.every((id) => known.has(id))
}

/** Whether everything in the first is in the second. */
export const isWithinChoices = (part: Choices, whole: Choices): boolean =>
  Object.entries(part).every(([kind, chosen]) => isWithinChosen(chosen, chosenOf(whole, kind) ?? []))

/** The kinds that a request for these scopes asks about. */
export const askedKinds = <Kind extends ChoiceKind>(
  kinds: readonly Kind[],
  scopes: readonly string[],
): readonly Kind[] => kinds.filter((kind) => kind.scopes.some((scope) => scopes.includes(scope)))

/** The choices that claims of a token say, for some kinds. Only the object of the right form counts. */
export const choicesIn = (details: readonly AuthorizationDetail[]): Choices =>
  withoutEmpty(
    Object.fromEntries(
      details.map(({ type, identifiers }) => {
        if (identifiers === undefined) return [type, 'all']
        return [type, Array.isArray(identifiers) ? identifiers.filter(isHostId) : []]
      }),
    ),
  )

/** The rest of a choice if only some things are named; a kind that is not named stays as it is. */
export const limitedTo = (choices: Choices, named: Choices): Choices => {
  const all = Object.keys(choices).map((kind) => [kind, 'all'] as const)
  return intersectChoices(choices, { ...Object.fromEntries(all), ...named })
}

/** The kinds whose things are named one by one. */
export const namedOnly = (choices: Choices): Choices =>
  Object.fromEntries(Object.entries(choices).filter(([, chosen]) => chosen !== 'all'))
