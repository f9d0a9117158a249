import type { Knex } from 'knex'
import { migrations as ofCore } from '../migrations/index.ts'
import { type Migrations, migrateDatabase, rollbackDatabase, sourceOf } from './database/migrate.ts'
import { openDatabase } from './database/open.ts'
import { features } from './features/index.ts'
import type { AuthRouterOptions } from './options/options.ts'
import { type RemoveExpired, removals } from './repositories/pruning/expired.ts'

/** The options for migrating: `tablePrefix`. The whole configuration of the router is accepted too. */
export type MigrateOptions = AuthRouterOptions

/** Removes the expired rows of every table. */
export const expired: readonly RemoveExpired[] = [
  ...removals,
  ...features.flatMap((feature) => feature.expired),
]

/** Every migration: those of the core, then those of the features. */
export const migrations: Migrations = new Map([
  ...ofCore,
  ...features.flatMap((feature) => [...feature.migrations]),
])

/**
 * Latchkey's schema as a Knex migration source, for hosts that run all their migrations with one command.
 *
 * @example await knex.migrate.latest({ migrationSource: migrationSource(), tableName: 'oauth_migrations' })
 */
export const migrationSource = ({
  tablePrefix = 'oauth_',
}: MigrateOptions = {}): Knex.MigrationSource<string> => sourceOf(migrations, tablePrefix)

/**
 * Creates Latchkey's tables or brings them up to date. Several processes can do this at the same time.
 *
 * @returns the names of the migrations that ran
 * @example await migrate(knex)
 */
export const migrate = (knex: Knex, { tablePrefix = 'oauth_' }: MigrateOptions = {}): Promise<string[]> =>
  migrateDatabase(openDatabase(knex, tablePrefix).database, migrations)

/**
 * Removes Latchkey's tables, newest first, with everything in them.
 *
 * @returns the names of the migrations that were rolled back
 * @throws Error when the database is newer than this version, which cannot remove all of it
 */
export const rollback = (knex: Knex, { tablePrefix = 'oauth_' }: MigrateOptions = {}): Promise<string[]> =>
  rollbackDatabase(openDatabase(knex, tablePrefix).database, migrations)
