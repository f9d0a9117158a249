import { authenticationCode, openUnder, sealUnder } from '../../../keys/secrets.ts'
import {
  answeredThings,
  draftOf,
  firstIds,
  listedKinds,
  shownThings,
} from '../../../oauth/choices/consent-things.ts'
import { findThings, type ThingsContext } from '../../../oauth/choices/things.ts'
import type { Choice } from '../../../options/choices/option.ts'
import { askedKinds, type Choices, mostChosen } from '../../../protocol/choices.ts'
import { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import type { ConsentDraft, Picking } from '../../../protocol/requests/next-step.ts'
import type { ConsentThings } from '../../pages/page-models.ts'
import type { NamedParameters } from '../page-values.ts'
import type { Act, Person, SignedContext } from '../signed-page.ts'
import { type Choosing, chosenAfter, markedThings, movedTo, shownPage } from './picking.ts'

// A form of a signed page that asks which things something is for. What the user has chosen among many, and the form while they
// choose, travel in hidden fields that only the server can read and write: nothing is stored before the form is sent.

/** The most bytes of a form with things: 200 ids of 255 characters, sealed. */
export const maxThingsForm = 262_144

/** The hidden field with the chosen things that the form does not list. */
const chosenField = 'chosen'
/** The hidden field of the page of choosing with the form that led to it. */
const formField = 'form'

/** The subject of a form. */
export interface FormThings {
  readonly kinds: readonly Choice[]
  readonly about: ThingsContext
  /** The subject of the page: its `fields`. */
  readonly fields?: NamedParameters
}

type Context = SignedContext<Person>
type Draft = Pick<ConsentDraft, 'modes' | 'things'>

/** The chosen things in a hidden field, and for whom they were chosen. */
interface Chosen {
  readonly whose: string
  readonly things: Draft['things']
}

/** A form that waits while its user chooses things. */
interface WaitingForm extends Chosen {
  readonly pairs: readonly [string, string][]
  readonly picking: Picking
}

const whose = ({ client, organization }: ThingsContext): string =>
  JSON.stringify([client.clientId, organization])

const keyOf = (secret: string, { endpoint, person }: Context, field: string): string =>
  authenticationCode(secret, 'things', [endpoint.path, person.id, field])

const sealed = (context: Context, field: string, value: Chosen): string =>
  sealUnder(keyOf(context.server.options.secrets[0], context, field), JSON.stringify(value), field)

/** The content of a hidden field, if this server gave it to this person. */
const opened = <Value extends Chosen>(
  context: Context,
  field: string,
  form: Parameters,
): Value | undefined => {
  const value = form.verbatim(field, maxThingsForm) ?? ''
  for (const secret of context.server.options.secrets) {
    try {
      // Only our own counterpart can have sealed it.
      return JSON.parse(openUnder(keyOf(secret, context, field), value, field)) as Value
    } catch {
      // It may be sealed under an earlier secret.
    }
  }
  return undefined
}

/** The answers of a form about things; undefined if the form was about another organization. */
const draftIn = (context: Context, { kinds, about }: FormThings, form: Parameters): Draft | undefined => {
  const chosen = opened<Chosen>(context, chosenField, form)
  if (chosen?.whose !== whose(about)) return undefined
  return draftOf(kinds, form, ({ kind }) => chosen.things[kind] ?? [])
}

/**
 * The fields of a form about things, for a page that includes `partials/things` for each of them.
 *
 * @param first.form the form as it was sent, if it is shown again
 * @param first.remembered the things that are selected in a new form
 */
export const thingsOnForm = async (
  context: Context,
  asked: FormThings,
  first: { readonly form?: Parameters | undefined; readonly remembered?: Choices | undefined } = {},
): Promise<{
  readonly things?: readonly ConsentThings[]
  readonly hidden: Readonly<Record<string, string>>
}> => {
  const { kinds, about } = asked
  if (kinds.length === 0) return { hidden: {} }
  const draft = first.form && draftIn(context, asked, first.form)
  const selected = { draft, remembered: first.form ? undefined : first.remembered, suggested: undefined }
  const things = await shownThings(kinds, about, { ...selected, isVouchedFor: false }, context.language)
  const listed = things.filter(({ items }) => items !== undefined).map(({ kind }) => kind)
  const others = kinds.filter(({ kind }) => !listed.includes(kind))
  const chosen = {
    whose: whose(about),
    things: Object.fromEntries(others.map((kind) => [kind.kind, firstIds(kind, selected)])),
  }
  return {
    things,
    hidden: { [listedKinds]: listed.join(' '), [chosenField]: sealed(context, chosenField, chosen) },
  }
}

/** The form with these things chosen. */
const withThings = (
  context: Context,
  { about }: FormThings,
  pairs: readonly (readonly [string, string])[],
  things: Draft['things'],
): Parameters => {
  const others = pairs.filter(([name]) => name !== chosenField)
  return Parameters.from([
    ...others,
    [chosenField, sealed(context, chosenField, { whose: whose(about), things })],
  ])
}

/** The things that a form chose, or why it is shown again. */
export type ChosenThings =
  | { readonly choices?: Choices }
  /** Nothing of a kind is chosen, some of it is not the user's to give any more, or it was chosen for another organization. */
  | { readonly error: 'things' | 'lost' | 'moved'; readonly form: Parameters }

/**
 * Reads which things a form chose: only those that the host says that the user may give.
 *
 * @param scopes that are granted; the form must have chosen things of the kinds that they are about
 * @returns no choices if the scopes are about no things; with an error the form to show again
 */
export const thingsChosen = async (
  context: Context,
  asked: FormThings,
  form: Parameters,
  scopes: readonly string[],
): Promise<ChosenThings> => {
  const kinds = askedKinds(asked.kinds, scopes)
  if (kinds.length === 0) return {}
  const draft = draftIn(context, asked, form)
  if (draft === undefined) return { error: 'moved', form }
  const answer = await answeredThings(kinds, asked.about, draft, context.language)
  if (answer.outcome === 'chosen') return { choices: answer.choices }
  return { error: answer.outcome, form: withThings(context, asked, form.pairs(), answer.things) }
}

/** A form with things. */
export interface ThingsPicker<P extends Person> {
  /** Reads what a form asks about. */
  asks(context: SignedContext<P>, form: Parameters): Promise<FormThings>
  /** Shows the form again as it is filled in. */
  show(context: SignedContext<P>, form: Parameters, error?: 'lost'): Promise<void>
}

const showPicking = async (
  context: Context,
  asked: FormThings,
  waiting: Omit<WaitingForm, 'whose'>,
  isTooMany = false,
): Promise<void> => {
  const { about, fields } = asked
  const { picking } = waiting
  const kind = asked.kinds.find((each) => each.kind === picking.kind)
  if (kind === undefined) throw refusal('decision_unknown', { values: { decisions: 'those of the page' } })
  const { marks, model } = await shownPage({ about, picking, kind }, context.language)
  const { action, hidden } = context.form(fields)
  const form = sealed(context, formField, { ...waiting, whose: whose(about) } as WaitingForm)
  context.send('things', {
    action,
    hidden: { ...hidden, [markedThings]: marks, [formField]: form },
    username: about.user.username,
    ...model,
    ...(isTooMany && { limit: mostChosen }),
  })
}

/**
 * The acts of a page whose form has things: they lead to the page of choosing and back to the form. The form must have the
 * token of all acts: `context.form(fields)`.
 *
 * @example accountPage({ path, maxForm: maxThingsForm, show, acts: { create, ...pickerActs({ asks, show: showForm }) } })
 */
export const pickerActs = <P extends Person>({
  asks,
  show,
}: ThingsPicker<P>): Readonly<Record<'things' | 'use' | 'back' | 'search' | 'next' | 'previous', Act<P>>> => {
  const things: Act<P> = async (context, form) => {
    const asked = await asks(context, form)
    const [, kind = ''] = form.required('decision').split(':')
    const chosen: Draft['things'] = draftIn(context, asked, form)?.things ?? {}
    const pairs = form.pairs().filter(([name]) => ![chosenField, 'decision', 'csrf_token'].includes(name))
    const picking = { kind, ids: chosen[kind] ?? [], query: '', trail: [] }
    await showPicking(context, asked, { pairs, things: chosen, picking })
    return undefined
  }

  const choose: Act<P> = async (context, form) => {
    const waiting = opened<WaitingForm>(context, formField, form)
    if (waiting === undefined) throw refusal('form_foreign', { status: 403 })
    const { pairs, things: chosen, picking } = waiting
    const before = Parameters.from(pairs)
    const asked = await asks(context, before)
    const kind = asked.kinds.find((each) => each.kind === picking.kind)
    const decision = form.required('decision')
    if (kind === undefined || waiting.whose !== whose(asked.about) || decision === 'back') {
      await show(context, withThings(context, asked, pairs, chosen))
      return undefined
    }
    const { ids, isTooMany } = chosenAfter(picking, form)
    const { about } = asked
    if (decision === 'use') {
      const found = await findThings(kind, about, ids)
      const mode = `choice:${kind.kind}`
      const others = pairs.filter(([name]) => name !== mode)
      const left = { ...chosen, [kind.kind]: found.map(({ id }) => id) }
      const filled = withThings(context, asked, [...others, [mode, 'these']], left)
      await show(context, filled, found.length < ids.length ? 'lost' : undefined)
      return undefined
    }
    const choosing: Choosing = { about, picking, kind }
    const moved = { ...(await movedTo(choosing, decision, form)), ids }
    await showPicking(context, asked, { pairs, things: chosen, picking: moved }, isTooMany)
    return undefined
  }

  return { things, use: choose, back: choose, search: choose, next: choose, previous: choose }
}
