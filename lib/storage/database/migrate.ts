import type { Knex } from 'knex'
import { exactCollations, type Schema, type SchemaChange } from '../../../migrations/migration.ts'
import { HostError } from '../../protocol/problem.ts'
import { driverName, privateClient, privateSchema, silence } from './driver.ts'
import { isMissingTable, isUniqueViolation } from './errors.ts'
import { schemaVersion } from './schema-version.ts'
import { withoutBound } from './statement-bound.ts'
import type { Database } from './types.ts'

/** Migrations by name, in order. */
export type Migrations = ReadonlyMap<string, SchemaChange>

/**
 * The first of {@link exactCollations} that the server has; undefined on SQLite and PostgreSQL.
 *
 * @throws Error if MariaDB or MySQL is too old to have one
 */
const collationOf = async (knex: Knex): Promise<string | undefined> => {
  if (driverName(knex) !== 'mysql2') return undefined
  const [rows]: [{ Collation: string }[]] = await privateClient(knex).raw("show collation like 'utf8mb4%bin'")
  const found = exactCollations.find((name) => rows.some(({ Collation }) => Collation === name))
  if (found === undefined) throw new HostError('the database must be MariaDB 10.2, MySQL 8.0.17, or newer')
  return found
}

/** Migrations as a source for Knex. */
export const sourceOf = (migrations: Migrations, tablePrefix: string): Knex.MigrationSource<string> => ({
  getMigrations: async () => [...migrations.keys()],
  getMigrationName: (name) => name,
  getMigration: async (name) => {
    const change = migrations.get(name)
    if (change === undefined) throw new HostError(`the migration ${name} does not exist`)
    const schema = async (knex: Knex): Promise<Schema> => ({
      schema: privateSchema(knex),
      name: (table) => `${tablePrefix}${table}`,
      only: () => knex.queryBuilder(),
      collation: await collationOf(knex),
    })
    return {
      up: async (knex) => change.up(await schema(knex)),
      down: async (knex) => change.down(await schema(knex)),
    }
  },
})

const announcing = (
  source: Knex.MigrationSource<string>,
  starting?: (name: string) => void,
): Knex.MigrationSource<string> => ({
  ...source,
  getMigration: async (name) => {
    const { up, down } = await source.getMigration(name)
    return {
      up: (knex) => {
        starting?.(name)
        return withoutBound(knex, () => up(knex))
      },
      ...(down && { down }),
    }
  },
})

/** @param starting is called with the name of each migration before it runs */
const configuration = (
  migrations: Migrations,
  prefix: string,
  starting?: (name: string) => void,
): Knex.MigratorConfig => ({
  migrationSource: announcing(sourceOf(migrations, prefix), starting),
  tableName: `${prefix}migrations`,
  // schemaVersion checks the names that only a newer version knows.
  disableMigrationsListValidation: true,
})

/**
 * Removes all tables, newest first, with everything in them.
 *
 * @returns the names of the migrations that were rolled back
 * @throws Error when the database is newer than this version, which cannot remove all of it
 */
export const rollbackDatabase = async (db: Database, migrations: Migrations): Promise<string[]> => {
  const { newer } = await schemaVersion(db, migrations)
  if (newer.length > 0) {
    throw new HostError(`the database is newer than this version, by ${newer.join(', ')}`, {
      fix: 'roll back with the version that made it',
    })
  }
  const [, names] = await db.knex.migrate.rollback(configuration(migrations, db.prefix), true)
  return names
}

/**
 * Rolls these migrations back, newest first: their tables are removed with everything in them.
 *
 * @returns the names of the migrations that were rolled back
 */
export const dropMigrations = async (db: Database, migrations: Migrations): Promise<string[]> => {
  const { pending } = await schemaVersion(db, migrations)
  const names = [...migrations.keys()].filter((name) => !pending.includes(name)).reverse()
  for (const name of names)
    await withoutPrinting(db.knex).migrate.down({ ...configuration(migrations, db.prefix), name })
  return names
}

const isLocked = (error: unknown): boolean => error instanceof Error && error.name === 'MigrationLocked'
// MariaDB commits the lock together with the first table, so the lock remains if the process is killed.
const stillLocked = ({ prefix }: Database, cause: unknown): Error =>
  new HostError('another process is migrating', {
    fix: `if it was killed, this releases its lock: update ${prefix}migrations_lock set is_locked = 0`,
    cause,
  })
// When two processes create Knex's tables at the same time, the second one finds them.
const isCreationRace = (error: unknown): boolean =>
  isUniqueViolation(error) ||
  (error instanceof Error &&
    /already exists|duplicate key|pg_class|pg_type|SQLITE_BUSY|database is locked/i.test(error.message))

/**
 * Knex inserts its lock row if it finds none. Two processes that start together would insert two, which Knex takes for a
 * lock that is never released. Latchkey inserts it under a fixed key instead.
 */
const prepareLock = async (db: Database): Promise<void> => {
  const table = `${db.prefix}migrations_lock`
  if (!(await privateSchema(db.knex).hasTable(table))) {
    await privateSchema(db.knex).createTable(table, (columns) => {
      columns.increments('index').primary()
      columns.integer('is_locked')
    })
  }
  const rows: unknown[] = await db.knex(table).select('index')
  if (rows.length === 0) await db.knex(table).insert({ index: 1, is_locked: 0 })
}

/** Knex would also print each attempt that meets another process's lock. */
const withoutPrinting = (knex: Knex): Knex => {
  const handle = knex.withUserParams({})
  silence(handle)
  return handle
}

const exists = async ({ knex }: Database, table: string): Promise<boolean> => {
  try {
    await knex(table).select(knex.raw('1')).limit(1)
    return true
  } catch (error) {
    if (isMissingTable(error)) return false
    throw error
  }
}

/** The tables that migrations create. Their statements are written here and not run. */
export const createdTables = (migrations: Migrations, { knex, prefix }: Database): string[] =>
  [...migrations.values()].flatMap(({ up }) => {
    const name = (table: string): string => `${prefix}${table}`
    const only = () => knex.queryBuilder()
    const statements = up({ schema: privateSchema(knex), name, only, collation: undefined }).toSQL()
    return statements.flatMap(({ sql }) => /^create table [`"]([^`"]+)/.exec(sql)?.[1] ?? [])
  })

/** Whether another process migrates now. It creates its lock before the first table. */
const isLockedNow = async ({ knex, prefix }: Database): Promise<boolean> => {
  const table = `${prefix}migrations_lock`
  if (!(await privateSchema(knex).hasTable(table))) return false
  const rows: { is_locked: number }[] = await knex(table).select('is_locked')
  return rows.some((row) => row.is_locked === 1)
}

/**
 * Requires the names of our tables to be free where no migration has run: with the prefix `oauth_`, they are those of many
 * other servers. MariaDB could not take back the tables that were created before.
 *
 * @throws Error that names the tables, and the option that gives ours other names
 */
const assertNamesFree = async (db: Database, migrations: Migrations): Promise<void> => {
  const hasRun = async () => (await schemaVersion(db, migrations)).pending.length < migrations.size
  if (await hasRun()) return
  const taken: string[] = []
  for (const table of createdTables(migrations, db)) if (await exists(db, table)) taken.push(table)
  if (taken.length === 0 || (await isLockedNow(db)) || (await hasRun())) return
  throw new HostError(
    `the database has ${taken.join(', ')} already, and Latchkey did not create this: does another program use these names? Give Latchkey's tables others: database: { tablePrefix: 'auth_' }`,
  )
}

/**
 * Creates the tables or brings them up to date. While another process migrates, this one waits.
 *
 * @param starting is called with the name of each migration before it runs
 * @returns the names of the migrations that ran
 * @throws Error if the database has tables of another program under these names; nothing is then created
 */
export const migrateDatabase = async (
  db: Database,
  migrations: Migrations,
  { attempts = 100, starting }: { attempts?: number; starting?: (name: string) => void } = {},
): Promise<string[]> => {
  try {
    if ((await schemaVersion(db, migrations)).pending.length === 0) return []
    await assertNamesFree(db, migrations)
    await prepareLock(db)
    const settings = configuration(migrations, db.prefix, starting)
    const [, names] = await withoutPrinting(db.knex).migrate.latest(settings)
    return names
  } catch (error) {
    if (attempts === 0 && isLocked(error)) throw stillLocked(db, error)
    if (attempts === 0 || !(isLocked(error) || isCreationRace(error))) throw error
    await new Promise((resolve) => setTimeout(resolve, 100))
    return migrateDatabase(db, migrations, { attempts: attempts - 1, ...(starting && { starting }) })
  }
}
