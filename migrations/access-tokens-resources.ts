import type { SchemaChange } from './migration.ts'

/** The resources that an access token is for, separated by spaces; null for none. */
export const accessTokensResources: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('access_tokens'), (table) => {
      table.text('resources').nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('access_tokens'), (table) => {
      table.dropColumn('resources')
    }),
}
