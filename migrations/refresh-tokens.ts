import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/**
 * Refresh tokens, by hash. `last_used_at` is set when a token is used without rotation. `consumed_from` is the
 * IP address of the first use, until its grace period is over. `binding` is the type and thumbprint of the key that the token
 * needs, and null for none.
 */
export const refreshTokens: SchemaChange = {
  up: ({ schema, name, collation, only }) =>
    schema.createTable(name('refresh_tokens'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table
        .string('authorization_id', hashLength)
        .notNullable()
        .index(`${name('refresh_tokens')}_authorization`)
      table.string('binding', 64).nullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('expires_at').notNullable()
      table.bigInteger('consumed_at').nullable()
      table.string('consumed_from', 45).nullable()
      table.bigInteger('last_used_at').nullable()
      table.text('successor').nullable()
      // See authorizations_unredeemed. On MariaDB and MySQL one index serves both searches.
      const unused = collation === undefined ? ['expires_at'] : ['consumed_at', 'expires_at']
      table.index(unused, `${name('refresh_tokens')}_unused`, { predicate: only().whereNull('consumed_at') })
      if (collation !== undefined) return
      table.index('consumed_at', `${name('refresh_tokens')}_successor`, {
        predicate: only().whereNotNull('successor'),
      })
    }),
  down: ({ schema, name }) => schema.dropTable(name('refresh_tokens')),
}
