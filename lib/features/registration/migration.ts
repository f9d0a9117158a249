import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** Clients that described themselves, by registration or by a metadata document, until the host adopts them. */
export const clientRegistrations: SchemaChange = {
  up: ({ schema, name, collation, only }) =>
    schema.createTable(name('client_registrations'), (table) => {
      byteForByte(table, collation)
      table.string('client_id', 255).primary()
      table.string('token_hash', hashLength).nullable()
      table.bigInteger('created_at').notNullable()
      // Null once a user has allowed the client something, or the host has decided about it.
      table
        .bigInteger('expires_at')
        .nullable()
        .index(`${name('client_registrations')}_expires_at`)
      // With the other column, so that MariaDB and MySQL, which index every row, need not read the rows.
      table.index(['created_at', 'expires_at'], `${name('client_registrations')}_unused`, {
        predicate: only().whereNotNull('expires_at'),
      })
      // Of documents only.
      table.bigInteger('read_at').nullable()
      table.bigInteger('fresh_until').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('client_registrations')),
}
