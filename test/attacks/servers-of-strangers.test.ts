import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import supertest from 'supertest'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { closeServer, listenOn, openServer, type TestServer } from '../support/client-server.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { expectError } from '../support/tokens.ts'

const protocol = { requestObjects: true }
const features = [registration(), clientMetadataDocuments({ limits: false })]

const start = (outbound: AuthRouterOptions['outbound'], more: Partial<AuthRouterOptions> = {}) =>
  startHost({ clients: [], options: { protocol, features, outbound, ...more } })

const askFor = (client_id: string, more: Record<string, string> = {}) =>
  authorizeUrl({ client_id, code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', ...more })

describe('a server that changes the protocol', () => {
  let server: Server
  let origin: string
  let asked: number
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
  let answer: string
  beforeAll(async () => {
    server = createServer((socket: Socket) => {
      asked += 1
      socket.on('error', () => {})
      socket.once('data', () => socket.end(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  beforeEach(() => {
    asked = 0
    answer = switching
  })
  afterAll(() => new Promise((closed) => server.close(closed)))

  test('delays no visitor, is asked again by the next one, and does not keep ours from closing', async () => {
    const host = await start({ allow: [], allowSelfDescribed: [origin] })
    for (let visit = 1; visit <= 2; visit += 1) {
      const page = await new RawBrowser(host.app).open(askFor(`${origin}/client.json`))
      expectErrorPage(page, 400, 'no response')
      expect(asked).toBe(visit)
    }
    await host.oauth.close()
    await host.close()
  })

  test('is not waited for by a server that closes while it reads a known document again (H2)', async () => {
    const clock = stopClock()
    const host = await start({ allow: [], allowSelfDescribed: [origin] })
    const client_id = `${origin}/client.json`
    const body = JSON.stringify({ client_id, client_name: 'Known', redirect_uris: [callback] })
    const head = ['HTTP/1.1 200 OK', 'Content-Type: application/json', `Content-Length: ${body.length}`]
    answer = [...head, 'Connection: close', '', body].join('\r\n')
    expect((await new RawBrowser(host.app).open(askFor(client_id))).status).toBe(200)
    answer = switching
    clock.travel(3601)
    expect((await new RawBrowser(host.app).open(askFor(client_id))).status).toBe(200)
    await host.oauth.close()
    expect(asked).toBe(2)
    await host.close()
  })
})

describe('an inner server that the host allows for its own clients', () => {
  test('is never asked for what self-described clients name (M15)', async () => {
    const visits: string[] = []
    const inner = await openServer()
    inner.serve((req, res) => {
      visits.push(`${req.method} ${req.url}`)
      res.writeHead(200, { 'content-type': 'application/json' }).end('[]')
    })
    const host = await start({ allow: [inner.origin] })
    const { app } = host
    const register = (members: object) =>
      supertest(app)
        .post('/oauth/register')
        .send({ redirect_uris: [callback], token_endpoint_auth_method: 'none', ...members })

    const page = await new RawBrowser(app).open(askFor(`${inner.origin}/admin/delete?id=1`))
    expect(page.status).toBe(400)
    const at = `${inner.origin}/admin`
    for (const members of [
      { jwks_uri: at },
      { sector_identifier_uri: at },
      { backchannel_logout_uri: at },
      { request_uris: [at] },
    ]) {
      expectError(await register(members), 400, 'invalid_client_metadata')
    }
    const { status, body } = await register({ logo_uri: at, client_name: 'Shown' })
    expect(status).toBe(201)
    await new RawBrowser(app).open(askFor(body.client_id))
    await host.oauth.close()
    expect(visits).toEqual([])
    await host.close()
    await inner.close()
  })
})

afterEach(() => jest.restoreAllMocks())

describe('the host that strangers name', () => {
  test('is asked only so often, whichever client and whichever member names it (H3)', async () => {
    const visits: string[] = []
    const named = await openServer()
    named.serve((req, res) => {
      visits.push(String(req.url))
      res.writeHead(404).end()
    })
    const limits = { quotas: { clientHost: { max: 4, seconds: 3600 } } }
    const host = await start({ allow: [], allowSelfDescribed: [named.origin] }, { limits })
    const register = async (members: object): Promise<string> => {
      const { body } = await supertest(host.app)
        .post('/oauth/register')
        .send({ redirect_uris: [callback], ...members })
      return body.client_id
    }
    const uris = ['/1', '/2', '/3', '/4'].map((path) => `${named.origin}${path}`)
    const withObjects = await register({ request_uris: uris })
    for (const request_uri of uris.slice(0, 2)) {
      await new RawBrowser(host.app).get(askFor(withObjects, { request_uri }))
    }
    const withKeys = await register({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `${named.origin}/keys`,
    })
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const client_assertion = `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: withKeys, sub: withKeys })}.AAAA`
    await supertest(host.app).post('/oauth/token').type('form').send({
      grant_type: 'authorization_code',
      code: 'x',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    })
    expect(visits).toEqual(['/1', '/2', '/keys'])
    expect((await new RawBrowser(host.app).open(askFor(`${named.origin}/new.json`))).status).toBe(400)
    expect((await new RawBrowser(host.app).open(askFor(`${named.origin}/other.json`))).status).toBe(429)
    await new RawBrowser(host.app).get(askFor(withObjects, { request_uri: uris[3] ?? '' }))
    expect(visits).toEqual(['/1', '/2', '/keys', '/new.json'])
    await host.close()
    await named.close()
  })
})

describe('what one network causes', () => {
  const real = 'real.json'
  let named: TestServer
  let visits: string[]
  let answer: RequestListener
  let host: Host
  let clock: Clock
  let silent: HttpServer | undefined
  beforeAll(async () => {
    named = await openServer()
    named.serve((req, res) => {
      visits.push(String(req.url))
      answer(req, res)
    })
  })
  beforeEach(() => {
    visits = []
    clock = stopClock()
    answer = (req, res) => {
      const client_id = `${named.origin}${req.url}`
      const document = { client_id, client_name: 'Real', redirect_uris: [callback] }
      if (req.url !== `/${real}`) return void res.writeHead(404).end()
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    }
  })
  afterEach(async () => {
    if (silent) await closeServer(silent)
    silent = undefined
    await host.close()
  })
  afterAll(() => named.close())

  const begin = async (more: Partial<AuthRouterOptions> = {}, origins: readonly string[] = []) => {
    const limits = { quotas: { clientHost: { max: 3, seconds: 3600 } } }
    host = await start({ allow: [], allowSelfDescribed: [named.origin, ...origins] }, { limits, ...more })
    host.app.set('trust proxy', 1)
  }
  const browser = (address: string) => new RawBrowser(host.app, undefined, { 'X-Forwarded-For': address })
  const visit = async (path: string, address: string) =>
    (await browser(address).open(askFor(`${named.origin}/${path}`))).status
  /** As many as one network may cause, and one more. */
  const fill = async (address: string) => {
    const statuses: number[] = []
    for (const path of ['1', '2', '3', '4']) statuses.push(await visit(path, address))
    expect(statuses).toEqual([400, 400, 400, 429])
  }

  test('does not keep others from a client on the same host', async () => {
    await begin()
    await fill('192.0.2.1')
    expect(await visit(real, '192.0.2.1')).toBe(429)
    expect(await visit(real, '192.0.2.2')).toBe(200)
    // One subscriber has all networks of an IPv6 site.
    for (const number of [1, 2, 3]) await visit(`${number}`, `2001:db8:1:${number}::1`)
    expect(await visit('4', '2001:db8:1:4::1')).toBe(429)
  })

  test('does not end a known client: it goes on with its document, however old', async () => {
    await begin()
    expect(await visit(real, '192.0.2.9')).toBe(200)
    clock.travel(3 * 86_400)
    await fill('192.0.2.1')
    expect(await visit(real, '192.0.2.1')).toBe(200)
    expect(visits.filter((url) => url === `/${real}`)).toHaveLength(1)
    // What is gone stays gone.
    answer = (_req, res) => void res.writeHead(404).end()
    expect(await visit(real, '192.0.2.2')).toBe(400)
    clock.travel(61)
    expect(await visit(real, '192.0.2.1')).toBe(429)
  })

  test('does not keep a client that a user has allowed from being read', async () => {
    await begin()
    const agent = browser('192.0.2.1')
    const page = await agent.signIn(await agent.open(askFor(`${named.origin}/${real}`)))
    codeOf(await agent.decide(page, 'allow'))
    clock.travel(3 * 86_400)
    await fill('192.0.2.1')
    expect(await visit(real, '192.0.2.1')).toBe(200)
    expect(visits.filter((url) => url === `/${real}`)).toHaveLength(2)
  })

  test('takes no turn of others, even with servers that never answer', async () => {
    const server = createHttpServer(() => {})
    silent = server
    const port = await listenOn(server, '0.0.0.0')
    const hosts = Array.from({ length: 6 }, (_, number) => `http://127.0.0.${number + 1}:${port}`)
    let asked = 0
    const all = new Promise<void>((resolve) => {
      server.on('connection', () => {
        asked += 1
        if (asked === 4) resolve()
      })
    })
    await begin({ limits: false }, hosts)
    const waiting = hosts.flatMap((origin) =>
      Array.from({ length: 8 }, (_, number) => browser('192.0.2.1').open(askFor(`${origin}/${number}.json`))),
    )
    await all
    expect(await visit(real, '192.0.2.2')).toBe(200)
    expect(asked).toBe(4)
    await closeServer(server)
    await Promise.all(waiting)
  })
})
