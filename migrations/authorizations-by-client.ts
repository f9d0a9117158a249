import type { SchemaChange } from './migration.ts'

/** Lists what users granted a client, and the logins under which they did, in the order of their keys and a page at a time. */
export const authorizationsByClient: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('authorizations'), (table) => {
      table.index(['client_id', 'id'], `${name('authorizations')}_by_client`)
      table.index(['client_id', 'sid'], `${name('authorizations')}_logins`)
      // The new ones begin with the same column.
      table.dropIndex('client_id', `${name('authorizations')}_client`)
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('authorizations'), (table) => {
      table.index('client_id', `${name('authorizations')}_client`)
      table.dropIndex(['client_id', 'sid'], `${name('authorizations')}_logins`)
      table.dropIndex(['client_id', 'id'], `${name('authorizations')}_by_client`)
    }),
}
