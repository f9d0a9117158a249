import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { record } from './recorder.ts'

const root = join(__dirname, '../..')

// With RECORD=1 it writes the file from which the tests of later versions begin: docs/releasing.md.
test('a database of this version is recorded with a row in every table', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const recorded = await record(version)
  const empty = recorded.tables.filter(({ rows }) => rows.length === 0).map(({ name }) => name)
  expect(empty).toEqual([])
  for (const [name, value] of Object.entries(recorded.holdings))
    expect({ name, value }).not.toEqual({ name, value: '' })
  if (process.env.RECORD === '1')
    writeFileSync(join(__dirname, `recorded/${version}.json`), `${JSON.stringify(recorded, null, 2)}\n`)
})
