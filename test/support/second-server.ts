// A host in a process of its own, on a database that it shares with the test.

import { createServer } from 'node:http'
import express, { type Request, type Response } from 'express'
import knex, { type Knex } from 'knex'
import { device, pushedRequests, registration } from '../../lib/features/index.ts'
import { type AuthInfo, type AuthRouterOptions, authRouter } from '../../lib/index.ts'
import { listenOn } from './client-server.ts'

/** What both processes know. */
export interface SharedHost {
  readonly config: Knex.Config
  readonly tablePrefix: string
  /** The host's own users: `id`, `email`, `password_hash`, `disabled_at`. */
  readonly usersTable: string
}

export const opaqueApi = 'https://opaque.example.com/notes'
export const jwtApi = 'https://jwt.example.com/notes'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }

/** The same options in both processes. */
export const sharedOptions = (
  issuer: string,
  database: Knex,
  { tablePrefix, usersTable }: SharedHost,
): AuthRouterOptions => ({
  issuer,
  database: { knex: database, tablePrefix, prune: false },
  logger: quiet,
  session: 'own',
  secrets: ['a secret of the tests that is long enough'],
  users: {
    table: usersTable,
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    isActive: (row) => row.disabled_at === null,
  },
  scopes: { 'notes:read': 'Read your notes' },
  resources: {
    [opaqueApi]: { scopes: ['notes:read'], introspection: ['api'] },
    [jwtApi]: { scopes: ['notes:read'], accessToken: 'jwt', introspection: ['api'] },
  },
  lifetimes: { signingKeyLead: 4 },
  protocol: { tokenExchange: { allow: () => true } },
  features: [registration(), pushedRequests(), device()],
})

const start = async (shared: SharedHost): Promise<number> => {
  const server = createServer()
  const port = await listenOn(server)
  const oauth = authRouter(sharedOptions(`http://127.0.0.1:${port}/oauth`, knex(shared.config), shared))
  const answer = (req: Request & { auth: AuthInfo }, res: Response) =>
    void res.json({ subject: req.auth.subject })
  const app = express().use('/oauth', oauth)
  app.get('/opaque', oauth.requireToken('notes:read', { resource: opaqueApi }), answer)
  app.get('/jwt', oauth.requireToken('notes:read', { resource: jwtApi }), answer)
  server.on('request', app)
  await oauth.ready()
  return port
}

process.on('message', (shared: SharedHost) => {
  start(shared).then(
    (port) => process.send?.({ port }),
    (error: unknown) => process.send?.({ fault: String(error) }),
  )
})
// The parent is gone, or done.
process.on('disconnect', () => process.exit(0))
