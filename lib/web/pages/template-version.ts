import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../options/server.ts'
import { HostError } from '../../protocol/problem.ts'

// A bundler that writes CommonJS leaves it empty.
const here: string | undefined = import.meta.url

const folderOfPackage = (path: string): string => (here ? fileURLToPath(new URL(path, here)) : '')

/** The folder with the templates and assets of the core. */
export const ownViews = folderOfPackage('../../../views/')

const featureFolder = folderOfPackage('../../features/')

if (!existsSync(featureFolder)) {
  throw new HostError('its templates are not where its code is', {
    fix: 'if you bundle your server, leave latchkey out of the bundle, with esbuild by --external:latchkey',
  })
}

/** Every folder with our templates and assets: that of the core, then those of the features. */
export const viewFolders: readonly string[] = [
  ownViews,
  ...readdirSync(featureFolder)
    .map((name) => join(featureFolder, name, 'views'))
    .filter(existsSync),
]

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))

/** Our file of this name. */
export const ownFile = (name: string): string =>
  viewFolders.map((folder) => join(folder, name)).find(existsSync) ?? join(ownViews, name)

/** The names of our templates. */
export const ownTemplates = (): string[] =>
  viewFolders
    .flatMap(filesIn)
    .filter((name) => extname(name) === '.eta')
    .map((file) => file.slice(0, -'.eta'.length))

/** The version of this package, such as `0.1.0`. */
export const runningVersion = (): string => createRequire(import.meta.url)('latchkey/package.json').version

/** Paths of the files that a host may copy: the templates and the stylesheet. */
export const copiedFiles = (): string[] =>
  viewFolders
    .flatMap(filesIn)
    .filter((name) => extname(name) === '.eta' || name === 'assets/style.css')
    .sort()

/** A hash of a template. LF and CRLF line endings make no difference. */
const digest = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex').slice(0, 12)

const origin = /^(?:<%)?\/\* From Latchkey (\S+) \(([0-9a-f]{12})\) \*\/(?:%>)?\r?\n/

/** Adds a first line with the version and a hash of the content, so that changes can be detected. */
export const withOrigin = (name: string, text: string, version: string): string => {
  const comment = `/* From Latchkey ${version} (${digest(text)}) */`
  return `${extname(name) === '.eta' ? `<%${comment}%>` : comment}\n${text}`
}

/** The version of a copy, and whether it was changed; undefined without our first line. */
export const copiedFrom = (text: string): { version: string; isChanged: boolean } | undefined => {
  const [line, version, hash] = origin.exec(text) ?? []
  if (line === undefined || version === undefined) return undefined
  return { version, isChanged: digest(text.slice(line.length)) !== hash }
}

/** A copy of one of our files in the folder of a host. */
export interface TemplateCopy {
  /** Its path in the folder. */
  readonly name: string
  /** The version that it was copied from. */
  readonly version: string
  readonly isChanged: boolean
}

/** The copies in the host's folder that are from another version than this one. */
export const oldCopies = (directory: string): TemplateCopy[] =>
  copiedFiles().flatMap((name) => {
    const path = join(directory, name)
    const from = existsSync(path) ? copiedFrom(readFileSync(path, 'utf8')) : undefined
    return from === undefined || from.version === runningVersion() ? [] : [{ name, ...from }]
  })

/** Logs which copies in the host's folder are from another version. */
export const warnOfOldCopies = (directory: string, logger: Logger): void => {
  const old = oldCopies(directory).map(({ name }) => name)
  if (old.length === 0) return
  logger.warn(
    `latchkey: ${old.join(', ')} in ${directory} are copies from another version than ${runningVersion()}; ` +
      'to update them, run: npx latchkey eject-views --to DIR',
  )
}
