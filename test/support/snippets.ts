import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../..')
/** In a list they are indented. */
const fences = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm
const nameOf = /^(?:\/\/ |<%\/\* )(in )?([\w./-]+\.(?:[cm]?[jt]sx?|eta))(?: \*\/%>)?\n/

interface Snippet {
  readonly language: string
  readonly code: string
}

/** The snippets of a page such as `README.md`. */
export const snippetsOf = (page: string): Snippet[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(fences)].map(
    ([, indent = '', language = '', code = '']) => ({
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  )

/** The files of a page: its snippets whose first line is the name of one, such as `// app.mjs`. */
export const filesOf = (page: string): Record<string, string> => {
  const files: Record<string, string> = {}
  for (const { code } of snippetsOf(page)) {
    const [, part, name] = nameOf.exec(code) ?? []
    if (name === undefined || part !== undefined) continue
    if (name in files) throw new Error(`${page} has two snippets called ${name}`)
    files[name] = code
  }
  return files
}

/** A file of the path on which the others and the recipes build. */
export const fileOfFirstPath = (name: string): string => {
  const file = filesOf('docs/start/sign-in.md')[name]
  if (file === undefined) throw new Error(`docs/start/sign-in.md has no snippet called ${name}`)
  return file
}

/** What a page adds to a file: its snippet whose first line is `// in app.mjs`, without its imports and with them. */
export const partFor = (page: string, name: string): { imports: string; code: string } => {
  const found = snippetsOf(page).filter(({ code }) => code.startsWith(`// in ${name}\n`))
  if (found.length !== 1) throw new Error(`${page} has ${found.length} snippets in ${name}`)
  const lines = (found[0]?.code ?? '').split('\n').slice(1)
  const isImport = (line: string): boolean => line.startsWith('import ')
  return {
    imports: lines.filter(isImport).join('\n'),
    code: lines.filter((line) => !isImport(line)).join('\n'),
  }
}
