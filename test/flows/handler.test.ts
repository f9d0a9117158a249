import { once } from 'node:events'
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import supertest from 'supertest'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { authorizeUrl, callback, type Host, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, codeFor, redeem, userinfo } from '../support/tokens.ts'

// `oauth.handler`: the whole server in a program without Express.

const started: Host[] = []
const start = async (options: Partial<AuthRouterOptions> = {}, mount = '/oauth'): Promise<Host> => {
  const host = await startHost({ options, mount })
  started.push(host)
  return host
}
afterAll(async () => {
  for (const host of started) await host.close()
})

/** The same host, which now consists of the handler alone. */
const alone = ({ oauth }: Host, next?: (error?: unknown) => void) =>
  ({ app: (req, res) => oauth.handler(req, res, next) }) as { app: RequestListener } as Pick<Host, 'app'>

test('signs users in, and issues tokens that it accepts', async () => {
  const host = alone(await start())
  const { access_token } = await answerOf(redeem(host, await codeFor(host)))
  expect((await userinfo(host, access_token)).body).toMatchObject({ sub: '1', name: 'Ada Lovelace' })
})

test('serves the documents at the root beside those below the issuer', async () => {
  const resource = 'http://localhost:3000/notes'
  const { app } = alone(await start({ resources: { [resource]: { scopes: ['notes:read'] } } }))
  for (const path of [
    '/oauth/.well-known/openid-configuration',
    '/.well-known/openid-configuration/oauth',
    '/.well-known/oauth-authorization-server/oauth',
  ])
    expect((await supertest(app).get(path)).body.issuer).toBe('http://localhost:3000/oauth')
  expect((await supertest(app).get('/.well-known/oauth-protected-resource/notes')).body.resource).toBe(
    resource,
  )
})

test('serves an issuer without a path', async () => {
  const { app } = alone(await start({ issuer: 'http://localhost:3000' }, '/'))
  expect((await supertest(app).get('/.well-known/openid-configuration')).body.issuer).toBe(
    'http://localhost:3000',
  )
  expect((await supertest(app).get('/nothing')).status).toBe(404)
})

const elsewhere = ['/', '/oauthx', '/api/notes', '/oauth/nothing', '/.well-known/security.txt', '/%zz']

test.each(elsewhere)('%s is 404 without next, without a word about the software', async (path) => {
  const { app } = alone(await start())
  const { status, text, headers } = await supertest(app).get(path)
  expect([status === 404 || status === 400, headers['x-powered-by']]).toEqual([true, undefined])
  expect(text).not.toMatch(/Cannot GET|at \w+ \(/)
})

test('what is not served goes on as it came: to another framework, which reads the body', async () => {
  const host = await start()
  const other: RequestListener = async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const isPlain = [
      Object.getPrototypeOf(req) === IncomingMessage.prototype,
      Object.getPrototypeOf(res) === ServerResponse.prototype,
    ]
    res.end(JSON.stringify({ url: req.url, body: Buffer.concat(chunks).toString(), isPlain }))
  }
  const app = createServer((req, res) => host.oauth.handler(req, res, () => other(req, res)))
  for (const path of ['/api/notes?a=1', '/oauth/nothing', '/.well-known/security.txt']) {
    const { text } = await supertest(app).post(path).type('text').send('a body')
    expect(JSON.parse(text)).toEqual({ url: path, body: 'a body', isPlain: [true, true] })
  }
})

describe('behind a proxy that terminates TLS', () => {
  const issuer = 'https://app.example.com/oauth'
  const request = authorizeUrl({ client_id: 'web', scope: 'openid', redirect_uri: callback })
  const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.9' }
  const visit = async (trustProxy: AuthRouterOptions['trustProxy'], lines: string[] = []) => {
    const note = (line: string) => void lines.push(line)
    const logger = { info: () => {}, warn: note, error: note }
    const host = await start({ issuer, logger, ...(trustProxy !== undefined && { trustProxy }) })
    const addresses: (string | undefined)[] = []
    host.oauth.events.on('login.failed', ({ address }) => void addresses.push(address))
    const browser = new RawBrowser(alone(host).app, 'https://app.example.com', forwarded)
    const page = await browser.open(request)
    const cookies = [...page.setCookies]
    const wrong = page.status === 200 ? await browser.signIn(page, 'ada@example.com', 'wrong') : undefined
    return { page, cookies, wrong, addresses }
  }

  test.each([[1], [['loopback']]])(
    'trustProxy: %j serves it, and events have the address of the client',
    async (trustProxy) => {
      const { page, wrong, addresses } = await visit(trustProxy)
      expect([page.status, wrong?.status]).toEqual([200, 400])
      expect(addresses).toEqual(['203.0.113.9'])
    },
  )

  test('without trustProxy the answer is 503, and the log names the option', async () => {
    const lines: string[] = []
    expect((await visit(undefined, lines)).page.status).toBe(503)
    expect(lines.join('\n')).toContain('trustProxy: 1 with oauth.handler')
  })
})

test('a value of trustProxy with which clients choose their address stops the start', async () => {
  await expect(start({ trustProxy: true as never })).rejects.toThrow(
    'trustProxy must be the number of your proxies',
  )
})

describe('over HTTP/2', () => {
  const ask = async (app: RequestListener, paths: readonly string[]): Promise<number[]> => {
    const server = createHttp2Server(app as never).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const statuses: number[] = []
    for (const path of paths) {
      const [headers] = await once(client.request({ ':path': path }).resume(), 'response')
      statuses.push(headers[':status'])
    }
    client.close()
    await new Promise((resolve) => server.close(resolve))
    return statuses
  }

  test('its paths are 505 and the log says why once; what is not its own goes on', async () => {
    const lines: string[] = []
    const note = (line: string) => void lines.push(line)
    const host = await start({ logger: { info: () => {}, warn: note, error: note } })
    const other: RequestListener = (req, res) => host.oauth.handler(req, res, () => res.end(req.url))
    const own = ['/oauth/login', '/oauth/token?x', '/.well-known/openid-configuration/oauth']
    expect(await ask(other, [...own, '/', '/oauthx'])).toEqual([505, 505, 505, 200, 200])
    expect(await ask(alone(host).app, ['/oauth/login', '/'])).toEqual([505, 404])
    const atRoot = await start({ issuer: 'http://localhost:3000' }, '/')
    expect(await ask(alone(atRoot).app, ['/login', '/shop'])).toEqual([505, 404])
    expect(lines).toEqual([expect.stringContaining('HTTP/2')])
  })
})
