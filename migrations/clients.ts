import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Registered clients: RFC 7591 metadata as JSON, and columns for what is looked up or changes separately. */
export const clients: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('clients'), (table) => {
      byteForByte(table, collation)
      table.string('client_id', 255).primary()
      table.string('secret_hash', hashLength).nullable()
      table.string('previous_secret_hash', hashLength).nullable()
      table.bigInteger('previous_secret_expires_at').nullable()
      table.text('metadata').notNullable()
      table.bigInteger('disabled_at').nullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('updated_at').notNullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('clients')),
}
