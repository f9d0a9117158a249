import type { SchemaChange } from './migration.ts'

/** What an access token says beyond its authorization, as JSON; null for nothing. */
export const accessTokensContext: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('access_tokens'), (table) => {
      table.text('context').nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('access_tokens'), (table) => {
      table.dropColumn('context')
    }),
}
