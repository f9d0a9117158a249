import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/** What users were shown when they allowed a client. A receipt never changes. */
export const consentReceipts: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('consent_receipts'), (table) => {
      byteForByte(table, collation)
      table.string('id', hashLength).primary()
      table.string('subject', 255).notNullable()
      table.string('client_id', 255).notNullable()
      table.string('authorization_id', hashLength).notNullable()
      table.text('receipt', 'mediumtext').notNullable()
      table.bigInteger('created_at').notNullable()
      table.index(['subject', 'client_id'], `${name('consent_receipts')}_subject`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('consent_receipts')),
}
