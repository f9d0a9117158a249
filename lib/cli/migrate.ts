import { migrateDatabase, rollback } from '../database/migrate.ts'
import { schemaVersion } from '../database/schema-version.ts'
import { type Command, UsageError } from './command.ts'
import { note, print } from './terminal.ts'

const list = (names: readonly string[]): void => {
  for (const name of names) print(name)
}

/** `latchkey migrate` */
export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'creates the tables, or brings them up to date',
  details: 'Prints the migrations that ran. Running it again, or in several processes at once, does no harm.',
  options: {},
  example: 'latchkey migrate',
  async run({ database }) {
    const names = await migrateDatabase(database)
    list(names)
    const { newer } = await schemaVersion(database)
    if (newer.length > 0) note(`the tables are newer than this version, by ${newer.join(', ')}`)
    else if (names.length === 0) note('the tables are up to date')
  },
}

/** `latchkey rollback` */
export const rollbackCommand: Command = {
  name: 'rollback',
  summary: 'removes the tables, with everything in them',
  usage: '--yes',
  options: { yes: { type: 'boolean', help: 'yes, all clients, consents, tokens and keys may be lost' } },
  example: 'latchkey rollback --yes',
  check(invocation) {
    if (invocation.flag('yes')) return
    throw new UsageError(
      'rollback removes all clients, accounts, consents, tokens and keys; if that is meant, add --yes',
    )
  },
  async run({ hostKnex, options }) {
    const names = await rollback(hostKnex, options)
    list(names)
    if (names.length === 0) note('there are no tables to remove')
  },
}
