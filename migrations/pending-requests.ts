import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Validated requests that wait for a login or a consent, one row for each browser tab. */
export const pendingRequests: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('pending_requests'), (table) => {
      byteForByte(table, collation)
      table.string('id', hashLength).primary()
      table.string('kind', 32).notNullable()
      table.string('client_id').notNullable()
      table
        .string('browser_hash', hashLength)
        .notNullable()
        .index(`${name('pending_requests')}_browser`)
      table.string('sid', hashLength).nullable()
      table.string('selected_sid', hashLength).nullable()
      table.text('request', 'mediumtext').notNullable()
      table.text('decision', 'mediumtext').nullable()
      table.bigInteger('created_at').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('pending_requests')}_expires_at`)
      table.bigInteger('consumed_at').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('pending_requests')),
}
