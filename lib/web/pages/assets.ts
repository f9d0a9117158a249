import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { fontTypes, pictureTypes } from '../../options/pages.ts'
import { imageOf, svgSize } from '../../protocol/clients/image.ts'
import { ownPathOf } from '../../protocol/links.ts'
import { minifyCss, minifyScript } from './minify.ts'
import { type Brand, brandRules } from './theme/brand.ts'
import { inScheme } from './theme/scheme.ts'

/** The content codings of a compressed asset (RFC 9110 §8.4.1), best first. */
export const assetEncodings = ['br', 'gzip'] as const
export type AssetEncoding = (typeof assetEncodings)[number]

/** A file of an `assets` folder, ready to send. */
export interface Asset {
  body: Buffer
  type: string
  /** A quoted entity tag (RFC 9110 §8.8.3). */
  etag: string
  /** The size of a picture, as far as its file says it. */
  size?: { readonly width: number; readonly height: number }
  /** The compressed body, made on first use; undefined for pictures, which are compressed already. */
  encoded(encoding: AssetEncoding): Buffer | undefined
}

const assetTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  ...pictureTypes,
  ...fontTypes,
}

const typeOf = (name: string): string | undefined => assetTypes[extname(name).toLowerCase()]

const asText = { params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT } }
const compress: Readonly<Record<AssetEncoding, (body: Buffer) => Buffer>> = {
  br: (body) => brotliCompressSync(body, asText),
  gzip: (body) => gzipSync(body, { level: 9 }),
}

const hashOf = (body: Buffer): string => createHash('sha256').update(body).digest('base64url').slice(0, 16)

const createAsset = (name: string, body: Buffer): Asset => {
  const type = typeOf(name) ?? ''
  const etag = `"${hashOf(body)}"`
  const compressed = new Map<AssetEncoding, Buffer>()
  const encoded = (encoding: AssetEncoding): Buffer => {
    const made = compressed.get(encoding) ?? compress[encoding](body)
    compressed.set(encoding, made)
    return made
  }
  const isText = /^text|svg/.test(type)
  const size = type.startsWith('image/svg') ? svgSize(body.toString()) : imageOf(body)
  return { body, type, etag, size, encoded: (encoding) => (isText ? encoded(encoding) : undefined) }
}

const filesIn = (folder: string): Map<string, Buffer> => {
  const names = existsSync(folder) ? readdirSync(folder) : []
  const assets = names.filter((name) => typeOf(name) !== undefined)
  return new Map(assets.map((name) => [name, readFileSync(join(folder, name))]))
}

/** Our own files are minified; those of the host stay as they are. */
const minified = (name: string, body: Buffer): Buffer => {
  if (name.endsWith('.css')) return Buffer.from(minifyCss(body.toString()))
  return name.endsWith('.js') ? Buffer.from(minifyScript(body.toString())) : body
}

/** The name under which a picture or a font of the host is served. */
export const servedName = (file: URL): string =>
  `${createHash('sha256').update(file.href).digest('hex').slice(0, 16)}${extname(file.pathname).toLowerCase()}`

export interface AssetSources {
  /** Our folders; those that contain `assets` count. */
  readonly own: readonly string[]
  /** The host's, whose files replace ours. */
  readonly host?: string
  /** The options about the look of the pages. */
  readonly brand: Brand
  /** Pictures and fonts of the host. */
  readonly files: readonly URL[]
}

/** Reads the assets: ours, those of the host, and the files that its options name. */
export const readAssets = ({ own, host, brand, files }: AssetSources): Map<string, Asset> => {
  const bodies = new Map<string, Buffer>()
  for (const folder of own)
    for (const [name, body] of filesIn(join(folder, 'assets'))) bodies.set(name, minified(name, body))
  if (host !== undefined) for (const [name, body] of filesIn(join(host, 'assets'))) bodies.set(name, body)
  for (const file of files) bodies.set(servedName(file), readFileSync(file))
  // An address beside the stylesheet, so that it is the same under every mount.
  const addressOf = (file: string | URL): string => {
    if (!(file instanceof URL)) return ownPathOf(file) ?? ''
    const name = servedName(file)
    return `${name}?v=${hashOf(bodies.get(name) ?? Buffer.of())}`
  }
  // The host's theme.css is appended, so that a host can change colours without copying the stylesheet.
  const styles = [bodies.get('style.css'), Buffer.from(brandRules(brand, addressOf)), bodies.get('theme.css')]
  bodies.set('style.css', Buffer.concat(styles.filter((body) => body !== undefined)))
  // No page loads theme.css by itself; it stays as the host wrote it.
  if (brand.scheme !== 'auto')
    for (const [name, body] of bodies)
      if (name.endsWith('.css') && name !== 'theme.css')
        bodies.set(name, Buffer.from(inScheme(brand.scheme, body.toString())))
  return new Map([...bodies].map(([name, body]) => [name, createAsset(name, body)]))
}
