import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { dataFolder } from './notes/settings.ts'

mkdirSync(dataFolder, { recursive: true })

export default {
  client: 'better-sqlite3',
  connection: { filename: join(dataFolder, 'notes.sqlite') },
  useNullAsDefault: true,
  pool: {
    afterCreate: (connection: { pragma(statement: string): unknown }, done: () => void) => {
      connection.pragma('journal_mode = WAL')
      connection.pragma('synchronous = FULL')
      connection.pragma('foreign_keys = ON')
      connection.pragma('busy_timeout = 1000')
      done()
    },
  },
  migrations: { directory: join(import.meta.dirname, 'notes/migrations'), loadExtensions: ['.ts'] },
  seeds: { directory: join(import.meta.dirname, 'seeds'), loadExtensions: ['.ts'] },
} satisfies Knex.Config
