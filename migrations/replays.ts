import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Client assertions that were used, by hash; inserting one again fails. */
export const replays: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('replays'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('replays')}_expires_at`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('replays')),
}
