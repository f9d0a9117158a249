import { definitionsOf } from '../../../features/feature.ts'
import { migrateDatabase, rollbackDatabase } from '../../../storage/database/migrate.ts'
import { schemaVersion } from '../../../storage/database/schema-version.ts'
import { migrationsOf } from '../../../storage/schema.ts'
import { type Command, UsageError } from '../../command.ts'
import { withProgress } from '../progress.ts'
import { note, print } from '../terminal.ts'

const list = (names: readonly string[]): void => {
  for (const name of names) print(name)
}

/** `latchkey migrate` */
export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'creates the tables or updates them',
  details: 'Prints the migrations that ran. You can run it again, and in several processes at once.',
  options: {},
  createsDatabase: true,
  needsSchema: false,
  example: 'latchkey migrate',
  async run({ database, options }) {
    const migrations = migrationsOf(definitionsOf(options))
    const names = await withProgress((say) =>
      migrateDatabase(database, migrations, { starting: (name) => say(`running ${name}`) }),
    )
    list(names)
    const { newer } = await schemaVersion(database, migrations)
    if (newer.length > 0)
      note(`the database has migrations that this version does not know: ${newer.join(', ')}`)
    else if (names.length === 0) note('the tables are up to date')
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
    if (names.length === 0) note('no tables to remove')
  },
}
