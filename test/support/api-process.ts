// An API in a process of its own, without a database and without authRouter().
import { createServer } from 'node:http'
import express, { type RequestHandler } from 'express'
import { type ResourceServerOptions, resourceServer } from '../../lib/guard/index.ts'
import { listenOn } from './client-server.ts'

const start = async (options: ResourceServerOptions): Promise<number> => {
  const quiet = { ...options, logger: { info: () => {}, warn: () => {}, error: () => {} } }
  const api = resourceServer(quiet)
  const answer: RequestHandler = (req, res) => void res.json(req.auth)
  const app = express()
  app.get('/notes', api.requireToken('notes:read'), answer)
  app.get('/any', api.requireToken('notes:read', { user: false }), answer)
  app.get('/write', api.requireToken('notes:write', { user: false }), answer)
  app.get('/mfa', api.requireToken('notes:read', { acr: 'mfa', maxAge: 60 }), answer)
  return listenOn(createServer(app))
}

process.on('message', (options: ResourceServerOptions) => {
  start(options).then(
    (port) => process.send?.({ port }),
    (error: unknown) => process.send?.({ fault: String(error) }),
  )
})
// The parent is gone, or done.
process.on('disconnect', () => process.exit(0))
