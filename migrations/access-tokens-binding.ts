import type { SchemaChange } from './migration.ts'

/** The key or certificate that an access token is bound to, as type and thumbprint; null for a bearer token. */
export const accessTokensBinding: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('access_tokens'), (table) => {
      table.string('binding', 64).nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('access_tokens'), (table) => {
      table.dropColumn('binding')
    }),
}
