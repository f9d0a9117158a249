import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/**
 * `second_factors` has the encrypted TOTP secrets that Latchkey keeps, and `recovery_codes` the hashes of unused recovery
 * codes. A second factor that its user has not confirmed yet expires.
 */
export const secondFactors: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema
      .createTable(name('second_factors'), (table) => {
        byteForByte(table, collation)
        table.string('subject', 255).primary()
        table.text('secret').notNullable()
        table.bigInteger('last_step').nullable()
        table.bigInteger('created_at').notNullable()
        table
          .bigInteger('expires_at')
          .nullable()
          .index(`${name('second_factors')}_expires_at`)
      })
      .createTable(name('recovery_codes'), (table) => {
        byteForByte(table, collation)
        table.string('hash', hashLength).primary()
        table
          .string('subject', 255)
          .notNullable()
          .index(`${name('recovery_codes')}_subject`)
      }),
  down: ({ schema, name }) => schema.dropTable(name('recovery_codes')).dropTable(name('second_factors')),
}

/** The secret of another app, which replaces the one in use with its first code. */
export const nextSecrets: SchemaChange = {
  up: ({ schema, name }) =>
    schema.alterTable(name('second_factors'), (table) => {
      table.text('next_secret').nullable()
      table.bigInteger('next_expires_at').nullable()
    }),
  down: ({ schema, name }) =>
    schema.alterTable(name('second_factors'), (table) => {
      table.dropColumns('next_secret', 'next_expires_at')
    }),
}

/** Sign-ins whose password was right and whose code is missing. */
export const pendingLogins: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('pending_logins'), (table) => {
      byteForByte(table, collation)
      table.string('id', hashLength).primary()
      table.string('attempt', hashLength).notNullable()
      table
        .string('subject', 255)
        .notNullable()
        .index(`${name('pending_logins')}_subject`)
      table.string('username', 255).notNullable()
      table.bigInteger('since').notNullable()
      table.integer('tries').notNullable()
      table.integer('sends').notNullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('pending_logins')}_expires_at`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('pending_logins')),
}
