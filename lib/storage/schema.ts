import type { Knex } from 'knex'
import { migrations as ofCore } from '../../migrations/index.ts'
import { definitionsIn, type FeatureDefinition } from '../features/feature.ts'
import { finishDeletions } from '../oauth/clients/erasure.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { database } from '../options/server.ts'
import { type Migrations, migrateDatabase, rollbackDatabase, sourceOf } from './database/migrate.ts'
import { openDatabase } from './database/open.ts'
import { type RemoveExpired, removals } from './repositories/pruning/expired.ts'

/** The options for migrating: those of `authRouter()`. Only `database.tablePrefix` and `features` count. */
export type MigrateOptions = Pick<AuthRouterOptions, 'database' | 'features'>

const prefixOf = (options: MigrateOptions): string => database.check(options.database, 'database').tablePrefix

/** Removes the expired rows of every table, and clients whose deletion was interrupted. */
export const expiredOf = (installed: readonly FeatureDefinition[]): readonly RemoveExpired[] => [
  ...removals,
  ...installed.flatMap(({ expired }) => expired),
  finishDeletions({ installed }),
]

/** The migrations of the core, then those of the features. */
export const migrationsOf = (installed: readonly FeatureDefinition[]): Migrations =>
  new Map([...ofCore, ...installed.flatMap(({ migrations }) => [...migrations])])

const migrationsFor = ({ features }: MigrateOptions): Migrations => migrationsOf(definitionsIn(features))

/**
 * Latchkey's schema as a Knex migration source, for hosts that run all their migrations with one command.
 *
 * @example await knex.migrate.latest({ migrationSource: migrationSource(), tableName: 'latchkey_migrations' })
 */
export const migrationSource = (options: MigrateOptions = {}): Knex.MigrationSource<string> =>
  sourceOf(migrationsFor(options), prefixOf(options))

/**
 * Creates Latchkey's tables or brings them up to date. Several processes can do this at the same time.
 *
 * @returns the names of the migrations that ran
 * @example await migrate(knex)
 */
export const migrate = (knex: Knex, options: MigrateOptions = {}): Promise<string[]> =>
  migrateDatabase(openDatabase(knex, prefixOf(options)).database, migrationsFor(options))

/**
 * Removes Latchkey's tables, newest first, with everything in them.
 *
 * @returns the names of the migrations that were rolled back
 * @throws Error when the database is newer than this version, which cannot remove all of it
 */
export const rollback = (knex: Knex, options: MigrateOptions = {}): Promise<string[]> =>
  rollbackDatabase(openDatabase(knex, prefixOf(options)).database, migrationsFor(options))
