import { closest, distance } from 'fastest-levenshtein'
import { refuse } from '../../../options/check.ts'
import type { Options } from '../../../options/options.ts'
import type { Pages } from '../../../options/pages.ts'
import { lookUpLanguage } from '../../../protocol/languages.ts'
import { ar } from './locales/ar.ts'
import { de } from './locales/de.ts'
import { en } from './locales/en.ts'
import { es } from './locales/es.ts'
import { fr } from './locales/fr.ts'
import { ja } from './locales/ja.ts'
import { operatorTexts } from './operators.ts'
import { createText, type Dictionary, type Text } from './text.ts'

/** The enabled languages. */
export interface Languages {
  /** The language of a page if the user prefers no other enabled one. */
  readonly default: string
  /** All enabled languages, sorted. */
  readonly tags: readonly string[]
  /** The texts of a language; those of the default language if it is not enabled. */
  dictionary(tag: string): Dictionary
  /** The texts of pages for operators, which are in English. */
  readonly operators: Dictionary
  /** The functions that format the texts of a language. */
  text(tag: string): Text
  /** The name of an enabled language in itself, such as “Français”. */
  nameOf(tag: string): string
}

interface LanguageOptions extends Pick<Options, 'scopes'>, Partial<Pick<Options, 'logger'>> {
  readonly pages: Pick<Pages, 'defaultLocale' | 'locales'>
}

const ofCore: Readonly<Record<string, Dictionary>> = { ar, de, en, es, fr, ja }

type Texts = Dictionary['texts']

/** A feature that has texts. */
export interface Texted {
  readonly texts?: {
    /** Of its pages, by language tag. */
    readonly pages?: Readonly<Record<string, Texts>>
    /** Of its pages for operators, which are in English and whose names begin with `operator-`. */
    readonly operators?: Texts
  }
}

/** The built-in languages with the texts of the core and of the features. */
const builtIn = (features: readonly Texted[]): Readonly<Record<string, Dictionary>> =>
  Object.fromEntries(
    Object.entries(ofCore).map(([tag, dictionary]) => {
      const added = features.map(({ texts }) => texts?.pages?.[tag])
      return [tag, { ...dictionary, texts: Object.assign({}, dictionary.texts, ...added) }]
    }),
  )

const rightToLeft = ['Adlm', 'Arab', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa', 'Yezi']

const directionOf = (tag: string): Dictionary['direction'] =>
  rightToLeft.includes(new Intl.Locale(tag).maximize().script ?? '') ? 'rtl' : 'ltr'

/** The name of a language in itself, with a capital letter. */
const ownName = (tag: string): string => {
  const name = new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag
  return name.replace(/^./u, (first) => first.toLocaleUpperCase(tag))
}

/** A host may add labels for its own claims. */
const isClaimText = (key: string): boolean => key.startsWith('claim.')

const placeholdersOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/**
 * Whether a key is a known one with a mistake or two. Any other belongs to a feature that the host does not list: a translation
 * may be complete.
 */
const isMistyped = (key: string, nearest: string): boolean =>
  distance(key, nearest) <= 2 && key.split('.')[0] === nearest.split('.')[0]

const assertTexts = (english: Texts, where: string, texts: Texts): void => {
  const keys = Object.keys(english)
  for (const [key, text] of Object.entries(texts)) {
    const original = Object.entries(english).find(([name]) => name === key)?.[1]
    if (original === undefined && !isClaimText(key)) {
      const nearest = closest(key, keys)
      if (!isMistyped(key, nearest)) continue
      refuse(`${where}['${key}'] is not a key of the pages’ texts; did you mean '${nearest}'?`)
    }
    const known = placeholdersOf(original ?? '')
    const unknown = placeholdersOf(text).find((name) => !known.includes(name))
    if (unknown !== undefined) {
      const may = known.length === 0 ? 'it has no placeholders' : `it may contain {${known.join('}, {')}}`
      refuse(`${where}['${key}'] contains the unknown placeholder {${unknown}}; ${may}`)
    }
  }
}

/** Refuses scope texts in an unknown language, because no page would show them. */
const assertScopeLanguages = ({ scopes }: LanguageOptions, tags: readonly string[]): void => {
  const known = [...new Set([...tags, ...Object.keys(ofCore)])]
  for (const [name, { locales = {} }] of Object.entries(scopes)) {
    for (const tag of Object.keys(locales).filter((each) => !known.includes(each))) {
      refuse(
        `scopes['${name}'].locales['${tag}']: this is not a language of the pages; did you mean '${closest(tag, known)}'?`,
      )
    }
  }
}

/**
 * The enabled languages: those that the host names in `locales`, the default one, and the built-in ones in which every scope
 * has its texts, so that no page mixes two languages.
 */
const enabledTags = ({ pages, scopes, logger }: LanguageOptions): string[] => {
  const { defaultLocale, locales } = pages
  const entries = Object.entries(scopes)
  const lacking = (tag: string): string[] =>
    entries.filter(([, scope]) => !Object.hasOwn(scope.locales ?? {}, tag)).map(([name]) => name)
  const isEnabled = (tag: string): boolean => {
    if (Object.hasOwn(locales, tag)) return locales[tag] !== false
    const missing = lacking(tag)
    if (tag === defaultLocale || missing.length === 0) return true
    if (missing.length < entries.length) {
      logger?.warn(
        `latchkey: the pages are not available in '${tag}', because these scopes have no texts in it: ${missing.join(', ')}; add the texts, or set pages.locales: { '${tag}': true }`,
      )
    }
    return false
  }
  return [...new Set([...Object.keys(ofCore), ...Object.keys(locales)])].filter(isEnabled).sort()
}

/** Names the texts that a language of the host lacks: pages show them in another language. */
const warnOfMissingTexts = (
  { pages: { locales }, logger }: LanguageOptions,
  english: Texts,
  tag: string,
  tags: readonly string[],
): void => {
  const own = locales[tag]
  const parent = lookUpLanguage(
    [tag],
    tags.filter((each) => each !== tag),
  )
  if (typeof own !== 'object' || Object.hasOwn(ofCore, tag) || parent !== undefined) return
  const missing = Object.keys(english).filter((key) => !Object.hasOwn(own.texts, key))
  if (missing.length === 0) return
  const some = missing.slice(0, 3).join(', ')
  logger?.warn(
    `latchkey: pages.locales['${tag}'] lacks ${missing.length} texts, such as ${some}; the pages show them in another language`,
  )
}

/**
 * Prepares the languages of a host. Texts that are missing in one of its languages come from the parent language (`de`
 * for `de-AT`), then from the default language, then from English, so that a new text in an update breaks nothing.
 *
 * @param features add their texts to those of the core
 * @throws OptionsError for an unknown text or placeholder, and for a default language that is not enabled
 */
export const createLanguages = (options: LanguageOptions, features: readonly Texted[] = []): Languages => {
  const ours = builtIn(features)
  const english = ours.en?.texts ?? en.texts
  const { defaultLocale, locales } = options.pages
  const hosts = Object.entries(locales)
  for (const [tag, locale] of hosts) {
    if (typeof locale === 'object') assertTexts(english, `pages.locales['${tag}'].texts`, locale.texts)
    else if (locale && !Object.hasOwn(ofCore, tag))
      refuse(`pages.locales['${tag}'] must have texts: it is not a built-in language`)
  }
  const tags = enabledTags(options)
  if (!tags.includes(defaultLocale)) {
    refuse(
      `pages.defaultLocale must be one of ${tags.join(', ')}; for another language, add its texts in pages.locales['${defaultLocale}']`,
    )
  }
  assertScopeLanguages(options, tags)

  for (const tag of tags) warnOfMissingTexts(options, english, tag, tags)

  const wordsOf = (tag: string): Texts => {
    const own = locales[tag]
    const original = Object.hasOwn(ours, tag) ? ours[tag]?.texts : undefined
    return { ...original, ...(typeof own === 'object' ? own.texts : {}) }
  }
  const build = (tag: string): Dictionary => {
    const others = tags.filter((each) => each !== tag)
    const parent = lookUpLanguage([tag], others)
    const own = locales[tag]
    const known = Object.hasOwn(ours, tag) ? ours[tag]?.direction : undefined
    const direction = (typeof own === 'object' ? own.direction : undefined) ?? known ?? directionOf(tag)
    const texts = { ...english, ...wordsOf(defaultLocale), ...(parent && wordsOf(parent)), ...wordsOf(tag) }
    return { language: tag, direction, texts }
  }
  const dictionaries = new Map(tags.map((tag) => [tag, build(tag)]))
  const standard = build(defaultLocale)
  const formatters = new Map([...dictionaries].map(([tag, dictionary]) => [tag, createText(dictionary)]))
  const standardFormatters = createText(standard)
  // On first use, because it loads data of Intl that pages in one language do not need.
  const names = new Map<string, string>()
  const nameOf = (tag: string): string => {
    const name = names.get(tag) ?? ownName(tag)
    names.set(tag, name)
    return name
  }
  return {
    default: defaultLocale,
    tags,
    operators: {
      language: 'en',
      direction: 'ltr',
      clock: 'h23',
      texts: Object.assign({}, english, operatorTexts, ...features.map(({ texts }) => texts?.operators)),
    },
    dictionary: (tag) => dictionaries.get(tag) ?? standard,
    text: (tag) => formatters.get(tag) ?? standardFormatters,
    nameOf,
  }
}
