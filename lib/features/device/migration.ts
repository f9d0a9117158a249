import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** Requests of devices that poll for their tokens (RFC 8628). Both codes are stored as hashes. */
export const deviceCodes: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('device_codes'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table
        .string('user_code_hash', hashLength)
        .notNullable()
        .unique(`${name('device_codes')}_user_code`)
      table.string('client_id', 255).notNullable()
      table.text('request', 'mediumtext').notNullable()
      table.string('address', 64).notNullable()
      table.integer('poll_interval').notNullable()
      table.bigInteger('polled_at').nullable()
      table.string('decision', 8).nullable()
      table.bigInteger('created_at').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('device_codes')}_expires_at`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('device_codes')),
}
