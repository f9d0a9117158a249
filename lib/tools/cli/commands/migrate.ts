import { everyFunction } from '../../../features/every.ts'
import { definitionsIn, definitionsOf } from '../../../features/feature.ts'
import {
  dropMigrations,
  type Migrations,
  migrateDatabase,
  rollbackDatabase,
} from '../../../storage/database/migrate.ts'
import { schemaVersion } from '../../../storage/database/schema-version.ts'
import type { Database } from '../../../storage/database/types.ts'
import { migrationsIn, migrationsOf } from '../../../storage/schema.ts'
import { type Command, UsageError } from '../../command.ts'
import { withProgress } from '../progress.ts'
import { print, printNote } from '../terminal.ts'

const list = (names: readonly string[]): void => {
  for (const name of names) print(name)
}

/** Removes the tables of a feature. */
const drop = async (database: Database, name: string, listed: Migrations): Promise<string[]> => {
  const kept = everyFunction.get(name)?.off()
  const migrations = new Map(definitionsIn(kept && [kept]).flatMap((each) => [...migrationsIn(each)]))
  if ([...migrations.keys()].some((each) => listed.has(each)))
    throw new Error(`the option features has ${name}() or another feature of its tables; remove it first`)
  return dropMigrations(database, migrations)
}

/** `latchkey migrate` */
export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'creates the tables or updates them',
  details: 'Prints the migrations that ran. You can run it again, and in several processes at once.',
  options: {
    drop: { value: 'FEATURE', help: 'remove the tables of a feature that is not listed, such as passkeys' },
    yes: { help: 'confirm that the rows of the feature are removed' },
  },
  createsDatabase: true,
  needsSchema: false,
  example: 'latchkey migrate',
  check(invocation) {
    const name = invocation.text('drop')
    if (name === undefined) return
    if (!everyFunction.has(name))
      throw new UsageError(`--drop must be one of ${[...everyFunction.keys()].join(', ')}`)
    if (!invocation.flag('yes'))
      throw new UsageError(`--drop ${name} removes all rows of the feature; to confirm, add --yes`)
  },
  async run({ database, options }, invocation) {
    const migrations = migrationsOf(definitionsOf(options))
    const dropped = invocation.text('drop')
    if (dropped !== undefined) return list(await drop(database, dropped, migrations))
    const names = await withProgress((say) =>
      migrateDatabase(database, migrations, { starting: (name) => say(`running ${name}`) }),
    )
    list(names)
    const { newer } = await schemaVersion(database, migrations)
    if (newer.length > 0)
      printNote(`the database has migrations that this version does not know: ${newer.join(', ')}`)
    else if (names.length === 0) printNote('the tables are up to date')
  },
}

/** `latchkey rollback` */
export const rollbackCommand: Command = {
  name: 'rollback',
  summary: 'removes the tables with all their rows',
  usage: '--yes',
  needsSchema: false,
  options: {
    yes: { help: 'confirm that all clients, accounts, consents, tokens and keys are removed' },
  },
  example: 'latchkey rollback --yes',
  check(invocation) {
    if (invocation.flag('yes')) return
    throw new UsageError(
      'rollback removes all clients, accounts, consents, tokens and keys; to confirm, add --yes',
    )
  },
  async run({ database, options }) {
    const names = await rollbackDatabase(database, migrationsOf(definitionsOf(options)))
    list(names)
    if (names.length === 0) printNote('no tables to remove')
  },
}
