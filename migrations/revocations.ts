import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/**
 * How often everything of a user was ended, so that a sign-in that began before cannot finish. `hash` is the SHA-256 of the
 * subject. `number` counts the revocations of all users; the row `latest` has the last one and never expires. A row without a
 * revocation has 0: it is what a sign-in and a revocation at the same moment lock. `revoked_at` is when the last one was.
 */
export const revocations: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('revocations'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table.bigInteger('number').notNullable()
      table.bigInteger('revoked_at').nullable()
      table
        .bigInteger('expires_at')
        .nullable()
        .index(`${name('revocations')}_expires_at`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('revocations')),
}
