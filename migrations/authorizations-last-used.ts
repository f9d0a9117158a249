import type { SchemaChange } from './migration.ts'

/** When a client last refreshed under an authorization, to the minute. */
export const authorizationsLastUsed: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('authorizations'), (table) => {
      table.bigInteger('last_used_at').nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('authorizations'), (table) => {
      table.dropColumn('last_used_at')
    }),
}
