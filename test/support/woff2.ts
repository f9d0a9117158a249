import { brotliCompressSync } from 'node:zlib'

const u8 = (value: number): Buffer => Buffer.from([value])
const u16 = (...values: readonly number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.from([(value >> 8) & 255, value & 255])))
const u32 = (...values: readonly number[]): Buffer =>
  Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(value >>> 0)
      return bytes
    }),
  )

/** A glyph with one rectangle that is as wide as its letter: text in this font is a bar. */
const bar = (width: number): Buffer =>
  Buffer.concat([
    u16(1, 0, 0, width, 700, 3, 0),
    Buffer.from([1, 1, 1, 1]),
    u16(0, 0, width, 0, 0, 700, 0, -700),
  ])

const [firstLetter, lastLetter, bmpEnd] = [0x20, 0x7e, 0xffff]

/** The tables of a font in which every ASCII letter is a bar of this width (OpenType 1.9), in the order of their tags. */
const tablesOf = (width: number): readonly (readonly [tag: string, data: Buffer])[] => {
  const glyph = bar(width)
  const padded = Buffer.concat([glyph, Buffer.alloc(-glyph.length & 3)])
  // Segments: all letters have the glyph 1, by way of an array of glyphs; the end of the range has none.
  const letters = Array.from({ length: lastLetter - firstLetter + 1 }, () => 1)
  const segments = u16(0, 4, 4, 1, 0, lastLetter, bmpEnd, 0, firstLetter, bmpEnd, 0, 1, 4, 0, ...letters)
  const format4 = Buffer.concat([u16(4, 4 + segments.length), segments])
  const name = Buffer.from('Bars', 'utf16le').swap16()
  const names = [1, 2, 4, 6]
  return [
    [
      'OS/2',
      Buffer.concat([
        u16(4, width, 400, 5, 0),
        u16(650, 600, 0, 75, 650, 600, 0, 350, 50, 300, 0),
        Buffer.alloc(10),
        u32(1, 0, 0, 0),
        Buffer.from('none'),
        u16(64, firstLetter, lastLetter, 800, -200, 0, 800, 200),
        u32(1, 0),
        u16(500, 700, 0, 32, 1),
      ]),
    ],
    ['cmap', Buffer.concat([u16(0, 1, 3, 1), u32(12), format4])],
    ['glyf', Buffer.concat([padded, padded])],
    [
      'head',
      Buffer.concat([
        u32(0x10000, 0x10000, 0, 0x5f0f3cf5),
        u16(3, 1000),
        u32(0, 0, 0, 0),
        u16(0, 0, width, 700, 0, 8, 2, 1, 0),
      ]),
    ],
    ['hhea', Buffer.concat([u32(0x10000), u16(800, -200, 0, width, 0, 0, width, 1, 0, 0, 0, 0, 0, 0, 0, 2)])],
    ['hmtx', u16(width, 0, width, 0)],
    ['loca', u32(0, padded.length, 2 * padded.length)],
    ['maxp', Buffer.concat([u32(0x10000), u16(2, 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)])],
    [
      'name',
      Buffer.concat([
        u16(0, names.length, 6 + 12 * names.length),
        ...names.map((id) => u16(3, 1, 0x409, id, name.length, 0)),
        name,
      ]),
    ],
    ['post', Buffer.concat([u32(0x30000, 0), u16(-75, 50), u32(0, 0, 0, 0, 0)])],
  ]
}

/** UIntBase128 (WOFF 2.0 §4.1). */
const base128 = (value: number): Buffer => {
  const digits = [value & 127]
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 127) | 128)
  return Buffer.from(digits)
}

const align = (data: Buffer): Buffer => Buffer.concat([data, Buffer.alloc(-data.length & 3)])

/**
 * A small WOFF2 file (WOFF 2.0 §4): a font in which each ASCII letter is a bar.
 *
 * @param width of a letter, in thousandths of the font size
 */
export const fontOfBars = (width: number): Buffer => {
  const tables = tablesOf(width)
  const directory = Buffer.concat(
    tables.map(([tag, data]) => {
      // `glyf` and `loca` are not transformed: that is version 3 (§5.1, §5.3).
      const flags = tag === 'glyf' || tag === 'loca' ? 0xff : 0x3f
      return Buffer.concat([u8(flags), Buffer.from(tag), base128(data.length)])
    }),
  )
  const body = brotliCompressSync(Buffer.concat(tables.map(([, data]) => data)))
  const sfntSize = 12 + 16 * tables.length + tables.reduce((sum, [, data]) => sum + align(data).length, 0)
  const header = (length: number): Buffer =>
    Buffer.concat([
      Buffer.from('wOF2'),
      u32(0x10000, length),
      u16(tables.length, 0),
      u32(sfntSize, body.length),
      u16(1, 0),
      u32(0, 0, 0, 0, 0),
    ])
  const size = header(0).length + directory.length + body.length
  const whole = align(Buffer.concat([header(size), directory, body]))
  whole.writeUInt32BE(whole.length, 8)
  return whole
}
