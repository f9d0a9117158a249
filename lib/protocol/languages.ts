/** The longest language tag (RFC 5646 §4.4.1). The time that `Intl` takes for one grows with the square of its length. */
const maxTagLength = 35

/** Whether `Intl` may read this tag. */
export const isShortTag = (tag: string): boolean => tag.length <= maxTagLength

/** A language range (RFC 4647 §2.1) of bounded length. */
const range = /^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,8}$/i
const maxRanges = 20
/** The most of a list that is read, in UTF-16 code units: many times what browsers send. */
const maxLength = 1024
const qualityValue = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/

/** A tag as RFC 5646 writes it: many systems have `de_DE`. */
const withHyphens = (tag: string): string => tag.replaceAll('_', '-')

/**
 * Parses a `ui_locales` parameter (OIDC Core §3.1.2.1), preferred language first. Many clients send the locale of a system or
 * the value of `Accept-Language`, so `_`, commas and weights are read too. Malformed tags are ignored, and so is what follows
 * the first 1,024 characters.
 *
 * @example parseUiLocales('fr-CA fr en') // ['fr-CA', 'fr', 'en']
 */
export const parseUiLocales = (value: string | undefined): string[] =>
  (value ?? '')
    .slice(0, maxLength)
    .split(/[ ,]/)
    .map((tag) => withHyphens(tag.replace(/;.*/, '')))
    .filter((tag) => range.test(tag))
    .slice(0, maxRanges)

/**
 * Parses an `Accept-Language` header (RFC 9110 §12.5.4): the wanted languages, preferred first, and those with `q=0`.
 * Malformed members are ignored, and so are `*`, which asks for no particular language, and what follows the first 1,024
 * characters.
 */
export const parseAcceptLanguage = (header: string | undefined) => {
  const members = (header ?? '')
    .slice(0, maxLength)
    .split(',', maxRanges)
    .map((member) => member.split(';').map((part) => part.trim()))
    .map(([tag = '', weight, ...rest]) => ({ tag: withHyphens(tag), quality: qualityOf(weight, rest) }))
    .filter(({ tag, quality }) => range.test(tag) && quality !== undefined)
    .sort((one, other) => (other.quality ?? 0) - (one.quality ?? 0))
  return {
    wanted: members.filter(({ quality }) => quality !== 0).map(({ tag }) => tag),
    refused: members.filter(({ quality }) => quality === 0).map(({ tag }) => tag),
  }
}

/** RFC 9110 §12.4.2: 1 if absent; undefined if malformed. */
const qualityOf = (weight: string | undefined, rest: readonly string[]): number | undefined => {
  if (weight === undefined) return 1
  const value = /^q=(.*)$/i.exec(weight)?.[1] ?? ''
  return rest.length === 0 && qualityValue.test(value) ? Number(value) : undefined
}

/**
 * Finds the first wanted language that is available. Each is shortened until it matches: `de-AT` finds `de`
 * (RFC 4647 §3.4).
 *
 * @returns one of `available`, as written there
 * @example lookUpLanguage(['pt-BR', 'de-AT'], ['de', 'en']) // 'de'
 */
export const lookUpLanguage = (
  wanted: readonly string[],
  available: readonly string[],
): string | undefined => {
  for (const tag of wanted) {
    for (let form = tag.toLowerCase(); form !== ''; form = withoutLastSubtag(form)) {
      const found = available.find((candidate) => candidate.toLowerCase() === form)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Also removes a single-character subtag that would then be the last. */
const withoutLastSubtag = (tag: string): string => tag.replace(/(?:-[a-z0-9])?-[^-]*$|^[^-]*$/, '')

/** The available languages that `q=0` does not exclude, directly or by a range that includes them. */
export const withoutRefused = (available: readonly string[], refused: readonly string[]): readonly string[] =>
  available.filter((tag) =>
    refused.every((range) => !`${tag.toLowerCase()}-`.startsWith(`${range.toLowerCase()}-`)),
  )
