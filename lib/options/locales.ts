import { assertNames, assertRecord, refuse } from './check.ts'
import type { LocaleOptions, ScopeWords } from './options.ts'

/** A language tag in its canonical form (BCP 47, RFC 5646 §4.5), such as `de` or `pt-BR`. */
const checkedTag = (where: string, tag: string): string => {
  let canonical: string | undefined
  try {
    canonical = Intl.getCanonicalLocales(tag)[0]
  } catch {
    return refuse(`${where}: '${tag}' is not a language tag, such as 'de' or 'pt-BR'`)
  }
  return canonical === tag ? tag : refuse(`${where}: '${tag}' must be written as '${canonical}'`)
}

export const checkedLanguage = (language: unknown): string =>
  typeof language === 'string'
    ? checkedTag('language', language)
    : refuse("language must be a language tag, such as 'de'")

/** Which texts there are is known where they stand: `http/languages` checks the rest. */
export const checkedLocales = (
  locales: Readonly<Record<string, LocaleOptions | false>>,
): Readonly<Record<string, LocaleOptions | false>> => {
  assertRecord('locales', locales)
  for (const [tag, locale] of Object.entries(locales)) {
    checkedTag('locales', tag)
    if (locale === false) continue
    const where = `locales['${tag}']`
    assertRecord(where, locale)
    assertNames(`${where}.`, locale, ['direction', 'texts'])
    if (locale.direction !== undefined && !['ltr', 'rtl'].includes(locale.direction)) {
      refuse(`${where}.direction must be 'ltr' or 'rtl'`)
    }
    assertRecord(`${where}.texts`, locale.texts)
    for (const [key, text] of Object.entries(locale.texts)) {
      if (typeof text !== 'string') refuse(`${where}.texts['${key}'] must be a string`)
    }
  }
  return locales
}

/** The words of one scope, in all languages: they say the same or nobody could tell what was allowed. */
export const assertScopeWords = (
  where: string,
  { details, locales }: { details?: unknown; locales?: Readonly<Record<string, ScopeWords>> },
): void => {
  assertText(`${where}.details`, details)
  if (locales === undefined) return
  assertRecord(`${where}.locales`, locales)
  for (const [tag, words] of Object.entries(locales)) {
    checkedTag(`${where}.locales`, tag)
    const place = `${where}.locales['${tag}']`
    assertRecord(place, words)
    assertNames(`${place}.`, words, ['description', 'details'])
    if (words.description === undefined) refuse(`${place}.description is required`)
    assertText(`${place}.description`, words.description)
    assertText(`${place}.details`, words.details)
    if ((words.details === undefined) !== (details === undefined)) {
      refuse(`${place}.details must be there exactly when ${where}.details is`)
    }
  }
}

const assertText = (name: string, value: unknown): void => {
  if (value !== undefined && (typeof value !== 'string' || value === '')) refuse(`${name} must be a text`)
}
