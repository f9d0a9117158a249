import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Registered clients: RFC 7591 metadata as JSON, and columns for what is looked up or changes separately. */
export const clients: SchemaChange = {
  up: ({ schema, name, collation, only }) =>
    schema.createTable(name('clients'), (table) => {
      byteForByte(table, collation)
      table.string('client_id', 255).primary()
      table.string('secret_hash', hashLength).nullable()
      table.string('previous_secret_hash', hashLength).nullable()
      table.bigInteger('previous_secret_expires_at').nullable()
      // JSON from outside is in medium texts: MariaDB's and MySQL's smallest text has only 65,535 bytes.
      table.text('metadata', 'mediumtext').notNullable()
      // Id, name, hosts and contacts in lower case: a search reads this of every client, and metadata would take long.
      table.text('search_text', 'mediumtext').nullable()
      // The beginning of the name in lower case, which lists are sorted by, and what they are filtered by.
      table.string('sort_name', 64).notNullable().defaultTo('')
      table.integer('first_party').notNullable().defaultTo(0)
      table.integer('self_described').notNullable().defaultTo(0)
      table.bigInteger('disabled_at').nullable()
      // Set when its removal has begun, which may take a while.
      table.bigInteger('deleted_at').nullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('updated_at').notNullable()
      // Lists and their numbers read this alone.
      table.index(
        ['sort_name', 'client_id', 'disabled_at', 'first_party', 'self_described'],
        `${name('clients')}_sorted`,
      )
      table.index('deleted_at', `${name('clients')}_deleted`, {
        predicate: only().whereNotNull('deleted_at'),
      })
    }),
  down: ({ schema, name }) => schema.dropTable(name('clients')),
}
