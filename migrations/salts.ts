import { byteForByte, type SchemaChange } from './migration.ts'

/** Encrypted salts, one row for each purpose. A salt never changes; only its encryption does. */
export const salts: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('salts'), (table) => {
      byteForByte(table, collation)
      table.string('purpose', 32).primary()
      table.text('sealed').notNullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('salts')),
}
