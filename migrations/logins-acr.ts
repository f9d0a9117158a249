import type { SchemaChange } from './migration.ts'

/** The authentication level of a login; null if the host declares none. */
export const loginsAcr: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('logins'), (table) => {
      table.string('acr', 255).nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('logins'), (table) => {
      table.dropColumn('acr')
    }),
}
