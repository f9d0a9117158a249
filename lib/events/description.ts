import type { EventDetails } from './event.ts'

/** Where the pages for operators list an event. */
export type EventGroup = 'sign-in' | 'consent' | 'tokens' | 'refused' | 'admin'

/** The colour of an event: something went well, was refused, or was administered. */
export type EventTone = 'good' | 'bad' | 'admin'

/** The texts that operators read about a type of event, in English. */
export interface EventDescription {
  readonly group: EventGroup
  readonly tone: EventTone
  /** A few words, such as `Signed in`. */
  readonly title: string
  /**
   * The sentence about it. `{user}`, `{client}`, `{actor}` and the fields of the event are filled in; what stands in brackets is left out if
   * one of its values is unknown.
   */
  readonly sentence: string
  /**
   * Whether anyone can cause it, as often as they like. Then it is kept for a week at most, and is not stored if it was refused
   * because there was too much of it.
   */
  readonly isBrief?: boolean
  /** Whether it ends access that someone had. Others act on it, so it passes what waits before it. */
  readonly endsAccess?: boolean
}

/** A description of each of these types. */
export type EventDescriptions<Type extends string> = { readonly [Each in Type]: EventDescription }

/** The types of events that begin with one of these words. */
export type EventTypesOf<Prefix extends string> = Extract<keyof EventDetails, `${Prefix}.${string}`>

/** A piece of a sentence: our words, or a value, which may come from a stranger. */
export interface SentencePart {
  readonly text: string
  readonly isValue: boolean
  /** Set for a value that is a time in ISO 8601, which a page shows as it shows others. */
  readonly isTime?: true
}

/** The values of an event by the names of its placeholders. */
export type SentenceValues = Readonly<Record<string, string | undefined>>

const partsOf = (template: string, values: SentenceValues): SentencePart[] =>
  template
    .split(/(\{\w+\})/)
    .filter((piece) => piece !== '')
    .map((piece) => {
      const [, name] = /^\{(\w+)\}$/.exec(piece) ?? []
      return name === undefined
        ? { text: piece, isValue: false }
        : { text: values[name] ?? 'unknown', isValue: true, ...(name === 'time' && { isTime: true }) }
    })

const isComplete = (template: string, values: SentenceValues): boolean =>
  [...template.matchAll(/\{(\w+)\}/g)].every(([, name = '']) => values[name] !== undefined)

/**
 * A sentence with its values. Values that are unknown outside brackets are called `unknown`.
 *
 * @example sentenceParts('{user} signed in[ to {client}]', { user: 'Mira' })
 * // [{ text: 'Mira', isValue: true }, { text: ' signed in', isValue: false }]
 */
export const sentenceParts = (sentence: string, values: SentenceValues): SentencePart[] =>
  sentence
    .split(/(\[[^[\]]*\])/)
    .flatMap((piece) =>
      piece.startsWith('[')
        ? isComplete(piece, values)
          ? partsOf(piece.slice(1, -1), values)
          : []
        : partsOf(piece, values),
    )
