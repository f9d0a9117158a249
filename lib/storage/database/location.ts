import { existsSync } from 'node:fs'
import type { Knex } from 'knex'
import { connectionSettings, driverName } from './driver.ts'

interface Settings {
  readonly filename?: unknown
  readonly connectionString?: unknown
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
}

const settingsOf = (knex: Knex): Settings => ({ ...connectionSettings(knex) })

/** The file of an SQLite database; undefined for a server and for a database in memory. */
export const databaseFile = (knex: Knex): string | undefined => {
  const { filename } = settingsOf(knex)
  return typeof filename === 'string' && filename !== '' && !filename.startsWith(':memory:')
    ? filename
    : undefined
}

/** Whether the database is an SQLite file that does not exist; opening it would create it. */
export const lacksFile = (knex: Knex): boolean => {
  const file = databaseFile(knex)
  return file !== undefined && !file.startsWith('file:') && !existsSync(file)
}

/**
 * Where a database is, for people: its file, or host, port and name. Never a user name or password.
 *
 * @example databaseLocation(knex) // 'db.example.com:5432/shop'
 */
export const databaseLocation = (knex: Knex): string => {
  const { connectionString, host, port, database } = settingsOf(knex)
  if (typeof connectionString === 'string' && URL.canParse(connectionString)) {
    const url = new URL(connectionString)
    return `${url.host}${url.pathname}`
  }
  const place = [host, port].filter((part) => part !== undefined && part !== null && part !== '').join(':')
  const name = typeof database === 'string' ? `${place}/${database}` : place
  return databaseFile(knex) ?? (name === '' ? driverName(knex) : name)
}
