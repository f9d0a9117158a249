import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Pages } from '../../options/pages.ts'

/** The module that the studio writes, beside the configuration of the host. */
export const brandingFile = 'latchkey.branding.mjs'

/** The exports of the module: the part of the option `pages` that is the look. */
export type Branding = Pick<Pages, 'logo' | 'font' | 'accent' | 'radius' | 'scheme'>

/** A file that was chosen in the studio, and where it will be. */
interface NewFile {
  readonly from: string
  readonly to: string
}

/** A change of the file with the look. */
export interface Plan {
  readonly before: string
  readonly after: string
  readonly copies: readonly NewFile[]
}

const literal = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`

/**
 * Plans the module and the files beside it. Files of the project are named where they are; others are copied to `branding/`.
 *
 * @param folder where the configuration is
 * @param uploads the folder of the files that were chosen in the studio
 */
export const planOf = (branding: Branding, folder: string, uploads: string): Plan => {
  const copies: NewFile[] = []
  const source = (file: string | URL, name: string): string => {
    if (!(file instanceof URL)) return literal(file)
    const from = fileURLToPath(file)
    const isNew = dirname(from) === uploads
    const to = isNew ? join(folder, 'branding', `${name}${extname(from).toLowerCase()}`) : from
    if (isNew) copies.push({ from, to })
    const path = relative(folder, to).split(sep).map(encodeURIComponent).join('/')
    return `new URL(${literal(path.startsWith('..') ? path : `./${path}`)}, import.meta.url)`
  }
  const expressionOf = (value: NonNullable<Branding['logo'] | Branding['font']>, name: string): string => {
    if (typeof value === 'string' || value instanceof URL) return source(value, name)
    const members = Object.entries(value).filter(([, file]) => file !== undefined)
    return `{ ${members.map(([key, file]) => `${key}: ${source(file, `${name}-${key}`)}`).join(', ')} }`
  }
  const { logo, font, accent, radius, scheme } = branding
  const isThere = (value: object | string | undefined): value is NonNullable<Branding['logo']> =>
    value !== undefined &&
    (typeof value === 'string' || value instanceof URL || Object.keys(value).length > 0)
  const members = [
    isThere(logo) && `logo: ${expressionOf(logo, 'logo')}`,
    isThere(font) && `font: ${expressionOf(font, 'font')}`,
    accent !== undefined && `accent: ${literal(accent)}`,
    radius !== undefined && `radius: ${radius}`,
    `scheme: ${literal(scheme)}`,
  ].filter((member) => member !== false)
  const file = join(folder, brandingFile)
  return {
    before: existsSync(file) ? readFileSync(file, 'utf8') : '',
    after: [
      '// The look of the pages, written by `latchkey preview`.',
      'export default {',
      ...members.map((member) => `  ${member},`),
      '}',
      '',
    ].join('\n'),
    copies,
  }
}

/** One line of a difference: `-` is removed, `+` is added, a blank stays. */
export interface DiffLine {
  readonly mark: '-' | '+' | ' '
  readonly text: string
}

/** The lines of both texts, in the order of the members, which is always the same. */
export const diffOf = (before: string, after: string): DiffLine[] => {
  const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')
  const [old, now] = [linesOf(before), linesOf(after)]
  const left = [...old]
  const lines = now.flatMap((text): DiffLine[] => {
    const kept = left.findIndex((each) => now.includes(each))
    const gone = left.splice(0, kept < 0 ? left.length : kept)
    const isKept = left[0] === text
    if (isKept) left.shift()
    return [...gone.map((each): DiffLine => ({ mark: '-', text: each })), { mark: isKept ? ' ' : '+', text }]
  })
  return [...lines, ...left.map((text): DiffLine => ({ mark: '-', text }))]
}

/** Writes the module and copies the files. */
export const writeBranding = ({ after, copies }: Plan, folder: string): string[] => {
  for (const { from, to } of copies) {
    mkdirSync(dirname(to), { recursive: true })
    copyFileSync(from, to)
  }
  writeFileSync(join(folder, brandingFile), after)
  return [brandingFile, ...copies.map(({ to }) => `branding/${basename(to)}`)]
}

/** The lines that a configuration lacks to use the module; none if it names it. */
export const linesToAdd = (configuration: string | undefined): string[] => {
  const text =
    configuration !== undefined && existsSync(configuration) ? readFileSync(configuration, 'utf8') : ''
  if (text.includes(brandingFile)) return []
  return [`import branding from './${brandingFile}'`, 'pages: { …, ...branding },']
}

/** The address of a file of this folder. */
export const addressIn = (folder: string, name: string): URL => pathToFileURL(join(folder, name))
