import type { SchemaChange } from './migration.ts'

/** What the scopes of a consent meant when they were allowed, and at which place of the client; other terms ask again. */
export const consentsTerms: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('consents'), (table) => {
      table.text('terms').nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('consents'), (table) => {
      table.dropColumn('terms')
    }),
}
