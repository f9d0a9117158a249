import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorStatuses, errorUrl } from '../../lib/protocol/errors.ts'

const read = (file: string): string => readFileSync(join(__dirname, '../..', file), 'utf8')

interface Option {
  readonly path: string
  readonly must?: string
}

/** An object of functions is on the page by its functions. */
const isFunction = ({ path, must = '' }: Option): boolean => /\bfunction\b/.test(must) || path === 'logger'

test('docs/plug-in.md has each option that is a function, and no other', () => {
  const options: readonly Option[] = JSON.parse(read('docs/options.json'))
  const expected = options.filter(isFunction).map(({ path }) => path)
  expect(expected.length).toBeGreaterThan(20)
  const rows = [...read('docs/plug-in.md').matchAll(/^\| `([^`]+)`/gm)].map(([, path = '']) => path)
  const known = new Set(options.map(({ path }) => path))
  expect(expected.filter((path) => !rows.includes(path))).toEqual([])
  expect(rows.filter((path) => !path.startsWith('oauth.') && !known.has(path))).toEqual([])
})

test('each error code has an address in docs/errors.md', () => {
  const ids = [...read('docs/errors.md').matchAll(/<a id="([a-z_]+)">/g)].map(([, id = '']) => id)
  expect([...ids].sort()).toEqual(Object.keys(errorStatuses).sort())
  expect(errorUrl('invalid_grant')).toBe('docs/errors.md#invalid_grant')
})
