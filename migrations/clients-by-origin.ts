import type { SchemaChange } from './migration.ts'

/** Lists the clients that the host registered without those that described themselves, which can be many. */
export const clientsByOrigin: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('clients'), (table) => {
      table.index(['self_described', 'client_id'], `${name('clients')}_by_origin`)
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('clients'), (table) => {
      table.dropIndex(['self_described', 'client_id'], `${name('clients')}_by_origin`)
    }),
}
