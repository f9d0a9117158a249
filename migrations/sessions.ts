import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Latchkey's browser sessions, by hash of their id. */
export const sessions: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('sessions'), (table) => {
      byteForByte(table, collation)
      table.string('id', hashLength).primary()
      table.text('data').notNullable()
      table.bigInteger('created_at').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('sessions')}_expires_at`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('sessions')),
}
