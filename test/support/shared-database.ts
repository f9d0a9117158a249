import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import { databaseOn, openTestDatabase, type TestDatabase } from './database.ts'

/** A database that other processes can open too: an SQLite file, or the server that DATABASE_URL names. */
export interface SharedDatabase extends TestDatabase {
  /** What another process opens it with. */
  readonly config: Knex.Config
  /** The folder of the SQLite file. */
  readonly folder?: string
}

const clientOf = (url: string): string => (url.startsWith('postgres') ? 'pg' : 'mysql2')

/** @param url where, instead of there */
export const openSharedDatabase = (url = process.env.DATABASE_URL): SharedDatabase => {
  if (url !== undefined) {
    const config = { client: clientOf(url), connection: url, pool: { min: 0, max: 5 } }
    return { ...openTestDatabase(url), config }
  }
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
  const config = {
    client: 'better-sqlite3',
    connection: { filename: join(folder, 'latchkey.sqlite') },
    useNullAsDefault: true,
  }
  const file = knex(config)
  const close = async (): Promise<void> => {
    await file.destroy()
    rmSync(folder, { recursive: true })
  }
  return { ...databaseOn(file, undefined, close), config, folder }
}
