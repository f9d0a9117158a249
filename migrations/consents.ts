import { byteForByte, type SchemaChange } from './migration.ts'

/** What a user allows a client, and the terms that they agreed to: other terms ask again. */
export const consents: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('consents'), (table) => {
      byteForByte(table, collation)
      table.string('subject', 255).notNullable()
      table
        .string('client_id', 255)
        .notNullable()
        .index(`${name('consents')}_client`)
      table.string('organization', 255).notNullable().defaultTo('')
      table.text('scopes').notNullable()
      table.text('terms', 'mediumtext').notNullable()
      // How often the user has narrowed it.
      table.integer('narrowed').notNullable().defaultTo(0)
      table.bigInteger('created_at').notNullable()
      table.bigInteger('updated_at').notNullable()
      table.primary(['subject', 'client_id', 'organization'])
    }),
  down: ({ schema, name }) => schema.dropTable(name('consents')),
}
