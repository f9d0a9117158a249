import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** Passkeys of users (WebAuthn). The key is the SHA-256 of the credential ID, which can be longer than a key may be. */
export const passkeysTable: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('passkeys'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table
        .string('subject', 255)
        .notNullable()
        .index(`${name('passkeys')}_subject`)
      table.text('credential_id').notNullable()
      table.text('public_key').notNullable()
      table.bigInteger('counter').notNullable()
      table.string('transports', 255).notNullable()
      table.string('name', 100).notNullable()
      table.integer('backed_up').notNullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('last_used_at').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('passkeys')),
}
