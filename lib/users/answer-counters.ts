import type { KeyObject } from 'node:crypto'

/** The part of the server that hides names in counters. */
export interface Salted {
  readonly pairwiseSalt: KeyObject
}

/** A counter of wrong answers of a user, beside the passwords under a login name. */
export interface AnswerCounter {
  /** The word of operators for the answers. */
  readonly name: string
  /** The name under which the answers of a user are counted. */
  account(server: Salted, subject: string): string
}

/** Features, which may have counters. */
export type Counting = readonly {
  readonly storage?: { readonly users: { readonly answerCounter?: AnswerCounter } | undefined } | undefined
}[]

/** The counters of the features for a user. */
export const countersOf = (
  { installed, ...server }: Salted & { readonly installed: Counting },
  subject: string,
): { readonly name: string; readonly account: string }[] =>
  installed
    .flatMap(({ storage }) => storage?.users?.answerCounter ?? [])
    .map((counter) => ({ name: counter.name, account: counter.account(server, subject) }))
