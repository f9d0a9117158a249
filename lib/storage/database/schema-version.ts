import { OAuthError } from '../../protocol/errors.ts'
import { HostError } from '../../protocol/problem.ts'
import { isMissingTable } from './errors.ts'
import { query, textOf } from './statement.ts'
import type { Database, Row } from './types.ts'

/** The schema of a database, compared with this version of the code. */
export interface SchemaVersion {
  /** Migrations of this version that have not run, in order. */
  readonly pending: readonly string[]
  /** Migrations that have run but are unknown here: a newer version added them. */
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

/**
 * A migration that removes something names the one that code must know to work without it: `031_…_needs_025`. Each feature has
 * numbers of its own, after its name: `passkeys_003_…_needs_002`.
 */
const needs = /^([a-z_]*)\d+_.*_needs_(\d+)$/

/**
 * Compares the names of migrations only, because an older version knows nothing else of a newer one. This does not use
 * Knex, which would create its tables and reject every name that it does not know.
 *
 * @throws Error when the schema no longer has what this version needs; the driver's error when the database is
 *   unavailable
 */
export const schemaVersion = async (
  db: Database,
  migrations: ReadonlyMap<string, unknown>,
): Promise<SchemaVersion> => {
  const known = [...migrations.keys()]
  const ran = (await rowsOf(db)).map((row) => textOf(row, 'name'))
  const newer = ran.filter((name) => !known.includes(name))
  const breaking = newer.filter((name) => {
    const [, feature, number] = needs.exec(name) ?? []
    return number !== undefined && !known.some((each) => each.startsWith(`${feature}${number}`))
  })
  if (breaking.length > 0) {
    throw new HostError(`this version is too old for the database, where ${breaking.join(', ')} has run`, {
      fix: 'deploy a newer one',
    })
  }
  return { pending: known.filter((name) => !ran.includes(name)), newer }
}

/** The migrations that a database lacks, in words. */
export const lackOf = (pending: readonly string[]): string =>
  pending.some((name) => name.startsWith('001_'))
    ? 'the database has no tables of Latchkey yet'
    : `the database lacks ${pending.join(', ')}`
