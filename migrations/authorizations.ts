import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** What a user granted a client once: the code, and the end of every token issued for it. */
export const authorizations: SchemaChange = {
  up: ({ schema, name, collation, only }) =>
    schema.createTable(name('authorizations'), (table) => {
      byteForByte(table, collation)
      table.string('id', hashLength).primary()
      table
        .string('client_id', 255)
        .notNullable()
        .index(`${name('authorizations')}_client`)
      table.string('subject', 255).notNullable()
      table
        .string('sid', hashLength)
        .notNullable()
        .index(`${name('authorizations')}_sid`)
      table.text('scopes').notNullable()
      table.integer('offline').notNullable()
      table
        .string('code_hash', hashLength)
        .notNullable()
        .unique(`${name('authorizations')}_code`)
      table.bigInteger('code_expires_at').notNullable()
      table.bigInteger('consumed_at').nullable()
      table.bigInteger('created_at').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('authorizations')}_expires_at`)
      table.bigInteger('revoked_at').nullable()
      table.text('request', 'mediumtext').notNullable()
      // The key that its code needs; null for none.
      table.string('binding', 64).nullable()
      // The things that the user chose, and the scopes that they took away later; null for none.
      table.text('choices', 'mediumtext').nullable()
      // How often the user has narrowed it.
      table.integer('narrowed').notNullable().defaultTo(0)
      // Lists and counts what is not revoked, newest first, without its rows.
      table.index(['subject', 'client_id', 'revoked_at', 'created_at'], `${name('authorizations')}_subject`)
      // PostgreSQL does not know that rows with a null are in the order of the next column, and sorts all of them.
      const unredeemed = collation === undefined ? ['code_expires_at'] : ['consumed_at', 'code_expires_at']
      table.index(unredeemed, `${name('authorizations')}_unredeemed`, {
        predicate: only().whereNull('consumed_at'),
      })
    }),
  down: ({ schema, name }) => schema.dropTable(name('authorizations')),
}
