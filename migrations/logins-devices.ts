import type { SchemaChange } from './migration.ts'

/**
 * What people recognize a login by: its browser (the header `User-Agent`, cut off), its address, and when it was last seen.
 * They are null for logins of an earlier version.
 */
export const loginsDevices: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('logins'), (table) => {
      table.string('user_agent', 255).nullable()
      table.string('address', 45).nullable()
      table.bigInteger('last_seen_at').nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('logins'), (table) => {
      table.dropColumns('user_agent', 'address', 'last_seen_at')
    }),
}
