import type { Pages } from '../../../options/pages.ts'
import { accentRules } from './accent.ts'

/** The options about the look of the pages. */
export type Brand = Pick<Pages, 'accent' | 'font' | 'radius' | 'scheme'>

/** A file of a font, with the weights that it has. */
interface Face {
  readonly file: string | URL
  readonly weight: string
}

/** The files of the font: one for all weights, or one for each. */
export const facesOf = ({ font }: Pick<Brand, 'font'>): Face[] => {
  if (font === undefined) return []
  if (typeof font === 'string' || font instanceof URL) return [{ file: font, weight: '100 900' }]
  const faces = [
    { file: font.regular, weight: '400' },
    { file: font.bold, weight: '600' },
  ]
  return faces.flatMap(({ file, weight }) => (file === undefined ? [] : [{ file, weight }]))
}

/**
 * The CSS rules for the options, between the stylesheet and the host's `theme.css`.
 *
 * @param addressOf the address of a font, as the stylesheet names it
 */
export const brandRules = (brand: Brand, addressOf: (file: string | URL) => string): string => {
  const faces = facesOf(brand)
  const rules = faces.map(
    ({ file, weight }) =>
      `@font-face { font-family: Brand; src: url(${JSON.stringify(addressOf(file))}) format("woff2"); font-weight: ${weight}; font-display: swap; }`,
  )
  if (faces.length > 0) rules.push(':root { --font: Brand, system-ui, sans-serif; }')
  if (brand.radius !== undefined) rules.push(`:root { --radius: ${brand.radius}px; }`)
  const accent = brand.accent === undefined ? '' : accentRules(brand.accent)
  return rules.map((rule) => `\n${rule}`).join('') + accent
}
