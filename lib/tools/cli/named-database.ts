import type { Knex } from 'knex'
import { UsageError } from '../command.ts'

/** A database as the configuration names it. A URL may contain a password, so the file only names its variable. */
export interface NamedDatabase {
  readonly settings: Knex.Config
  /** The setting as source code. */
  readonly source: string
}

const drivers: Readonly<Record<string, string>> = {
  'postgres:': 'pg',
  'postgresql:': 'pg',
  'mysql:': 'mysql2',
  'mariadb:': 'mysql2',
}

/**
 * The database that an option names.
 *
 * @param option its name, for the error
 * @throws UsageError for a URL of another kind of database
 */
export const namedDatabase = (given: string, option: string): NamedDatabase => {
  const url = /^\w{2,}:/.test(given) && URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined) {
    const connection = { filename: given }
    const source = `{ client: 'better-sqlite3', connection: ${JSON.stringify(connection)}, useNullAsDefault: true }`
    return { settings: { client: 'better-sqlite3', connection, useNullAsDefault: true }, source }
  }
  const client = drivers[url.protocol]
  if (client === undefined) {
    throw new UsageError(`${option} must be an SQLite file, or a URL that begins with postgres: or mysql:`)
  }
  return {
    settings: { client, connection: given },
    source: `{ client: '${client}', connection: process.env.DATABASE_URL }`,
  }
}
