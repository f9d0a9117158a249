import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clampChroma, wcagContrast as contrast, converter, differenceEuclidean, formatHex } from 'culori'
import { type AccentColours, accentColours, accentRules, surfaces } from '../../lib/pages/theme/accent.ts'
import { createViews } from '../../lib/pages/views.ts'
import { fc, runs } from '../support/property.ts'

const oklch = converter('oklch')
const differenceOf = differenceEuclidean('oklab')
/** Hues in degrees. */
const toOklch = (colour: string) => oklch(colour) ?? { mode: 'oklch', l: 0, c: 0 }

const schemes = ['light', 'dark'] as const
/** Examples of each property. */
const numRuns = runs(25)
const hex = fc.integer({ min: 0, max: 0xffffff }).map((number) => `#${number.toString(16).padStart(6, '0')}`)
/** The whole circle in steps, with all that is pale, dark or grey, since chance seldom meets the edges. */
const swatches = [0, 0x33, 0x66, 0x99, 0xcc, 0xff].flatMap((red, _, steps) =>
  steps.flatMap((green) =>
    steps.map((blue) => formatHex({ mode: 'rgb', r: red / 255, g: green / 255, b: blue / 255 })),
  ),
)

const least = (colour: string, scheme: (typeof schemes)[number]): number =>
  Math.min(...Object.values(surfaces[scheme]).map((place) => contrast(colour, place)))

/** Which of the promises these colours break. */
const broken = (colours: AccentColours, scheme: (typeof schemes)[number]): string[] => {
  const { accent, accentEdge, accentHover, accentText, link, focus } = colours
  const promises: Record<string, boolean> = {
    'words on a button': contrast(accentText, accent) >= 4.5,
    'words on a button under the pointer': contrast(accentText, accentHover) >= 4.5,
    'the edge of a button': least(accentEdge, scheme) >= 3,
    links: least(link, scheme) >= 4.5,
    focus: least(focus, scheme) >= 3,
    'a fill that differs from the card': differenceOf(accent, surfaces[scheme].surface) >= 0.1,
    'six digits': Object.values(colours).every((colour) => /^#[0-9a-f]{6}$/.test(colour)),
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
  it('can be read and seen, whichever it is', () => {
    expect(swatches.flatMap((swatch) => broken(accentColours(swatch, scheme), scheme))).toEqual([])
    const isSound = (colour: string) => expect(broken(accentColours(colour, scheme), scheme)).toEqual([])
    fc.assert(fc.property(hex, isSound), { numRuns })
  })

  it('keeps its hue', () => {
    fc.assert(
      fc.property(hex, (colour) => {
        const { accentText: _, ...derived } = accentColours(colour, scheme)
        for (const each of Object.values(derived)) expect(turn(colour, each)).toBeLessThan(8)
      }),
      { numRuns },
    )
  })

  it('stays itself where it passes', () => {
    fc.assert(
      fc.property(hex, (colour) => {
        const { link, focus } = accentColours(colour, scheme)
        if (least(colour, scheme) >= 4.5) expect(link).toBe(colour)
        if (least(colour, scheme) >= 3) expect(focus).toBe(colour)
      }),
      { numRuns },
    )
  })

  it('is moved no further than it must: a little less and it would fail', () => {
    fc.assert(
      fc.property(hex, (colour) => {
        const { link } = accentColours(colour, scheme)
        if (link === colour) return
        const own = toOklch(colour)
        const way = toOklch(link).l - own.l
        const l = own.l + way - Math.sign(way) * 0.012
        const before = formatHex(clampChroma({ ...own, mode: 'oklch', l }, 'oklch'))
        expect(Math.abs(way) < 0.012 || least(before, scheme) < 4.5).toBe(true)
      }),
      { numRuns },
    )
  })

  it('carries near-white or near-black words, whichever is better', () => {
    fc.assert(
      fc.property(hex, (colour) => {
        const { accent, accentText } = accentColours(colour, scheme)
        const [white, black] = [contrast('#fdfdfe', accent), contrast('#11151f', accent)]
        expect(contrast(accentText, accent)).toBe(Math.max(white, black))
      }),
      { numRuns },
    )
  })
})

describe('the stylesheet', () => {
  const folder = mkdtempSync(join(tmpdir(), 'accent-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const style = (accent?: string, directory?: string) => {
    const branding = accent === undefined ? {} : { accent }
    const asset = createViews({ directory, branding, basePath: '' }).asset('style.css')
    return { text: asset?.body.toString() ?? '', etag: asset?.etag }
  }

  it('has the surfaces for which accents are computed', () => {
    const own = readFileSync(join(__dirname, '../../views/assets/style.css'), 'utf8')
    const [light = '', dark = ''] = own.split('@media (prefers-color-scheme: dark)')
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

  it('uses every colour that the accent gives', () => {
    const own = style().text
    for (const [, name] of accentRules('#123').matchAll(/(--[a-z-]+):/g))
      expect(own).toContain(`var(${name})`)
  })
})
