import type { Knex } from 'knex'

export const up = (knex: Knex): Promise<void> =>
  knex.schema.createTable('users', (table) => {
    table.increments('id')
    table.string('email').notNullable().unique()
    table.string('password_hash').notNullable()
    table.string('full_name').notNullable()
    table.timestamp('confirmed_at')
    table.timestamp('disabled_at')
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now())
  })

export const down = (knex: Knex): Promise<void> => knex.schema.dropTable('users')
