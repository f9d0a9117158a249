// What the option `outbound.proxy` loosens, used by an attacker: the server no longer sees the addresses of what it asks, so a
// stranger can name a public host that the proxy resolves to an address of the inner network.

import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import supertest from 'supertest'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import { certificate } from '../support/certificate.ts'
import { authorizeUrl, callback, type Host, pkce, startHost } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { openProxy, openPublicServer, type TestProxy } from '../support/proxy.ts'
import { type Answer, RawBrowser, textOf } from '../support/raw-browser.ts'
import { expectError } from '../support/tokens.ts'

/** Inner servers, and where a careless proxy leads for each name. */
const names: Record<string, number> = {}
const servers: Server[] = []
let there: Awaited<ReturnType<typeof openPublicServer>>
let proxy: TestProxy
let host: Host
/** The first bytes that the inner server without TLS gets on each connection. */
let received: Buffer[]
/** Requests that the inner server with TLS gets. */
let requests: string[]
let warnings: string[] = []

const listening = async (server: Server): Promise<number> => {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

beforeAll(async () => {
  there = await openPublicServer()
  const plain = createServer((socket: Socket) => {
    socket
      .on('error', () => {})
      .once('data', (bytes) => {
        received.push(bytes)
        socket.end(
          'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"secret":"of the inner network"}',
        )
      })
  })
  const secure = createTlsServer(certificate, (req, res) => {
    requests.push(String(req.url))
    res.end('{"secret":"of the inner network"}')
  })
  Object.assign(names, {
    'plain.evil.test:443': await listening(plain),
    'secure.evil.test:443': await listening(secure),
    'client.test:443': there.port,
  })
  names['plain.evil.test:6379'] = names['plain.evil.test:443'] ?? 0
  proxy = await openProxy((asked) => names[asked] ?? 1)
  const warn = (...words: unknown[]) => void warnings.push(words.map(String).join(' '))
  host = await startHost({
    clients: [],
    options: {
      outbound: { proxy: proxy.url.replace('://', '://ada:secret@') },
      features: [registration(), clientMetadataDocuments()],
      limits: false,
      logger: { info: warn, warn, error: warn },
    },
  })
})
beforeEach(() => {
  received = []
  requests = []
  warnings = []
  proxy.asked.splice(0)
  proxy.answer(undefined)
})
afterAll(async () => {
  await host.close()
  await proxy.close()
  await there.close()
  for (const server of servers) await new Promise((closed) => server.close(closed))
})

const { challenge } = pkce()
const open = (client_id: string): Promise<Answer> =>
  new RawBrowser(host.app).open(
    authorizeUrl({ client_id, code_challenge: challenge, code_challenge_method: 'S256' }),
  )

/** A page without what is new in each: the name that was asked for, the time and the id of the error. */
const comparable = (page: Answer, name: string): string =>
  textOf(page)
    .replaceAll(name, '')
    .replaceAll(/[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{2}|\d+:\d+:\d+/g, '')

test.each([
  'https://127.0.0.1/client.json',
  'https://10.0.0.1/client.json',
  'https://169.254.169.254/latest/meta-data/iam',
  'https://[::1]/client.json',
  'https://[::ffff:10.0.0.1]/client.json',
  'https://0x7f.1/client.json',
  'https://localhost/client.json',
  'https://vault/client.json',
  'https://metadata.google.internal/client.json',
  'https://printer.local./client.json',
  'http://client.test/client.json',
])(
  'the proxy is not asked for an inner address, as a document or as a member of a client: %s',
  async (url) => {
    expect((await open(url)).status).toBe(400)
    for (const members of [
      { jwks_uri: url, token_endpoint_auth_method: 'private_key_jwt' },
      { backchannel_logout_uri: url },
      { sector_identifier_uri: url },
    ]) {
      const answer = await supertest(host.app)
        .post('/oauth/register')
        .send({ redirect_uris: [callback], token_endpoint_auth_method: 'none', ...members })
      expectError(answer, 400, 'invalid_client_metadata')
    }
    expect(proxy.asked).toEqual([])
  },
)

test('an inner server without TLS gets no request from strangers, and reveals nothing to them', async () => {
  for (const name of ['plain.evil.test', 'plain.evil.test:6379']) {
    const page = await open(`https://${name}/SET%20key%20value`)
    expectErrorPage(page, 400, 'no response')
    expect(page.html).not.toContain('inner network')
  }
  expect(received).toHaveLength(2)
  for (const bytes of received) {
    // The record of a TLS handshake, which names the server that was asked for, and no path.
    expect([...bytes.subarray(0, 2)]).toEqual([22, 3])
    expect(bytes.toString('latin1')).not.toMatch(/GET|POST|SET/)
  }
})

test('an inner server with TLS gets no request, because it has no certificate for the name', async () => {
  const page = await open('https://secure.evil.test/admin/delete?id=1')
  expectErrorPage(page, 400, 'no response')
  expect(proxy.asked).toEqual(['secure.evil.test:443'])
  expect(requests).toEqual([])
})

test('pages do not show which inner servers exist, or what the proxy says of them', async () => {
  const pages = new Map<string, string>()
  for (const name of ['plain.evil.test', 'secure.evil.test', 'absent.evil.test']) {
    pages.set(name, comparable(await open(`https://${name}/client.json`), name))
  }
  for (const status of [403, 502, 503]) {
    const name = `refused-${status}.evil.test`
    proxy.answer((socket) => socket.end(`HTTP/1.1 ${status} Host 10.1.2.3 is forbidden\r\n\r\n10.1.2.3`))
    pages.set(name, comparable(await open(`https://${name}/client.json`), name))
  }
  expect(pages.get('plain.evil.test')).toContain('no response')
  expect([...new Set(pages.values())]).toHaveLength(1)
})

test('a redirect leads nowhere', async () => {
  there.serve((_req, res) => void res.writeHead(302, { Location: 'https://secure.evil.test/admin' }).end())
  expect((await open('https://client.test/moved.json')).status).toBe(400)
  expect(proxy.asked).toEqual(['client.test:443'])
  expect(requests).toEqual([])
})

test('neither log nor page has the password of the proxy', async () => {
  proxy.answer((socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'))
  const page = await open('https://client.test/unread.json')
  expectErrorPage(page, 400, 'the proxy wants other credentials')
  const { body } = await supertest(host.app)
    .post('/oauth/register')
    .send({
      redirect_uris: [callback],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: 'https://client.test/jwks',
    })
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { client_id } = body
  await supertest(host.app)
    .post('/oauth/token')
    .type('form')
    .send({
      grant_type: 'authorization_code',
      code: 'x',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: client_id, sub: client_id })}.AAAA`,
    })
  expect(warnings.join()).toContain('https://client.test: the proxy wants other credentials')
  expect(`${warnings.join()} ${page.html}`).not.toMatch(/secret|YWRhOnNlY3JldA/)
})
