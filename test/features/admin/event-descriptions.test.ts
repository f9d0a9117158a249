import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sentenceParts } from '../../../lib/events/description.ts'
import { coreEvents } from '../../../lib/events/descriptions.ts'
import { everyFeature } from '../../support/features.ts'

const lib = join(__dirname, '../../../lib')
const sources = readdirSync(lib, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))

/** The names in every `interface EventDetails` of the source. */
const declared = sources
  .flatMap((source) => [
    ...source.matchAll(/^( *)(?:export )?interface EventDetails \{\n([\s\S]*?)\n\1\}$/gm),
  ])
  .flatMap(([, , body = '']) => [...body.matchAll(/^ +'([\w.]+)':/gm)])
  .map(([, type = '']) => type)

const described = [coreEvents, ...everyFeature.map(({ events }) => events ?? {})]

test('every type of event has a description, once, where it is announced (pages 27)', () => {
  expect(declared.length).toBeGreaterThan(40)
  expect(described.flatMap((each) => Object.keys(each)).sort()).toEqual([...new Set(declared)].sort())
})

test('no two types have the same title, and each sentence begins with a capital or a name', () => {
  const all = described.flatMap((each) => Object.values(each))
  expect(new Set(all.map(({ title }) => title)).size).toBe(all.length)
  for (const { sentence } of all) expect(sentence).toMatch(/^(\{|[A-Z])[^.]*$/)
})

test('a sentence leaves out what is unknown in brackets, and keeps its values apart (pages 27)', () => {
  const sentence = '{user} signed in[ to {client}][ by {actor}]'
  expect(sentenceParts(sentence, { user: '[x]{client}', client: 'Shop' })).toEqual([
    { text: '[x]{client}', isValue: true },
    { text: ' signed in', isValue: false },
    { text: ' to ', isValue: false },
    { text: 'Shop', isValue: true },
  ])
  expect(sentenceParts('{user} left', {})[0]).toEqual({ text: 'unknown', isValue: true })
})
