import type { SchemaChange } from './migration.ts'

/**
 * The newest events of a type, and the clients of those, by one index: rows lie where their id says, so that reading thousands
 * of them takes seconds.
 */
export const eventsOfType: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('events'), (table) => {
      table.index(['type', 'time', 'id', 'client_id'], `${name('events')}_of_type`)
      table.dropIndex([], `${name('events')}_type_time`)
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('events'), (table) => {
      table.index(['type', 'time'], `${name('events')}_type_time`)
      table.dropIndex([], `${name('events')}_of_type`)
    }),
}
