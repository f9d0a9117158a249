/** A raster image, as its first bytes describe it. */
export interface Image {
  readonly type: 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'
  /** Pixels. */
  readonly width: number
  readonly height: number
}

const text = (bytes: Buffer, from: number, length: number): string =>
  bytes.toString('latin1', from, from + length)

const png = (bytes: Buffer): Image | undefined =>
  text(bytes, 0, 8) === '\x89PNG\r\n\x1a\n' && text(bytes, 12, 4) === 'IHDR'
    ? { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined

const gif = (bytes: Buffer): Image | undefined =>
  /^GIF8[79]a$/.test(text(bytes, 0, 6))
    ? { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    : undefined

/** Markers that describe a frame, rather than tables (ITU T.81 §B.1.1.3). */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

const jpeg = (bytes: Buffer): Image | undefined => {
  if (bytes.readUInt16BE(0) !== 0xffd8) return undefined
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    if (isFrame(bytes[at + 1] ?? 0)) {
      return { type: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    }
  }
  return undefined
}

const webp = (bytes: Buffer): Image | undefined => {
  if (text(bytes, 0, 4) !== 'RIFF' || text(bytes, 8, 4) !== 'WEBP') return undefined
  const sized = (width: number, height: number): Image => ({ type: 'image/webp', width, height })
  switch (text(bytes, 12, 4)) {
    case 'VP8 ':
      return sized(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff)
    case 'VP8L': {
      const sizes = bytes.readUInt32LE(21)
      return sized((sizes & 0x3fff) + 1, ((sizes >> 14) & 0x3fff) + 1)
    }
    case 'VP8X':
      return sized(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1)
    default:
      return undefined
  }
}

/** Shorter files are no images. */
const headerLength = 30

/**
 * Recognizes PNG, JPEG, WebP and GIF by their bytes, whatever name or type they came with. SVG is a document, not an
 * image in this sense.
 */
export const imageOf = (bytes: Buffer): Image | undefined =>
  bytes.length < headerLength ? undefined : (png(bytes) ?? gif(bytes) ?? jpeg(bytes) ?? webp(bytes))

const pixels = (found: RegExpExecArray | null): number | undefined => Number(found?.[1]) || undefined

/** The proportions of an SVG document: its width and height in pixels, or else its viewBox. */
export const svgSize = (source: string): Pick<Image, 'width' | 'height'> | undefined => {
  const start = source.search(/<svg\b/)
  const end = source.indexOf('>', start)
  const tag = start === -1 || end === -1 ? '' : source.slice(start, end)
  const width = pixels(/\swidth=["']([0-9.]+)(?:px)?["']/.exec(tag))
  const height = pixels(/\sheight=["']([0-9.]+)(?:px)?["']/.exec(tag))
  if (width && height) return { width, height }
  const [, box = ''] = /\sviewBox=["']([^"']*)["']/.exec(tag) ?? []
  const [, , boxWidth = 0, boxHeight = 0] = box
    .trim()
    .split(/[\s,]+/)
    .map(Number)
  return boxWidth > 0 && boxHeight > 0 ? { width: boxWidth, height: boxHeight } : undefined
}
