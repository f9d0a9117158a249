import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** Personal access tokens, which users make for themselves. */
export const personalTokens: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('personal_tokens'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table.string('id', 32).notNullable()
      table.string('subject', 255).notNullable()
      // Each token of a user has its own number below the limit, so parallel requests cannot exceed it.
      table.integer('slot').notNullable()
      table.string('name', 255).notNullable()
      table.text('scopes').notNullable()
      table.string('organization', 255).nullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('last_used_at').nullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('personal_tokens')}_expires_at`)
      table.unique(['id'], { indexName: `${name('personal_tokens')}_id` })
      table.unique(['subject', 'slot'], { indexName: `${name('personal_tokens')}_subject` })
    }),
  down: ({ schema, name }) => schema.dropTable(name('personal_tokens')),
}

/** The things that a token is for. */
export const personalTokenChoices: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('personal_tokens'), (table) => {
      // 200 ids of 255 characters are more than the type text of MariaDB and MySQL holds.
      table.text('choices', 'mediumtext').nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('personal_tokens'), (table) => table.dropColumns('choices')),
}
