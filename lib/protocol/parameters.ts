import { readable } from './explanation.ts'
import { lengths } from './lengths.ts'
import { refusal } from './refusal.ts'

/** Maximum length of a value per parameter; {@link lengths} says it of all others. */
const maxLengths: Readonly<Record<string, number>> = {
  client_id: lengths.identifier,
  nonce: lengths.nonce,
  code: lengths.code,
  state: lengths.state,
  scope: lengths.scope,
  authorization_details: lengths.details,
  access_token: lengths.token,
  refresh_token: lengths.token,
  token: lengths.token,
  id_token_hint: lengths.token,
  subject_token: lengths.token,
  actor_token: lengths.token,
  client_assertion: lengths.token,
  assertion: lengths.token,
  request: lengths.token,
}
const maxParameters = 64

/** Parameters that a request may repeat (RFC 8707 §2, RFC 8693 §2.1). */
const repeatable = ['resource', 'audience'] as const

export type RepeatableParameter = (typeof repeatable)[number]

const isRepeatable = (name: string): boolean => repeatable.some((known) => known === name)

// C0, DEL and C1 controls; decoding turns bytes that are not UTF-8 into U+FFFD.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const unprintable = /[\u0000-\u001f\u007f-\u009f\ufffd]/

const maxLengthOf = (name: string): number =>
  (Object.hasOwn(maxLengths, name) ? maxLengths[name] : undefined) ?? lengths.other

const assertLength = (name: string, value: string, maxLength: number): void => {
  if (value.length > maxLength) {
    throw refusal('parameter_too_long', { values: { parameter: name, max: maxLength } })
  }
}

const assertPrintable = (name: string, value: string): void => {
  if (unprintable.test(value)) {
    throw refusal('parameter_unreadable', { values: { parameter: name } })
  }
}

/** The parameters of one request. An empty value means absent, and each parameter may appear once (RFC 6749 §3.1). */
export class Parameters {
  readonly #values: ReadonlyMap<string, readonly string[]>

  private constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values
  }

  /**
   * Takes name–value pairs, such as those of a URLSearchParams.
   *
   * @throws OAuthError `invalid_request` beyond 64 parameters
   * @example Parameters.from(new URLSearchParams('grant_type=client_credentials'))
   */
  static from(pairs: Iterable<readonly [string, string]>): Parameters {
    const values = new Map<string, string[]>()
    let count = 0
    for (const [name, value] of pairs) {
      count += 1
      if (count > maxParameters) {
        throw refusal('parameters_too_many', { values: { max: maxParameters } })
      }
      if (value === '') continue
      const earlier = values.get(name)
      if (earlier) earlier.push(value)
      else values.set(name, [value])
    }
    return new Parameters(values)
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /**
   * The value; undefined if absent or empty.
   *
   * @param maxLength in UTF-16 code units; by default that of the parameter
   * @throws OAuthError `invalid_request` if it is repeated, too long or has control characters
   */
  optional(name: string, maxLength = maxLengthOf(name)): string | undefined {
    const value = this.verbatim(name, maxLength)
    if (value !== undefined) assertPrintable(name, value)
    return value
  }

  /** Like {@link optional}, but absence is an `invalid_request` too. */
  required(name: string): string {
    const value = this.optional(name)
    if (value === undefined) {
      const explanation = {
        expected: `the parameter ${name}`,
        received: readable(this.names().join(' ')) || 'none',
      }
      throw refusal('parameter_missing', { values: { parameter: name }, explanation })
    }
    return value
  }

  /**
   * All values of a parameter that may be repeated, unchecked, in the order sent; empty if absent.
   *
   * @example parameters.all('resource') // ['https://api.example.com', 'https://files.example.com']
   */
  all(name: RepeatableParameter): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /** A value that may have any characters, such as a password: only repetition and length are checked. */
  verbatim(name: string, maxLength: number): string | undefined {
    const [value, another] = this.#values.get(name) ?? []
    if (value === undefined) return undefined
    if (another !== undefined) throw refusal('parameter_repeated', { values: { parameter: name } })
    assertLength(name, value, maxLength)
    return value
  }

  /** The first value, unchecked: for what must be known before a request can be refused. */
  first(name: string): string | undefined {
    return this.#values.get(name)?.[0]
  }

  /** Names with at least one value, in the order of their first appearance. */
  names(): string[] {
    return [...this.#values.keys()]
  }

  /** All values as name–value pairs. */
  pairs(): [string, string][] {
    return [...this.#values].flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    )
  }

  /** RFC 6749 §3.1 and §3.2: request parameters must not be included more than once. */
  assertEachOnce(): void {
    for (const [name, values] of this.#values) {
      if (values.length > 1 && !isRepeatable(name)) {
        throw refusal('parameters_repeated')
      }
    }
  }
}
