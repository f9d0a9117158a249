import { hash } from '@node-rs/bcrypt'
import { type AuthRouterOptions, migrate, seedClients, seedUsers } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import type { FaultDatabase } from './fault-databases.ts'
import { type Answer, postForm } from './fault-load.ts'
import type { StartFaultServer } from './fault-server.ts'
import { kept } from './features.ts'
import { authorizeUrl, callback, clients, type Host, secret, silent, startHost } from './host.ts'
import { codeOf } from './outcomes.ts'
import { RawBrowser } from './raw-browser.ts'
import { ada, web } from './tokens.ts'

const secretOfAll = 'a secret of the tests that is long enough'

const adaAsUser = { username: ada.email, password: ada.password }

/** Clients of the tests, and one more that is confidential. */
export const faultClients = [...clients, { ...clients[0]!, client_id: 'other', client_name: 'Other client' }]

/** The other confidential client, with its secret in the form body. */
export const other = { client_id: 'other', client_secret: secret }

/** What servers on this database share; failures are not limited, because these tests make many. */
export const sharedOptions = (
  { config, tablePrefix }: FaultDatabase,
  options: Omit<AuthRouterOptions, 'database'> = {},
): StartFaultServer => ({
  secrets: [secretOfAll],
  limits: false,
  ...options,
  database: { knex: config, tablePrefix },
})

/** A host in this process on Latchkey's own users, who exist in every process: Ada signs in here. */
export const startSharedHost = async (
  database: FaultDatabase,
  options: AuthRouterOptions = {},
): Promise<Host> => {
  const host = await startHost({
    database,
    clients: faultClients,
    options: { users: undefined, secrets: [secretOfAll], limits: false, ...options },
  })
  await seedUsers(database.knex, [adaAsUser], { database: { tablePrefix: database.tablePrefix } })
  // She signs in very often; how expensive her hash is, is no matter of these tests.
  const cheap = await hash(ada.password, { cost: 4 })
  await database.table('users').update({ password_hash: cheap })
  return host
}

/** Tables, clients and Ada, before any server is started. */
export const prepareDatabase = async ({ knex, tablePrefix }: FaultDatabase): Promise<void> => {
  await migrate(knex, { features: kept, database: { tablePrefix } })
  const scopes = { 'notes:read': 'Read your notes', 'notes:write': 'Write notes for you' }
  await seedClients(knex, faultClients, { database: { tablePrefix }, logger: silent, scopes })
  await seedUsers(knex, [adaAsUser], { database: { tablePrefix }, logger: silent })
}

/** Ada's browser, signed in, and allowed what most tests ask for. */
export interface SignedIn {
  readonly browser: RawBrowser
  /** A code, without a page in between. */
  code(parameters?: Readonly<Record<string, string>>): Promise<string>
}

const asked = { client_id: 'web', scope: 'openid email' }

export const signIn = async (
  target: ConstructorParameters<typeof RawBrowser>[0],
  parameters: Readonly<Record<string, string>> = {},
  username?: string,
): Promise<SignedIn> => {
  const browser = new RawBrowser(target)
  codeOf(await browser.grant(authorizeUrl({ ...asked, ...parameters }), username))
  return {
    browser,
    code: async (more = {}) =>
      codeOf(await browser.get(authorizeUrl({ ...asked, ...parameters, prompt: 'none', ...more }))),
  }
}

type Fields = Readonly<Record<string, string>>

export const redemption = (code: string, fields: Fields = {}): Fields => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: callback,
  ...web,
  ...fields,
})

export const refreshing = (token: unknown, fields: Fields = {}): Fields => ({
  grant_type: 'refresh_token',
  refresh_token: String(token),
  ...web,
  ...fields,
})

export const postToken = (origin: string, fields: Fields): Promise<Answer> =>
  postForm(`${origin}/oauth/token`, fields)

/** Whether an access token opens anything at this server, by the status of userinfo. */
export const userinfoStatus = async (origin: string, token: unknown): Promise<number> => {
  const res = await fetch(`${origin}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })
  await res.arrayBuffer()
  return res.status
}

/** What a server says of a token: nothing is used up by asking. */
export const isActive = async (origin: string, token: unknown): Promise<unknown> =>
  (await postForm(`${origin}/oauth/introspect`, { token: String(token), ...web })).body.active

/** What the tables hold of the family that a code began. */
interface Family {
  readonly consumed: boolean
  readonly revoked: boolean
  readonly accessTokens: number
  /** Used and unused, by the order of their chain unknown. */
  readonly refreshTokens: { readonly used: number; readonly unused: number }
}

export const familyOf = async ({ table }: FaultDatabase, code: string): Promise<Family> => {
  const [head] = await table('authorizations').where({ code_hash: hashSecret(code) })
  const of = { authorization_id: head.id }
  const chain: { consumed_at: unknown }[] = await table('refresh_tokens').where(of)
  const used = chain.filter(({ consumed_at }) => consumed_at !== null).length
  return {
    consumed: head.consumed_at !== null,
    revoked: head.revoked_at !== null,
    accessTokens: (await table('access_tokens').where(of)).length,
    refreshTokens: { used, unused: chain.length - used },
  }
}
