import { type ErrorCode, OAuthError, type OAuthErrorOptions } from './errors.ts'
import { reasons } from './texts/reasons.ts'

type Sentences = { readonly [Code in keyof typeof reasons]: (typeof reasons)[Code] }[keyof typeof reasons]
type ReasonIn<Group> = Group extends unknown ? keyof Group : never
type SentenceIn<Group, Name> = Group extends unknown
  ? Name extends keyof Group
    ? Group[Name]
    : never
  : never

/** The reason of a refusal. */
export type Reason = ReasonIn<Sentences> & string

/** The reasons of an error code. */
export type ReasonOf<Code extends keyof typeof reasons> = Code extends unknown
  ? keyof (typeof reasons)[Code] & Reason
  : never

type Names<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

/** The names of the values in the sentence of a reason. */
type ValueNames<Name extends Reason> = Names<SentenceIn<Sentences, Name>>

type Values = Readonly<Record<string, string | number>>

/** A reason whose sentence has no values. */
export type PlainReason = { [Name in Reason]: [ValueNames<Name>] extends [never] ? Name : never }[Reason]

type RefusalOptions<Name extends Reason> = Omit<OAuthErrorOptions, 'reason' | 'parameter'> &
  ([ValueNames<Name>] extends [never]
    ? unknown
    : { readonly values: Readonly<Record<ValueNames<Name>, string | number>> })

type Arguments<Name extends Reason> = [ValueNames<Name>] extends [never]
  ? [options?: RefusalOptions<Name>]
  : [options: RefusalOptions<Name>]

const entries: readonly (readonly [ErrorCode, Readonly<Record<string, string>>])[] = Object.entries(
  reasons,
) as [ErrorCode, Readonly<Record<string, string>>][]

/** The error code and the sentence of each reason. */
const words: Readonly<Record<string, readonly [ErrorCode, string]>> = Object.fromEntries(
  entries.flatMap(([code, sentences]) =>
    Object.entries(sentences).map(([reason, sentence]) => [reason, [code, sentence]]),
  ),
)

/**
 * The error code of a reason and its sentence with these values.
 *
 * @example wordsOf('parameter_missing', { parameter: 'code' }) // ['invalid_request', 'code is required']
 */
export const wordsOf = (reason: Reason, values: Values = {}): [code: ErrorCode, sentence: string] => {
  const [code, sentence] = words[reason] ?? ['server_error', reason]
  return [code, sentence.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]))]
}

/**
 * The error for a request that is refused: the only place where a reason becomes a sentence.
 *
 * @param options.values of the sentence; with `parameter` the error says what it is about
 * @example throw refusal('parameter_missing', { values: { parameter: 'code' } })
 */
export const refusal = <Name extends Reason>(reason: Name, ...[options]: Arguments<Name>): OAuthError => {
  const { values = {}, ...about }: OAuthErrorOptions & { readonly values?: Values } = options ?? {}
  const parameter = values.parameter === undefined ? {} : { parameter: String(values.parameter) }
  return new OAuthError(...wordsOf(reason, values), { ...about, ...parameter, reason })
}

/** The error for a client when the database, or a service that a host function needs, is unavailable: 503, try again. */
export const temporarilyUnavailable = (cause: unknown): OAuthError =>
  refusal('unavailable', { cause, headers: { 'Retry-After': '1' } })
