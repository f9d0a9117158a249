import { byteForByte, type SchemaChange } from '../../../migrations/migration.ts'

/** The users who registered clients on the developer pages, and what waits for approval. */
export const clientOwners: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('client_owners'), (table) => {
      byteForByte(table, collation)
      table.string('client_id', 255).primary()
      table.string('subject', 255).notNullable()
      // Each client of a user has its own number below the quota, so parallel requests cannot exceed it.
      table.integer('slot').notNullable()
      table.string('status', 16).notNullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('requested_at').notNullable()
      table.bigInteger('approved_at').nullable()
      table.bigInteger('decided_at').nullable()
      table.string('decided_by', 255).nullable()
      table.text('reason').nullable()
      // Changes of an approved client that wait, as JSON.
      table.text('proposed', 'mediumtext').nullable()
      table.integer('revision').notNullable()
      table.unique(['subject', 'slot'], { indexName: `${name('client_owners')}_subject` })
      table.index(['status', 'client_id'], `${name('client_owners')}_status`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('client_owners')),
}
