import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** Decisions of administrators about apps, requests of members, and events of the organization. */
export const appTables: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema
      .createTable(name('organization_app_rules'), (table) => {
        byteForByte(table, collation)
        table.string('organization', 255).notNullable()
        // A client, a host of clients that describe themselves, or all apps without a rule of their own.
        table
          .string('app', 300)
          .notNullable()
          .index(`${name('organization_app_rules')}_app`)
        table.string('outcome', 16).notNullable()
        // What members read who may not use the app.
        table.text('words').nullable()
        // The most that the app may do, as JSON; null for what it asks.
        table.text('most').nullable()
        table.bigInteger('decided_at').notNullable()
        table
          .string('decided_by', 255)
          .nullable()
          .index(`${name('organization_app_rules')}_decided_by`)
        table.primary(['organization', 'app'])
      })
      .createTable(name('organization_app_requests'), (table) => {
        byteForByte(table, collation)
        table.string('id', hashLength).primary()
        table.string('organization', 255).notNullable()
        table.string('app', 300).notNullable()
        table
          .string('client_id', 255)
          .notNullable()
          .index(`${name('organization_app_requests')}_client`)
        table.string('subject', 255).notNullable()
        table.string('status', 16).notNullable()
        // Each waiting request of a member has its own number below the limit, so parallel ones cannot exceed it.
        table.integer('slot').nullable()
        table.text('scopes').notNullable()
        table.string('redirect_uri', 2048).nullable()
        table.text('reason').nullable()
        table.bigInteger('created_at').notNullable()
        table
          .bigInteger('expires_at')
          .notNullable()
          .index(`${name('organization_app_requests')}_expires_at`)
        table.unique(['subject', 'organization', 'slot'], {
          indexName: `${name('organization_app_requests')}_slot`,
        })
        table.index(
          ['organization', 'status', 'created_at', 'id'],
          `${name('organization_app_requests')}_status`,
        )
        table.index(['organization', 'app'], `${name('organization_app_requests')}_app`)
      })
      .createTable(name('organization_events'), (table) => {
        byteForByte(table, collation)
        // That of the event.
        table.string('id', hashLength).primary()
        table.string('organization', 255).notNullable()
        table.bigInteger('time').notNullable()
        table
          .bigInteger('expires_at')
          .notNullable()
          .index(`${name('organization_events')}_expires_at`)
        table.index(['organization', 'time', 'id'], `${name('organization_events')}_organization`)
      })
      .alterTable(name('consents'), (table) => {
        // Counts the members who use an app, and lists them by their last use, without the rows.
        table.index(
          ['organization', 'client_id', 'updated_at', 'subject'],
          `${name('consents')}_organization`,
        )
      }),
  down: ({ schema, name }) =>
    schema
      .alterTable(name('consents'), (table) => {
        table.dropIndex([], `${name('consents')}_organization`)
      })
      .dropTable(name('organization_events'))
      .dropTable(name('organization_app_requests'))
      .dropTable(name('organization_app_rules')),
}
