import { hash as bcryptHash } from '@node-rs/bcrypt'
import type { Request } from 'express'
import createKnex, { type Knex } from 'knex'
import type { UserFunctions, UserMapping } from '../../lib/options/users.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { createUsers } from '../../lib/users/index.ts'
import { createPasswordVerifier } from '../../lib/users/passwords/password-verifier.ts'
import { verifyPassword } from '../../lib/users/passwords/passwords.ts'

export const req = {} as Request
export const bcrypt = (text: string) => bcryptHash(text, { cost: 4 })
const open: Knex[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((knex) => knex.destroy()))
})

export const sqlite = (config: Knex.Config = {}): Knex => {
  const knex = createKnex({
    client: 'better-sqlite3',
    connection: ':memory:',
    useNullAsDefault: true,
    ...config,
  })
  open.push(knex)
  return knex
}

/**
 * Users of whatever form, with every verification, query and line of the log recorded.
 *
 * @param meanwhile happens while a password is checked
 */
export const observed = (
  knex: Knex,
  users: UserMapping | UserFunctions | undefined,
  meanwhile: (hash: string) => Promise<unknown> = async () => {},
) => {
  const hashes: string[] = []
  const log: string[] = []
  const write = (message: string) => void log.push(message)
  const passwords = createPasswordVerifier({
    verify: async (password, hash) => {
      hashes.push(hash)
      await meanwhile(hash)
      return verifyPassword(password, hash)
    },
    wait: async () => hashes.push('(wait)'),
  })
  const logger = { info: write, warn: write, error: write }
  const { database } = openDatabase(knex, 'latchkey_')
  return {
    users: createUsers({ users, knex, database, logger, passwords, secret: 'of the tests' }),
    hashes,
    log,
    database,
  }
}

export const mapping: UserMapping = {
  table: 'people',
  columns: { id: 'id', username: 'email', password: 'password_hash' },
  isActive: (row) => row.disabled_at === null,
}
