import express, { type Express, type RequestHandler } from 'express'
import supertest from 'supertest'
import { connectionsOf } from '../../lib/features/connections/connections.ts'
import {
  admin,
  clientMetadataDocuments,
  connections,
  pushedRequests,
  registration,
} from '../../lib/features/index.ts'
import { createCallReports } from '../../lib/guard/call-reports.ts'
import { type ResourceServerOptions, resourceServer } from '../../lib/guard/index.ts'
import type { AuthRouterOptions, Feature } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { type EventRecord, listEventsOfRequest } from '../../lib/storage/repositories/events.ts'
import { diagnoseMcp, type McpDiagnosis, type McpHost, requestAnswer } from '../../lib/tools/doctor/index.ts'
import { listen, openServer, type TestServer } from '../support/client-server.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { callback, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'

// Clients of two kinds connect as MCP clients do, to hosts with one mistake each. The recorder has to name it, and so has
// `latchkey doctor --mcp`, which plays the same kinds.

const origin = 'http://localhost:3000'
const mcp = `${origin}/mcp`
const api = `${origin}/api`

/** Where the metadata documents of clients are. */
let documents: TestServer
let key: ClientKey
let clock: Clock
let host: Host
beforeAll(async () => {
  documents = await openServer()
  key = await createClientKey('ES256', 'one')
})
afterAll(() => documents.close())
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => jest.restoreAllMocks())
afterEach(() => host.close())

interface Mistake {
  readonly options?: Partial<AuthRouterOptions>
  /** Beside the admin pages. @default `recorded` */
  readonly features?: readonly Feature[]
  /** The resource of the guard. @default that of the route */
  readonly guarded?: string
  readonly scope?: string
  /** A proxy in front of the route. */
  readonly proxy?: RequestHandler
  readonly withoutRoot?: boolean
}

const pass: RequestHandler = (_req, _res, next) => next()

const recorded = [connections(), registration(), clientMetadataDocuments()]

const start = async (mistake: Mistake = {}): Promise<Express> => {
  const { guarded = mcp, scope = 'notes:read', proxy = pass } = mistake
  host = await startHost({
    clients: [],
    options: {
      resources: {
        [mcp]: { name: 'Notes', scopes: ['notes:read', 'notes:write'] },
        [api]: { scopes: ['notes:read', 'notes:write'] },
      },
      outbound: { allowSelfDescribed: [documents.origin] },
      limits: false,
      ...mistake.options,
      storedEvents: true,
      features: [...(mistake.features ?? recorded), admin({ allow: () => 'mira' })],
    },
  })
  const app = express()
  app.use('/oauth', host.oauth)
  if (!mistake.withoutRoot) app.use(host.oauth.wellKnown)
  app.all(
    '/mcp',
    proxy,
    host.oauth.requireToken(scope, { resource: guarded }),
    (_req, res) => void res.json({}),
  )
  return app
}

/** The page of connections, as text. */
const page = async (app: Express, query: Readonly<Record<string, string>> = {}): Promise<string> => {
  await serverBehind(host.oauth)!.eventLog!.settled()
  const answer = await new RawBrowser(app).get(`/oauth/admin/connections?${new URLSearchParams(query)}`)
  return textOf(answer).replace(/ ([.,;:])/g, '$1')
}

/** How a client is made, and how exactly it reads. */
interface Behaviour {
  readonly agent: string
  readonly introduces: 'registration' | 'document'
  /** Whether it stops if the document is about another URL than it was given. */
  readonly isStrict: boolean
  /** Authenticates with a key, by a clock that is wrong by this many seconds. */
  readonly clockError?: number
}

class Stopped extends Error {}

/** A client with the order of requests of the official SDK. */
class Client {
  readonly #app: Express
  readonly #url: string
  readonly #is: Behaviour
  id: string | undefined
  token: string | undefined
  refreshToken: string | undefined

  constructor(app: Express, url: string, is: Behaviour) {
    this.#app = app
    this.#url = url
    this.#is = is
  }

  async #get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<supertest.Response> {
    clock.travel(1)
    return supertest(this.#app)
      .get(path)
      .set({ Host: 'localhost:3000', 'User-Agent': `${this.#is.agent} (test)`, ...headers })
  }

  async #json(url: string): Promise<Record<string, unknown> | undefined> {
    const { status, body } = await this.#get(new URL(url).pathname)
    return status === 200 ? body : undefined
  }

  call(): Promise<supertest.Response> {
    const { pathname } = new URL(this.#url)
    return this.token === undefined
      ? this.#get(pathname)
      : this.#get(pathname, { Authorization: `Bearer ${this.token}` })
  }

  get #metadata(): Record<string, unknown> {
    return {
      client_name: 'Helper',
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      ...(this.#is.clockError !== undefined && {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [key.publicJwk] },
      }),
    }
  }

  async #introduce(): Promise<string> {
    if (this.#is.introduces === 'document') {
      const id = `${documents.origin}/client.json`
      documents.serve((_req, res) => {
        const body = JSON.stringify({ ...this.#metadata, client_id: id })
        res.writeHead(200, { 'content-type': 'application/json' }).end(body)
      })
      return id
    }
    clock.travel(1)
    const { status, body } = await supertest(this.#app)
      .post('/oauth/register')
      .set('User-Agent', this.#is.agent)
      .send(this.#metadata)
    if (status !== 201) throw new Stopped(`registration ${status}`)
    return body.client_id
  }

  /** Finds the server as MCP 2025-06-18 says, and the resource to ask for. */
  async #discover(): Promise<string> {
    const challenged = await this.call()
    const header = String(challenged.headers['www-authenticate'])
    const [, documentUrl = ''] = /resource_metadata="([^"]+)"/.exec(header) ?? []
    const ownDocument = `${origin}/.well-known/oauth-protected-resource${new URL(this.#url).pathname}`
    // A lenient client uses its own URL if there is no document.
    const document =
      (this.#is.isStrict ? undefined : await this.#json(ownDocument)) ?? (await this.#json(documentUrl))
    if (document === undefined) throw new Stopped('no document')
    const metadata = await this.#json(`${origin}/.well-known/oauth-authorization-server/oauth`)
    if (metadata === undefined) throw new Stopped('no metadata')
    if (this.#is.isStrict && document.resource !== this.#url) throw new Stopped('another resource')
    const methods = metadata.token_endpoint_auth_methods_supported as string[]
    if (this.#is.clockError === undefined && !methods.includes('none')) throw new Stopped('no public clients')
    return this.#url
  }

  async post(form: Readonly<Record<string, string>>): Promise<supertest.Response> {
    clock.travel(1)
    const { clockError } = this.#is
    const now = Math.floor(Date.now() / 1000) + (clockError ?? 0)
    const proof =
      clockError === undefined
        ? {}
        : asserted(await assertion(this.id ?? '', key, { iat: now, exp: now + 60 }))
    return supertest(this.#app)
      .post('/oauth/token')
      .type('form')
      .set('User-Agent', this.#is.agent)
      .send({ client_id: this.id, ...proof, ...form })
  }

  /** Opens the sign-in in the browser of Ada, who allows it. @returns the code */
  async authorize(resource: string, browser = new RawBrowser(this.#app)): Promise<[string, string]> {
    const { challenge, verifier } = pkce()
    clock.travel(1)
    const asked = new URLSearchParams({
      response_type: 'code',
      client_id: this.id ?? '',
      redirect_uri: callback,
      scope: 'notes:read',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      resource,
    })
    const answer = await browser.grant(`/oauth/authorize?${asked}`)
    if (answer.status !== 302 && answer.status !== 303) throw new Stopped(`sign-in ${answer.status}`)
    return [codeOf(answer, { iss: serverBehind(host.oauth)!.issuer }), verifier]
  }

  /** Sends the browser to sign in, and redeems the code. */
  async obtainTokens(resource: string): Promise<void> {
    const [code, code_verifier] = await this.authorize(resource)
    const { status, body } = await this.post({
      grant_type: 'authorization_code',
      code,
      code_verifier,
      redirect_uri: callback,
    })
    if (status !== 200) throw new Stopped(`token ${status}`)
    this.token = body.access_token
    this.refreshToken = body.refresh_token
  }

  async connect(): Promise<void> {
    const resource = await this.#discover()
    this.id = await this.#introduce()
    await this.obtainTokens(resource)
    const called = await this.call()
    if (called.status !== 200) throw new Stopped(`call ${called.status}`)
  }
}

/** What the doctor says about this kind of host: the causes of what it found. */
const doctorOf = async (
  app: Express,
  { introduces }: Behaviour,
  {
    url = mcp,
    ...rest
  }: { readonly url?: string; readonly clientId?: string; readonly now?: () => number } = {},
): Promise<McpDiagnosis & { readonly causes: readonly string[] }> => {
  const id = `${documents.origin}/client.json`
  const described = {
    client_name: 'Helper',
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  }
  documents.serve((_req, res) => {
    const body = JSON.stringify({ ...described, client_id: id })
    res.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  const one: McpHost = {
    id: 'helper',
    name: 'Helper',
    steps: [
      'challenge',
      'resource-document',
      'metadata',
      introduces,
      'authorize',
      'token',
      'call',
      'refresh',
    ],
    ...(introduces === 'document'
      ? { document: { ...described, client_id: id } }
      : { registration: described }),
    redirectUri: callback,
    scopes: 'resource',
    offlineAccess: false,
    resource: true,
    source: { url: 'https://example.com', date: '2026-11-26' },
  }
  const server = await listen(app)
  try {
    const found = await diagnoseMcp(url, {
      ask: (to, init) => requestAnswer(to.replace(origin, server.origin), init),
      now: () => Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000),
      hosts: [one],
      ...rest,
    })
    return { ...found, causes: found.findings.map(({ check }) => check) }
  } finally {
    await server.close()
  }
}

/** What the client does until it stops. @returns why it stopped */
const stopped = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing',
    (error: unknown) => {
      if (error instanceof Stopped) return error.message
      throw error
    },
  )

const registering: Behaviour = { agent: 'registering/1.2', introduces: 'registration', isStrict: true }
const describing: Behaviour = { agent: 'describing/3', introduces: 'document', isStrict: false }
const both = [
  ['that registers', registering],
  ['with a metadata document', describing],
] as const

describe.each(both)('a client %s', (_, behaviour) => {
  test('that connects has every step, and nothing is missing', async () => {
    const app = await start()
    await new Client(app, mcp, behaviour).connect()
    const text = await page(app)
    expect(text).toContain(`Connected Asked to sign in`)
    expect(text).not.toContain('Stopped')
    expect(text).toMatch(/First call [0-9:]{8} Last seen/)
    expect(text).toContain(behaviour.agent)
    expect(await doctorOf(app, behaviour)).toMatchObject({ causes: [], hosts: [{ host: { id: 'helper' } }] })
    expect((await doctorOf(app, behaviour)).hosts[0]?.stop).toBeUndefined()
  })

  test('whose URL has a slash more than the resource', async () => {
    const app = await start()
    await stopped(new Client(app, `${mcp}/`, behaviour).connect())
    expect(await page(app)).toMatch(
      /The client uses \S*\/mcp\/, and the resource is http:\/\/localhost:3000\/mcp: they differ by a slash/,
    )
    const found = await doctorOf(app, behaviour, { url: `${mcp}/` })
    expect(found.causes).toEqual(['trailing-slash'])
    expect(found.findings[0]?.message).toContain(`The client uses /mcp/, and the resource is ${mcp}`)
  })

  test('whose guard has the wrong resource', async () => {
    const app = await start({ guarded: api })
    await stopped(new Client(app, mcp, behaviour).connect())
    expect(await page(app)).toContain(
      `The guard at /mcp names the resource ${api}, and so requires tokens for it, and not for ${mcp}`,
    )
    const found = await doctorOf(app, behaviour)
    expect(found.causes).toEqual(['other-guard'])
    expect(found.findings[0]?.message).toContain(
      `names the resource ${api}, and so requires tokens for it, and not for ${mcp}`,
    )
  })

  test('that finds no document at the root', async () => {
    const app = await start({ withoutRoot: true })
    expect(await stopped(new Client(app, mcp, behaviour).connect())).toBe('no document')
    const text = await page(app)
    expect(text).toContain(`the document about ${mcp} was not asked for here: it is not served at the root`)
    expect(text).toContain('app.use(oauth.wellKnown)')
    const found = await doctorOf(app, behaviour)
    expect(found.causes).toEqual(['not-at-root'])
    expect(found.findings[0]?.message).toContain('/.well-known/oauth-protected-resource/mcp is not served')
  })

  test('behind a proxy that drops Authorization', async () => {
    const proxy: RequestHandler = (req, _res, next) => {
      delete req.headers.authorization
      next()
    }
    const app = await start({ proxy })
    expect(await stopped(new Client(app, mcp, behaviour).connect())).toBe('call 401')
    expect(await page(app)).toContain(
      'the calls to /mcp arrive without the header Authorization: a proxy drops it',
    )
    expect((await doctorOf(app, behaviour)).causes).toEqual(['authorization-dropped'])
  })

  test('whose registration was deleted', async () => {
    const app = await start()
    const client = new Client(app, mcp, behaviour)
    await client.connect()
    await host.oauth.clients.delete(client.id!)
    clock.travel(60)
    await client.call()
    await client.post({ grant_type: 'refresh_token', refresh_token: client.refreshToken ?? 'none' })
    if (behaviour.introduces === 'registration') await stopped(client.authorize(mcp))
    expect(await page(app)).toMatch(
      /The registration of the client was deleted at \w{3} \d+, \d{4}, [\d:]+ UTC, and the client still uses it/,
    )
    expect((await doctorOf(app, behaviour, { clientId: client.id! })).causes).toEqual([
      'registration-deleted',
    ])
  })

  test('without a secret, where the metadata has no `none`', async () => {
    const app = await start({
      options: { protocol: { fapi2: true, dpop: true } },
      features: [...recorded, pushedRequests({ required: true })],
    })
    expect(await stopped(new Client(app, mcp, behaviour).connect())).toBe('no public clients')
    expect(await page(app)).toContain('token_endpoint_auth_methods_supported has no none')
    expect((await doctorOf(app, behaviour)).causes).toEqual(['no-public-clients'])
  })

  test('whose token lacks a scope', async () => {
    const app = await start({
      scope: 'notes:write',
      options: { resources: { [mcp]: { scopes: ['notes:read'] }, [api]: { scopes: ['notes:write'] } } },
    })
    expect(await stopped(new Client(app, mcp, behaviour).connect())).toBe('call 403')
    expect(await page(app)).toContain(
      'A scope is missing: the guard at /mcp requires notes:write, and the token has notes:read',
    )
    const found = await doctorOf(app, behaviour)
    expect(found.causes).toEqual(['scope-missing'])
    expect(found.findings[0]?.message).toContain('the guard at /mcp requires notes:write')
  })

  test.each([
    ['behind', -3600],
    ['ahead', 3600],
  ])('whose clock is an hour %s', async (_name, clockError) => {
    const app = await start()
    const outcome = stopped(new Client(app, mcp, { ...behaviour, clockError }).connect())
    expect(await outcome).toBe('token 401')
    expect(await page(app)).toMatch(/A clock is wrong: .* differ by (59|60|61) minutes/)
    const now = () => Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000) + clockError
    expect((await doctorOf(app, behaviour, { now })).causes).toEqual(['clock'])
  })
})

const rows = async (type: string): Promise<{ details: string }[]> => {
  await serverBehind(host.oauth)!.eventLog!.settled()
  return host.table('events').where({ type })
}

test('what strangers repeat is stored once, and no more than a hundred things of a network in ten minutes', async () => {
  const app = await start()
  clock.travel(600 - (clock.now() % 600))
  for (let times = 0; times < 5; times += 1) await supertest(app).get('/mcp').set('User-Agent', 'one/1')
  expect(await rows('call.refused')).toHaveLength(1)
  for (let times = 0; times < 60; times += 1) {
    await supertest(app).get('/mcp').set('User-Agent', `many/${times}`)
    await supertest(app).get(`/.well-known/oauth-protected-resource/${times}`)
  }
  expect([...(await rows('call.refused')), ...(await rows('document.requested'))]).toHaveLength(100)
  clock.travel(600)
  await supertest(app).get('/mcp').set('User-Agent', 'one/1')
  expect(await rows('call.refused')).toHaveLength(51 + 1)
})

test('what one network causes is stored up to its share, and others are seen; the page says so', async () => {
  const app = await start()
  app.set('trust proxy', 1)
  clock.travel(600 - (clock.now() % 600))
  const from = (address: string) => ({ 'X-Forwarded-For': address, 'User-Agent': `from/${address}` })
  for (let times = 0; times < 120; times += 1)
    await supertest(app).get(`/.well-known/oauth-protected-resource/${times}`).set(from('203.0.113.1'))
  expect(await rows('document.requested')).toHaveLength(100)
  expect(await page(app)).toContain('than is stored, so some connections')
  await supertest(app).get('/mcp').set(from('203.0.113.2'))
  expect(await rows('call.refused')).toHaveLength(1)
  expect(await rows('events.limited')).toHaveLength(1)
})

test('more than a thousand refused requests of strangers hide no connection, and no trouble of a client', async () => {
  const app = await start()
  clock.travel(600 - (clock.now() % 600))
  const client = new Client(app, mcp, registering)
  await client.connect()
  const wrong = { client_id: client.id ?? '', redirect_uri: 'https://wrong.example/', response_type: 'code' }
  await supertest(app).get(`/oauth/authorize?${new URLSearchParams(wrong)}`)
  clock.travel(60)
  const unknown = '/oauth/authorize?client_id=none&response_type=code'
  for (let times = 0; times < 320; times += 1) await supertest(app).get(unknown)
  const [refused] = (await rows('request.refused')).filter(({ details }) => !details.includes(`${client.id}`))
  expect(await rows('request.refused')).toHaveLength(300)
  // The others, as if from many networks.
  const many = Array.from({ length: 1100 }, (_, number) => ({ ...refused, id: `x${number}` }))
  for (let first = 0; first < many.length; first += 50)
    await host.table('events').insert(many.slice(first, first + 50))
  // The last sign-in is the one with the wrong address.
  expect(await page(app)).toMatch(/Helper .* Sign-in opened \S+ Signed in not seen/)
  expect(await page(app)).toContain('Only the newest events were read')
  const overview = textOf(await new RawBrowser(app).get('/oauth/admin'))
  expect(overview).toMatch(/Helper : 1 person saw an error page/)
  expect(overview).toContain('More was refused at')
})

test('a connection whose later steps are beyond the events that were read is not shown as stopped', async () => {
  const app = await start()
  const client = new Client(app, mcp, registering)
  await client.connect()
  await client.call()
  expect(await page(app)).toContain('Helper')
  const [called] = await rows('call.accepted')
  const many = Array.from({ length: 1000 }, (_, number) => ({
    ...called,
    id: `x${number}`,
    client_id: 'busy',
    subject: '2',
    time: clock.now() + 60,
    details: JSON.stringify({ clientId: 'busy', resource: mcp }),
  }))
  for (let first = 0; first < many.length; first += 50)
    await host.table('events').insert(many.slice(first, first + 50))
  const shown = await page(app)
  expect(shown).toContain('Only the newest events were read')
  expect(shown).not.toContain('Stopped')
  expect(await page(app, { client: client.id ?? '' })).toMatch(/Helper for \S+ Connected/)
})

test('a guard answers with an id that finds the reason, even when it refuses the same again', async () => {
  const app = await start({ scope: 'notes:write' })
  const call = async (headers: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> =>
    (await supertest(app).get('/mcp').set(headers)).body
  const reasonOf = async (requestId: string | undefined): Promise<unknown> => {
    const server = serverBehind(host.oauth)!
    await server.eventLog!.settled()
    const events = await listEventsOfRequest(server.database, { requestId: `${requestId}` })
    return events.map(({ type, details }) => [type, details.reason])
  }
  const [first, again] = [await call(), await call()]
  expect(first).toEqual({
    error: 'invalid_token',
    error_description: expect.any(String),
    error_id: again.error_id,
  })
  expect(await reasonOf(first.error_id)).toEqual([['call.refused', 'token_missing']])
  const wrong = await call({ Authorization: 'Bearer wrong' })
  expect(await reasonOf(wrong.error_id)).toEqual([['call.refused', 'token_unknown']])
  const client = new Client(app, mcp, registering)
  await client.connect().catch(() => {})
  const lacking = await call({ Authorization: `Bearer ${client.token}` })
  expect(lacking.error).toBe('insufficient_scope')
  expect(await reasonOf(lacking.error_id)).toEqual([['call.refused', 'token_scope_missing']])
  // What is beyond the bound is not stored, and has no id that would lead nowhere.
  for (let times = 0; times < 100; times += 1) await call({ 'User-Agent': `many/${times}` })
  expect(await call({ 'User-Agent': 'one-more/1' })).not.toHaveProperty('error_id')
})

test('a call with each token is stored once, and nothing of a token', async () => {
  const app = await start()
  const client = new Client(app, mcp, registering)
  await client.connect()
  for (let times = 0; times < 5; times += 1) await client.call()
  expect(await rows('call.accepted')).toHaveLength(1)
  const { body } = await client.post({
    grant_type: 'refresh_token',
    refresh_token: client.refreshToken ?? '',
  })
  client.token = body.access_token
  await client.call()
  expect(await rows('call.accepted')).toHaveLength(2)
  await host.oauth.users.revokeAll(1)
  await client.call()
  const stored = JSON.stringify(await host.table('events'))
  for (const secret of [client.token, client.refreshToken, body.refresh_token])
    expect(stored).not.toContain(String(secret).slice(6))
  expect(await page(app)).toContain('The client uses a token that was revoked')
  await host.oauth.users.erase(1)
  expect(await rows('call.accepted')).toEqual([])
})

test('an API in another process is seen by what it asks about tokens', async () => {
  const app = await start({
    options: {
      resources: {
        [mcp]: { scopes: ['notes:read'], introspection: ['mcp-api'] },
        [api]: { scopes: ['notes:read'], introspection: ['other-api'] },
      },
    },
  })
  const secret = 'a-secret-of-an-api-with-more-than-32-characters'
  for (const client_id of ['mcp-api', 'other-api'])
    await host.oauth.clients.create({ client_id, client_secret: secret, redirect_uris: [], grant_types: [] })
  const client = new Client(app, mcp, registering)
  client.id = (
    await supertest(app)
      .post('/oauth/register')
      .set('User-Agent', registering.agent)
      .send({
        client_name: 'Helper',
        redirect_uris: [callback],
        token_endpoint_auth_method: 'none',
      })
  ).body.client_id
  await client.obtainTokens(mcp)
  expect(await page(app, { client: client.id! })).toContain(
    `A token was issued for ${mcp}, and no guard has seen a call with it`,
  )
  const ask = (client_id: string) => {
    clock.travel(1)
    const form = { client_id, client_secret: secret, token: client.token }
    return supertest(app).post('/oauth/introspect').type('form').send(form).expect(200)
  }
  await ask('other-api')
  expect(await page(app, { client: client.id! })).toContain(
    `the client has one for ${mcp}, and the guard requires ${api}`,
  )
  await ask('mcp-api')
  expect(await page(app, { client: client.id!, user: 'ada@example.com' })).toContain('Connected')
})

describe('an API in another process that verifies JWTs by itself', () => {
  const secret = 'a-secret-of-an-api-with-more-than-32-characters'
  let server: TestServer
  let client: Client
  /** How often the issuer was asked about a token. */
  let asked: number
  beforeEach(async () => {
    server = await openServer()
    const app = await start({
      options: {
        issuer: `${server.origin}/oauth`,
        resources: { [mcp]: { scopes: ['notes:read'], accessToken: 'jwt', introspection: ['mcp-api'] } },
      },
    })
    asked = 0
    server.serve((req, res) => {
      if (req.url === '/oauth/introspect') asked += 1
      app(req, res)
    })
    await host.oauth.clients.create({
      client_id: 'mcp-api',
      client_secret: secret,
      redirect_uris: [],
      grant_types: [],
    })
    client = new Client(app, mcp, registering)
    const helper = { client_name: 'Helper', token_endpoint_auth_method: 'none' as const, scope: 'notes:read' }
    client.id = (await host.oauth.clients.create({ ...helper, redirect_uris: [callback] })).client_id
    await client.obtainTokens(mcp)
  })
  afterEach(() => server.close())

  const apiWith = (more: Partial<ResourceServerOptions>, scope = 'notes:read'): Express => {
    const { requireToken } = resourceServer({
      issuer: `${server.origin}/oauth`,
      audience: mcp,
      logger: { info: () => {}, warn: () => {}, error: () => {} },
      ...more,
    })
    return express().get('/mcp', requireToken(scope), (_req, res) => void res.json({}))
  }
  const call = async (app: Express, token = client.token): Promise<number> =>
    (await supertest(app).get('/mcp').set('Authorization', `Bearer ${token}`)).status
  const accepted = (): Promise<unknown> =>
    new Promise((resolve) => host.oauth.events.on('call.accepted', resolve))

  test('is seen with reportCalls, and asks once for each token', async () => {
    const seen = accepted()
    const app = apiWith({ reportCalls: { clientId: 'mcp-api', clientSecret: secret } })
    for (let time = 0; time < 3; time += 1) expect(await call(app)).toBe(200)
    await seen
    expect(asked).toBe(1)
    expect(await page(host.app, { client: client.id! })).toContain('Connected')
    clock.travel(3600)
    expect(await call(app)).toBe(401)
  })

  test('is not seen without, and the page says that', async () => {
    expect(await call(apiWith({}))).toBe(200)
    expect(await page(host.app, { client: client.id! })).toContain(
      'A guard in another process that verifies JWTs by itself is seen here only with reportCalls',
    )
    expect(asked).toBe(0)
  })

  test('reports no token that the issuer did not sign, and works when its reports are refused', async () => {
    const app = apiWith({ reportCalls: { clientId: 'mcp-api', clientSecret: 'wrong' } })
    const [header, claims, signature = ''] = String(client.token).split('.')
    const forged = [header, claims, signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))].join('.')
    expect(await call(app, forged)).toBe(401)
    expect(asked).toBe(0)
    expect(await call(app)).toBe(200)
    expect(await call(app)).toBe(200)
  })

  test('reports ten tokens at one time at most, each once an hour, and 10,000 in an hour', async () => {
    const waiting: (() => void)[] = []
    const reported: string[] = []
    const report = createCallReports(
      (token) => {
        reported.push(token)
        return new Promise((resolve) => waiting.push(() => resolve({})))
      },
      { logger: console, now: clock.now },
    )
    /** Answers all, so that the next ones can be reported. */
    const answer = async (): Promise<void> => {
      for (const done of waiting.splice(0)) done()
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (let number = 0; number < 12; number += 1) report(`token-${number}`)
    expect(reported).toHaveLength(10)
    await answer()
    for (let number = 0; number < 12; number += 1) report(`token-${number}`)
    expect(reported).toHaveLength(12)
    await answer()
    for (let number = 12; number < 10_010; number += 1) {
      report(`token-${number}`)
      if (waiting.length === 10) await answer()
    }
    expect(new Set(reported).size).toBe(10_000)
    await answer()
    clock.travel(3600)
    report('token-0')
    expect(reported).toHaveLength(10_001)
  })

  test('does not ask for introspection as well', () => {
    const credentials = { clientId: 'mcp-api', clientSecret: secret }
    expect(() => apiWith({ introspection: credentials, reportCalls: credentials })).toThrow(
      'reportCalls is for APIs without introspection',
    )
  })
})

test('the pages of a client and of a user lead to its connections', async () => {
  const app = await start()
  const client = new Client(app, mcp, registering)
  await client.connect()
  const admin = new RawBrowser(app)
  const ofClient = await admin.get(`/oauth/admin/client?client_id=${client.id}`)
  expect(ofClient.html).toContain(`href="/oauth/admin/connections?client=${client.id}"`)
  expect((await admin.get('/oauth/admin/users?q=ada%40example.com')).html).toContain(
    'href="/oauth/admin/connections?subject=1"',
  )
  expect(await page(app, { user: 'ada@example.com' })).toContain('Helper')
  expect(await page(app, { subject: '1' })).toContain('Helper')
  expect(await page(app, { user: 'bob@example.com' })).toContain('No connection was seen')
  expect(await page(app, { subject: 'ada@example.com' })).toContain('No connection was seen')
  expect(await page(app, { stopped: 'on' })).toContain('No connection was seen')
})

describe('of several people at one address', () => {
  let app: Express
  let client: Client
  const urlOf = (clientId = ''): string =>
    `/oauth/authorize?${new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: callback,
      scope: 'notes:read',
      code_challenge: pkce().challenge,
      code_challenge_method: 'S256',
      resource: mcp,
    })}`
  /** What the page says about each connection. */
  const connections = async (query: Readonly<Record<string, string>> = {}): Promise<string[]> =>
    (await page(app, query)).split(/(?=Helper for )/).slice(1)
  beforeEach(async () => {
    app = await start()
    client = new Client(app, mcp, registering)
    await client.connect()
    clock.travel(1)
  })

  test('wrong passwords are those of the name that was typed, and nothing is said of others', async () => {
    const bob = new RawBrowser(app)
    let sign = await bob.open(urlOf(client.id))
    for (let time = 0; time < 3; time += 1) sign = await bob.signIn(sign, 'bob@example.com', 'wrong')
    expect(await connections()).toEqual([
      expect.stringMatching(/^Helper for an unknown user Stopped at sign-in .* failed 3 times/),
      expect.stringMatching(/^Helper for ada@example.com Connected/),
    ])
    expect(await connections({ user: 'ada@example.com' })).toEqual([expect.stringContaining('Connected')])

    clock.travel(1)
    await bob.decide(await bob.signIn(sign, 'bob@example.com', 'bob’s password'), 'allow')
    expect(await connections()).toEqual([
      expect.stringMatching(/^Helper for bob@example.com Stopped at the token request/),
      expect.stringMatching(/^Helper for ada@example.com Connected/),
    ])
  })

  test('who opens the sign-in and leaves is not known', async () => {
    await new RawBrowser(app).open(urlOf(client.id))
    expect(await connections()).toEqual([
      expect.stringMatching(/^Helper for an unknown user Stopped at sign-in The user .* did not sign in/),
      expect.stringMatching(/^Helper for ada@example.com Connected/),
    ])
  })

  test('who opens the sign-in and leaves is no one who comes an hour later', async () => {
    await new RawBrowser(app).open(urlOf(client.id))
    clock.travel(3600)
    await new RawBrowser(app).grant(urlOf(client.id), 'bob@example.com', 'bob’s password')
    expect(await connections()).toEqual([
      expect.stringMatching(/^Helper for bob@example.com Stopped at the token request/),
      expect.stringMatching(/^Helper for an unknown user Stopped at sign-in/),
      expect.stringMatching(/^Helper for ada@example.com Connected/),
    ])
  })

  test('a refused token request is of none of them in particular', async () => {
    await new RawBrowser(app).grant(urlOf(client.id), 'bob@example.com', 'bob’s password')
    await client.post({ grant_type: 'authorization_code', code: 'wrong', redirect_uri: callback })
    expect(await connections()).toEqual([
      expect.stringMatching(/^Helper for an unknown user Stopped at the token request/),
      expect.stringMatching(/^Helper for bob@example.com Stopped at the token request/),
      expect.stringMatching(/^Helper for ada@example.com Connected/),
    ])
  })

  test('who is signed in and leaves the consent page has not failed to sign in', async () => {
    const bob = new RawBrowser(app)
    await bob.signIn(await bob.open('/oauth/account'), 'bob@example.com', 'bob’s password')
    for (let time = 0; time < 2; time += 1) {
      await bob.open(urlOf(client.id))
      expect(await connections()).toEqual([
        expect.stringMatching(
          /^Helper for bob@example.com Stopped at consent The user signed in, and did not press/,
        ),
        expect.stringMatching(/^Helper for ada@example.com Connected/),
      ])
      // The sign-in is recorded again.
      clock.travel(601)
    }
  })
})

test('twice as many events of strangers cost twice as much, not four times', async () => {
  let reads = 0
  const event = (type: string, time: number, details: object, subject?: string): EventRecord =>
    new Proxy(
      {
        type,
        time,
        requestId: `${type} ${time}`,
        ...(subject && { subject }),
        details: { address: '192.0.2.1', ...details },
      },
      {
        get(target, name) {
          reads += 1
          return Reflect.get(target, name)
        },
      },
    )
  const costOf = async (count: number): Promise<number> => {
    const events = Array.from({ length: count }, (_, number) => [
      event('call.refused', number, { reason: 'token_missing', agent: 'one/1' }),
      event('document.requested', number, { path: '/', result: 'served', agent: 'one/1' }),
      event('client.created', number, { clientId: `client-${number}`, agent: 'one/1' }),
      event('login.succeeded', number, { clientId: 'web', account: `account-${number}` }, `user-${number}`),
      event('login.failed', number, { clientId: 'web', account: 'other' }),
      event('api.refused', number, { clientId: 'web', path: '/token' }),
    ]).flat()
    reads = 0
    await connectionsOf(events, { resources: [] })
    return reads
  }
  expect((await costOf(400)) / (await costOf(200))).toBeLessThan(2.5)
})

test('without connections(), nothing is seen, and the page does not exist', async () => {
  const app = await start({ features: [registration(), clientMetadataDocuments()] })
  const types: string[] = []
  host.oauth.events.on('*', (event) => void types.push(event.type, ...('agent' in event ? ['agent'] : [])))
  await new Client(app, mcp, registering).connect()
  expect(types).toEqual(expect.arrayContaining(['tokens.issued']))
  expect(types.filter((type) => /^(call|document|agent)|requested/.test(type))).toEqual([])
  expect(serverBehind(host.oauth)!.observe).toBeUndefined()
  expect((await supertest(app).get('/mcp')).body).not.toHaveProperty('error_id')
  expect((await new RawBrowser(app).get('/oauth/admin/connections')).status).toBe(404)
})
