import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { openDatabase } from './database/open.ts'
import { transaction } from './database/transaction.ts'
import type { Database } from './database/types.ts'
import { createSecret, hashSecret } from './keys/secrets.ts'
import type { AuthRouterOptions, Logger } from './options/options.ts'
import { knownScopes } from './options/scopes.ts'
import { hashPassword } from './passwords/passwords.ts'
import { type Client, usesSecret } from './protocol/client.ts'
import { type ClientMetadata, parseClientMetadata } from './protocol/client-metadata.ts'
import { OAuthError } from './protocol/errors.ts'
import {
  createClient,
  createUser,
  findClient,
  findUserByUsername,
  updateClient,
  updateUser,
} from './repositories/index.ts'

/** A client as a seed describes it: RFC 7591 metadata, its id, and where wanted a secret of one's own. */
export interface ClientSeed extends Partial<ClientMetadata> {
  client_id: string
  /** At least 32 characters; left out, one is made for a new confidential client and printed once. */
  client_secret?: string
}

/** What seeding needs to know, `tablePrefix`, `scopes` and `logger`; the whole configuration of the router will do. */
export type SeedOptions = AuthRouterOptions

/** A client after seeding. */
export interface SeededClient {
  readonly client_id: string
  /** Only when it was made just now; it is stored as a hash and cannot be read again. */
  readonly client_secret?: string
}

const minSecretLength = 32

const refuse = (clientId: string, description: string): never => {
  throw new OAuthError('invalid_client_metadata', `client ${clientId}: ${description}`)
}

const checkedMetadata = (
  { client_id, client_secret, ...input }: ClientSeed,
  scopes: readonly string[],
): ClientMetadata => {
  if (typeof client_id !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(client_id)) {
    refuse(String(client_id), 'client_id must be 1 to 255 printable ASCII characters without spaces')
  }
  const metadata = parsed(client_id, input)
  if (client_secret !== undefined && !usesSecret(metadata)) {
    const kind = metadata.token_endpoint_auth_method === 'none' ? 'a public client' : 'private_key_jwt'
    refuse(client_id, `client_secret must not be given for ${kind}`)
  }
  if (client_secret !== undefined && client_secret.length < minSecretLength) {
    refuse(client_id, `client_secret must have at least ${minSecretLength} characters`)
  }
  const unknown = metadata.scope?.split(' ').filter((scope) => !scopes.includes(scope)) ?? []
  if (unknown.length > 0)
    refuse(client_id, `scope holds ${unknown.join(' ')}, which the option scopes does not name`)
  return metadata
}

const parsed = (clientId: string, input: object): ClientMetadata => {
  try {
    return parseClientMetadata({ ...input })
  } catch (error) {
    if (error instanceof OAuthError) return refuse(clientId, error.message)
    throw error
  }
}

interface SecretChoice {
  readonly hash: string | null
  readonly made?: string
}

/** A given secret wins; else one that exists stays; else a client that proves itself by a secret gets a new one. */
const chooseSecret = (
  seed: ClientSeed,
  metadata: ClientMetadata,
  existing: Client | undefined,
): SecretChoice => {
  if (!usesSecret(metadata)) return { hash: null }
  if (seed.client_secret !== undefined) return { hash: hashSecret(seed.client_secret) }
  const [kept] = existing?.secretHashes ?? []
  if (kept !== undefined) return { hash: kept }
  const made = createSecret('clientSecret')
  return { hash: hashSecret(made), made }
}

const now = (): number => Math.floor(Date.now() / 1000)

const seedClient = async (
  db: Database,
  seed: ClientSeed,
  scopes: readonly string[],
): Promise<SeededClient> => {
  const metadata = checkedMetadata(seed, scopes)
  const existing = await findClient(db, { clientId: seed.client_id, now: now() })
  const secret = chooseSecret(seed, metadata, existing)
  const row = { clientId: seed.client_id, secretHash: secret.hash, metadata, now: now() }
  await (existing ? updateClient(db, row) : createClient(db, row))
  return { client_id: seed.client_id, ...(secret.made === undefined ? {} : { client_secret: secret.made }) }
}

const tellSecret = ({ client_id: id, client_secret: secret }: SeededClient, logger: Logger): void => {
  if (secret === undefined) return
  if (process.stdout.isTTY)
    process.stdout.write(`client ${id} has the secret ${secret}; it is not shown again\n`)
  else {
    const remedy = `\`npx latchkey client rotate-secret ${id}\` makes one and shows it`
    logger.info(`client ${id} has a new secret, which seedClients() returned; if it was not kept, ${remedy}`)
  }
}

/**
 * Registers clients, or brings those that exist up to date: running it again changes nothing but what the seeds say.
 * Nothing is written when one of them is wrong.
 *
 * @param knex the Knex instance; from a seed file, the one that Knex hands over
 * @param options `scopes` of the router's options are known besides the standard ones
 * @returns for each client its id, and its secret if it was made just now; a person at a terminal also sees it, once, and no log
 *   ever does
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`, naming client and field (RFC 7591 §3.2.2)
 * @example
 * export const seed = (knex) =>
 *   seedClients(knex, [{ client_id: 'journal', client_name: 'Journal', redirect_uris: ['https://journal.example.com/cb'] }])
 */
export const seedClients = async (
  knex: Knex,
  clients: readonly ClientSeed[],
  options: SeedOptions = {},
): Promise<SeededClient[]> => {
  const { tablePrefix = 'oauth_', scopes = {}, logger = console } = options
  const { database } = openDatabase(knex, tablePrefix, options)
  const known = knownScopes({
    scopes: Object.fromEntries(Object.keys(scopes).map((name) => [name, { description: name }])),
  })
  for (const seed of clients) checkedMetadata(seed, known)
  const seeded: SeededClient[] = []
  for (const seed of clients) {
    const result = await transaction(database, (tx) => seedClient(tx, seed, known))
    tellSecret(result, logger)
    seeded.push(result)
  }
  return seeded
}

/** One of the kit's own accounts, for demos and tests. */
export interface UserSeed {
  username: string
  password: string
  name?: string
  email?: string
  email_verified?: boolean
  /** Further claims by name. */
  claims?: Record<string, unknown>
}

/**
 * Creates accounts in the kit's own user table, or brings those that exist up to date.
 *
 * @returns the subject identifier of each
 * @example await seedUsers(knex, [{ username: 'ada', password: 'correct horse battery' }])
 */
export const seedUsers = async (
  knex: Knex,
  users: readonly UserSeed[],
  options: SeedOptions = {},
): Promise<{ username: string; subject: string }[]> => {
  const { database } = openDatabase(knex, options.tablePrefix ?? 'oauth_', options)
  const seeded: { username: string; subject: string }[] = []
  for (const user of users) {
    const existing = await findUserByUsername(database, { username: user.username })
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
    seeded.push({ username: user.username, subject: account.id })
  }
  return seeded
}
