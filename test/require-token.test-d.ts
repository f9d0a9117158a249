// Type tests: `npm run types` compiles this file. A line after @ts-expect-error must not compile.
import type { IncomingMessage } from 'node:http'
import express, { type RequestHandler, Router } from 'express'
import { resourceServer } from '../lib/guard/index.ts'
import {
  type AuthInfo,
  type AuthRouter,
  authRouter,
  type TokenGuard,
  type UserAuthInfo,
} from '../lib/index.ts'

/** The type `AuthInfo` of the MCP SDK, whose handlers read `req.auth`. */
interface McpAuthInfo {
  token: string
  clientId: string
  scopes: string[]
  expiresAt?: number
  resource?: URL
  extra?: Record<string, unknown>
}

export const typeTests = (oauth: AuthRouter, limiter: RequestHandler): RequestHandler => {
  const app = express()
  const guard = oauth.requireToken('orders:read', { user: false })
  const userGuard = oauth.requireToken('orders:read')

  // The type of req.params and req.auth behind a guard.
  app.get('/orders/:id', guard, (req, res) => {
    const id: string = req.params.id
    const auth: AuthInfo = req.auth
    const mcp: McpAuthInfo = req.auth
    // @ts-expect-error the route has no such parameter
    req.params.idd
    // @ts-expect-error there is no such field
    req.auth.subjct
    // @ts-expect-error a client's own token has no subject
    const subject: string = req.auth.subject
    res.json({ id, auth, mcp, subject })
  })
  app.get('/orders/:id', userGuard, async (req, res) => {
    const id: string = req.params.id
    const subject: string = req.auth.subject
    res.json({ id, subject })
  })
  app.post('/orders/:id', userGuard, express.json(), (req, res) => {
    const subject: string = req.auth.subject
    res.json([subject, req.params.id, req.body])
  })

  // After another middleware, with route(), and in a router.
  app.get('/orders/:id', limiter, userGuard, (req, res) => {
    const [id, subject]: [string, string] = [req.params.id, req.auth.subject]
    res.json([id, subject])
  })
  app.route('/orders/:id').get(userGuard, (req, res) => {
    const [id, subject]: [string, string] = [req.params.id, req.auth.subject]
    res.json([id, subject])
  })
  Router()
    .use(userGuard, (req, _res, next) => next(req.auth.subject.length))
    .delete('/orders/:id', userGuard, (req, res) => void res.json([req.params.id, req.auth.subject]))

  // Apart from the guard.
  app.use('/api', guard)
  app.use(guard)
  app.get(['/a', /b/], userGuard, (req, res) => {
    const subject: string = req.auth.subject
    res.json([subject, req.params.id])
  })
  app.get('/api/orders/:id', (req, res) => {
    const id: string = req.params.id
    const auth: UserAuthInfo = userGuard.auth(req)
    // @ts-expect-error no guard in sight
    req.auth.subject
    res.json([id, auth])
  })

  // Handlers of the host's own.
  const handler: RequestHandler = (req, res) => void res.json(userGuard.auth(req).clientId)
  app.get('/orders', userGuard, handler)
  app.get('/plain', limiter, handler)

  // Whether a user is required may be known only at run time.
  const either: TokenGuard = oauth.requireToken('orders:read', { user: Math.random() > 0.5 })
  const same: TokenGuard<UserAuthInfo>[] = [
    oauth.requireToken(),
    oauth.requireToken('orders:read', { user: true }),
  ]
  app.use(either, ...same)

  // Levels and resources change nothing about the user.
  const stepUp: TokenGuard<UserAuthInfo> = oauth.requireToken('orders:read', { acr: 'mfa', maxAge: 60 })
  const ofResource: TokenGuard = oauth.requireToken('orders:read', {
    user: false,
    resource: 'https://a.example',
  })
  app.use(stepUp, ofResource)

  // In another process than the authorization server.
  const remote = { issuer: 'https://app.example.com/oauth', audience: 'https://api.example.com' }
  app.get('/there/:id', resourceServer(remote).requireToken('orders:read'), (req, res) => {
    const [id, subject]: [string, string] = [req.params.id, req.auth.subject]
    res.json([id, subject])
  })
  // @ts-expect-error the issuer is missing
  resourceServer({ audience: 'https://api.example.com' })

  // The interface `OAuthTokenVerifier` of the MCP SDK.
  const verifier: { verifyAccessToken(token: string): Promise<McpAuthInfo> } =
    oauth.tokenVerifier('https://a.example')
  app.set('verifier', verifier)

  // @ts-expect-error a guard takes scopes as one string
  oauth.requireToken(['orders:read'])
  return userGuard
}

export const verifyTests = async (oauth: AuthRouter, request: Request, raw: IncomingMessage) => {
  const found = await oauth.verify(request, 'orders:read')
  // @ts-expect-error it may be refused
  const early: string = found.auth.subject
  if (found.auth === undefined) return new Response(found.body, found)
  const given = await oauth.verify(request, 'orders:read')
  const { auth: token, status, headers, body } = given
  if (token === undefined)
    return new Response(body satisfies string, { status: status satisfies number, headers })
  const subject: string = found.auth.subject
  const { auth, ...answer } = await oauth.verify(raw, 'orders:read', { user: false })
  // @ts-expect-error a client's own token has no subject
  const own: string | undefined = auth === undefined ? '' : (auth.subject satisfies string)
  return [early, subject, own, answer.headers]
}

export const choiceTests = async (request: Request) => {
  const app = express()
  const project = {
    name: { one: 'project', other: 'projects' },
    scopes: ['tasks:read'],
    list: () => ({ items: [] }),
    find: () => [],
  }
  const oauth = authRouter({ choices: { project } })
  const guard = oauth.requireToken('tasks:read', { choice: { project: (req) => req.params.id } })
  app.get('/projects/:id', guard, (req, res) => {
    const chosen: 'all' | readonly string[] = req.auth.chosen('project')
    // @ts-expect-error the host has no such kind
    req.auth.chosen('account')
    res.json({ chosen, id: req.params.id, subject: req.auth.subject satisfies string })
  })
  // @ts-expect-error the host has no such kind
  oauth.requireToken('tasks:read', { choice: { account: 'a1' } })
  const { auth } = await oauth.verify(request, 'tasks:read', { choice: { project: 'p1' } })
  // @ts-expect-error the host has no such kind
  auth?.chosen('account')

  // A host without kinds, and one whose kinds are known only at run time.
  // @ts-expect-error there is no kind
  app.get('/orders', authRouter().requireToken(), (req) => void req.auth.chosen('project'))
  const any: AuthRouter = oauth
  app.get('/any', any.requireToken(), (req) => void req.auth.chosen('project'))

  // In another process than the authorization server.
  const remote = resourceServer({
    issuer: 'https://a.example/oauth',
    audience: 'https://a.example',
    choices: ['project'],
  })
  app.get(
    '/there/:id',
    remote.requireToken('tasks:read', { choice: { project: (req) => req.params.id } }),
    (req) => {
      // @ts-expect-error it named no such kind
      req.auth.chosen('account')
      req.auth.chosen('project')
    },
  )
  return [auth?.chosen('project')]
}
