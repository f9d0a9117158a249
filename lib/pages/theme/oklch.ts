import { fromLinear, parseHex, type Rgb, toHex, toLinear } from './contrast.ts'

/** CSS Color 4 §9.2: a colour by how light it looks (0 to 1), how colourful, and its hue in radians. */
export interface Oklch {
  readonly lightness: number
  readonly chroma: number
  readonly hue: number
}

/** CSS Color 4 §18, through Oklab. */
export const toOklch = (hex: string): Oklch => {
  const [red, green, blue] = parseHex(hex).map(toLinear) as [number, number, number]
  const long = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
  const middle = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
  const short = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
  const a = 1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short
  const b = 0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short
  return {
    lightness: 0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short,
    chroma: Math.hypot(a, b),
    hue: Math.atan2(b, a),
  }
}

/** Red, green and blue as light; outside of 0 to 1 where no screen can show the colour. */
const lightOf = ({ lightness, chroma, hue }: Oklch): Rgb => {
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)]
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short,
  ]
}

/** CSS Color 4 §20.4: how different two colours look, as their distance in Oklab; 1 from black to white. */
export const differenceOf = (one: string, other: string): number => {
  const [first, second] = [toOklch(one), toOklch(other)]
  const turn = Math.cos(first.hue - second.hue)
  const [p, q] = [first.chroma, second.chroma]
  return Math.hypot(
    first.lightness - second.lightness,
    Math.sqrt(Math.max(p * p + q * q - 2 * p * q * turn, 0)),
  )
}

const isShown = (light: Rgb): boolean => light.every((part) => part >= -1e-4 && part <= 1 + 1e-4)

/**
 * The colour as `#rrggbb`; where a screen cannot show it, less colourful, of the same lightness and hue.
 */
export const fromOklch = (colour: Oklch): string => {
  let [chroma, tooMuch] = isShown(lightOf(colour)) ? [colour.chroma, colour.chroma] : [0, colour.chroma]
  while (tooMuch - chroma > 1e-4) {
    const between = (chroma + tooMuch) / 2
    if (isShown(lightOf({ ...colour, chroma: between }))) chroma = between
    else tooMuch = between
  }
  const [red, green, blue] = lightOf({ ...colour, chroma })
  return toHex([fromLinear(red), fromLinear(green), fromLinear(blue)])
}
