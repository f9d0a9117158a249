import type { Knex } from 'knex'
import { migrations } from '../../migrations/index.ts'
import { exactCollations, type Schema } from '../../migrations/migration.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { isUniqueViolation } from './errors.ts'
import { openDatabase, privateClient, privateSchema } from './open.ts'
import { schemaVersion } from './schema-version.ts'
import type { Database } from './statement.ts'

/** What migrating needs to know, `tablePrefix`; the whole configuration of the router will do. */
export type MigrateOptions = AuthRouterOptions

/** The first of these collations that the server has. */
const collationOf = async (knex: Knex): Promise<string | undefined> => {
  if (knex.client.driverName !== 'mysql2') return undefined
  const [rows]: [{ Collation: string }[]] = await privateClient(knex).raw("show collation like 'utf8mb4%bin'")
  return exactCollations.find((name) => rows.some(({ Collation }) => Collation === name))
}

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
    const schema = async (knex: Knex): Promise<Schema> => ({
      schema: privateSchema(knex),
      name: (table) => `${tablePrefix}${table}`,
      driver: String(knex.client.driverName),
      only: () => knex.queryBuilder(),
      collation: await collationOf(knex),
    })
    return {
      up: async (knex) => change.up(await schema(knex)),
      down: async (knex) => change.down(await schema(knex)),
    }
  },
})

const configuration = (prefix: string): Knex.MigratorConfig => ({
  migrationSource: migrationSource({ tablePrefix: prefix }),
  tableName: `${prefix}migrations`,
  // Names that only a newer version knows are looked at by schemaVersion.
  disableMigrationsListValidation: true,
})

/**
 * Brings the kit's tables up to date; safe in several processes at once.
 *
 * @returns the names of the migrations that ran
 * @example await migrate(knex)
 */
export const migrate = (knex: Knex, { tablePrefix = 'oauth_' }: MigrateOptions = {}): Promise<string[]> =>
  migrateDatabase(openDatabase(knex, tablePrefix).database)

/**
 * Removes the kit's tables, newest first. Everything in them is lost.
 *
 * @throws Error when the database is newer than this version, which does not know all that there is to remove
 */
export const rollback = async (
  knex: Knex,
  { tablePrefix = 'oauth_' }: MigrateOptions = {},
): Promise<string[]> => {
  const { database } = openDatabase(knex, tablePrefix)
  const { newer } = await schemaVersion(database)
  if (newer.length > 0) {
    throw new Error(
      `latchkey: the database is newer than this version, by ${newer.join(', ')}; roll back with the version that made it`,
    )
  }
  const [, names] = await database.knex.migrate.rollback(configuration(tablePrefix), true)
  return names
}

const isLocked = (error: unknown): boolean => error instanceof Error && error.name === 'MigrationLocked'
// MariaDB commits the lock with the first table, so that it outlives a process that is killed in the midst of it.
const stillLocked = ({ prefix }: Database, cause: unknown): Error =>
  new Error(
    `latchkey: another process is migrating; if none is, one was killed meanwhile, and this frees its lock: update ${prefix}migrations_lock set is_locked = 0`,
    { cause },
  )
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
    if ((await schemaVersion(db)).pending.length === 0) return []
    await prepareLock(db)
    const [, names] = await withoutPrinting(db.knex).migrate.latest(configuration(db.prefix))
    return names
  } catch (error) {
    if (attempts === 0 && isLocked(error)) throw stillLocked(db, error)
    if (attempts === 0 || !(isLocked(error) || isCreationRace(error))) throw error
    await new Promise((resolve) => setTimeout(resolve, 100))
    return migrateDatabase(db, attempts - 1)
  }
}
