import { assertNames, assertRecord, refuse } from './check.ts'
import type { LocaleOptions, ScopeWords } from './options.ts'

/** Accepts a language tag in canonical form (BCP 47, RFC 5646 §4.5), such as `de` or `pt-BR`. */
const checkedTag = (where: string, tag: string): string => {
  let canonical: string | undefined
  try {
    canonical = Intl.getCanonicalLocales(tag)[0]
  } catch {
    return refuse(`${where}: '${tag}' is not a language tag, such as 'de' or 'pt-BR'`)
  }
  return canonical === tag ? tag : refuse(`${where}: '${tag}' must be written as '${canonical}'`)
}

export const checkedDefaultLocale = (defaultLocale: unknown): string =>
  typeof defaultLocale === 'string'
    ? checkedTag('defaultLocale', defaultLocale)
    : refuse("defaultLocale must be a language tag, such as 'de'")

/** Checks the shape only; `pages/i18n` checks the keys of the texts. */
export const checkedLocales = (
  locales: Readonly<Record<string, LocaleOptions | boolean>>,
): Readonly<Record<string, LocaleOptions | boolean>> => {
  assertRecord('locales', locales)
  for (const [tag, locale] of Object.entries(locales)) {
    checkedTag('locales', tag)
    if (typeof locale === 'boolean') continue
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

/** Checks the texts of one scope. `details` must exist in all languages or in none, so that every user reads the same. */
export const assertScopeWords = (
  where: string,
  { details, locales }: { details?: unknown; locales?: Readonly<Record<string, ScopeWords>> },
): void => {
  assertString(`${where}.details`, details)
  if (locales === undefined) return
  assertRecord(`${where}.locales`, locales)
  for (const [tag, words] of Object.entries(locales)) {
    checkedTag(`${where}.locales`, tag)
    const place = `${where}.locales['${tag}']`
    assertRecord(place, words)
    assertNames(`${place}.`, words, ['description', 'details'])
    if (words.description === undefined) refuse(`${place}.description is required`)
    assertString(`${place}.description`, words.description)
    assertString(`${place}.details`, words.details)
    if ((words.details === undefined) !== (details === undefined)) {
      refuse(`${place}.details must be set if and only if ${where}.details is set`)
    }
  }
}

const assertString = (name: string, value: unknown): void => {
  if (value !== undefined && (typeof value !== 'string' || value === ''))
    refuse(`${name} must be a string that is not empty`)
}
