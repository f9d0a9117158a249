import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/**
 * Opaque access tokens, by hash; tokens of the client itself have no authorization. `resources` are separated by spaces,
 * `binding` is the type and thumbprint of a key or certificate, and `context` is JSON; each is null for none.
 */
export const accessTokens: SchemaChange = {
  up: ({ schema, name, collation, only }) =>
    schema.createTable(name('access_tokens'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table.string('authorization_id', hashLength).nullable()
      table.string('client_id', 255).notNullable()
      table.string('subject', 255).nullable()
      table.text('scopes').notNullable()
      table.text('resources').nullable()
      table.string('binding', 64).nullable()
      table.text('context', 'mediumtext').nullable()
      table.bigInteger('created_at').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('access_tokens')}_expires_at`)
      table.bigInteger('revoked_at').nullable()
      // The client's own tokens: the others are found by their authorization.
      table.index('client_id', `${name('access_tokens')}_client`, {
        predicate: only().whereNull('authorization_id'),
      })
      table.index('authorization_id', `${name('access_tokens')}_authorization`, {
        predicate: only().whereNotNull('authorization_id'),
      })
    }),
  down: ({ schema, name }) => schema.dropTable(name('access_tokens')),
}
