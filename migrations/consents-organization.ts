import type { SchemaChange } from './migration.ts'

/** Ids of workspaces are the host's own and may be as long as every other id. */
export const consentsOrganization: SchemaChange = {
  up: ({ schema, name, driver }) =>
    // SQLite knows no length of texts.
    driver === 'better-sqlite3'
      ? schema
      : schema.alterTable(name('consents'), (table) => {
          // Part of the key: not null stays as it is.
          table
            .string('organization', 255)
            .notNullable()
            .defaultTo('')
            .alter({ alterNullable: driver !== 'pg' })
        }),
  // What stands in a wider column might not fit into the narrow one again, and harms nobody.
  down: ({ schema }) => schema,
}
