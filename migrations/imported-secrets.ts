import { byteForByte, type SchemaChange } from './migration.ts'

/** Hashes that other servers made of the secrets of clients, until each secret is used for the first time. */
export const importedSecrets: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('imported_secrets'), (table) => {
      byteForByte(table, collation)
      table.string('client_id', 255).primary()
      table.string('hash', 255).notNullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('imported_secrets')),
}
