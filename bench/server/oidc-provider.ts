import { generateKeyPairSync } from 'node:crypto'
import express, { type Express } from 'express'
import createKnex, { type Knex } from 'knex'
import { Provider } from 'oidc-provider'
import { clients } from '../registrations.ts'
import { createPayloads, sqlAdapter } from './oidc-provider-adapter.ts'
import { createPeople, isPassword } from './people.ts'
import { type ServerSettings, serve } from './serving.ts'
import { consentPage, signInPage } from './sign-in-page.ts'
import { fillSqlite, sqliteConfig, sqliteSize } from './sqlite.ts'

interface Account {
  readonly id: number
  readonly email: string
  readonly full_name: string
  readonly password_hash: string
}

/** The host's users, always in a table, even with the in-memory adapter. */
const accountsIn = (knex: Knex) => ({
  byId: (id: string): Promise<Account | undefined> =>
    knex('people').where({ id }).whereNull('disabled_at').first(),
  byEmail: (email: string): Promise<Account | undefined> =>
    knex('people').where({ email }).whereNull('disabled_at').first(),
})
type Accounts = ReturnType<typeof accountsIn>

const privateKeys = () =>
  [
    { alg: 'ES256', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) },
    { alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 2048 }) },
  ].map(({ alg, privateKey }) => ({ ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: alg }))

const configurationOf = (accounts: Accounts) => ({
  jwks: { keys: privateKeys() },
  scopes: ['openid', 'offline_access', 'notes:read'],
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
  // Like Latchkey: the ID token contains name and email.
  conformIdTokenClaims: false,
  cookies: { keys: ['a key of the benchmark that is long enough'] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
  },
  interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 60,
    ClientCredentials: 3600,
    Grant: 31_536_000,
    IdToken: 3600,
    Interaction: 600,
    RefreshToken: 2_592_000,
    Session: 43_200,
  },
  // Like Latchkey: also without offline_access, and rotated with each use.
  issueRefreshToken: () => true,
  rotateRefreshToken: () => true,
  findAccount: async (_ctx: unknown, id: string) => {
    const account = await accounts.byId(id)
    return (
      account && {
        accountId: id,
        claims: () => ({ sub: id, name: account.full_name, email: account.email, email_verified: true }),
      }
    )
  },
})

/** A page for each prompt and a route for each form, as in the documentation of oidc-provider. */
const interactions = (app: Express, provider: Provider, accounts: Accounts): void => {
  const form = express.urlencoded({ extended: false })
  app.get('/interaction/:uid', async (req, res) => {
    const { uid, prompt } = await provider.interactionDetails(req, res)
    const page = prompt.name === 'login' ? signInPage : consentPage
    res.send(page(`/interaction/${uid}/${prompt.name}`))
  })
  app.post('/interaction/:uid/login', form, async (req, res) => {
    const account = await accounts.byEmail(req.body.username)
    const isRight = account && (await isPassword(req.body.password, account.password_hash))
    if (!isRight) return void res.status(400).end()
    await provider.interactionFinished(req, res, { login: { accountId: String(account.id) } })
  })
  app.post('/interaction/:uid/consent', form, async (req, res) => {
    const { params, session } = await provider.interactionDetails(req, res)
    if (req.body.decision !== 'allow' || !session) return void res.status(400).end()
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    grant.addOIDCScope(params.scope)
    await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } })
  })
}

/** oidc-provider has no middleware for this; the closest to its documentation. */
const guardedRoute = (app: Express, provider: Provider, accounts: Accounts): void => {
  app.get('/api/notes', async (req, res) => {
    const [, value = ''] = req.headers.authorization?.split(' ') ?? []
    const token = await provider.AccessToken.find(value)
    if (!token?.isValid || !token.accountId) return void res.status(401).json({ error: 'invalid_token' })
    if (!token.scopes.has('notes:read')) return void res.status(403).json({ error: 'insufficient_scope' })
    if (!(await accounts.byId(token.accountId))) return void res.status(401).json({ error: 'invalid_token' })
    res.json({ subject: token.accountId })
  })
}

// With a database, both servers keep clients in it, so that a host can change them at run time.
const storageOf = ({ storage }: ServerSettings, knex: Knex) =>
  storage === 'memory' ? { clients } : { adapter: sqlAdapter(knex) }

const tokens = ['AccessToken', 'RefreshToken', 'AuthorizationCode'].map((model, index) => ({
  table: 'payloads',
  unique: { id: index + 1, grant_id: 0 },
  where: `model = '${model}'`,
}))

await serve({
  prepare: async (settings) => {
    const knex = createKnex(sqliteConfig(settings))
    await createPeople(knex)
    await createPayloads(knex)
    for (const client of clients) await new (sqlAdapter(knex))('Client').upsert(client.client_id, client)
    await knex.destroy()
  },
  start: (settings, base) => {
    const knex = createKnex(sqliteConfig(settings))
    const accounts = accountsIn(knex)
    const configuration = { ...configurationOf(accounts), ...storageOf(settings, knex) }
    const provider = new Provider(`${base}/oidc`, configuration)
    const app = express()
    interactions(app, provider, accounts)
    guardedRoute(app, provider, accounts)
    app.use('/oidc', provider.callback())
    return {
      listener: app,
      size: () => sqliteSize(settings),
      fill: (rows) => fillSqlite(settings, tokens, rows),
    }
  },
})
