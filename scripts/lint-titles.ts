/** Finds titles of tests that are too long: a title is one sentence, which says what is broken if the test fails. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from '@babel/parser'
import type { Node } from '@babel/types'

const limit = 100
const root = resolve(import.meta.dirname, '..')
/** Folders without tests: packages, and what test/versions installs and checks. */
const skipped = ['node_modules', 'versions']

const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return skipped.includes(entry.name) ? [] : filesIn(path)
    return path.endsWith('.ts') ? [path] : []
  })

/** The characters of a literal, without the values that are inserted; undefined for anything else. */
const textOf = (node: Node): string | undefined => {
  if (node.type === 'StringLiteral') return node.value
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked).join('')
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined
  const parts = [textOf(node.left), textOf(node.right)]
  return parts.every((part) => part === undefined) ? undefined : parts.join('')
}

/** A call that has a title: one of Jest, or of a function of the tests that passes title and test on. */
const isTitled = (callee: string, given: readonly Node[]): boolean =>
  /^(test|it|describe)\b/.test(callee) || given.some(({ type }) => /Function/.test(type))

const tooLongIn = (file: string): string[] => {
  const source = readFileSync(join(root, file), 'utf8')
  const found: string[] = []
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const node = value as Node
    if (node.type === 'CallExpression') {
      const callee = source.slice(node.callee.start ?? 0, node.callee.end ?? 0)
      for (const given of isTitled(callee, node.arguments) ? node.arguments : []) {
        const { length } = textOf(given) ?? ''
        if (length > limit)
          found.push(
            `${file}:${given.loc?.start.line}: a title of ${length} characters; at most ${limit} are allowed`,
          )
      }
    }
    Object.values(node).forEach(walk)
  }
  walk(parse(source, { sourceType: 'module', plugins: ['typescript'] }).program)
  return found
}

const found = filesIn('test').flatMap(tooLongIn)
for (const line of found) console.error(line)
if (found.length > 0) process.exit(1)
