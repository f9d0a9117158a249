import { byteForByte, type SchemaChange } from './migration.ts'

/** Latchkey's own accounts; empty if the host has its own users. */
export const users: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('users'), (table) => {
      byteForByte(table, collation)
      table.string('id', 36).primary()
      table
        .string('username', 255)
        .notNullable()
        .unique(`${name('users')}_username`)
      table.string('password_hash', 255).nullable()
      table.string('name', 255).nullable()
      table.string('email', 255).nullable()
      table.integer('email_verified').notNullable().defaultTo(0)
      table.text('claims').notNullable()
      table.bigInteger('disabled_at').nullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('updated_at').notNullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('users')),
}
