import OAuth2Server from '@node-oauth/oauth2-server'
import express, { type Express, type Request, type Response } from 'express'
import createKnex from 'knex'
import { clients } from '../registrations.ts'
import { knexStore } from './oauth2-server-knex.ts'
import { createModel, type User } from './oauth2-server-model.ts'
import { createTables, preparedStore } from './oauth2-server-prepared.ts'
import { browserSession, createSessions } from './oauth2-server-session.ts'
import { createPeople, isPassword } from './people.ts'
import { serve } from './serving.ts'
import { signInPage } from './sign-in-page.ts'
import { openSqlite, sqliteConfig, sqliteSize } from './sqlite.ts'

type Model = ReturnType<typeof createModel>

/** Passes a request to oauth2-server and returns its response, as wrappers for Express do. */
const forwarded = async (
  req: Request,
  res: Response,
  work: (request: OAuth2Server.Request, response: OAuth2Server.Response) => Promise<unknown>,
): Promise<void> => {
  const response = new OAuth2Server.Response(res)
  try {
    await work(new OAuth2Server.Request(req), response)
    res.status(response.status ?? 200).set(response.headers)
    if (response.headers?.location) res.end()
    else res.json(response.body)
  } catch (error) {
    const { code = 500, name } = error as OAuth2Server.OAuthError
    res.status(code).json({ error: name })
  }
}

const browserRoutes = (app: Express, oauth: OAuth2Server, model: Model): void => {
  const authenticateHandler = { handle: (req: { session?: { user?: User } }) => req.session?.user }
  app.get('/authorize', async (req, res) => {
    if (req.session.user === undefined) return void res.send(signInPage(req.url))
    const request = Object.assign(new OAuth2Server.Request(req), { session: req.session })
    await forwarded(req, res, (_request, response) =>
      oauth.authorize(request, response, { authenticateHandler, authorizationCodeLifetime: 60 }),
    )
  })
  app.post('/authorize', async (req, res) => {
    const user = await model.findUser(req.body.username)
    if (!user || !(await isPassword(req.body.password, user.passwordHash))) return void res.status(400).end()
    req.session.user = { id: user.id }
    res.redirect(303, req.url)
  })
}

const apiRoutes = (app: Express, oauth: OAuth2Server, model: Model): void => {
  const lifetimes = { accessTokenLifetime: 3600, refreshTokenLifetime: 2_592_000 }
  app.post('/token', (req, res) =>
    forwarded(req, res, (request, response) => oauth.token(request, response, lifetimes)),
  )
  const bearer = (scope: string[]) => async (req: Request, res: Response) => {
    try {
      return await oauth.authenticate(new OAuth2Server.Request(req), new OAuth2Server.Response(res), {
        scope,
      })
    } catch (error) {
      const { code = 500, name } = error as OAuth2Server.OAuthError
      res.status(code).json({ error: name })
      return undefined
    }
  }
  const [userinfo, notes] = [bearer(['openid']), bearer(['notes:read'])]
  app.get('/userinfo', async (req, res) => {
    const token = await userinfo(req, res)
    if (!token) return
    const { id, email, name } = token.user
    res.json({ sub: String(id), email, name, email_verified: true })
  })
  app.get('/api/notes', async (req, res) => {
    const token = await notes(req, res)
    if (token) res.json({ subject: String(token.user.id) })
  })
  // oauth2-server has no introspection endpoint; hosts write one like this.
  app.post('/introspect', async (req, res) => {
    const [, credentials = ''] = req.headers.authorization?.split(' ') ?? []
    const [id = '', secret = ''] = Buffer.from(credentials, 'base64').toString().split(':')
    if (!(await model.getClient(id, secret))) return void res.status(401).json({ error: 'invalid_client' })
    const token = await model.getAccessToken(req.body.token)
    if (!token || token.accessTokenExpiresAt <= new Date()) return void res.json({ active: false })
    const exp = Math.floor(token.accessTokenExpiresAt.getTime() / 1000)
    const scope = token.scope.join(' ')
    res.json({ active: true, client_id: token.client.id, scope, sub: String(token.user.id), exp })
  })
}

await serve({
  prepare: async (settings) => {
    const knex = createKnex(sqliteConfig(settings))
    await createPeople(knex)
    await knex.destroy()
    const database = openSqlite(settings)
    createTables(database)
    createSessions(database)
    const insert = database.prepare('INSERT INTO clients VALUES (?, ?, ?, ?)')
    for (const { client_id, client_secret, grant_types, redirect_uris } of clients) {
      insert.run(client_id, client_secret, JSON.stringify(grant_types), JSON.stringify(redirect_uris))
    }
    database.close()
  },
  start: (settings) => {
    const database = openSqlite(settings)
    const store =
      settings.model === 'prepared' ? preparedStore(database) : knexStore(createKnex(sqliteConfig(settings)))
    const model = createModel(store)
    const oauth = new OAuth2Server({ model })
    const app = express()
    app.use(express.urlencoded({ extended: false }))
    app.use('/authorize', browserSession(database))
    browserRoutes(app, oauth, model)
    apiRoutes(app, oauth, model)
    return { listener: app, size: () => sqliteSize(settings) }
  },
})
