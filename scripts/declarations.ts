/**
 * The last step of the build. Makes the declarations that tsc emitted usable by every supported TypeScript:
 * relative imports end in `.js`, each entry point has a `.d.cts` for CommonJS hosts, the entry point imports what
 * features add to interfaces of the core, and declarations that no entry point needs are deleted.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { parse } from '@babel/parser'

const dist = resolve(import.meta.dirname, '../dist')
const relativeImport = /(?<=(?:\bfrom |\bimport |\bimport\(|\bmodule )['"])(\.{1,2}\/[^'"]+)\.ts(?=['"])/g

const declarationsUnder = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => join(folder, file))

const importsOf = (file: string): string[] =>
  Array.from(readFileSync(file, 'utf8').matchAll(relativeImport), ([path]) =>
    resolve(dirname(file), `${path.replace(/\.ts$/, '')}.d.ts`),
  )

const reachableFrom = (entries: readonly string[]): Set<string> => {
  const found = new Set(entries)
  for (const file of found) for (const imported of importsOf(file)) found.add(imported)
  return found
}

/** Features add to interfaces of the core. No type refers to those files, so the entry point imports them. */
const index = join(dist, 'lib/index.d.ts')
const additions = declarationsUnder(join(dist, 'lib/features'))
  .filter((file) => readFileSync(file, 'utf8').includes('declare module'))
  .map((file) => `import './${relative(dirname(index), file).replace(/\.d\.ts$/, '.ts')}'\n`)
writeFileSync(index, additions.join('') + readFileSync(index, 'utf8'))

const migrations = readdirSync(join(dist, 'migrations'))
  .filter((file) => file.endsWith('.d.ts'))
  .map((file) => join(dist, 'migrations', file))
const others = ['features', 'guard', 'tools/testing'].map((folder) => join(dist, 'lib', folder, 'index.d.ts'))
const entries = [index, ...others, ...migrations]

/** How often each name occurs in the files, also in their comments. */
const occurrencesIn = (files: Iterable<string>): Map<string, number> => {
  const occurrences = new Map<string, number>()
  for (const file of files)
    for (const [name] of readFileSync(file, 'utf8').matchAll(/[\w$]+/g))
      occurrences.set(name, (occurrences.get(name) ?? 0) + 1)
  return occurrences
}

/** The text of a module without its values that no other declaration mentions, and without the imports of those. */
const withoutUnusedValues = (text: string, occurrences: ReadonlyMap<string, number>): string => {
  const { body } = parse(text, { sourceType: 'module', plugins: [['typescript', { dts: true }]] }).program
  const isUnused = (statement: (typeof body)[number]): boolean => {
    if (statement.type === 'ImportDeclaration') {
      const names = statement.specifiers.map(({ local }) => local.name)
      return (
        names.length > 0 && names.every((name) => text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length === 1)
      )
    }
    if (statement.type !== 'ExportNamedDeclaration') return false
    const { declaration } = statement
    if (declaration?.type === 'TSDeclareFunction') return occurrences.get(declaration.id?.name ?? '') === 1
    if (declaration?.type !== 'VariableDeclaration') return false
    return declaration.declarations.every(
      ({ id }) => id.type === 'Identifier' && occurrences.get(id.name) === 1,
    )
  }
  const left = body
    .filter(isUnused)
    .reverse()
    .reduce((rest, { leadingComments, start, end }) => {
      const from = leadingComments?.[0]?.start ?? start ?? 0
      return rest.slice(0, from) + rest.slice(end ?? 0).replace(/^\n/, '')
    }, text)
  return left.trim() === '' ? 'export {}\n' : left
}

/** A host can import every value of these modules: the entry points, and those that they export as a whole. */
const offered = new Set(entries)
for (const file of offered)
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/^export \* from '(\.[^']+)\.ts'/gm))
    offered.add(resolve(dirname(file), `${path}.d.ts`))

/** Removes the unused values of a module. Returns true if there were any. */
const removeUnusedValues = (file: string, occurrences: ReadonlyMap<string, number>): boolean => {
  const text = readFileSync(file, 'utf8')
  const left = withoutUnusedValues(text, occurrences)
  writeFileSync(file, left)
  return left !== text
}

let reachable: Set<string>
let changed: readonly string[]
do {
  reachable = reachableFrom(entries)
  const occurrences = occurrencesIn(reachable)
  changed = [...reachable].filter((file) => !offered.has(file) && removeUnusedValues(file, occurrences))
} while (changed.length > 0)

for (const file of declarationsUnder(dist)) {
  if (reachable.has(file)) writeFileSync(file, readFileSync(file, 'utf8').replace(relativeImport, '$1.js'))
  else rmSync(file)
}

/**
 * The declarations of an entry point for CommonJS. It has the types of the ECMAScript module, so that a host with both
 * module systems has each type once.
 *
 * @param values what the module exports, by name, without its types
 */
const forCommonJs = (module: string, values: Readonly<Record<string, unknown>>): string => {
  const attributes = `{ 'resolution-mode': 'import' }`
  const imported = `import('${module}', { with: ${attributes} })`
  const isClass = (value: unknown): boolean => /^class\b/.test(String(value))
  const lines = Object.entries(values).flatMap(([name, value]) => [
    `export declare const ${name}: typeof ${imported}.${name}`,
    ...(isClass(value) ? [`export type ${name} = ${imported}.${name}`] : []),
  ])
  return [`export type * from '${module}' with ${attributes}`, ...lines, ''].join('\n')
}

for (const file of entries) {
  const module = file.replace(/\.d\.ts$/, '.js')
  writeFileSync(
    file.replace(/\.d\.ts$/, '.d.cts'),
    forCommonJs(`./${basename(module)}`, await import(module)),
  )
}
