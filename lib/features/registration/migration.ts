import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** Clients that described themselves, by registration or by a metadata document, until the host adopts them. */
export const clientRegistrations: SchemaChange = {
  up: ({ schema, name, collation, only }) =>
    schema.createTable(name('client_registrations'), (table) => {
      byteForByte(table, collation)
      table.string('client_id', 255).primary()
      table.string('token_hash', hashLength).nullable()
      table.bigInteger('created_at').notNullable()
      // When the client first got something; null for an unused one.
      table.bigInteger('used_at').nullable()
      // Null keeps the client: the host has decided about it.
      table
        .bigInteger('expires_at')
        .nullable()
        .index(`${name('client_registrations')}_expires_at`)
      // MariaDB and MySQL index every row, and find the unused ones here without reading the rows.
      const unused = collation === undefined ? ['created_at'] : ['used_at', 'created_at', 'expires_at']
      table.index(unused, `${name('client_registrations')}_unused`, {
        predicate: only().whereNull('used_at').whereNotNull('expires_at'),
      })
      // Of documents only.
      table.bigInteger('read_at').nullable()
      table.bigInteger('fresh_until').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('client_registrations')),
}

/**
 * Where a client registered from, hashed under a secret of the server, so that an address counts the clients that no user has
 * allowed. Null for clients of older versions, and for their documents.
 */
export const registrationOrigins: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('client_registrations'), (table) => {
      table.string('network', hashLength).nullable()
      // The network again where it is no part of a site, so that one index serves both.
      table.string('site', hashLength).nullable()
      table.index(['site', 'created_at'], `${name('client_registrations')}_site`)
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('client_registrations'), (table) => {
      table.dropIndex([], `${name('client_registrations')}_site`)
      table.dropColumns('network', 'site')
    }),
}
