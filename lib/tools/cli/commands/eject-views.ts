import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { folderPath } from '../../../options/pages.ts'
import {
  copiedFiles,
  copiedFrom,
  ownFile,
  runningVersion,
  withOrigin,
} from '../../../web/pages/template-version.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { suggest } from '../command-line.ts'
import { loadHostOptions } from '../config.ts'
import { print, printNote } from '../terminal.ts'

/** The accepted spellings of a file: with or without its folder and its extension. */
const namesOf = (file: string): string[] => [
  file.replace(/\.eta$/, ''),
  file,
  basename(file, extname(file)),
  basename(file),
]

/** @throws UsageError for an unknown name, with the nearest known one */
const filesCalled = (names: readonly string[]): string[] => {
  const files = copiedFiles()
  if (names.length === 0) return files
  const called = names.map((name) => {
    const found = files.find((file) => namesOf(file).includes(name))
    if (found !== undefined) return found
    const nearest = suggest(name, files.flatMap(namesOf))
    const hint = nearest ? `did you mean ${nearest}?` : `the templates are: ${files.join(', ')}`
    throw new UsageError(`unknown template ${name}; ${hint}`)
  })
  return [...new Set(called)]
}

/** @throws UsageError if neither the command line nor the configuration names a folder */
const folderFor = async (invocation: Invocation): Promise<string> => {
  const named = invocation.text('to')
  if (named !== undefined) return named
  const options = await loadHostOptions(invocation.text('config'))
  const views = folderPath(Reflect.get(Object(Reflect.get(Object(options), 'pages')), 'views'))
  if (views !== undefined) return views
  throw new UsageError('no folder to copy to: set the option pages.views, or add --to DIR')
}

/** Whether a copy would overwrite changes. */
const isChanged = (text: string, own: string): boolean =>
  text !== own && copiedFrom(text)?.isChanged !== false

/** `latchkey eject-views` */
export const ejectViewsCommand: Command = {
  name: 'eject-views',
  summary: 'copies templates of the pages for you to change',
  rest: '[NAMES]',
  details:
    'Copies the named templates, such as login or partials/footer, to the folder of the option pages.views. Without\n' +
    'names it copies all templates and assets/style.css. Copy only what you change: the other templates then\n' +
    'follow each new version. Copies that you have changed are kept; unchanged ones are updated.',
  options: {
    to: { value: 'DIR', help: 'another folder; it is created if it does not exist' },
    force: { help: 'overwrite changed copies, too' },
  },
  example: 'latchkey eject-views login partials/footer',
  check: ({ arguments: names }) => void filesCalled(names),
  async runAlone(invocation) {
    const folder = await folderFor(invocation)
    const left: string[] = []
    for (const file of filesCalled(invocation.arguments)) {
      const path = join(folder, file)
      const own = readFileSync(ownFile(file), 'utf8')
      const copy = withOrigin(file, own, runningVersion())
      const text = existsSync(path) ? readFileSync(path, 'utf8') : undefined
      if (text === copy) continue
      if (text !== undefined && !invocation.flag('force') && isChanged(text, own)) {
        left.push(path)
        continue
      }
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, copy)
      print(path)
    }
    if (left.length > 0) printNote(`kept your changes (--force overwrites them): ${left.join(', ')}`)
  },
}
