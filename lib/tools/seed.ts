import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { definitionsIn } from '../features/feature.ts'
import { applyClients, type ClientSeed, checkedClient } from '../oauth/clients/plan.ts'
import type { CheckedRegistration, ClientCredentials } from '../oauth/clients/register.ts'
import { plainLogger } from '../options/logger.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { registrableOf } from '../options/registrable.ts'
import { database as databaseSchema, type Logger } from '../options/server.ts'
import { OAuthError, withChanges } from '../protocol/errors.ts'
import { shellWord, visible } from '../protocol/foreign-text.ts'
import { openDatabase } from '../storage/database/open.ts'
import type { Database } from '../storage/database/types.ts'
import {
  createUser,
  findUserByUsername,
  type UserAccount,
  updateUser,
} from '../storage/repositories/users.ts'
import { endAllOf } from '../users/account/end-all.ts'
import { hashPassword, isPasswordHash, verifyPassword } from '../users/passwords/passwords.ts'

const now = (): number => Math.floor(Date.now() / 1000)

const checkedSeed = (seed: ClientSeed, config: AuthRouterOptions): CheckedRegistration => {
  try {
    return checkedClient(seed, registrableOf(config))
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const options: Readonly<Record<string, unknown>> = {
      scope: config.scopes,
      grant_types: config.protocol?.grants,
      authorization_details_types: config.protocol?.authorizationDetails,
    }
    const isMissing =
      error.reason === 'metadata_unknown' &&
      Object.hasOwn(options, error.parameter ?? '') &&
      options[error.parameter ?? ''] === undefined
    if (!isMissing) throw error
    const hint = '(pass the options of authRouter() as the third argument of seedClients)'
    throw withChanges(error, { message: `${error.message} ${hint}` })
  }
}

/** Shows a new secret at a terminal. It never reaches a log. */
const showSecret = ({ client_id: id, client_secret: secret }: ClientCredentials, logger: Logger): void => {
  if (secret === undefined) return
  if (process.stdout.isTTY) {
    process.stdout.write(`${visible(`client ${id} has the new secret ${secret}; it is not shown again`)}\n`)
  } else {
    const remedy = `\`npx latchkey client rotate-secret ${shellWord(id)}\` creates another`
    logger.info(`client ${id} has a new secret, which seedClients() returned; if it is lost, ${remedy}`)
  }
}

/**
 * Registers clients, or updates those that differ, in one transaction. You can run it again at any time: clients that do not
 * differ are not written. If one client is invalid, nothing is written.
 *
 * @param knex the Knex instance; in a seed file, the one that Knex passes to it
 * @param clients the clients, each with its `client_id`
 * @param config the options of `authRouter()`: the same object, so that scopes and table prefix are written once
 * @returns the id of each client, and its secret if one was created; the terminal shows it once, and no log contains it
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`, with the client and the field (RFC 7591 §3.2.2)
 * @example
 * import config from '../latchkey.config.mjs'
 * export const seed = (knex) =>
 *   seedClients(knex, [{ client_id: 'shop', redirect_uris: ['https://shop.example.com/callback'] }], config)
 */
export const seedClients = async (
  knex: Knex,
  clients: readonly ClientSeed[],
  config: AuthRouterOptions = {},
): Promise<ClientCredentials[]> => {
  const logger = plainLogger(config.logger ?? console)
  const database = opened(knex, config)
  const registrations = clients.map((seed) => checkedSeed(seed, config))
  const installed = definitionsIn(config.features)
  const how = { unlisted: 'ignore', keepPreviousFor: 0 } as const
  const { credentials } = await applyClients({ database, now, installed }, registrations, how)
  for (const seeded of credentials) showSecret(seeded, logger)
  return [...credentials]
}

/** The host's database with the settings of the option `database`. */
const opened = (knex: Knex, config: AuthRouterOptions): Database => {
  const settings = databaseSchema.check(config.database, 'database')
  return openDatabase(knex, settings.tablePrefix, settings).database
}

/** An account in Latchkey's own user table, for demos and tests. */
export interface UserSeed {
  /** The name that the user types, without spaces around it. */
  username: string
  /** Stored as an argon2id hash. */
  password: string
  /** The claim of the scope `profile`. */
  name?: string
  /** The claim of the scope `email`. */
  email?: string
  /** Whether the user has confirmed the address. */
  email_verified?: boolean
  /** Other claims by name. */
  claims?: Record<string, unknown>
}

/** @throws Error for a name with spaces around it, because the sign-in form ignores such spaces */
const assertUsername = (username: string): void => {
  if (username.trim() !== username)
    throw new Error(`username ${JSON.stringify(username)} must not begin or end with a space`)
}

/** Whether this is the password that the account has already. */
const isPasswordOf = async (account: UserAccount, password: string): Promise<boolean> =>
  isPasswordHash(account.passwordHash) && verifyPassword(password, account.passwordHash)

/**
 * Creates accounts in Latchkey's own user table, or updates those that exist. A new password ends all logins, codes and
 * tokens of its user. Clients are not notified of it; `oauth.users.revokeAll()` does so.
 *
 * @param config the options of `authRouter()`
 * @returns the subject identifier of each account
 * @example await seedUsers(knex, [{ username: 'ada', password: 'correct horse battery' }])
 */
export const seedUsers = async (
  knex: Knex,
  users: readonly UserSeed[],
  config: AuthRouterOptions = {},
): Promise<{ username: string; subject: string }[]> => {
  const database = opened(knex, config)
  const installed = definitionsIn(config.features)
  const seeded: { username: string; subject: string }[] = []
  for (const user of users) {
    assertUsername(user.username)
    const existing = await findUserByUsername(database, { username: user.username })
    const hasNewPassword = existing !== undefined && !(await isPasswordOf(existing, user.password))
    const account = {
      id: existing?.id ?? randomUUID(),
      username: user.username,
      passwordHash: await hashPassword(user.password),
      name: user.name ?? null,
      email: user.email ?? null,
      emailVerified: user.email_verified ?? false,
      claims: user.claims ?? {},
      now: now(),
    }
    await (existing ? updateUser(database, account) : createUser(database, account))
    // Another person may have known the old one.
    if (hasNewPassword) await endAllOf({ database, installed, now }, account.id)
    seeded.push({ username: user.username, subject: account.id })
  }
  return seeded
}
