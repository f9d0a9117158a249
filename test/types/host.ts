/** A host in TypeScript. test/package/package.test.ts compiles it against the packed tarball, as ESM and as CommonJS. */
import express from 'express'
import knex from 'knex'
import {
  type AuthRouterOptions,
  authRouter,
  type ClientSeed,
  migrate,
  OAuthError,
  seedClients,
} from 'latchkey'
import { resourceServer } from 'latchkey/guard'
import { migrations } from 'latchkey/migrations/index'
import { type AttackReport, actingAs, attack } from 'latchkey/testing'

const options = {
  issuer: 'https://app.example.com/oauth',
  lifetimes: { code: 30 },
} satisfies AuthRouterOptions

interface MyUser {
  id: number
  banned: boolean
}

export const withRows: AuthRouterOptions<MyUser> = {
  users: {
    table: 'users',
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    isActive: (user) => !user.banned,
  },
}

export const withFunctions = authRouter({
  users: {
    find: async (id): Promise<MyUser | undefined> => (id === '1' ? { id: 1, banned: false } : undefined),
    authenticate: async () => undefined,
    claims: (user) => ({ banned: user.banned }),
  },
  access: { allow: (user) => !user.banned },
})

const clients: ClientSeed[] = [
  { client_id: 'shop', client_name: 'Shop', redirect_uris: ['https://shop.example.com/callback'] },
]

const oauth = authRouter(options)
const app = express()
app.use('/oauth', oauth)
app.use(oauth.wellKnown)
app.get('/orders/:order', oauth.requireToken('orders:read', { user: false }), (req, res) => {
  const order: string = req.params.order
  const { clientId, scopes, subject }: { clientId: string; scopes: string[]; subject?: string } = req.auth
  res.json({ order, clientId, scopes, subject })
  // @ts-expect-error the path has no such parameter
  req.params.customer
  // @ts-expect-error a client's own token has no subject
  subject.length
})
app.get('/orders', oauth.requireToken('orders:read'), (req, res) => {
  const subject: string = req.auth.subject
  res.json({ subject })
})

const api = resourceServer({ issuer: options.issuer, audience: 'https://api.example.com' })
app.get('/elsewhere', api.requireToken('orders:read', { maxAge: 60 }), (req, res) => {
  const subject: string = req.auth.subject
  res.json({ subject })
})

// @ts-expect-error the issuer is a string
authRouter({ issuer: 7 })

export const report: Promise<AttackReport> = attack(app, {
  issuer: options.issuer,
  client: { client_id: 'shop', redirect_uri: 'https://shop.example.com/callback' },
  user: { username: 'ada', password: 'secret' },
})

export const prepare = async (): Promise<void> => {
  const database = knex({ client: 'pg' })
  await migrate(database)
  await seedClients(database, clients, options)
}

export const acting = actingAs(oauth, 1, 'orders:read')
export const refused: OAuthError = new OAuthError('invalid_grant', 'code is expired')
export const schema: readonly string[] = Array.from(migrations.keys())
