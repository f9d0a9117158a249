import { hash, verify } from '@node-rs/bcrypt'
import type { Knex } from 'knex'
import { disabledPerson, password, people, visitors } from '../registrations.ts'

// Without a cost the password is stored as it is, so that no operation measures a password hash.
const plain = (text: string): string => `plain:${text}`

/** Checks a password against what {@link createPeople} stored. */
export const isPassword = (given: string, stored: string): boolean | Promise<boolean> =>
  stored.startsWith('plain:') ? stored === plain(given) : verify(given, stored)

/** Creates the host's table of users, the same for every server. */
export const createPeople = async (knex: Knex, bcryptCost?: number): Promise<void> => {
  await knex.schema.createTable('people', (table) => {
    table.increments('id')
    table.string('email').unique()
    table.string('password_hash')
    table.string('full_name')
    table.integer('confirmed_at')
    table.integer('disabled_at')
  })
  const password_hash =
    bcryptCost === undefined ? plain(password) : await hash(password, { cost: bcryptCost })
  const rows = people.map((person) => ({ ...person, password_hash, confirmed_at: 1_700_000_000 }))
  await knex('people').insert(rows)
  await knex('people').insert({ ...disabledPerson, password_hash, disabled_at: 1_700_000_000 })
  await knex.raw(
    `INSERT INTO people (id, email, password_hash, full_name, confirmed_at)
     WITH RECURSIVE visitors (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM visitors WHERE n < ?)
     SELECT ? + n, 'visitor-' || n || '@example.com', ?, 'Visitor ' || n, 1700000000 FROM visitors`,
    [visitors.count, visitors.before, password_hash],
  )
}
