import { hash } from '@node-rs/bcrypt'
import type { Knex } from 'knex'
import { disabledPerson, password, people } from '../registrations.ts'

/** The host's own table of users, the same for every server. */
export const createPeople = async (knex: Knex, cost = 4): Promise<void> => {
  await knex.schema.createTable('people', (table) => {
    table.increments('id')
    table.string('email').unique()
    table.string('password_hash')
    table.string('full_name')
    table.integer('confirmed_at')
    table.integer('disabled_at')
  })
  const password_hash = await hash(password, { cost })
  const rows = people.map((person) => ({ ...person, password_hash, confirmed_at: 1_700_000_000 }))
  await knex('people').insert(rows)
  await knex('people').insert({ ...disabledPerson, password_hash, disabled_at: 1_700_000_000 })
}
