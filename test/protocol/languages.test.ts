import {
  lookUpLanguage,
  parseAcceptLanguage,
  parseUiLocales,
  withoutRefused,
} from '../../lib/protocol/languages.ts'
import { fc } from '../support/property.ts'

const tag = fc.stringMatching(/^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?(-x-[a-z]{2,4})?$/)

describe('ui_locales (OIDC Core §3.1.2.1)', () => {
  test('keeps the order of preference', () => {
    expect(parseUiLocales('fr-CA fr en')).toEqual(['fr-CA', 'fr', 'en'])
  })

  test.each([undefined, '', ' ', '*', '../..', '_', 'abcdefghi', 'de-', 'de\tfr', '1de', 'ä'])(
    'finds no language in %j',
    (value) => expect(parseUiLocales(value)).toEqual([]),
  )

  test('leaves out what is malformed, and what is too much', () => {
    expect(parseUiLocales('d€_AT  de "fr" en')).toEqual(['de', 'en'])
    expect(parseUiLocales('de_AT')).toEqual(['de-AT'])
    expect(parseUiLocales('de,en-GB; q=0.5')).toEqual(['de', 'en-GB'])
    expect(parseAcceptLanguage('de_AT,en;q=0.5').wanted).toEqual(['de-AT', 'en'])
    expect(parseUiLocales('de '.repeat(1000))).toHaveLength(20)
    expect(parseUiLocales(`fr ${'_ '.repeat(600)}de`)).toEqual(['fr'])
  })

  test('returns every list of tags, and from any string only tags', () => {
    fc.assert(
      fc.property(fc.array(tag, { maxLength: 20 }), (tags) => {
        expect(parseUiLocales(tags.join(' '))).toEqual(tags)
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const found of parseUiLocales(text))
          expect(text.replaceAll('_', '-').split(/[ ,;]/)).toContain(found)
      }),
    )
  })
})

describe('Accept-Language (RFC 9110 §12.5.4)', () => {
  test.each([
    [undefined, []],
    ['', []],
    ['*', []],
    ['da, en-GB;q=0.8, en;q=0.7', ['da', 'en-GB', 'en']],
    ['en;q=0.7, da , en-GB; Q=0.8', ['da', 'en-GB', 'en']],
    ['fr;q=0.5,de;q=0.5', ['fr', 'de']],
    ['fr;q=1.000,de;q=0.001,,', ['fr', 'de']],
    ['fr;q=1.001,de;q=-1,en;q=.5,es;q=0.1234,ar;q=x,ja;x=1,nl;q=1;q=1,it;q', []],
    ['de;q=0, en', ['en']],
    ['d€, "en", <b>, fr', ['fr']],
  ])('%j asks for %j', (header, wanted) => expect(parseAcceptLanguage(header).wanted).toEqual(wanted))

  test('respects q=0', () => {
    expect(parseAcceptLanguage('de;q=0, en;q=0.000, *').refused).toEqual(['de', 'en'])
  })

  test('takes any header without an error, and 20 members of it at most', () => {
    const members = fc.array(fc.oneof(fc.string(), tag, fc.constant('*')), { maxLength: 60 })
    fc.assert(
      fc.property(members, (parts) => {
        const { wanted, refused } = parseAcceptLanguage(parts.join(','))
        expect(wanted.length + refused.length).toBeLessThanOrEqual(20)
      }),
    )
  })

  test('is read up to its 1,024th character', () => {
    expect(parseAcceptLanguage(`fr,${' '.repeat(1019)}de`).wanted).toEqual(['fr', 'de'])
    expect(parseAcceptLanguage(`fr,${' '.repeat(1021)}de`).wanted).toEqual(['fr'])
    expect(parseAcceptLanguage(`fr;${' '.repeat(65_536)}q=1`).wanted).toEqual([])
  })

  test('is sorted by quality, and where that is equal as it came', () => {
    const thousandths = fc.integer({ min: 1, max: 1000 })
    const members = fc.uniqueArray(fc.tuple(tag, thousandths), { selector: ([name]) => name, maxLength: 20 })
    fc.assert(
      fc.property(members, (given) => {
        const header = given.map(([name, quality]) => `${name};q=${(quality / 1000).toFixed(3)}`).join(', ')
        const { wanted } = parseAcceptLanguage(header)
        const sorted = given.toSorted(([, one], [, other]) => other - one).map(([name]) => name)
        expect(wanted).toEqual(sorted)
      }),
    )
  })
})

describe('lookup (RFC 4647 §3.4)', () => {
  const available = ['de', 'en', 'pt-BR', 'zh-Hant']

  test.each([
    [['de-AT'], 'de'],
    [['DE-at-1996'], 'de'],
    [['pt-br-x-y'], 'pt-BR'],
    [['zh-Hant-TW'], 'zh-Hant'],
    [['fr', 'en'], 'en'],
    [['de-CH', 'en'], 'de'],
    [['de-x-private'], 'de'],
  ])('%j finds %j', (wanted, found) => expect(lookUpLanguage(wanted, available)).toBe(found))

  test.each([[[]], [['pt']], [['zh-Hans']], [['d']], [['deu']], [['']], [['-']]])('%j finds none', (wanted) =>
    expect(lookUpLanguage(wanted, available)).toBeUndefined(),
  )

  test('finds only existing languages, in any letter case', () => {
    fc.assert(
      fc.property(fc.array(tag, { minLength: 1 }), fc.array(tag), tag, (tags, wanted, more) => {
        const [first = ''] = tags
        expect(lookUpLanguage([first.toUpperCase()], [first])).toBe(first)
        expect(lookUpLanguage([`${first}-${more}`], [first])).toBe(first)
        const found = lookUpLanguage(wanted, tags)
        if (found !== undefined) expect(tags).toContain(found)
        else expect(wanted.some((each) => tags.includes(each))).toBe(false)
      }),
    )
  })

  test('q=0 rules out a language and all its forms', () => {
    expect(withoutRefused(['de', 'de-AT', 'en', 'den'], ['DE'])).toEqual(['en', 'den'])
    expect(withoutRefused(['de', 'de-AT'], ['de-at'])).toEqual(['de'])
  })
})
