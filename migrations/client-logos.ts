import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** Logos of clients, which the pages load from here only. The column tells where a logo came from, and when. */
export const clientLogos: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema
      .createTable(name('client_logos'), (table) => {
        byteForByte(table, collation)
        table.string('client_id', 255).primary()
        table
          .string('hash', hashLength)
          .notNullable()
          .index(`${name('client_logos')}_hash`)
        table.string('type', 32).notNullable()
        // Base64. MySQL's smallest text is too short for it.
        table.text('body', 'mediumtext').notNullable()
      })
      .alterTable(name('clients'), (table) => {
        table.text('logo').nullable()
      }),
  down: ({ schema, name }) =>
    schema
      .alterTable(name('clients'), (table) => {
        table.dropColumn('logo')
      })
      .dropTable(name('client_logos')),
}
