import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { accentRules } from './theme/accent.ts'

/** A file of `views/assets`, ready to send. */
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
 * The assets of several folders, the first of which is heard first.
 *
 * @param directories folders with an `assets` folder in them: the host's, then ours
 * @param branding.accent the host's colour, `#rgb` or `#rrggbb`, from which that of buttons and links follows
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
  // A host changes colours without copying the stylesheet: its theme.css stands at the end of ours.
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
