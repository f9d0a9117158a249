import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clampChroma, wcagContrast as contrast, converter, differenceEuclidean, formatHex } from 'culori'
import { accentColours, accentRules, surfaces } from '../../lib/web/pages/theme/accent.ts'
import { fc, runs } from '../support/property.ts'
import { testsAll } from '../support/sample.ts'
import { createViews, look } from '../support/views.ts'

const oklch = converter('oklch')
const differenceOf = differenceEuclidean('oklab')
/** Hues in degrees. */
const toOklch = (colour: string) => oklch(colour) ?? { mode: 'oklch', l: 0, c: 0 }

const schemes = ['light', 'dark'] as const
/** Examples of each property. */
const numRuns = runs(15)
const hex = fc.integer({ min: 0, max: 0xffffff }).map((number) => `#${number.toString(16).padStart(6, '0')}`)
/** The whole circle in steps, with all that is pale, dark or grey, since chance seldom meets the edges. */
const parts = testsAll ? ['00', '33', '66', '99', 'cc', 'ff'] : ['00', '80', 'ff']
const swatches = parts.flatMap((red) =>
  parts.flatMap((green) => parts.map((blue) => `#${red}${green}${blue}`)),
)

const least = (colour: string, scheme: (typeof schemes)[number]): number =>
  Math.min(...Object.values(surfaces[scheme]).map((place) => contrast(colour, place)))

/** A little less of the way, and it would fail. */
const isMovedEnough = (colour: string, link: string, scheme: (typeof schemes)[number]): boolean => {
  const own = toOklch(colour)
  const way = toOklch(link).l - own.l
  const before = clampChroma({ ...own, mode: 'oklch', l: own.l + way - Math.sign(way) * 0.012 }, 'oklch')
  return Math.abs(way) < 0.012 || least(formatHex(before), scheme) < 4.5
}
const better = (fill: string): number => Math.max(contrast('#fdfdfe', fill), contrast('#11151f', fill))

const isGrey = (colour: string): boolean => toOklch(colour).c < 0.04
/** Black, white and grey turn around where another grey would look disabled. */
const isInverted = (colour: string, scheme: (typeof schemes)[number]): boolean =>
  isGrey(colour) && least(colour, scheme) < 3

/** Which promises of an accent are broken, as the host wrote it. */
const broken = (colour: string, scheme: (typeof schemes)[number]): string[] => {
  const colours = accentColours(colour, scheme)
  const { accentText, ...derived } = colours
  const { accent, accentEdge, accentHover, link, focus } = derived
  const promises: Record<string, boolean> = {
    'words on a button': contrast(accentText, accent) >= 4.5,
    'words on a button under the pointer': contrast(accentText, accentHover) >= 4.5,
    'the edge of a button': least(accentEdge, scheme) >= 3,
    links: least(link, scheme) >= 4.5,
    focus: least(focus, scheme) >= (isGrey(colour) ? 4.5 : 3),
    'a fill that differs from the card': differenceOf(accent, surfaces[scheme].surface) >= 0.1,
    'six digits': Object.values(colours).every((colour) => /^#[0-9a-f]{6}$/.test(colour)),
    'its own hue': Object.values(derived).every((each) => turn(colour, each) < 8),
    'itself as a link where it passes': link === colour || least(colour, scheme) < 4.5,
    'itself as focus where it passes': focus === colour || least(colour, scheme) < (isGrey(colour) ? 4.5 : 3),
    'moved no further than it must':
      link === colour || isInverted(colour, scheme) || isMovedEnough(colour, link, scheme),
    'a button that does not look disabled': !isGrey(colour) || least(accent, scheme) >= 3,
    'the better of near-white and near-black words': contrast(accentText, accent) === better(accent),
  }
  return Object.keys(promises).filter((promise) => !promises[promise])
}

/** How far two hues lie apart, in degrees; greys have none. */
const turn = (one: string, other: string): number => {
  const [first, second] = [toOklch(one), toOklch(other)]
  if (Math.min(first.c, second.c) < 0.04) return 0
  const angle = Math.abs((first.h ?? 0) - (second.h ?? 0))
  return Math.min(angle, 360 - angle)
}

describe('accentColours', () => {
  it.each(['rde', '#12', '#12345', '#1234567', '#ggg', ''])('refuses %j', (text) => {
    expect(() => accentColours(text, 'light')).toThrow(TypeError)
  })

  it('reads #rgb as #rrggbb', () => {
    expect(accentColours('#1aF', 'dark')).toEqual(accentColours('#11aaff', 'dark'))
  })
})

describe.each(schemes)('an accent colour on %s pages', (scheme) => {
  it('can be read and seen, keeps its hue, and changes no more than it must, whichever it is', () => {
    expect(swatches.flatMap((swatch) => broken(swatch, scheme))).toEqual([])
    fc.assert(
      fc.property(hex, (colour) => expect(broken(colour, scheme)).toEqual([])),
      { numRuns },
    )
  })
})

describe('the stylesheet', () => {
  const folder = mkdtempSync(join(tmpdir(), 'accent-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const style = (accent?: string, directory?: string) => {
    const appearance = accent === undefined ? {} : { accent }
    const asset = createViews({ pages: look({ ...appearance, views: directory }), basePath: '' }).asset(
      'style.css',
    )
    return { text: asset?.body.toString() ?? '', etag: asset?.etag }
  }

  it('has the surfaces for which accents are computed', () => {
    const own = readFileSync(join(__dirname, '../../views/assets/style.css'), 'utf8')
    const [light = '', dark = ''] = own.split('@media screen and (prefers-color-scheme: dark)')
    for (const [part, values] of [
      [light, surfaces.light],
      [dark, surfaces.dark],
    ] as const)
      for (const [name, value] of Object.entries(values)) expect(part).toContain(`--${name}: ${value};`)
  })

  it('ends with the accent, before the theme of the host, under another entity tag', () => {
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'assets/theme.css'), ':root { --accent: tomato }')
    const own = style()
    const green = style('#2F6B4F')
    expect(green.text).toBe(own.text + accentRules('#2F6B4F'))
    expect(green.text).toContain('--accent: #2f6b4f; --accent-edge: #2f6b4f;')
    const themed = style('#2f6b4f', folder)
    expect(themed.text).toBe(`${green.text}:root { --accent: tomato }`)
    const tags = [own, green, themed, style('#2f6b50')].map(({ etag }) => etag)
    expect(new Set(tags).size).toBe(4)
  })

  /** The custom properties of a scheme, as the last rule for each sets them. */
  const propertiesIn = (css: string, scheme: (typeof schemes)[number]): Map<string, string> => {
    const rules = [...css.matchAll(/(?:@media ([^{]+)\{\s*)?:root\s*\{([^}]*)\}/g)]
    const isMeant = (media?: string) =>
      media === undefined || (scheme === 'dark' && /^screen and \(prefers-color-scheme: ?dark\)/.test(media))
    const ofScheme = rules.filter(([, media]) => isMeant(media))
    const declared = ofScheme.flatMap(([, , text = '']) => [...text.matchAll(/--([a-z-]+):\s*([^;]+)/g)])
    return new Map(declared.map(([, name = '', value = '']) => [name, value]))
  }
  const brands = {
    white: '#fff',
    black: '#000',
    lemon: '#fff44f',
    neon: '#39ff14',
    navy: '#0a2540',
    red: '#d0021b',
  }
  const areas = ['page', 'surface', 'raised']
  /** What stands on what, with the least contrast (WCAG 2.2 §1.4.3, §1.4.11). */
  const pairs: readonly (readonly [string, readonly string[], number])[] = [
    ...['text', 'muted', 'link', 'caution'].map((name) => [name, areas, 4.5] as const),
    ['danger', [...areas, 'danger-surface'], 4.5],
    ['text', ['danger-surface'], 4.5],
    ['accent-text', ['accent', 'accent-hover'], 4.5],
    ['surface', ['danger'], 4.5],
    ['field', ['surface'], 3],
    ['accent-edge', areas, 3],
    ['focus', areas, 3],
  ]

  describe.each(Object.entries(brands))('of a %s brand', (name, accent) => {
    it.each(schemes)('can be read on %s pages', (scheme) => {
      const properties = propertiesIn(style(accent).text, scheme)
      const colourOf = (property: string): string => properties.get(property) ?? ''
      const faint = pairs.flatMap(([front, backs, ratio]) =>
        backs
          .map((back) => ({ front, back, contrast: contrast(colourOf(front), colourOf(back)) }))
          .filter(({ contrast }) => !(contrast >= ratio)),
      )
      expect(faint).toEqual([])
      const isColourless = name === 'white' || name === 'black'
      if (isColourless) expect(contrast(colourOf('focus'), colourOf('surface'))).toBeGreaterThanOrEqual(4.5)
    })
  })

  it('uses every colour that the accent gives', () => {
    const own = style().text
    for (const [, name] of accentRules('#123').matchAll(/(--[a-z-]+):/g))
      expect(own).toContain(`var(${name})`)
  })
})
