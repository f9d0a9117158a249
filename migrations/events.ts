import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** What happened, with `features.storedEvents`. A row never changes. */
export const events: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('events'), (table) => {
      byteForByte(table, collation)
      table.string('id', hashLength).primary()
      table.string('type', 64).notNullable()
      table
        .string('request_id', 32)
        .notNullable()
        .index(`${name('events')}_request_id`)
      table
        .string('subject', 255)
        .nullable()
        .index(`${name('events')}_subject`)
      table
        .bigInteger('time')
        .notNullable()
        .index(`${name('events')}_time`)
      // JSON with the other fields.
      table.text('details', 'mediumtext').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('events')}_expires_at`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('events')),
}
