import type { Knex } from 'knex'

export const up = (knex: Knex): Promise<void> =>
  knex.schema.createTable('sessions', (table) => {
    table.string('sid').primary()
    table.text('data').notNullable()
    table.bigInteger('expires_at').notNullable().index()
  })

export const down = (knex: Knex): Promise<void> => knex.schema.dropTable('sessions')
