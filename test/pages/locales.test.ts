import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dutch as exampleTexts } from '../../example-app/theme/dutch.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { scopes as scopesSchema } from '../../lib/options/scopes.ts'
import { createLanguages as languagesOf } from '../../lib/web/pages/i18n/languages.ts'
import * as arabic from '../../lib/web/pages/i18n/locales/ar.ts'
import * as german from '../../lib/web/pages/i18n/locales/de.ts'
import * as english from '../../lib/web/pages/i18n/locales/en.ts'
import * as spanish from '../../lib/web/pages/i18n/locales/es.ts'
import * as french from '../../lib/web/pages/i18n/locales/fr.ts'
import * as japanese from '../../lib/web/pages/i18n/locales/ja.ts'
import { createText } from '../../lib/web/pages/i18n/text.ts'
import { createLanguages, createViews, look, samples, withFeatures } from '../support/views.ts'

type Translation = english.Translation
const ar: Translation = withFeatures(arabic.ar)
const de: Translation = withFeatures(german.de)
const en: Translation = withFeatures(english.en)
const es: Translation = withFeatures(spanish.es)
const fr: Translation = withFeatures(french.fr)
const ja: Translation = withFeatures(japanese.ja)
const translations: Translation[] = [ar, de, es, fr, ja]
const all: Translation[] = [en, ...translations]
const keys = Object.keys(en.texts)
const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort()
const textsOf = ({ texts }: Translation): [string, string][] => Object.entries(texts)

test('the Dutch of the example has every text, with the same values', () => {
  const ofExample = (key: string): string => exampleTexts[key] ?? ''
  expect(Object.fromEntries(keys.map((key) => [key, placeholders(ofExample(key))]))).toEqual(
    Object.fromEntries(textsOf(en).map(([key, text]) => [key, placeholders(text)])),
  )
  expect(keys.filter((key) => ofExample(key) === '')).toEqual([])
})

describe.each(translations.map((each) => [each.language, each] as const))('%s', (_, translation) => {
  it('has every text and no other', () => {
    expect(Object.keys(translation.texts).sort()).toEqual([...keys].sort())
  })

  it('puts the same values in', () => {
    const own = textsOf(translation).map(([key, text]) => [key, placeholders(text)])
    const original = Object.entries(en.texts).map(([key, text]) => [key, placeholders(text)])
    expect(Object.fromEntries(own)).toEqual(Object.fromEntries(original))
  })

  it('is translated: hardly a text is the English one', () => {
    const english = new Map(Object.entries(en.texts))
    const same = textsOf(translation).filter(([key, text]) => english.get(key) === text)
    // Such as "Error" in Spanish, "Website" and "Passkeys" in German.
    expect(same.length).toBeLessThan(10)
  })
})

describe.each(all.map((each) => [each.language, each] as const))('%s', (language, translation) => {
  it('is plain text, whole and without spaces at its ends', () => {
    const odd = /^$|^\s|\s$|[<>&]|\s\s/
    expect(textsOf(translation).filter(([, text]) => odd.test(text))).toEqual([])
  })

  it('has the quotes and dashes of print', () => {
    const typed = textsOf(translation).filter(([, text]) => /["'`]|\.\.\.| - |--/.test(text))
    expect(typed).toEqual([])
  })

  it('says in which direction it runs, as its script does', () => {
    expect(translation.direction).toBe(language === 'ar' ? 'rtl' : 'ltr')
    expect(translation.language).toBe(language)
  })

  it('formats numbers, times and durations', () => {
    const text = createText(translation)
    const number = new Intl.NumberFormat(language).format(1234)
    expect(text.number(1234)).toBe(number)
    expect(text.duration(120)).toContain(
      new Intl.NumberFormat(language, { style: 'unit', unit: 'minute', unitDisplay: 'long' }).format(2),
    )
    expect(text.date('2026-01-02T23:59:59.000Z')).toContain('2026')
  })
})

describe('punctuation', () => {
  const violations = (translation: Translation, pattern: RegExp) =>
    textsOf(translation).filter(([, text]) => pattern.test(text))

  it('never begins a line in French: its spaces do not break', () => {
    expect(violations(fr, /[^\u202f][?!;]|[^\u00a0]:|« |[^\u00a0]»|[ \u00a0\u202f]{2}/)).toEqual([])
  })

  it('opens every Spanish question', () => {
    expect(textsOf(es).filter(([, text]) => text.includes('?') !== text.includes('¿'))).toEqual([])
  })

  it('is that of the script in Arabic and Japanese', () => {
    expect(violations(ar, /[?;,]/)).toEqual([])
    expect(violations(ja, /[?!,.](?!\w)|[“”„]/)).toEqual([])
  })

  it('closes what German opens', () => {
    expect(violations(de, /^[^„]*“|„[^“]*$|”/)).toEqual([])
  })
})

describe('templates', () => {
  const folder = join(__dirname, '../../views')
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = found.filter((name) => name.endsWith('.eta'))
  const bareOf = (file: string): string =>
    readFileSync(join(folder, file), 'utf8').replace(/<%[\s\S]*?%>/g, '')

  it.each(files)('%s holds no words between its tags', (file) => {
    expect(bareOf(file).replace(/<[^<>]*>/g, '')).not.toMatch(/\p{L}/u)
  })

  it.each(files)('%s holds no words in attributes that people hear or see', (file) => {
    const spoken = bareOf(file).matchAll(
      /\s(aria-label|aria-description|aria-placeholder|aria-roledescription|aria-valuetext|title|placeholder|alt|label|summary)="([^"]*)"/g,
    )
    expect([...spoken].filter(([, , value = '']) => /\p{L}/u.test(value)).map(([text]) => text)).toEqual([])
  })

  it('speak every language without a gap: no key, no English but what hosts and clients wrote', () => {
    const views = createViews({ pages: look({ name: 'Acme' }), basePath: '' })
    const isKey = new RegExp(`>\\s*(?:${keys.map((key) => key.replaceAll('.', '\\.')).join('|')})\\s*<`)
    for (const { language, direction, texts } of translations) {
      for (const { name, page, model } of samples) {
        const html = views.render(page, model as never, { language })
        const isGap = isKey.test(html) || !html.includes(`<html lang="${language}" dir="${direction}">`)
        expect({ language, name, isGap }).toEqual({ language, name, isGap: false })
        const english = Object.entries(en.texts).filter(
          ([key, text]) =>
            text.length > 20 &&
            !key.startsWith('scope.') &&
            !text.includes('{') &&
            html.includes(text) &&
            texts[key as keyof typeof texts] !== text,
        )
        expect({ language, name, english }).toEqual({ language, name, english: [] })
      }
    }
  })
})

describe('the languages of a host', () => {
  const languages = (
    locales: NonNullable<AuthRouterOptions['pages']>['locales'] = {},
    language = 'en',
    scopes: AuthRouterOptions['scopes'] = {},
  ) =>
    createLanguages({
      pages: look({ defaultLocale: language, locales }),
      scopes: scopesSchema.check(scopes, 'scopes'),
    })

  it('are ours when it says nothing', () => {
    expect(languages()).toMatchObject({ default: 'en', tags: ['ar', 'de', 'en', 'es', 'fr', 'ja'] })
    expect(languages().dictionary('de').texts).toEqual(de.texts)
  })

  it('can be fewer, but not without the default', () => {
    expect(languages({ ja: false, en: false }, 'de').tags).toEqual(['ar', 'de', 'es', 'fr'])
    expect(() => languages({ de: false }, 'de')).toThrow(
      /^latchkey: pages.defaultLocale must be one of ar, en, es/,
    )
    expect(() => languages({}, 'nl')).toThrow("for another language, add its texts in pages.locales['nl']")
  })

  it('take single texts from the host and the rest from us', () => {
    const { texts } = languages({ de: { texts: { 'login.title': 'Einloggen' } } }).dictionary('de')
    expect(texts).toEqual({ ...de.texts, 'login.title': 'Einloggen' })
  })

  it('may be its own; what it lacks comes from its parent language, the default, then English', () => {
    const locales = {
      nl: { texts: { 'login.title': 'Inloggen' } },
      'de-AT': { texts: { 'account.since': 'Zugriff seit Jänner' } },
      de: { texts: { 'login.title': 'Einloggen' } },
      fr: { texts: { 'claim.shoe_size': 'Pointure' } },
    }
    const { tags, dictionary } = languages(locales, 'fr')
    expect(tags).toContain('nl')
    const dutch = { ...fr.texts, 'claim.shoe_size': 'Pointure', 'login.title': 'Inloggen' }
    expect(dictionary('nl')).toEqual({ language: 'nl', direction: 'ltr', texts: dutch })
    const austrian = { 'login.title': 'Einloggen', 'account.since': 'Zugriff seit Jänner' }
    expect(dictionary('de-AT').texts).toMatchObject({ ...de.texts, ...austrian })
    const first = languages({ nl: locales.nl }, 'nl').dictionary('nl')
    expect(first.texts).toEqual({ ...en.texts, 'login.title': 'Inloggen' })
  })

  it('may be complete although the host lists no feature', () => {
    const pages = look({ locales: { nl: { texts: exampleTexts } } })
    expect(languagesOf({ pages, scopes: {} }).dictionary('nl').texts).toEqual({
      ...en.texts,
      ...exampleTexts,
    })
  })

  it('run as their script does, unless the host says otherwise', () => {
    const texts = {}
    const { dictionary } = languages({ 'az-Arab': { texts }, nl: { texts }, fa: { texts, direction: 'ltr' } })
    expect(['az-Arab', 'nl', 'fa'].map((tag) => dictionary(tag).direction)).toEqual(['rtl', 'ltr', 'ltr'])
  })

  it.each([
    [
      'login.titel',
      'Anmelden',
      "locales['de'].texts['login.titel'] is not a key of the pages’ texts; did you mean 'login.title'?",
    ],
    [
      'login.title',
      'Anmelden bei {client}',
      "locales['de'].texts['login.title'] contains the unknown placeholder {client}; it has no placeholders",
    ],
    ['login.continue', 'weiter zu {cleint}', 'it may contain {client}, {host}'],
  ])('refuse %s: %j', (key, text, message) => {
    expect(() => languages({ de: { texts: { [key]: text } } })).toThrow(message)
  })

  it('are by default those in which every scope has its texts, and the default one', () => {
    const german = { de: { description: 'x' } }
    const [both, one] = [{ description: 'x', locales: german }, { description: 'x' }]
    const enabled = (scopes: AuthRouterOptions['scopes'], locales: Record<string, boolean> = {}) =>
      languages(locales, 'en', scopes).tags
    expect(enabled({})).toEqual(['ar', 'de', 'en', 'es', 'fr', 'ja'])
    expect(enabled({ 'orders:read': both, 'orders:write': both })).toEqual(['de', 'en'])
    expect(enabled({ 'orders:read': both, 'orders:write': one })).toEqual(['en'])
    expect(enabled({ 'orders:read': one }, { fr: true, ja: true })).toEqual(['en', 'fr', 'ja'])
    expect(languages({}, 'fr', { 'orders:read': one }).tags).toEqual(['fr'])
  })

  it('in which only some scopes have texts are off, and the log says so', () => {
    const said: string[] = []
    const logger = { info: () => {}, warn: (line: string) => void said.push(line), error: () => {} }
    const words = { description: 'x', locales: { de: { description: 'x' } } }
    const scopes = { 'orders:read': words, 'orders:write': { description: 'x' } }
    createLanguages({ pages: look(), scopes: scopesSchema.check(scopes, 'scopes'), logger })
    expect(said).toEqual([expect.stringMatching(/not available in 'de'.*: orders:write; add the texts/)])
  })

  it('of the host with some texts only are named in the log, unless their parent has the others', () => {
    const said: string[] = []
    const logger = { info: () => {}, warn: (line: string) => void said.push(line), error: () => {} }
    const texts = { 'login.title': 'Inloggen' }
    const locales = { nl: { texts }, 'de-AT': { texts }, fi: { texts: en.texts } }
    createLanguages({ pages: look({ locales }), scopes: {}, logger })
    expect(said).toEqual([
      `latchkey: pages.locales['nl'] lacks ${Object.keys(en.texts).length - 1} texts, such as title.page, title.error, login.heading; the pages show them in another language`,
    ])
  })

  it('that are not built in need texts', () => {
    expect(() => languages({ nl: true })).toThrow("locales['nl'] must have texts")
  })

  it('refuse scope texts in an unknown language, but not in a built-in one that is off', () => {
    const words = (tag: string) => ({
      'orders:read': { description: 'See', locales: { [tag]: { description: 'x' } } },
    })
    expect(() => languages({}, 'en', words('fi'))).toThrow(
      "scopes['orders:read'].locales['fi']: this is not a language of the pages; did you mean 'fr'?",
    )
    expect(languages({ de: false }, 'en', words('de')).tags).not.toContain('de')
  })
})
