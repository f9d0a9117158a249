import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type Database from 'better-sqlite3'
import express, { type Express, type Request } from 'express'
import createKnex from 'knex'
import { clients } from '../registrations.ts'
import { document, keySet, metadataOf } from './ceiling-documents.ts'
import { type Statements, statementsOn, tables } from './ceiling-statements.ts'
import { createPeople } from './people.ts'
import { serve } from './serving.ts'
import { signInPage } from './sign-in-page.ts'
import { openSqlite, sqliteConfig, sqliteSize } from './sqlite.ts'

// An upper bound for servers on Express and SQLite: each operation does only the unavoidable prepared reads and writes
// and one signature. It checks nothing, so it must not be used for anything else.

const hashed = (value: string): string => createHash('sha256').update(value).digest('base64url')
const secretOf = (): string => randomBytes(32).toString('base64url')
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const seconds = (): number => Math.floor(Date.now() / 1000)

const keys = {
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
}
/** RS256 runs in a thread, because it would block the event loop. */
const jwt = async (alg: keyof typeof keys, claims: object): Promise<string> => {
  const input = `${encoded({ alg, typ: 'JWT', kid: alg })}.${encoded(claims)}`
  const key = { key: keys[alg], dsaEncoding: 'ieee-p1363' as const }
  const signature =
    alg === 'ES256'
      ? sign('sha256', Buffer.from(input), key)
      : await new Promise<Buffer>((resolve, reject) =>
          sign('sha256', Buffer.from(input), key, (error, bytes) => (error ? reject(error) : resolve(bytes))),
        )
  return `${input}.${signature.toString('base64url')}`
}

const bearer = (req: Request): string => hashed(req.headers.authorization?.slice(7) ?? '')
const basicId = (req: Request): string =>
  Buffer.from(req.headers.authorization?.slice(6) ?? '', 'base64')
    .toString()
    .split(':')[0] ?? ''

const browserRoutes = (app: Express, statements: Statements): void => {
  app.get('/authorize', (req, res) => {
    const { searchParams: query } = new URL(req.url, 'http://localhost')
    const clientId = query.get('client_id') ?? ''
    const session = statements.session.get(hashed(req.headers.cookie?.split('=')[1] ?? ''))
    if (!session) return void res.send(signInPage(req.url))
    statements.client.get(clientId)
    statements.user.get(Number(session.user_id))
    statements.consent.get(Number(session.user_id), clientId)
    const code = secretOf()
    const details = { ...Object.fromEntries(query), user: Number(session.user_id) }
    statements.newAuthorization.run(hashed(code), JSON.stringify(details))
    const answer = new URLSearchParams({ code, state: query.get('state') ?? '' })
    res.redirect(303, `${query.get('redirect_uri')}?${answer}`)
  })
  app.post('/authorize', express.urlencoded({ extended: false }), (req, res) => {
    const { searchParams: query } = new URL(req.url, 'http://localhost')
    const id = Number(statements.userByEmail.get(req.body.username)?.id)
    const session = secretOf()
    statements.newSession.run(hashed(session), id)
    statements.newConsent.run(id, query.get('client_id') ?? '', query.get('scope'))
    res.cookie('session', session, { httpOnly: true })
    res.redirect(303, req.url)
  })
}

const tokenRoute = (app: Express, database: Database, statements: Statements): void => {
  const consume = { authorization_code: statements.useCode, refresh_token: statements.useRefreshToken }
  const write = database.transaction(
    (
      grant: keyof typeof consume,
      used: string,
      family: string,
      access: (string | number)[],
      refresh: string,
    ) => {
      consume[grant].run(seconds(), used)
      statements.newAccessToken.run(...access)
      statements.newRefreshToken.run(refresh, family, seconds() + 2_592_000)
    },
  )
  app.post('/token', express.urlencoded({ extended: false }), async (req, res) => {
    const { grant_type, code, refresh_token, resource } = req.body
    const clientId = basicId(req)
    statements.client.get(clientId)
    const accessToken = secretOf()
    const answer = { access_token: accessToken, token_type: 'Bearer', expires_in: 3600 }
    if (resource !== undefined) {
      const times = { iat: seconds(), exp: seconds() + 3600 }
      const claims = { iss: 'ceiling', sub: clientId, aud: resource, client_id: clientId, ...times }
      const token = await jwt('RS256', { ...claims, jti: secretOf(), scope: 'notes:read' })
      return void res.json({ ...answer, access_token: token, scope: 'notes:read' })
    }
    if (grant_type === 'client_credentials') {
      statements.newAccessToken.run(hashed(accessToken), null, clientId, null, seconds() + 3600)
      return void res.json({ ...answer, scope: 'notes:read' })
    }
    const used = hashed(code ?? refresh_token)
    const row =
      grant_type === 'refresh_token' ? statements.refreshToken.get(used) : statements.authorization.get(used)
    const { user: sub, nonce, scope } = JSON.parse(String(row?.details))
    const user = statements.user.get(sub)
    const refreshToken = secretOf()
    const now = seconds()
    const claims = { iss: 'ceiling', sub: String(sub), aud: clientId, iat: now, exp: now + 3600, nonce }
    const { full_name: name, email } = user ?? {}
    const id_token = await jwt(clientId === 'web' ? 'ES256' : 'RS256', { ...claims, name, email })
    const family = String(row?.code_hash)
    const access = [hashed(accessToken), family, clientId, sub, now + 3600]
    write.immediate(grant_type, used, family, access, hashed(refreshToken))
    res.json({ ...answer, scope, refresh_token: refreshToken, id_token })
  })
}

const apiRoutes = (app: Express, statements: Statements): void => {
  app.get('/userinfo', (req, res) => {
    const token = statements.accessToken.get(bearer(req))
    const user = statements.user.get(Number(token?.user_id))
    res.json({ sub: String(token?.user_id), name: user?.full_name, email: user?.email, email_verified: true })
  })
  app.get('/api/notes', (req, res) => {
    const token = statements.accessToken.get(bearer(req))
    statements.user.get(Number(token?.user_id))
    res.json({ subject: String(token?.user_id) })
  })
  app.post('/introspect', express.urlencoded({ extended: false }), (req, res) => {
    statements.client.get(basicId(req))
    const token = statements.accessToken.get(hashed(req.body.token))
    statements.user.get(Number(token?.user_id))
    const { scope } = JSON.parse(String(token?.details))
    res.json({
      active: true,
      client_id: token?.client_id,
      scope,
      sub: String(token?.user_id),
      exp: token?.expires,
    })
  })
}

await serve({
  prepare: async (settings) => {
    const knex = createKnex(sqliteConfig(settings))
    await createPeople(knex)
    await knex.destroy()
    const database = openSqlite(settings)
    database.exec(tables)
    const insert = database.prepare('INSERT INTO clients VALUES (?, ?, ?)')
    for (const { client_id, client_secret, ...metadata } of clients) {
      insert.run(client_id, hashed(client_secret), JSON.stringify(metadata))
    }
    database.close()
  },
  start: (settings, base) => {
    const database = openSqlite(settings)
    const statements = statementsOn(database)
    const app = express()
    browserRoutes(app, statements)
    tokenRoute(app, database, statements)
    apiRoutes(app, statements)
    app.get('/.well-known/openid-configuration', document(metadataOf(base)))
    app.get('/jwks', document(keySet()))
    // No check at all: a route of Express as it is without a guard, in a router as Latchkey's is.
    const unguarded = express.Router()
    unguarded.get('/notes', (_req, res) => void res.json({ client: 'web' }))
    app.use('/jwt', unguarded)
    return { listener: app, size: () => sqliteSize(settings) }
  },
})
