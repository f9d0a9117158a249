import { hashLength, type SchemaChange } from './migration.ts'

/** The login that the user chose to go on with, where a request asks them to choose (`prompt=select_account`). */
export const pendingRequestsSelected: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('pending_requests'), (table) => {
      table.string('selected_sid', hashLength).nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('pending_requests'), (table) => {
      table.dropColumn('selected_sid')
    }),
}
