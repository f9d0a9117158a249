import { createServer, type Server } from 'node:http'
import express from 'express'
import supertest from 'supertest'
import { createIntrospection } from '../../lib/guard/introspection.ts'
import { resourceServer } from '../../lib/guard/resource-server.ts'
import type { RequireTokenOptions } from '../../lib/guard/types.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { listenOn } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'

// What an API makes of the answers of an issuer that is not ours, or that says what ours never says.

const audience = 'https://api.example.com/notes'
const introspection = { clientId: 'api', clientSecret: 'secret' }

let server: Server
let issuer: string
let answer: Readonly<Record<string, unknown>>
let asked = 0
beforeAll(async () => {
  server = createServer((req, res) => {
    res.setHeader('Content-Type', 'application/json')
    const isMetadata = req.url?.includes('.well-known') === true
    if (!isMetadata) asked += 1
    const metadata = { issuer, jwks_uri: `${issuer}/jwks`, introspection_endpoint: `${issuer}/introspect` }
    res.end(JSON.stringify(isMetadata ? metadata : answer))
  })
  issuer = `http://127.0.0.1:${await listenOn(server)}/oauth`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
afterEach(() => jest.restoreAllMocks())

const apiWith = (cacheSeconds: number, options: RequireTokenOptions = {}): express.Express => {
  const { requireToken } = resourceServer({
    issuer,
    audience,
    introspection: { ...introspection, cacheSeconds },
  })
  const guard = requireToken('notes:read', options)
  return express().get('/notes', guard, (_req, res) => void res.sendStatus(204))
}
const call = async (app: express.Express): Promise<number> =>
  (await supertest(app).get('/notes').set('Authorization', 'Bearer token')).status

const valid = () => ({
  active: true,
  token_type: 'Bearer',
  scope: 'notes:read',
  client_id: 'web',
  sub: '1',
  aud: audience,
  exp: Math.floor(Date.now() / 1000) + 600,
})

test.each<[string, number, () => object]>([
  ['that is valid', 204, () => ({})],
  ['of this issuer', 204, () => ({ iss: issuer })],
  ['of another issuer', 401, () => ({ iss: 'https://other.example.com' })],
  ['that is not active', 401, () => ({ active: false })],
  ['without a type, as of a refresh token', 401, () => ({ token_type: undefined })],
  ['of a Bearer token that is bound to a key', 401, () => ({ cnf: { jkt: 'x' } })],
  ['of a DPoP token that is bound to none', 401, () => ({ token_type: 'DPoP' })],
  ['for another API', 401, () => ({ aud: 'https://other.example.com' })],
])('an answer %s makes the status %i', async (_what, status, changes) => {
  answer = { ...valid(), ...changes() }
  expect(await call(apiWith(0))).toBe(status)
})

test.each<[string, number, (now: number) => unknown]>([
  ['a minute ago', 204, (now) => now - 60],
  ['an hour ago', 401, (now) => now - 3600],
  ['at an unknown time', 401, () => undefined],
  ['at a time that is no number', 401, () => 'today'],
])('for a guard with maxAge, a user who signed in %s makes the status %i', async (_when, status, time) => {
  answer = { ...valid(), auth_time: time(Math.floor(Date.now() / 1000)) }
  expect(await call(apiWith(0, { maxAge: 300 }))).toBe(status)
})

test('an answer is used again until its token expires, and no longer', async () => {
  const clock = stopClock()
  const api = apiWith(60)
  answer = { ...valid(), exp: clock.now() + 10 }
  asked = 0
  expect([await call(api), await call(api), asked]).toEqual([204, 204, 1])
  clock.travel(11)
  answer = { active: false }
  expect([await call(api), asked]).toEqual([401, 2])
})

test('the answers that are kept are bounded: the oldest of more than ten thousand is asked for again', async () => {
  const { now } = stopClock()
  let requests = 0
  const outbound = {
    request: async () => {
      requests += 1
      return { status: 200, headers: {}, body: JSON.stringify({ ...valid(), exp: now() + 600 }) }
    },
  } as unknown as Outbound
  const introspect = createIntrospection(
    {
      issuer,
      outbound,
      logger: console,
      now,
      introspection: { ...introspection, cacheSeconds: 60 },
    } as never,
    { metadata: async () => ({ jwksUri: '', introspectionEndpoint: `${issuer}/introspect` }) } as never,
  )
  for (let token = 0; token < 10_001; token += 1) await introspect(`token-${token}`)
  await introspect('token-10000')
  expect(requests).toBe(10_001)
  await introspect('token-0')
  expect(requests).toBe(10_002)
})
