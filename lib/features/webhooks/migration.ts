import { byteForByte, hashLength, type SchemaChange } from '../../../migrations/migration.ts'

/** The state of each receiver of webhooks. */
export const webhookEndpoints: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('webhook_endpoints'), (table) => {
      byteForByte(table, collation)
      table.string('name', 64).primary()
      // The process that sends to it.
      table.string('holder', 32).nullable()
      table.bigInteger('held_until').notNullable().defaultTo(0)
      table.bigInteger('succeeded_at').nullable()
      table.bigInteger('failed_at').nullable()
      table.string('failure', 255).nullable()
      table.bigInteger('disabled_at').nullable()
    }),
  down: ({ schema, name }) => schema.dropTable(name('webhook_endpoints')),
}

/** The events that wait for a receiver, and those that were given up. */
export const webhookDeliveries: SchemaChange = {
  up: ({ schema, name, collation }) =>
    schema.createTable(name('webhook_deliveries'), (table) => {
      byteForByte(table, collation)
      // In the order in which the events were stored.
      table.bigIncrements('seq')
      table.string('endpoint', 64).notNullable()
      table.string('event_id', hashLength).notNullable()
      // Events of one lane are sent in order, such as those about one user.
      table.string('lane', 300).notNullable()
      table.integer('attempts').notNullable().defaultTo(0)
      // Null for a dead letter.
      table.bigInteger('attempt_at').nullable()
      table.string('failure', 255).nullable()
      table
        .bigInteger('dead_at')
        .nullable()
        .index(`${name('webhook_deliveries')}_dead_at`)
      table
        .bigInteger('expires_at')
        .notNullable()
        .index(`${name('webhook_deliveries')}_expires_at`)
      table.index(['lane', 'endpoint', 'seq'], `${name('webhook_deliveries')}_lane`)
      table.index(['endpoint', 'attempt_at', 'seq'], `${name('webhook_deliveries')}_due`)
    }),
  down: ({ schema, name }) => schema.dropTable(name('webhook_deliveries')),
}

/** The priority of an event in its lane, indexes by which lanes take turns, and the last refusal of a receiver. */
export const webhookTurns: SchemaChange = {
  up: ({ schema, name }) => {
    const table = name('webhook_deliveries')
    return schema
      .alterTable(table, (deliveries) => {
        deliveries.smallint('priority').notNullable().defaultTo(1)
      })
      .alterTable(table, (deliveries) => {
        deliveries.index(['endpoint', 'priority', 'attempt_at', 'lane'], `${table}_turn`)
        deliveries.index(['lane', 'endpoint', 'priority', 'seq'], `${table}_order`)
        deliveries.dropIndex([], `${table}_due`)
        deliveries.dropIndex([], `${table}_lane`)
      })
      .alterTable(name('webhook_endpoints'), (endpoints) => {
        endpoints.bigInteger('refused_at').nullable()
        endpoints.string('refusal', 255).nullable()
      })
  },
  down: ({ schema, name }) => {
    const table = name('webhook_deliveries')
    return schema
      .alterTable(name('webhook_endpoints'), (endpoints) => {
        endpoints.dropColumns('refused_at', 'refusal')
      })
      .alterTable(table, (deliveries) => {
        deliveries.index(['lane', 'endpoint', 'seq'], `${table}_lane`)
        deliveries.index(['endpoint', 'attempt_at', 'seq'], `${table}_due`)
        deliveries.dropIndex([], `${table}_turn`)
        deliveries.dropIndex([], `${table}_order`)
      })
      .alterTable(table, (deliveries) => {
        deliveries.dropColumn('priority')
      })
  },
}
