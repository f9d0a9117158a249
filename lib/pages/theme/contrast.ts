/** The parts red, green and blue of a colour in sRGB, each from 0 to 1. */
export type Rgb = readonly [number, number, number]

/**
 * Reads `#rgb` or `#rrggbb`.
 *
 * @throws TypeError for anything else
 */
export const parseHex = (hex: string): Rgb => {
  const [, digits = ''] = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(hex) ?? []
  if (digits === '') throw new TypeError(`${hex} is not a colour such as #2b54c4`)
  const long = digits.length === 3 ? digits.replace(/./g, '$&$&') : digits
  const part = (from: number): number => Number.parseInt(long.slice(from, from + 2), 16) / 255
  return [part(0), part(2), part(4)]
}

/** The nearest colour of 8 bits a part, as `#rrggbb`. */
export const toHex = (colour: Rgb): string => {
  const digits = (part: number): string =>
    Math.round(Math.min(Math.max(part, 0), 1) * 255)
      .toString(16)
      .padStart(2, '0')
  return `#${colour.map(digits).join('')}`
}

/** Light in proportion to what a part of sRGB says (IEC 61966-2-1). */
export const toLinear = (part: number): number =>
  part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4

/** The inverse of {@link toLinear}. */
export const fromLinear = (light: number): number =>
  light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055

/** WCAG 2.2: relative luminance, 0 for black to 1 for white. */
export const luminance = (hex: string): number => {
  const [red, green, blue] = parseHex(hex)
  return 0.2126 * toLinear(red) + 0.7152 * toLinear(green) + 0.0722 * toLinear(blue)
}

/**
 * WCAG 2.2: contrast ratio of two colours, 1 to 21, in either order.
 *
 * @example contrast('#000000', '#ffffff') // 21
 */
export const contrast = (one: string, other: string): number => {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}
