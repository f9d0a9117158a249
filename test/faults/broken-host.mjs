// An app with one broken part, in a process of its own: node broken-host.mjs PACKAGE PART

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import express from 'express'
import knex from 'knex'

const [, , folder, part] = process.argv
const load = (file) => import(pathToFileURL(join(folder, file)).href)
const { authRouter, OAuthError, defineGrant, seedClients } = await load('lib/index.js')
const { registration } = await load('lib/features/index.js')
const { actingAs } = await load('lib/tools/testing/index.js')

const issuer = 'http://localhost:3000/oauth'
const views = mkdtempSync(join(tmpdir(), 'latchkey-broken-'))
const write = (name, text) => {
  mkdirSync(dirname(join(views, name)), { recursive: true })
  writeFileSync(join(views, name), text)
}
const failing = '<% layout("layout", { title: "x" }) %><%= it.model.client.secrets.first %>'
const pages = [
  'error',
  'login',
  'consent',
  'account',
  'account-sign-in',
  'sign-out',
  'signed-out',
  'form-post',
  'return',
]

/** What a header cannot contain. */
const strange = 'schlüssel ☃ "quoted"\r\nx-injected: yes'
const refusing = () => {
  throw new OAuthError('invalid_token', strange, { status: 401, headers: { 'x-reason': strange } })
}
const throwing = (thrown) => () => {
  throw thrown
}
const unreadable = Object.defineProperties(new Error('x'), {
  message: { get: throwing(new Error('unreadable')) },
  status: { get: throwing(new Error('unreadable')) },
  code: { get: throwing(new Error('unreadable')) },
})

const ada = { id: 1, name: 'Ada' }
const users = {
  find: (id) => (id === '1' ? ada : undefined),
  authenticate: ({ password }) => (password === 'right' ? ada : undefined),
}

let isBroken = false
/** A function of the host that works until the app has started. */
const until = (fail, works) => async () => (isBroken ? fail() : works)
const functionsThat = (fail) => ({
  users: { find: until(fail, ada), authenticate: until(fail), claims: until(fail) },
  organizations: until(fail, [{ id: 'acme', name: 'Acme' }]),
  access: { allow: until(fail, true) },
  login: { current: until(fail), url: '/sign-in' },
  features: [registration({ initialAccessToken: until(fail), allow: until(fail) })],
})
const hookOf = (change) => (_req, res, next) => {
  const { writeHead } = res
  res.writeHead = (...given) => {
    change(res)
    return Reflect.apply(writeHead, res, given)
  }
  next()
}

/** Each part of an app, broken. */
const parts = {
  nothing: {},
  templates: {
    options: { pages: { views } },
    before: () => pages.map((name) => write(`${name}.eta`, failing)),
  },
  'the layout': {
    options: { pages: { views } },
    before: () =>
      write(
        'layout.eta',
        `<!doctype html><html><head><%~ include('partials/head') %></head><body><%~ include('partials/main') %><% if (it.page) it.model.client.secrets.first %></body></html>`,
      ),
  },
  'a logger that throws': {
    options: { logger: { info: refusing, warn: refusing, error: refusing } },
  },
  'a logger that rejects': {
    options: {
      logger: { info: async () => refusing(), warn: async () => refusing(), error: async () => refusing() },
    },
  },
  'functions that throw an OAuthError': { options: functionsThat(refusing) },
  'functions that throw undefined': { options: functionsThat(throwing(undefined)) },
  'functions that throw what cannot be read': { options: functionsThat(throwing(unreadable)) },
  'a hook that throws': { middleware: hookOf(throwing(new Error('hook'))) },
  'a hook that throws at errors': {
    middleware: hookOf((res) => {
      if (res.statusCode >= 400) throw new Error('hook')
    }),
  },
  'an answer that is complete': {
    middleware: (_req, res, next) => {
      res.writeHead(503).end('late')
      next()
    },
  },
  'an answer that has begun': {
    middleware: (_req, res, next) => {
      res.write('begun')
      next()
    },
  },
  'an answer that another handler gives at once': {
    middleware: (_req, res, next) => {
      setImmediate(() => res.headersSent || res.writeHead(503).end('late'))
      next()
    },
  },
  'listeners of events': {
    after: (oauth) => oauth.events.on('*', refusing).on('*', async () => refusing()),
  },
  'an error handler': { errors: refusing },
  'the session': {
    options: { session: (_req, _res, next) => next(new OAuthError('invalid_token', strange)) },
  },
  'a session that throws': { options: { session: refusing } },
  'a store of limits': {
    options: {
      limits: {
        store: { eval: refusing },
      },
    },
  },
}

const { options, before = () => {}, after = () => {}, middleware, errors } = parts[part]
before()
const database = knex({
  client: 'better-sqlite3',
  connection: ':memory:',
  useNullAsDefault: true,
  pool: { min: 1, max: 1 },
})
const silent = { info: () => {}, warn: () => {}, error: () => {} }
const config = {
  issuer,
  logger: silent,
  scopes: { 'notes:read': 'Read your notes' },
  users,
  ...options,
  database,
  limits: options?.limits ?? false,
  protocol: { grants: [defineGrant({ grantType: 'urn:example:pin', exchange: refusing })] },
  features: options?.features ?? [registration()],
}
const oauth = authRouter(config)
await oauth.ready()
const client = {
  client_id: 'web',
  client_secret: 'a secret of a client that is long',
  redirect_uris: ['https://client.example.com/callback'],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials', 'urn:example:pin'],
  scope: 'openid notes:read',
}
await seedClients(database, [client], config)
const { token } = await actingAs(oauth, 1, 'openid notes:read', { client: 'web' })
isBroken = true
after(oauth)

const app = express()
app.get('/alive', (_req, res) => res.send('yes'))
if (middleware) app.use(middleware)
app.get('/healthz', oauth.health)
app.use('/oauth', oauth)
app.use(oauth.wellKnown)
/** The app's own answer, which is not the subject. */
const notes = (_req, res) => {
  try {
    res.end('notes')
  } catch {
    res.destroy()
  }
}
app.get('/api', oauth.requireToken('notes:read'), notes)
const limit = { max: 9, seconds: 60, by: 'user' }
app.get('/limited', oauth.requireToken('notes:read', { limit }), notes)
if (errors) app.use((_error, _req, _res, _next) => errors())
const server = createServer(app)
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, token }))
process.on('disconnect', () => process.exit(0))
