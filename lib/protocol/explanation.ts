/** The difference between a refused request and a right one: for operators only, never in an answer. */
export interface Explanation {
  /** The part that a right request has. */
  readonly expected: string
  /** The part that it had instead, without tokens. */
  readonly received: string
  /** The identifier of a client in `received`, as `readableIdentifier` writes it. */
  readonly receivedId?: string
  /** The seconds between them, if both are times. */
  readonly secondsApart?: number
}

/** The most characters of a value that are kept. */
const maxLength = 500

/** The most characters of a value that is shown whole although it may be a secret by mistake. */
const maxPlain = 20

const hidden = 'a value that looks like a token'

/** Marks of tokens: one of our prefixes, or the beginning of a JWT. */
const tokenLike = /lk_[a-z]{2}_[\w-]{20}|eyJ[\w-]{8}/

const withoutTokens = (value: string): string =>
  value.replace(/[\w.-]+/g, (word) => (tokenLike.test(word) ? hidden : word))

/**
 * A value from a request as operators may read it: without control characters and tokens, and not longer than 500
 * characters.
 */
export const readable = (value: string): string => {
  const clean = withoutTokens(value.replace(/\p{Cc}/gu, '\u{fffd}'))
  return clean.length > maxLength ? `${clean.slice(0, maxLength)}…` : clean
}

/**
 * A value that may be a secret by mistake, as where a client sends its secret as `client_id`: a long one only by its
 * beginning and its length.
 */
export const readableIdentifier = (value: string): string => {
  const clean = readable(value)
  return clean.length > maxPlain ? `${clean.slice(0, 6)}… (${value.length} characters)` : clean
}

/** A list for an explanation; `none` if it is empty. */
export const listed = (values: readonly string[]): string =>
  values.length === 0 ? 'none' : values.map(readable).join(' ')

/** A time for an explanation, from epoch seconds; the number itself if it is no date, as a claim may be. */
export const timeOf = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace('.000Z', 'Z')
}

/**
 * The explanation of a time that is wrong.
 *
 * @example explainedTimes(['exp until', now + 300], ['exp at', exp])
 */
export const explainedTimes = (
  [expected, expectedTime]: readonly [words: string, seconds: number],
  [received, receivedTime]: readonly [words: string, seconds: number],
): Explanation => ({
  expected: `${expected} ${timeOf(expectedTime)}`,
  received: `${received} ${timeOf(receivedTime)}`,
  secondsApart: Math.abs(receivedTime - expectedTime),
})

/** The explanation of what came too late. */
export const lateExplanation = (expiresAt: number, now: number): Explanation =>
  explainedTimes(['a request before', expiresAt], ['one at', now])

const commonLength = (one: string, other: string): number => {
  const differs = [...one].findIndex((character, index) => character !== other[index])
  return differs === -1 ? one.length : differs
}

/**
 * Splits a value that was received where it first differs from the expected value that is most like it. In words about a
 * value nothing differs.
 *
 * @example splitAtDifference({ expected: 'one of https://a.example/cb', received: 'https://a.example/cb/' })
 * // ['https://a.example/cb', '/']
 */
export const splitAtDifference = ({ expected, received }: Explanation): [same: string, other: string] => {
  if (/\s/.test(received)) return [received, '']
  const at = Math.max(...expected.split(' ').map((value) => commonLength(received, value)))
  return [received.slice(0, at), received.slice(at)]
}
