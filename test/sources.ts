// The files of lib and migrations, and which of them import each other.
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parse } from '@babel/parser'
import type { Node } from '@babel/types'

/** The root of the project. */
export const root = join(__dirname, '..')
/** The TypeScript files and templates of the library. */
export const paths = ['lib', 'migrations'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    // Scripts of pages run in browsers, and the code for apps is only shown.
    .filter((path) => !path.includes('/assets/') && path !== 'lib/features/developers/snippets.ts'),
)
/** What they contain, by path. */
export const sources: ReadonlyMap<string, string> = new Map(
  paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]),
)

const clause = String.raw`(?:\*(?: as \w+)?|\w+|(?:\w+\s*,\s*)?\{[^}]*\}|\w+\s*,\s*\* as \w+)\s*`
const importPatterns = [
  new RegExp(String.raw`^(?:im|ex)port\s+(type\s+(?!from\b))?${clause}from\s*['"]([^'"]+)['"]`, 'gm'),
  /^import\s*()['"]([^'"]+)['"]/gm,
  /\b(?:import|require)\s*\(\s*()['"`]([^'"`]+)['"`]/g,
]

const quoted = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/
export const withoutComments = (source: string) =>
  source.replace(new RegExp(String.raw`(${quoted.source})|//[^\n]*|/\*[\s\S]*?\*/`, 'g'), '$1')
export const withoutStrings = (code: string) => code.replace(new RegExp(quoted, 'g'), "''")

/** The modules that a file names, in imports, re-exports and types. */
export const importsOf = (code: string) =>
  importPatterns
    .flatMap((pattern) => [...code.matchAll(pattern)])
    .map(([, type, name = '']) => ({ name, typeOnly: Boolean(type) }))

/** For each file, the files that it imports. */
export type Graph = ReadonlyMap<string, readonly string[]>

/** Which of these files each file imports. Without `types`, imports of types do not count. */
export function importGraph(files: ReadonlyMap<string, string>, { types }: { types: boolean }): Graph {
  const targetsOf = (file: string, source: string) =>
    importsOf(withoutComments(source))
      .filter(({ typeOnly }) => types || !typeOnly)
      .map(({ name }) => (name.startsWith('.') ? posix.join(posix.dirname(file), name) : name))
      .filter((target) => files.has(target))
  return new Map([...files].map(([file, source]) => [file, targetsOf(file, source)]))
}

/** Every file that loading this one loads, itself included. */
export function loadedBy(file: string, files: ReadonlyMap<string, string>): string[] {
  const graph = importGraph(files, { types: false })
  const loaded = new Set([file])
  for (const each of loaded)
    for (const target of graph.get(each) ?? []) if (!isLoadedOnDemand(each, target)) loaded.add(target)
  return [...loaded]
}

/** A feature loads its tools only for the command line, and its checks only after the start. */
const isLoadedOnDemand = (file: string, target: string) =>
  /^lib\/features\/[^/]+\/index\.ts$/.test(file) && /\/(?:tools|samples|checks)\.ts$/.test(target)

/** A node, and every node in it. */
export const nodesBelow = (root: Node): readonly Node[] => {
  const nodes: unknown[] = [root]
  for (const node of nodes)
    for (const [key, value] of Object.entries(node as Node))
      if (key !== 'loc' && typeof value === 'object' && value !== null) nodes.push(value)
  return nodes.filter((node): node is Node => typeof (node as Partial<Node>).type === 'string')
}

/** The nodes of a file. */
export const nodesOf = (source: string): readonly Node[] =>
  nodesBelow(parse(source, { sourceType: 'module', plugins: ['typescript'] }).program)
