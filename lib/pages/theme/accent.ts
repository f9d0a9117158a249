import { contrast, parseHex, toHex } from './contrast.ts'
import { differenceOf, fromOklch, toOklch } from './oklch.ts'

/** The custom properties that follow from one accent colour, on light or on dark pages. */
export interface AccentColours {
  /** The fill of a button. */
  readonly accent: string
  /** Its border, which shows where a pale button ends. */
  readonly accentEdge: string
  /** The fill under the pointer. */
  readonly accentHover: string
  /** The words on it. */
  readonly accentText: string
  readonly link: string
  readonly focus: string
}

/** What the pages lay text and controls on: the values of `style.css`. */
export const surfaces = {
  light: { page: '#f3f4f7', surface: '#fdfdfe', raised: '#f6f7f9', 'danger-surface': '#fcf1f0' },
  dark: { page: '#14171c', surface: '#1c2027', raised: '#22272f', 'danger-surface': '#2d2123' },
} as const

/** WCAG 2.2: 1.4.3 for text, 1.4.11 for what else must be seen. */
const [forText, forShape] = [4.5, 3]

/** How much a fill differs from the card in Oklab, so that a button does not look empty. */
const toTellApart = 0.1

const textColours = ['#fdfdfe', '#11151f'] as const

/** Near-white or near-black, whichever reads better on a fill. */
const textOn = (fill: string): string => {
  const [light, dark] = textColours
  return contrast(light, fill) >= contrast(dark, fill) ? light : dark
}

const within = (lightness: number): number => Math.min(Math.max(lightness, 0), 1)

/** The colour itself, else the one of its hue whose lightness is nearest and which passes. */
const nearest = (hex: string, passes: (hex: string) => boolean): string => {
  if (passes(hex)) return hex
  const colour = toOklch(hex)
  for (let step = 0.005; step <= 1; step += 0.005) {
    for (const lightness of [colour.lightness - step, colour.lightness + step]) {
      const candidate = fromOklch({ ...colour, lightness: within(lightness) })
      if (passes(candidate)) return candidate
    }
  }
  throw new Error(`no lightness of ${hex} passes`)
}

/** A little darker, else a little lighter, as long as the words can be read. */
const hovered = (fill: string): string => {
  const colour = toOklch(fill)
  const steps = [-0.06, 0.06].map((step) =>
    fromOklch({ ...colour, lightness: within(colour.lightness + step) }),
  )
  const isFit = (step: string): boolean =>
    contrast(textOn(fill), step) >= forText && differenceOf(fill, step) >= 0.05
  return steps.find(isFit) ?? fill
}

/**
 * Readable colours from a host's one, for light or dark pages: the colour itself wherever it can be read and seen, else
 * the nearest lightness of its hue. Words on a button and links have a contrast of at least 4.5 to 1; the edge of a
 * button and the ring of focus have 3 to 1.
 *
 * @param hex `#rgb` or `#rrggbb`
 * @throws TypeError when it is not a colour
 * @example accentColours('#ffd400', 'light').accentText // '#11151f'
 */
export const accentColours = (hex: string, scheme: keyof typeof surfaces): AccentColours => {
  const own = toHex(parseHex(hex))
  const places = Object.values(surfaces[scheme])
  const isSeen = (colour: string, ratio: number): boolean =>
    places.every((place) => contrast(colour, place) >= ratio)
  const isFill = (colour: string): boolean =>
    contrast(textOn(colour), colour) >= forText &&
    places.every((place) => differenceOf(colour, place) >= toTellApart)
  const accent = nearest(own, isFill)
  return {
    accent,
    accentEdge: nearest(accent, (colour) => isSeen(colour, forShape)),
    accentHover: hovered(accent),
    accentText: textOn(accent),
    link: nearest(own, (colour) => isSeen(colour, forText)),
    focus: nearest(own, (colour) => isSeen(colour, forShape)),
  }
}

const declarations = (colours: AccentColours): string =>
  Object.entries(colours)
    .map(([name, colour]) => `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}: ${colour};`)
    .join(' ')

/** The rules that stand between our stylesheet and a host's `theme.css`. */
export const accentRules = (hex: string): string =>
  [
    '',
    `:root { ${declarations(accentColours(hex, 'light'))} }`,
    `@media (prefers-color-scheme: dark) { :root { ${declarations(accentColours(hex, 'dark'))} } }`,
    '',
  ].join('\n')
