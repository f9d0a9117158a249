import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { accentRules } from './theme/accent.ts'

/** A file of an `assets` folder, ready to send. */
export interface Asset {
  body: Buffer
  type: string
  /** A quoted entity tag (RFC 9110 §8.8.3). */
  etag: string
}

const assetTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
}

/**
 * Reads the assets of several folders. A file in an earlier folder replaces one of the same name in a later folder.
 *
 * @param directories folders that contain an `assets` folder: the host's, then ours
 * @param branding.accent the host's colour, `#rgb` or `#rrggbb`; the colours of buttons and links derive from it
 */
export const readAssets = (
  directories: readonly string[],
  branding: { readonly accent?: string } = {},
): Map<string, Asset> => {
  const bodies = new Map<string, Buffer>()
  for (const folder of directories.map((directory) => join(directory, 'assets')).reverse()) {
    for (const name of existsSync(folder) ? readdirSync(folder) : [])
      if (extname(name) in assetTypes) bodies.set(name, readFileSync(join(folder, name)))
  }
  // The host's theme.css is appended, so that a host can change colours without copying the stylesheet.
  const accent = branding.accent === undefined ? undefined : Buffer.from(accentRules(branding.accent))
  const styles = [bodies.get('style.css'), accent, bodies.get('theme.css')]
  bodies.set('style.css', Buffer.concat(styles.filter((body) => body !== undefined)))
  const assets = new Map<string, Asset>()
  for (const [name, body] of bodies) {
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 16)}"`
    assets.set(name, { body, type: assetTypes[extname(name)] ?? '', etag })
  }
  return assets
}
