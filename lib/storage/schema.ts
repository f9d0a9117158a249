import type { Knex } from 'knex'
import { migrations as ofCore } from '../../migrations/index.ts'
import { features } from '../features/index.ts'
import { finishDeletions } from '../oauth/clients/erasure.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { database } from '../options/server.ts'
import { type Migrations, migrateDatabase, rollbackDatabase, sourceOf } from './database/migrate.ts'
import { openDatabase } from './database/open.ts'
import { type RemoveExpired, removals } from './repositories/pruning/expired.ts'

/** The options for migrating: those of `authRouter()`. Only `database.tablePrefix` counts. */
export type MigrateOptions = Pick<AuthRouterOptions, 'database'>

const prefixOf = (options: MigrateOptions): string => database.check(options.database, 'database').tablePrefix

/** Removes the expired rows of every table, and clients whose deletion was interrupted. */
export const expired: readonly RemoveExpired[] = [
  ...removals,
  ...features.flatMap((feature) => feature.expired),
  finishDeletions({ installed: features }),
]

/** Every migration: those of the core, then those of the features. */
export const migrations: Migrations = new Map([
  ...ofCore,
  ...features.flatMap((feature) => [...feature.migrations]),
])

/**
 * Latchkey's schema as a Knex migration source, for hosts that run all their migrations with one command.
 *
 * @example await knex.migrate.latest({ migrationSource: migrationSource(), tableName: 'latchkey_migrations' })
 */
export const migrationSource = (options: MigrateOptions = {}): Knex.MigrationSource<string> =>
  sourceOf(migrations, prefixOf(options))

/**
 * Creates Latchkey's tables or brings them up to date. Several processes can do this at the same time.
 *
 * @returns the names of the migrations that ran
 * @example await migrate(knex)
 */
export const migrate = (knex: Knex, options: MigrateOptions = {}): Promise<string[]> =>
  migrateDatabase(openDatabase(knex, prefixOf(options)).database, migrations)

/**
 * Removes Latchkey's tables, newest first, with everything in them.
 *
 * @returns the names of the migrations that were rolled back
 * @throws Error when the database is newer than this version, which cannot remove all of it
 */
export const rollback = (knex: Knex, options: MigrateOptions = {}): Promise<string[]> =>
  rollbackDatabase(openDatabase(knex, prefixOf(options)).database, migrations)
