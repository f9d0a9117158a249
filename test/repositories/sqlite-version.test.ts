import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import createKnex, { type Knex } from 'knex'
import { authRouter } from '../../lib/index.ts'
import { driverOf } from '../../lib/storage/database/driver.ts'
import {
  assertSqliteRuns,
  installedSqlite,
  sqliteProblem,
} from '../../lib/storage/database/sqlite-version.ts'

test.each([
  ['11.10.0', '20.19.0', undefined, undefined],
  ['12.9.0', '20.19.0', undefined, undefined],
  ['12.9.0', '22.12.0', undefined, undefined],
  ['12.9.0', '24.0.0', 'better-sqlite3 12.9.0 aborts on Node 24', 13],
  ['11.0.0', '26.1.0', 'better-sqlite3 11.0.0 aborts on Node 26', 13],
  ['13.2.0', '20.19.0', 'better-sqlite3 13.2.0 crashes Node 20', 12],
  ['13.2.0', '22.12.0', undefined, undefined],
  ['13.0.0', '24.21.0', undefined, undefined],
  ['14.0.0', '26.1.0', undefined, undefined],
])('better-sqlite3 %s on Node %s: %s', (sqlite, node, problem, major) => {
  const fix = `run: npm install better-sqlite3@${major}`
  expect(sqliteProblem(sqlite, node)).toEqual(problem && { problem, fix })
})

describe('an installed package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-sqlite-'))
  const knex = join(folder, 'node_modules', 'knex', 'knex.js')
  beforeAll(() => {
    mkdirSync(join(folder, 'node_modules', 'better-sqlite3'), { recursive: true })
    mkdirSync(join(folder, 'node_modules', 'knex'), { recursive: true })
    const manifest = { name: 'better-sqlite3', version: '12.9.0', main: 'missing.js' }
    writeFileSync(join(folder, 'node_modules', 'better-sqlite3', 'package.json'), JSON.stringify(manifest))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('is refused by its version, without being loaded', () => {
    expect(installedSqlite(knex)).toBe('12.9.0')
    expect(() => assertSqliteRuns(installedSqlite(knex), '24.21.0')).toThrow(
      'latchkey: better-sqlite3 12.9.0 aborts on Node 24; run: npm install better-sqlite3@13',
    )
  })

  test('that is missing is not refused here', () => {
    expect(installedSqlite(join(tmpdir(), 'nowhere.js'))).toBeUndefined()
    expect(() => assertSqliteRuns(undefined, '24.21.0')).not.toThrow()
  })
})

describe('authRouter', () => {
  const { versions } = process
  afterEach(() => {
    Object.defineProperty(process, 'versions', { value: versions })
  })
  const filename = ':memory:'
  const database = { client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true }

  test.each([
    ['a configuration', () => database],
    ['an instance of the host', () => createKnex(database)],
  ])('refuses an unsafe better-sqlite3 in %s', (_, given) => {
    const opened = given()
    Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.19.0' } })
    expect(() => authRouter({ database: opened, logger: console })).toThrow(
      /^latchkey: better-sqlite3 \d+\.\d+\.\d+ crashes Node 20; run: npm install better-sqlite3@12$/,
    )
  })
})

test('the error for the client sqlite3 warns of both libraries on one file', () => {
  const knex = { client: { driverName: 'sqlite3' } } as unknown as Knex
  expect(() => driverOf(knex)).toThrow(/use better-sqlite3 in your whole app. Never open one file with both/)
})
