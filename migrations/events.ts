import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** What happened, with `storedEvents`. A row never changes. */
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
      // Two fields of the details, by which operators search.
      table.string('client_id', 255).nullable()
      table.string('account', hashLength).nullable()
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
      table.index(['client_id', 'time'], `${name('events')}_client_id_time`)
      table.index(['account', 'time'], `${name('events')}_account_time`)
      // The newest events of a type, and the clients of those, without the rows: these lie where their id says.
      table.index(['type', 'time', 'id', 'client_id'], `${name('events')}_type_time`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('events')),
}
