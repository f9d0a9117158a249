import type { Knex } from 'knex'
import type { Logger } from '../options/server.ts'
import { isUserMapping, type UserFunctions, type UserMapping } from '../options/users.ts'
import { hostTables } from '../storage/database/open.ts'
import type { Database } from '../storage/database/types.ts'
import { createFunctionUsers } from './function-users.ts'
import { createMappedUsers } from './mapped-users.ts'
import { createOwnUsers } from './own-users.ts'
import { assertPasswordLibraries } from './passwords/libraries.ts'
import { createPasswordVerifier, type PasswordVerifier } from './passwords/password-verifier.ts'
import type { Users } from './users.ts'

export type { User, Users } from './users.ts'

export interface UsersContext {
  /** The host's option; undefined for Latchkey's own table. */
  readonly users?: UserMapping | UserFunctions | undefined
  /** The host's Knex instance, for its table. */
  readonly knex: Knex
  /** Latchkey's database, for its own table. */
  readonly database: Database
  readonly logger: Logger
  /** Decides what unknown login names cost; the same in every process. */
  readonly secret: string
  /** @default a new verifier */
  readonly passwords?: PasswordVerifier
}

/**
 * Creates the users from the option `users`.
 *
 * @throws Error if passwords are checked here and a library for their hashes cannot be loaded
 * @example createUsers({ users: options.users, knex: opened.hostKnex, database: opened.database, logger })
 */
export const createUsers = (context: UsersContext): Users => {
  const { users, knex, database, logger, secret, passwords = createPasswordVerifier() } = context
  if (users !== undefined && !isUserMapping(users)) return createFunctionUsers(users)
  assertPasswordLibraries()
  if (users === undefined) return createOwnUsers({ database, passwords, logger, secret })
  const tables = hostTables(database, knex)
  return createMappedUsers({ mapping: users, database: tables, passwords, logger, secret })
}
