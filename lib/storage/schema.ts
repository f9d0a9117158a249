import type { Knex } from 'knex'
import { migrations as ofCore } from '../../migrations/index.ts'
import { definitionsIn, type FeatureDefinition } from '../features/feature.ts'
import type { KnownFeature } from '../oauth/authorization-server.ts'
import { finishDeletions } from '../oauth/clients/erasure.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { database } from '../options/server.ts'
import { HostError } from '../protocol/problem.ts'
import {
  createdTables,
  type Migrations,
  migrateDatabase,
  rollbackDatabase,
  sourceOf,
} from './database/migrate.ts'
import { openDatabase } from './database/open.ts'
import type { Database } from './database/types.ts'
import { type RemoveExpired, removals } from './repositories/pruning/expired.ts'

/** The options for migrating: those of `authRouter()`. Only `database.tablePrefix` and `features` count. */
export type MigrateOptions = Pick<AuthRouterOptions, 'database' | 'features'>

const prefixOf = (options: MigrateOptions): string => database.check(options.database, 'database').tablePrefix

/** Removes the expired rows of every table, and clients whose deletion was interrupted. */
export const expiredOf = (installed: readonly KnownFeature[]): readonly RemoveExpired[] => [
  ...removals,
  ...installed.flatMap(({ storage }) => storage?.expired ?? []),
  finishDeletions({ installed }),
]

/** The migrations of a feature. */
export const migrationsIn = ({ storage }: FeatureDefinition): Migrations => storage?.migrations ?? new Map()

/** The migrations of the core, then those of the features. */
export const migrationsOf = (installed: readonly FeatureDefinition[]): Migrations =>
  new Map([...ofCore, ...installed.flatMap((each) => [...migrationsIn(each)])])

const migrationsFor = ({ features }: MigrateOptions): Migrations => migrationsOf(definitionsIn(features))

const hasRows = async ({ knex }: Database, table: string): Promise<boolean> =>
  (await knex(table).select(knex.raw('1')).limit(1)).length > 0

/**
 * Requires the list to have every feature of Latchkey that the database keeps rows of: what it stores must still be exported,
 * erased and pruned.
 *
 * @param unknown names of migrations that have run and that no feature of the list has
 * @returns those that no feature of Latchkey has either
 * @throws Error with the line to add
 */
export const assertListed = async (db: Database, unknown: readonly string[]): Promise<readonly string[]> => {
  if (unknown.length === 0) return unknown
  // Loaded for this only.
  const { everyFeature } = await import('../features/every.ts')
  const known: string[] = []
  for (const [definition, names] of everyFeature) {
    const ran = new Map([...migrationsIn(definition)].filter(([each]) => unknown.includes(each)))
    for (const table of createdTables(ran, db)) {
      if (!(await hasRows(db, table))) continue
      const lacking = names.map((name) => `${name}()`).join(' or ')
      const [name] = names
      throw new HostError(`${table} has rows, and the option features lacks ${lacking}`, {
        fix: `list it, or keep what is stored with features: [${name}.off()], or remove it: npx latchkey migrate --drop ${name} --yes`,
      })
    }
    known.push(...ran.keys())
  }
  return unknown.filter((name) => !known.includes(name))
}

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
