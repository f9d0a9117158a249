import express from 'express'
import createKnex, { type Knex } from 'knex'
import { type AuthRouterOptions, authRouter, migrate, seedClients } from '../../lib/index.ts'
import { clients } from '../registrations.ts'
import { createPeople, isPassword } from './people.ts'
import { pruneWith } from './prune.ts'
import { type ServerSettings, serve } from './serving.ts'
import { expireSqlite, type Filling, fillSqlite, sqliteConfig, sqliteFile, sqliteSize } from './sqlite.ts'

const databaseOf = (settings: ServerSettings): Knex.Config => {
  const { postgres } = settings
  if (postgres) return { client: 'pg', connection: postgres.url, searchPath: [postgres.schema] }
  // Latchkey sets its own pragmas.
  return { client: 'better-sqlite3', connection: { filename: sqliteFile(settings) } }
}

/** They are counted as always. All requests here come from one address, and many refresh one grant. */
const quotas = { newBrowser: { max: 1e9, seconds: 3600 }, refresh: { max: 1e9, seconds: 60 } }

const optionsOf = (settings: ServerSettings, base: string): AuthRouterOptions => ({
  issuer: `${base}/oauth`,
  database: databaseOf(settings),
  secrets: ['a secret of the benchmark that is long enough'],
  users: {
    table: 'people',
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    claims: { name: 'full_name', email: 'email', email_verified: (row) => row.confirmed_at !== null },
    isActive: (row) => row.disabled_at === null,
    // For unhashed passwords.
    verify: (row, { password }) => isPassword(password, String(row.password_hash)),
  },
  session: 'own',
  scopes: { 'notes:read': 'Read your notes' },
  limits: settings.throttle === false ? false : { quotas },
})

const resource = 'https://api.example.com/notes'

/** The same server with a resource whose access tokens are JWTs. */
const withJwts = async (settings: ServerSettings, base: string): Promise<express.Router> => {
  const oauth = authRouter({
    ...optionsOf(settings, base),
    issuer: `${base}/jwt/oauth`,
    resources: { [resource]: { scopes: ['notes:read'], accessToken: 'jwt' } },
  })
  const router = express.Router()
  router.use('/oauth', oauth)
  router.get('/notes', oauth.requireToken('notes:read', { resource, user: false }), (req, res) => {
    res.json({ client: req.auth.clientId })
  })
  await oauth.ready()
  return router
}

const tokens: Filling[] = [
  { table: 'latchkey_authorizations', unique: { id: 1, code_hash: 2 } },
  { table: 'latchkey_access_tokens', unique: { hash: 3, authorization_id: 1 } },
  { table: 'latchkey_refresh_tokens', unique: { hash: 4, authorization_id: 1 } },
]

/** Access tokens of clients, which belong to no authorization. */
const expiring: Filling = {
  table: 'latchkey_access_tokens',
  unique: { hash: 5 },
  where: 'authorization_id IS NULL',
}

const postgresSize = async ({ postgres }: ServerSettings): Promise<number> => {
  const knex = createKnex({ client: 'pg', connection: postgres?.url })
  const sql =
    'SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c WHERE relkind = ? AND relnamespace = ?::regnamespace'
  const { rows } = await knex.raw(sql, ['r', postgres?.schema ?? ''])
  await knex.destroy()
  return Number(rows[0].bytes)
}

await serve({
  prepare: async (settings) => {
    const knex = createKnex(settings.postgres ? databaseOf(settings) : sqliteConfig(settings))
    if (settings.postgres) await knex.raw('CREATE SCHEMA ??', [settings.postgres.schema])
    await createPeople(knex, settings.passwordCost)
    const options = optionsOf(settings, 'http://127.0.0.1')
    await migrate(knex, options)
    await seedClients(knex, clients, options)
    await knex.destroy()
  },
  start: async (settings, base) => {
    const oauth = authRouter(optionsOf(settings, base))
    const app = express()
    app.use('/oauth', oauth)
    app.use(oauth.wellKnown)
    app.get('/api/notes', oauth.requireToken('notes:read'), (req, res) => {
      res.json({ subject: req.auth.subject })
    })
    // Only when it is first needed, so that nothing else is measured with it.
    let jwts: express.Router | undefined
    app.use('/jwt', (req, res, next) => {
      if (jwts) return jwts(req, res, next)
      withJwts(settings, base).then((router) => {
        jwts = router
        router(req, res, next)
      }, next)
    })
    await oauth.ready()
    return {
      listener: app,
      size: () => (settings.postgres ? postgresSize(settings) : sqliteSize(settings)),
      fill: (rows) => fillSqlite(settings, tokens, rows),
      expire: (rows) => expireSqlite(settings, expiring, rows),
      prune: pruneWith(oauth),
    }
  },
})
