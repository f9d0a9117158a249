import { byteForByte, type SchemaChange } from './migration.ts'

/** Failures counted against a limit until they expire. Keys contain hashes of names, not the names. */
export const throttles: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('throttles'), (table) => {
      byteForByte(table, collation)
      table.string('key', 128).primary()
      table.integer('points').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('throttles')}_expires_at`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('throttles')),
}
