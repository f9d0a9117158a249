import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from '@swc/core'
import { slowShape } from './regexp-shape.ts'

const lib = join(__dirname, '../lib')
// `latchkey/testing` and the preview read only what the host itself answers, only the package's own assets are minified,
// and layouts and stylesheets are files of the host.
const trusted = /^(?:tools\/testing\/.*|tools\/preview\/.*|web\/pages\/(?:minify|layout|theme\/scheme))\.ts$/
const files = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !trusted.test(name),
)

interface Found {
  readonly pattern: string
  readonly flags: string
}

/** The regular expressions of a source, and those that are made while it runs. */
const regexpsIn = (source: string): { literals: Found[]; made: number } => {
  const literals: Found[] = []
  let made = 0
  JSON.stringify(parseSync(source, { syntax: 'typescript', target: 'esnext' }), (_, node) => {
    if (node?.type === 'RegExpLiteral') literals.push(node)
    if (/^(?:New|Call)Expression$/.test(node?.type) && node.callee?.value === 'RegExp') made += 1
    return node
  })
  return { literals, made }
}

test('no regular expression of the library can take more than linear time', () => {
  const slow = files.flatMap((file) => {
    const { literals, made } = regexpsIn(readFileSync(join(lib, file), 'utf8'))
    const found = literals.flatMap(({ pattern, flags }) => {
      const shape = slowShape(pattern, flags)
      return shape === undefined ? [] : [`${file}: /${pattern}/${flags}: ${shape}`]
    })
    return made > 0 ? [...found, `${file} makes a regular expression while it runs`] : found
  })
  expect(slow).toEqual([])
})

describe('the check finds', () => {
  test.each([
    [/[ \t]*;[ \t]*/, 'from every beginning'],
    [/\s+$/, 'from every beginning'],
    [/=+$/m, 'from every beginning'],
    [/<a\b[\s\S]*?<\/a>/, 'from every beginning'],
    [/^\s*,|\s*;/, 'from every beginning'],
    [/^a*a*$/, 'over the same characters'],
    [/^\w+-?\w+$/, 'over the same characters'],
    [/^(?:x|.*),.*!$/, 'over the same characters'],
    [/^\d+[a-z\d]*$/i, 'over the same characters'],
    [/^[^a]*(?:b+)c$/, 'over the same characters'],
    [/^(?:a+)+$/, 'loop in a loop'],
    [/^(?:a|ab)*$/, 'begin alike'],
    [/^(?:a*,){1,9}$/, 'repeated loop'],
    [/^(?!.*x)y/, 'assertion has a loop'],
    [/^(a)\1$/, 'reference'],
  ])('%s', (pattern, shape) => expect(slowShape(pattern.source, pattern.flags)).toContain(shape))

  test.each([
    /\s+/g,
    /^\s*;\s*x$/,
    /;\s*charset\s*=\s*"?([^";\s]*)/gi,
    /:[0-9]*$/,
    /^(?:[a-z]|%[0-9a-f]{2})+$/,
    /^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,8}$/i,
    /\{(\w+)\}/g,
    /^q=(.*)$/,
    /[ \t]*;[ \t]*/y,
  ])('nothing in %s', (pattern) => expect(slowShape(pattern.source, pattern.flags)).toBeUndefined())
})
