import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { copiedFiles, originOf, ownViews, runningVersion, withOrigin } from '../pages/template-version.ts'
import { type Command, type Invocation, UsageError } from './command.ts'
import { suggest } from './command-line.ts'
import { loadHostOptions } from './config.ts'
import { note, print } from './terminal.ts'

/** The accepted spellings of a file's name: with or without its extension and folder. */
const namesOf = (file: string): string[] => [
  ...[file.replace(/\.eta$/, ''), file],
  ...[basename(file, extname(file)), basename(file)],
]

/** @throws UsageError with the closest known name */
const filesCalled = (names: readonly string[]): string[] => {
  const files = copiedFiles()
  if (names.length === 0) return files
  const called = names.map((name) => {
    const found = files.find((file) => namesOf(file).includes(name))
    if (found !== undefined) return found
    const nearest = suggest(name, files.flatMap(namesOf))
    const hint = nearest ? `did you mean ${nearest}?` : `available: ${files.join(', ')}`
    throw new UsageError(`unknown template ${name}; ${hint}`)
  })
  return [...new Set(called)]
}

/** @throws UsageError if neither the command line nor the configuration names a folder */
const folderFor = async (invocation: Invocation): Promise<string> => {
  const named = invocation.text('to')
  if (named !== undefined) return named
  const options = await loadHostOptions(invocation.text('config'))
  const views = typeof options === 'object' && options !== null && 'views' in options && options.views
  if (typeof views === 'string') return views
  throw new UsageError('no folder to copy to: set the option views, or add --to DIR')
}

/** Whether a file contains changes that a copy would overwrite. */
const hasChanges = (text: string, own: string): boolean => text !== own && originOf(text)?.isChanged !== false

/** `latchkey eject-views` */
export const ejectViewsCommand: Command = {
  name: 'eject-views',
  summary: 'copies page templates into your folder',
  rest: '[NAMES]',
  details:
    'Copies templates, such as login or partials/footer, into the folder of the option views. Without names it\n' +
    'copies all of them and assets/style.css. Copy only what you change: the rest follows each new version.\n' +
    'Copies that you changed are kept; unchanged copies are updated.',
  options: {
    to: { type: 'string', value: 'DIR', help: 'another folder; created if it does not exist' },
    force: { type: 'boolean', help: 'also overwrite changed copies' },
  },
  example: 'latchkey eject-views login partials/footer',
  check: ({ arguments: names }) => void filesCalled(names),
  async runAlone(invocation) {
    const folder = await folderFor(invocation)
    const left: string[] = []
    for (const file of filesCalled(invocation.arguments)) {
      const path = join(folder, file)
      const own = readFileSync(join(ownViews, file), 'utf8')
      const copy = withOrigin(file, own, runningVersion())
      const text = existsSync(path) ? readFileSync(path, 'utf8') : undefined
      if (text === copy) continue
      if (text !== undefined && !invocation.flag('force') && hasChanges(text, own)) {
        left.push(path)
        continue
      }
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, copy)
      print(path)
    }
    if (left.length > 0) note(`kept because you changed them (--force overwrites): ${left.join(', ')}`)
  },
}
