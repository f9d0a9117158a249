import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Logins. Ending one ends everything granted under it without `offline_access`. */
export const logins: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('logins'), (table) => {
      byteForByte(table, collation)
      table.string('sid', hashLength).primary()
      table
        .string('subject', 255)
        .notNullable()
        .index(`${name('logins')}_subject`)
      table.bigInteger('auth_time').notNullable()
      table.string('amr', 255).notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('logins')}_expires_at`)
      table.bigInteger('ended_at').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('logins')),
}
