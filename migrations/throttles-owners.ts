import type { SchemaChange } from './migration.ts'

/** Whose lock a count is, so that operators find the locks of a login name. It is null for a count that has locked nothing. */
export const throttlesOwners: SchemaChange = {
  up: ({ schema, name, only }) =>
    schema.alterTable(name('throttles'), (table) => {
      table.string('owner', 128).nullable()
      table.index(['owner', 'expires_at'], `${name('throttles')}_owner`, {
        predicate: only().whereNotNull('owner'),
      })
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('throttles'), (table) => {
      table.dropIndex(['owner', 'expires_at'], `${name('throttles')}_owner`)
      table.dropColumn('owner')
    }),
}
