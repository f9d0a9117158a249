import { createHash, randomBytes } from 'node:crypto'
import { hash } from '@node-rs/bcrypt'
import express, { type Express, type RequestHandler } from 'express'
import type {
  WithDevelopers,
  WithOrganizationApps,
  WithPasskeys,
  WithSecondFactor,
} from '../../lib/features/index.ts'
import {
  type AuthRouter,
  type AuthRouterOptions,
  authRouter,
  type ClientSeed,
  type Logger,
  seedClients,
} from '../../lib/index.ts'
import { openTestDatabase, type TestDatabase } from './database.ts'
import { openPreparedDatabase } from './prepared-database.ts'
import { closedAfterFile, listening } from './told.ts'

export const callback = 'https://client.example.com/callback'
export const issuer = 'http://localhost:3000/oauth'
export const secret = 'a-client-secret-of-more-than-32-characters'

/** Clients that most tests need. */
export const clients: ClientSeed[] = [
  {
    client_id: 'web',
    client_name: 'Web client',
    client_secret: secret,
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    scope: 'openid profile email offline_access notes:read notes:write',
  },
  {
    client_id: 'native',
    client_name: 'Native client',
    token_endpoint_auth_method: 'none',
    redirect_uris: [callback, 'http://127.0.0.1/callback', 'com.example.app:/callback'],
    scope: 'openid profile email offline_access notes:read',
  },
]

export const people = [
  {
    id: 1,
    email: 'ada@example.com',
    password: 'ada’s password',
    full_name: 'Ada Lovelace',
    confirmed_at: 1_700_000_000,
  },
  { id: 2, email: 'bob@example.com', password: 'bob’s password', full_name: 'Bob Byte', confirmed_at: null },
  {
    id: 3,
    email: 'cut@example.com',
    password: 'cut’s password',
    full_name: 'Cut Off',
    confirmed_at: null,
    disabled_at: 1,
  },
]

/** With what features perhaps add. */
export type TestRouter = AuthRouter &
  Partial<WithDevelopers & WithOrganizationApps & WithPasskeys & WithSecondFactor>

export interface Host {
  readonly app: Express
  readonly oauth: TestRouter
  readonly database: TestDatabase
  /** Tables of the host's have this prefix too, so that files can run side by side on one database. */
  readonly usersTable: string
  /** A query on one of Latchkey's tables, named without the prefix. */
  readonly table: TestDatabase['table']
  close(): Promise<void>
}

export interface HostSettings {
  readonly options?: Partial<AuthRouterOptions>
  readonly clients?: ClientSeed[]
  /** Where the router is mounted; the issuer follows. */
  readonly mount?: string
  /** Middleware of the host's before the router. */
  readonly before?: readonly RequestHandler[]
  readonly database?: TestDatabase
}

/** The host's own user table, with three people. */
export const createUsers = async ({ knex }: TestDatabase, table: string): Promise<void> => {
  await knex.schema.createTable(table, (columns) => {
    columns.increments('id')
    columns.string('email').unique()
    columns.string('password_hash')
    columns.string('full_name')
    columns.integer('confirmed_at')
    columns.integer('disabled_at')
  })
  for (const { password, ...person } of people) {
    await knex(table).insert({ ...person, password_hash: await hash(password, { cost: 4 }) })
  }
}

const serverSecret = 'a secret of the tests that is long enough'

/** With tables and keys already, unless the host has a server, or another secret or prefix. */
const openDatabase = async (options: Partial<AuthRouterOptions> = {}): Promise<TestDatabase> =>
  process.env.DATABASE_URL === undefined &&
  !('secrets' in options) &&
  !('tablePrefix' in Object(options.database))
    ? openPreparedDatabase(serverSecret)
    : openTestDatabase()

/** All of them, although most tests have scopes with English texts only. */
const locales = { ar: true, de: true, en: true, es: true, fr: true, ja: true }

export const silent: Logger = { info: () => {}, warn: () => {}, error: () => {} }

/** An app with a user table of its own and Latchkey mounted in it, on a database of this test file. */
export const startHost = async (settings: HostSettings = {}): Promise<Host> => {
  const { mount = '/oauth', before = [] } = settings
  const database = settings.database ?? (await openDatabase(settings.options))
  const usersTable = `${database.tablePrefix}people`
  if (settings.database === undefined) await createUsers(database, usersTable)
  const given = settings.options?.pages
  const options: AuthRouterOptions = {
    issuer: `http://localhost:3000${mount === '/' ? '' : mount}`,
    secrets: [serverSecret],
    users: {
      table: usersTable,
      columns: { id: 'id', username: 'email', password: 'password_hash' },
      claims: { name: 'full_name', email: 'email', email_verified: (row) => row.confirmed_at !== null },
      isActive: (row) => row.disabled_at === null,
    },
    scopes: {
      'notes:read': 'Read your notes',
      'notes:write': { description: 'Write notes for you', optional: true },
    },
    ...settings.options,
    database: {
      knex: database.knex,
      tablePrefix: database.tablePrefix,
      ...(settings.options?.database as object | undefined),
    },
    pages: { ...given, locales: { ...locales, ...given?.locales } },
    logger: listening(settings.options?.logger ?? silent),
  }
  const oauth = authRouter(options)
  closedAfterFile.push(oauth)
  await oauth.ready()
  await seedClients(database.knex, settings.clients ?? clients, options)
  const app = express()
  app.use(...(before.length > 0 ? before : [(_req: unknown, _res: unknown, next: () => void) => next()]))
  app.use(mount, oauth)
  app.use(oauth.wellKnown)
  if (Object.hasOwn(options.scopes ?? {}, 'notes:read')) {
    app.get(
      '/api/notes',
      oauth.requireToken('notes:read', { user: false }),
      (req, res) => void res.json({ subject: req.auth.subject ?? null }),
    )
  }
  const close = async (): Promise<void> => {
    await oauth.close()
    if (process.env.DATABASE_URL !== undefined) await database.knex.schema.dropTableIfExists(usersTable)
    await database.close()
  }
  return { app, oauth, database, usersTable, table: database.table, close }
}

/** A host that several modules share as a constant. Its members can be read after it has started. */
interface LaterHost extends Host {
  start(): Promise<void>
}

export const laterHost = (settings: HostSettings = {}): LaterHost => {
  let host: Host | undefined
  const started = (): Host => {
    if (host === undefined)
      throw new Error('the host has not started; tests may use it, and hooks after start()')
    return host
  }
  return {
    get app() {
      return started().app
    },
    get oauth() {
      return started().oauth
    },
    get database() {
      return started().database
    },
    get usersTable() {
      return started().usersTable
    },
    table: (name) => started().table(name),
    close: () => started().close(),
    start: async () => {
      host = await startHost(settings)
    },
  }
}

/** A PKCE pair (RFC 7636). */
export const pkce = (
  verifier = randomBytes(32).toString('base64url'),
): { verifier: string; challenge: string } => ({
  verifier,
  challenge: createHash('sha256').update(verifier).digest('base64url'),
})

/** The address of an authorization request. */
export const authorizeUrl = (parameters: Readonly<Record<string, string>>, mount = '/oauth'): string =>
  `${mount}/authorize?${new URLSearchParams({ response_type: 'code', redirect_uri: callback, ...parameters })}`
