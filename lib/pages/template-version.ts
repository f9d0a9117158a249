import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../options/options.ts'

/** The folder of our own templates and assets. */
export const ownViews = fileURLToPath(new URL('../../views/', import.meta.url))

/** The version of this package, such as `0.1.0`. */
export const runningVersion = (): string => createRequire(import.meta.url)('latchkey/package.json').version

/** Files of ours that a host may copy, by their path in the folder: templates and the stylesheet. */
export const copiedFiles = (): string[] =>
  readdirSync(ownViews, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => extname(name) === '.eta' || name === 'assets/style.css')
    .sort()

/** The same for a file that an editor, or git, has given the line ends of Windows. */
const digest = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex').slice(0, 12)

const origin = /^(?:<%)?\/\* From Latchkey (\S+) \(([0-9a-f]{12})\) \*\/(?:%>)?\r?\n/

/** A file of ours with a first line that says which version it came from, and by which it is known when changed. */
export const withOrigin = (name: string, text: string, version: string): string => {
  const comment = `/* From Latchkey ${version} (${digest(text)}) */`
  return `${extname(name) === '.eta' ? `<%${comment}%>` : comment}\n${text}`
}

/** Which version a copy came from, if it says so, and whether somebody has changed it since. */
export const originOf = (text: string): { version: string; isChanged: boolean } | undefined => {
  const [line, version, hash] = origin.exec(text) ?? []
  if (line === undefined || version === undefined) return undefined
  return { version, isChanged: digest(text.slice(line.length)) !== hash }
}

/** Tells the developer once which copies in the host's folder another version has made. */
export const warnOfOldCopies = (directory: string, logger: Logger): void => {
  const version = runningVersion()
  const old = copiedFiles().filter((name) => {
    const path = join(directory, name)
    const from = existsSync(path) ? originOf(readFileSync(path, 'utf8'))?.version : undefined
    return from !== undefined && from !== version
  })
  if (old.length === 0) return
  logger.warn(
    `latchkey: ${old.join(', ')} in ${directory} came from another version than ${version}, which runs; ` +
      'see what is new: npx latchkey eject-views --to DIR',
  )
}
