import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { copiedFiles, originOf, ownViews, runningVersion, withOrigin } from '../pages/template-version.ts'
import { type Command, type Invocation, UsageError } from './command.ts'
import { suggest } from './command-line.ts'
import { loadHostOptions } from './config.ts'
import { note, print } from './terminal.ts'

/** How people may write a file's name: as a template or as a file, with its folder or without. */
const namesOf = (file: string): string[] => [
  ...[file.replace(/\.eta$/, ''), file],
  ...[basename(file, extname(file)), basename(file)],
]

/** @throws UsageError with the nearest right name */
const filesCalled = (names: readonly string[]): string[] => {
  const files = copiedFiles()
  if (names.length === 0) return files
  const called = names.map((name) => {
    const found = files.find((file) => namesOf(file).includes(name))
    if (found !== undefined) return found
    const nearest = suggest(name, files.flatMap(namesOf))
    const hint = nearest ? `did you mean ${nearest}?` : `there are: ${files.join(', ')}`
    throw new UsageError(`there is no template ${name}; ${hint}`)
  })
  return [...new Set(called)]
}

/** @throws UsageError when neither the command line nor the configuration names a folder */
const folderFor = async (invocation: Invocation): Promise<string> => {
  const named = invocation.text('to')
  if (named !== undefined) return named
  const options = await loadHostOptions(invocation.text('config'))
  const views = typeof options === 'object' && options !== null && 'views' in options && options.views
  if (typeof views === 'string') return views
  throw new UsageError('there is no folder to copy to: set the option views, or add --to DIR')
}

/** Whether a file holds work that a copy would destroy. */
const isSomebodysWork = (text: string, own: string): boolean =>
  text !== own && originOf(text)?.isChanged !== false

/** `latchkey eject-views` */
export const ejectViewsCommand: Command = {
  name: 'eject-views',
  summary: 'copies templates of the pages, so that you can change them',
  rest: '[NAMES]',
  details:
    'Copies to the folder of the option views: the templates named, such as login or partials/footer, or all\n' +
    'of them and assets/style.css. Copy only what you change: the rest then follows each new version.\n' +
    'A copy that you have changed is left as it is; one that you have not is brought up to date.',
  options: {
    to: { type: 'string', value: 'DIR', help: 'another folder, made where it is missing' },
    force: { type: 'boolean', help: 'overwrite what was changed, too' },
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
      if (text !== undefined && !invocation.flag('force') && isSomebodysWork(text, own)) {
        left.push(path)
        continue
      }
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, copy)
      print(path)
    }
    if (left.length > 0) note(`left as changed by you (--force overwrites): ${left.join(', ')}`)
  },
}
