import { encode } from 'uqr'

/** A QR code as one SVG path: each line is a row of dark modules, stroked one unit wide. */
export interface QrCode {
  /** Modules in width and height, with the quiet zone. */
  readonly size: number
  readonly path: string
}

/** Modules around the code that stay light (ISO/IEC 18004). */
const border = 4

/** Makes a QR code. */
export const qrCode = (text: string): QrCode => {
  const { size, data } = encode(text, { ecc: 'L', border })
  const rows = data.map((row, y) => {
    let at = 0
    const runs = row.flatMap((isDark, x) => {
      if (!isDark || row[x - 1]) return []
      const end = row.indexOf(false, x)
      const run = `m${x - at} 0h${end - x}`
      at = end
      return [run]
    })
    return runs.length === 0 ? '' : `M0 ${y + 0.5}${runs.join('')}`
  })
  return { size, path: rows.join('') }
}
