/**
 * The last step of the build. Makes the declarations that tsc emitted usable by every supported TypeScript:
 * relative imports end in `.js`, each entry point has a `.d.cts` for CommonJS hosts, the entry point imports what
 * features add to interfaces of the core, and declarations that no entry point reaches are deleted.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'

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
const reachable = reachableFrom(entries)

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
