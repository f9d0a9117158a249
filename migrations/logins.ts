import { byteForByte, hashLength, type SchemaChange } from './migration.ts'

/**
 * Logins. Ending one ends everything granted under it without `offline_access`. `host_login_hash` is unique, so that
 * parallel requests record a login of the host once; it is null for our own logins and for those that have ended.
 * `session_hash` is the hash of what the browser's session holds; it is null when the login has ended, and when a newer one
 * has taken the session over. Without a visit that session ends at `idle_ends_at`, but the login does not. `acr` is the
 * authentication level; it is null if the host declares none.
 */
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
      table.string('acr', 255).nullable()
      table
        .string('browser_hash', hashLength)
        .nullable()
        .index(`${name('logins')}_browser`)
      table
        .string('host_login_hash', hashLength)
        .nullable()
        .unique(`${name('logins')}_host_login`)
      table
        .string('session_hash', hashLength)
        .nullable()
        .unique(`${name('logins')}_session`)
      table.bigInteger('idle_ends_at').nullable()
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('logins')}_expires_at`)
      table.bigInteger('ended_at').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('logins')),
}
