import type { Knex } from 'knex'

export const up = (knex: Knex): Promise<void> =>
  knex.schema.createTable('notes', (table) => {
    table.increments('id')
    table.integer('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE').index()
    table.string('title', 120).notNullable()
    table.text('body').notNullable()
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now())
  })

export const down = (knex: Knex): Promise<void> => knex.schema.dropTable('notes')
