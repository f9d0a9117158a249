import { byteForByte, type SchemaChange } from './migration.ts'

/** Salts, sealed; one row a purpose, written once and never changed but for the secret it lies under. */
export const salts: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('salts'), (table) => {
      byteForByte(table, collation)
      table.string('purpose', 32).primary()
      table.text('sealed').notNullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('salts')),
}
