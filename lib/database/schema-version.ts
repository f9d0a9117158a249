import { migrations } from '../../migrations/index.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Row } from './driver.ts'
import { isMissingTable } from './errors.ts'
import { text } from './row.ts'
import { type Database, query } from './statement.ts'

/** How the schema of a database stands to this version of the code. */
export interface SchemaVersion {
  /** Migrations of this version that have not run, in their order. */
  readonly pending: readonly string[]
  /** Migrations that have run and that only a newer version knows. */
  readonly newer: readonly string[]
}

const applied = query<Record<never, never>>((table) => table('migrations').select('name').orderBy('id'))

const rowsOf = async (db: Database): Promise<readonly Row[]> => {
  try {
    return await applied(db, {})
  } catch (error) {
    const cause = error instanceof OAuthError ? (error.cause ?? error) : error
    if (isMissingTable(cause)) return []
    throw cause
  }
}

/** A later migration that takes something away names the one that code must know to do without: `031_…_needs_025`. */
const needs = /_needs_(\d+)$/

const knows = (names: readonly string[], number: string): boolean =>
  names.some((name) => name.startsWith(`${number}_`))

/**
 * Compares by the names of migrations alone, since they are all that an older version sees of a newer one. Knex is not
 * asked: it would make its tables, and take every name that it does not know for a fault.
 *
 * @throws Error when the schema has lost what this version needs · the driver's error when the database is away
 */
export const schemaVersion = async (db: Database): Promise<SchemaVersion> => {
  const known = [...migrations.keys()]
  const ran = (await rowsOf(db)).map((row) => text(row, 'name'))
  const newer = ran.filter((name) => !known.includes(name))
  const breaking = newer.filter((name) => {
    const [, number] = needs.exec(name) ?? []
    return number !== undefined && !knows(known, number)
  })
  if (breaking.length > 0) {
    throw new Error(
      `latchkey: this version is too old for the database, where ${breaking.join(', ')} has run; deploy a newer one`,
    )
  }
  return { pending: known.filter((name) => !ran.includes(name)), newer }
}
