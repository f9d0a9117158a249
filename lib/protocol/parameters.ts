import { OAuthError } from './errors.ts'

/** Longest accepted value per parameter, in UTF-16 units; what is not named here may have 2,048. */
const longest: Readonly<Record<string, number>> = {
  client_id: 255,
  nonce: 512,
  code: 128,
  refresh_token: 128,
  token: 8192,
  id_token_hint: 8192,
  client_assertion: 8192,
  request: 8192,
}
const maxOtherLength = 2048
const maxParameters = 64

/** Parameters that may stand more than once (RFC 8707 §2). */
const repeatable: ReadonlySet<string> = new Set(['resource'])

// C0, DEL and C1 controls; U+FFFD is what decoding leaves of bytes that are not UTF-8.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const unprintable = /[\u0000-\u001f\u007f-\u009f\ufffd]/

/**
 * The parameters of one request, converted from the wire in this one place.
 * Empty means absent (RFC 6749 §3.1); each may stand once; names are only names, never properties.
 */
export class Parameters {
  readonly #values: ReadonlyMap<string, readonly string[]>

  private constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values
  }

  /**
   * Takes name–value pairs, as URLSearchParams gives them.
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
        throw new OAuthError('invalid_request', `request has more than ${maxParameters} parameters`)
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
   * The value, undefined when absent or empty.
   *
   * @throws OAuthError `invalid_request` when it is repeated, too long or holds control characters
   */
  optional(name: string): string | undefined {
    const limit = Object.hasOwn(longest, name) ? longest[name] : undefined
    const value = this.verbatim(name, limit ?? maxOtherLength)
    if (value !== undefined && unprintable.test(value)) {
      throw new OAuthError('invalid_request', `${name} must be UTF-8 text without control characters`)
    }
    return value
  }

  /** As {@link optional}, and absence is an `invalid_request` too. */
  required(name: string): string {
    const value = this.optional(name)
    if (value === undefined) throw new OAuthError('invalid_request', `${name} is required`)
    return value
  }

  /** A value whose characters are nobody's business here, such as a password: only count and length are checked. */
  verbatim(name: string, length: number): string | undefined {
    const values = this.#values.get(name)
    if (values === undefined) return undefined
    if (values.length > 1) throw new OAuthError('invalid_request', `${name} must not be repeated`)
    const [value = ''] = values
    if (value.length > length) {
      throw new OAuthError('invalid_request', `${name} must not exceed ${length} characters`)
    }
    return value
  }

  /** Names with at least one value, in the order of their first appearance. */
  names(): string[] {
    return [...this.#values.keys()]
  }

  /** Back to name–value pairs, for storing a request that waits. */
  pairs(): [string, string][] {
    return [...this.#values].flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    )
  }

  /** RFC 6749 §3.1 and §3.2: request parameters must not be included more than once. */
  assertEachOnce(): void {
    for (const [name, values] of this.#values) {
      if (values.length > 1 && !repeatable.has(name)) {
        throw new OAuthError('invalid_request', 'parameters must not be repeated')
      }
    }
  }
}
