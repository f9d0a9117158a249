import type { Knex } from 'knex'
import { migrations } from '../../migrations/index.ts'
import type { Schema } from '../../migrations/migration.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { openDatabase, privateSchema } from './database.ts'
import { isUniqueViolation } from './faults.ts'
import type { Database } from './statement.ts'

/** What migrating needs to know, `tablePrefix`; the whole configuration of the router will do. */
export type MigrateOptions = AuthRouterOptions

/**
 * The kit's schema as a Knex migration source, for hosts that run all migrations through one command of theirs.
 *
 * @example await knex.migrate.latest({ migrationSource: migrationSource(), tableName: 'oauth_migrations' })
 */
export const migrationSource = ({
  tablePrefix = 'oauth_',
}: MigrateOptions = {}): Knex.MigrationSource<string> => ({
  getMigrations: async () => [...migrations.keys()],
  getMigrationName: (name) => name,
  getMigration: async (name) => {
    const change = migrations.get(name)
    if (change === undefined) throw new Error(`latchkey: there is no migration ${name}`)
    const schema = (knex: Knex): Schema => ({
      schema: privateSchema(knex),
      name: (table) => `${tablePrefix}${table}`,
      driver: String(knex.client.driverName),
    })
    return { up: async (knex) => change.up(schema(knex)), down: async (knex) => change.down(schema(knex)) }
  },
})

const configuration = (prefix: string): Knex.MigratorConfig => ({
  migrationSource: migrationSource({ tablePrefix: prefix }),
  tableName: `${prefix}migrations`,
})

/**
 * Brings the kit's tables up to date; safe in several processes at once.
 *
 * @returns the names of the migrations that ran
 * @example await migrate(knex)
 */
export const migrate = (knex: Knex, { tablePrefix = 'oauth_' }: MigrateOptions = {}): Promise<string[]> =>
  migrateDatabase(openDatabase(knex, tablePrefix).database)

/** Removes the kit's tables, newest first. Everything in them is lost. */
export const rollback = async (
  knex: Knex,
  { tablePrefix = 'oauth_' }: MigrateOptions = {},
): Promise<string[]> => {
  const { database } = openDatabase(knex, tablePrefix)
  const [, names] = await database.knex.migrate.rollback(configuration(tablePrefix), true)
  return names
}

const isLocked = (error: unknown): boolean => error instanceof Error && error.name === 'MigrationLocked'
// Two processes that create the bookkeeping tables at once: the loser sees them exist.
const isCreationRace = (error: unknown): boolean =>
  isUniqueViolation(error) ||
  (error instanceof Error &&
    /already exists|duplicate key|pg_class|pg_type|SQLITE_BUSY|database is locked/i.test(error.message))

/**
 * Knex adds its lock row where it finds none. Two processes that start at once would add two, which it takes for a
 * lock that is never released; so the row is made here, under a key that it can have only once.
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

const silent = { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} }

/** Every failure is thrown; Knex would print each attempt that meets another process's lock besides. */
const withoutPrinting = (knex: Knex): Knex => {
  const handle = knex.withUserParams({})
  handle.client.logger = silent
  return handle
}

/** As {@link migrate}, on a database that is already open. While another process migrates, this one waits for it. */
export const migrateDatabase = async (db: Database, attempts = 100): Promise<string[]> => {
  try {
    await prepareLock(db)
    const [, names] = await withoutPrinting(db.knex).migrate.latest(configuration(db.prefix))
    return names
  } catch (error) {
    if (attempts === 0 || !(isLocked(error) || isCreationRace(error))) throw error
    await new Promise((resolve) => setTimeout(resolve, 100))
    return migrateDatabase(db, attempts - 1)
  }
}

/**
 * Migrations that have not run on this database.
 *
 * @throws the driver's error when the database is away
 */
export const pendingMigrations = async (db: Database): Promise<string[]> => {
  const [, pending] = await db.knex.migrate.list(configuration(db.prefix))
  return pending.map((name: unknown) => String(name))
}
