import { createRequire } from 'node:module'
import type * as Culori from 'culori'

/** The custom properties that follow from one accent colour, on light or on dark pages. */
export interface AccentColours {
  /** The fill of a button. */
  readonly accent: string
  /** The border of a button, which shows where a pale button ends. */
  readonly accentEdge: string
  /** The fill under the pointer. */
  readonly accentHover: string
  /** The text on a button. */
  readonly accentText: string
  readonly link: string
  readonly focus: string
}

/** The backgrounds of text and controls, with the values of `style.css`. */
export const surfaces = {
  light: { page: '#f3f4f7', surface: '#fdfdfe', raised: '#f6f7f9', 'danger-surface': '#fcf1f0' },
  dark: { page: '#14171c', surface: '#1c2027', raised: '#22272f', 'danger-surface': '#2d2123' },
} as const

/** WCAG 2.2: 1.4.3 for text, 1.4.11 for controls. */
const [textContrast, controlContrast] = [4.5, 3]

/** The minimum distance between a fill and its background in Oklab. */
const fillDistance = 0.1

/** Colours with less chroma count as black, white or grey. */
const leastChroma = 0.04

const textColours = ['#fdfdfe', '#11151f'] as const

// Loaded on first use: only a host with an accent colour needs it.
const culori = (): typeof Culori => createRequire(import.meta.url)('culori')

/** The functions that derive accents; every result is `#rrggbb`. */
const colourFunctions = () => {
  const { clampChroma, converter, differenceEuclidean, formatHex, wcagContrast } = culori()
  const toOklch = converter('oklch')
  const notAColour = (text: string) => new TypeError(`${text} is not a colour such as #2b54c4`)
  const normalized = (text: string): string => {
    const hex = formatHex(text)
    if (hex === undefined) throw notAColour(text)
    return hex
  }
  /** A colour with another lightness and its own hue; less colourful where sRGB cannot show it. */
  const lighter = (hex: string, by: number): string => {
    const colour = toOklch(hex)
    if (colour === undefined) throw notAColour(hex)
    const l = Math.min(Math.max(colour.l + by, 0), 1)
    return formatHex(clampChroma({ ...colour, l }, 'oklch'))
  }
  const isGrey = (hex: string): boolean => (toOklch(hex)?.c ?? 0) < leastChroma
  /** Black becomes white, and white black. */
  const inverted = (hex: string): string => lighter(hex, 1 - 2 * (toOklch(hex)?.l ?? 0))
  return {
    contrast: wcagContrast,
    distance: differenceEuclidean('oklab'),
    normalized,
    lighter,
    isGrey,
    inverted,
  }
}
type ColourFunctions = ReturnType<typeof colourFunctions>

/** Near-white or near-black, whichever has more contrast with the fill. */
const textOn = ({ contrast }: ColourFunctions, fill: string): string => {
  const [light, dark] = textColours
  return contrast(light, fill) >= contrast(dark, fill) ? light : dark
}

/** The colour itself if it passes, else the nearest lightness of the same hue that does. */
const nearest = ({ lighter }: ColourFunctions, hex: string, passes: (hex: string) => boolean): string => {
  if (passes(hex)) return hex
  for (let step = 0.005; step <= 1; step += 0.005) {
    const candidate = [lighter(hex, -step), lighter(hex, step)].find(passes)
    if (candidate !== undefined) return candidate
  }
  throw new Error(`no lightness of ${hex} passes`)
}

/** Slightly darker, else slightly lighter, as long as the text on it stays readable. */
const hovered = (functions: ColourFunctions, fill: string): string => {
  const { contrast, distance, lighter } = functions
  const text = textOn(functions, fill)
  const isFit = (colour: string): boolean =>
    contrast(text, colour) >= textContrast && distance(fill, colour) >= 0.05 && contrast(fill, colour) >= 1.1
  // Near black, a small step is invisible.
  return [-0.06, 0.06, 0.22].map((step) => lighter(fill, step)).find(isFit) ?? fill
}

/**
 * Derives readable colours from an accent colour, for light or dark pages: the colour itself where it has enough
 * contrast, else the nearest lightness of its hue. The text on a button and links have a contrast of at least 4.5 to 1;
 * the edge of a button and the focus ring have 3 to 1. Black, white and grey are inverted where they are too near the
 * page, because another grey would look disabled; their focus ring, which no hue distinguishes, has 4.5 to 1.
 *
 * @param hex `#rgb` or `#rrggbb`
 * @throws TypeError when it is not a colour
 * @example accentColours('#ffd400', 'light').accentText // '#11151f'
 */
export const accentColours = (hex: string, scheme: keyof typeof surfaces): AccentColours => {
  const functions = colourFunctions()
  const { contrast, distance, normalized, isGrey, inverted } = functions
  const given = normalized(hex)
  const backgrounds = Object.values(surfaces[scheme])
  const stands = (colour: string, ratio: number): boolean =>
    backgrounds.every((background) => contrast(colour, background) >= ratio)
  const own = isGrey(given) && !stands(given, controlContrast) ? inverted(given) : given
  const isFill = (colour: string): boolean =>
    contrast(textOn(functions, colour), colour) >= textContrast &&
    (isGrey(own)
      ? stands(colour, controlContrast)
      : backgrounds.every((background) => distance(colour, background) >= fillDistance))
  const accent = nearest(functions, own, isFill)
  return {
    accent,
    accentEdge: nearest(functions, accent, (colour) => stands(colour, controlContrast)),
    accentHover: hovered(functions, accent),
    accentText: textOn(functions, accent),
    link: nearest(functions, own, (colour) => stands(colour, textContrast)),
    focus: nearest(functions, own, (colour) => stands(colour, isGrey(own) ? textContrast : controlContrast)),
  }
}

const declarations = (colours: AccentColours): string =>
  Object.entries(colours)
    .map(([name, colour]) => `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}: ${colour};`)
    .join(' ')

/** The CSS rules for an accent colour, between the stylesheet and the host's `theme.css`. */
export const accentRules = (hex: string): string =>
  [
    '',
    `:root { ${declarations(accentColours(hex, 'light'))} }`,
    `@media screen and (prefers-color-scheme: dark) { :root { ${declarations(accentColours(hex, 'dark'))} } }`,
    '',
  ].join('\n')
