import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Encrypted signing keys. Each generation of an algorithm exists once: the second process to insert it fails. */
export const signingKeys: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('signing_keys'), (table) => {
      byteForByte(table, collation)
      table.string('kid', hashLength).primary()
      table.string('algorithm', 10).notNullable()
      table.integer('generation').notNullable()
      table.text('private_key').notNullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('active_at').notNullable()
      table.bigInteger('retired_at').nullable()
      table.unique(['algorithm', 'generation'], { indexName: `${name('signing_keys')}_generation` })
    }),
  down: ({ schema, name }) => schema.dropTable(name('signing_keys')),
}
