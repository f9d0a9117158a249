/** Finds words and phrases of scripts/words.txt in the project's prose: code, pages and documentation. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const places = ['lib', 'migrations', 'views', 'example-app', 'docs', 'bench', '.ci', 'scripts']
const pages = readdirSync(root).filter((name) => /\.(md|cjs)$/.test(name))

const filesIn = (place: string): string[] =>
  statSync(join(root, place)).isFile()
    ? [place]
    : readdirSync(join(root, place)).flatMap((name) => filesIn(join(place, name)))

const patterns = readFileSync(join(root, 'scripts/words.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => new RegExp(line, 'i'))

const files = [...places, ...pages]
  .flatMap(filesIn)
  .filter((file) => /\.([cm]?[jt]s|md|eta|css|sh)$|\/run$/.test(file) && !/(^|\/)data\//.test(file))

const found = files.flatMap((file) =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const match = patterns.map((pattern) => pattern.exec(line)?.[0]).find(Boolean)
      return match === undefined ? [] : [`${file}:${index + 1}: “${match}” in: ${line.trim()}`]
    }),
)

for (const line of found) console.error(line)
if (found.length > 0) process.exit(1)
