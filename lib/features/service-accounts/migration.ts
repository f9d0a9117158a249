import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** Service accounts: clients that belong to an organization. The client itself is in the table of clients. */
export const serviceAccountsTable: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('service_accounts'), (table) => {
      byteForByte(table, collation)
      table.string('client_id', 255).primary()
      table.string('organization', 255).notNullable()
      // Each account of an organization has its own number below the limit, so parallel requests cannot exceed it.
      table.integer('slot').notNullable()
      // Null after that user was erased, and empty for an account that the host made.
      table
        .string('created_by', 255)
        .nullable()
        .index(`${name('service_accounts')}_creator`)
      table.bigInteger('created_at').notNullable()
      table.bigInteger('last_used_at').nullable()
      table.unique(['organization', 'slot'], { indexName: `${name('service_accounts')}_organization` })
    }),
  down: ({ schema, name }) => schema.dropTable(name('service_accounts')),
}

/** When each secret of a service account was made and used, by its hash. */
export const serviceAccountSecrets: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('service_account_secrets'), (table) => {
      byteForByte(table, collation)
      table.string('hash', hashLength).primary()
      table
        .string('client_id', 255)
        .notNullable()
        .index(`${name('service_account_secrets')}_client`)
      table.bigInteger('created_at').notNullable()
      table.bigInteger('last_used_at').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('service_account_secrets')),
}
