import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Knex } from 'knex'

/** The issuer that a developer's machine has; a PORT that is empty or names a pipe says nothing of it. */
export const developmentIssuer = ({ PORT = '' }: NodeJS.ProcessEnv): string => {
  const guess = `http://localhost:${PORT}/oauth`
  return /^[0-9]+$/.test(PORT) && URL.canParse(guess) ? new URL(guess).href : 'http://localhost:3000/oauth'
}

/** The embedded database: a file beside the app. */
export const developmentDatabase = (): Knex.Config => ({
  client: 'better-sqlite3',
  connection: { filename: './latchkey.sqlite' },
  useNullAsDefault: true,
})

/** Where the development secret lies: beside the SQLite file if there is one. */
const secretFile = (database: Knex | Knex.Config): string => {
  const connection = 'connection' in database ? database.connection : undefined
  const filename =
    typeof connection === 'object' && connection !== null && 'filename' in connection
      ? connection.filename
      : undefined
  const folder = typeof filename === 'string' && filename !== ':memory:' ? dirname(filename) : '.'
  return join(folder, '.latchkey-secret')
}

/**
 * The secret of a development machine: written once, readable by its owner alone, the same after a restart.
 * It gets its name only when it is whole, and only once, so two processes that start at once end with one secret.
 */
export const developmentSecret = (database: Knex | Knex.Config): string => {
  const file = secretFile(database)
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`
  writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(draft, file)
  } catch (error) {
    // Not `instanceof Error`: under jest, errors of Node's own modules come from another realm.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readFileSync(file, 'utf8').trim()
}
