import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { createOutbound, OutboundError } from '../../lib/outbound/outbound.ts'
import { certificate } from '../support/certificate.ts'
import type { TestServer } from '../support/client-server.ts'
import { openServer } from '../support/client-server.ts'
import { openProxy, openPublicServer, type TestProxy } from '../support/proxy.ts'

let there: TestServer & { readonly port: number }
let proxy: TestProxy
beforeAll(async () => {
  there = await openPublicServer()
})
beforeEach(async () => {
  proxy = await openProxy(() => there.port)
  there.serve((req, res) => void res.end(JSON.stringify([req.url, req.headers])))
})
afterEach(() => proxy.close())
afterAll(() => there.close())

/** Resolves no name: with a proxy none is resolved here. */
const resolve = () => Promise.reject(new Error('a name was resolved'))
const through = (more: Partial<Parameters<typeof createOutbound>[0]> = {}) =>
  createOutbound({ allow: [], proxy: proxy.url, resolve, ...more })

const failure = async (answer: Promise<unknown>): Promise<OutboundError> => {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(OutboundError)
  return error as OutboundError
}
const url = 'https://client.test/keys?a=b'

/** Waits until the proxy has seen every connection close. */
const allClosed = async (): Promise<void> => {
  for (const socket of proxy.open) await new Promise((closed) => socket.once('close', closed))
}

test('a request goes through a tunnel to the name and port of the server, by TLS that ends there', async () => {
  const { status, body } = await through().request(url)
  const usual = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'latchkey' }
  expect([status, ...JSON.parse(body)]).toEqual([
    200,
    '/keys?a=b',
    { ...usual, host: 'client.test', connection: 'close' },
  ])
  await through().request('https://client.test:8443/keys', { form: { a: '1' } })
  expect(proxy.asked).toEqual(['client.test:443', 'client.test:8443'])
  expect(proxy.headers).toEqual([
    { host: 'client.test:443', 'user-agent': 'latchkey', connection: 'close' },
    { host: 'client.test:8443', 'user-agent': 'latchkey', connection: 'close' },
  ])
  await allClosed()
})

test('name and password of the proxy go to the proxy alone', async () => {
  const secret = 'p%40ss:w%C3%BCrd'
  const withSecret = proxy.url.replace('://', `://ada:${secret}@`)
  const seen: unknown[] = []
  there.serve((req, res) => {
    seen.push(req.headers)
    res.end()
  })
  await through({ proxy: withSecret }).request(url)
  const sent = Buffer.from('ada:p@ss:würd').toString('base64')
  expect(proxy.headers[0]?.['proxy-authorization']).toBe(`Basic ${sent}`)
  expect(JSON.stringify(seen)).not.toContain(sent)
})

test('an origin that is allowed by name is reached without the proxy', async () => {
  const inner = await openServer()
  inner.serve((_req, res) => void res.end('inner'))
  const { body } = await createOutbound({ allow: [inner.origin], proxy: proxy.url }).request(inner.origin)
  expect(body).toBe('inner')
  expect(proxy.asked).toEqual([])
  await inner.close()
})

test('without the option no variable of the environment names a proxy', async () => {
  const before = { ...process.env }
  Object.assign(process.env, { HTTPS_PROXY: proxy.url, https_proxy: proxy.url, NODE_USE_ENV_PROXY: '1' })
  const outbound = createOutbound({ allow: [], resolve: async () => [{ address: '10.0.0.1', family: 4 }] })
  expect((await failure(outbound.request(url))).message).toContain('not public')
  const inner = await openServer()
  inner.serve((_req, res) => void res.end('inner'))
  expect((await createOutbound({ allow: [inner.origin] }).request(inner.origin)).body).toBe('inner')
  process.env = before
  expect(proxy.asked).toEqual([])
  await inner.close()
})

test.each([
  'http://client.test/keys',
  'https://user:pass@client.test/keys',
  'https://127.0.0.1/keys',
  'https://2130706433/keys',
  'https://10.0.0.1/keys',
  'https://169.254.169.254/latest/meta-data',
  'https://[::1]/keys',
  'https://[::ffff:10.0.0.1]/keys',
  'https://localhost/keys',
  'https://localhost./keys',
  'https://db.internal/keys',
  'https://printer.local/keys',
  'https://router.home.arpa/keys',
  'https://intranet/keys',
  'https://intranet./keys',
])('the proxy is not asked for %s', async (named) => {
  const error = await failure(through().request(named))
  expect(error.refused).toBe(true)
  expect(error.message).not.toMatch(/pass|keys|meta-data/)
  expect(proxy.asked).toEqual([])
})

test('redirects are not followed, and an answer is bounded as without a proxy', async () => {
  there.serve((req, res) => {
    if (req.url === '/moved') res.writeHead(302, { Location: 'https://other.test/' }).end()
    else res.end('x'.repeat(65_537))
  })
  await expect(through().request('https://client.test/moved')).resolves.toMatchObject({ status: 302 })
  expect((await failure(through().request(url))).message).toContain('larger than 64 kB')
  expect(proxy.asked).toEqual(['client.test:443', 'client.test:443'])
})

describe('a server behind the proxy', () => {
  test('that has no certificate for the name gets no request', async () => {
    let answered = false
    const another = createTlsServer(certificate, () => {
      answered = true
    })
    await new Promise<void>((listening) => another.listen(0, '127.0.0.1', listening))
    const elsewhere = await openProxy(() => (another.address() as { port: number }).port)
    const outbound = createOutbound({ allow: [], proxy: elsewhere.url })
    const error = await failure(outbound.request('https://evil.test/admin'))
    expect(error.message).toBe('https://evil.test: no response')
    expect(error.cause).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    expect((await failure(outbound.request('https://9.9.9.9/admin'))).cause).toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
    expect(elsewhere.asked).toEqual(['evil.test:443', '9.9.9.9:443'])
    expect(answered).toBe(false)
    await elsewhere.close()
    await new Promise((closed) => another.close(closed))
  })
})

describe('a proxy that', () => {
  const answering = (text: string) => proxy.answer((socket) => socket.end(text))

  test.each([403, 404, 500, 502, 503])('refuses with %i is told by no word of its own', async (status) => {
    answering(`HTTP/1.1 ${status} Host 10.1.2.3 is forbidden\r\n\r\n{"keys":[]}`)
    const error = await failure(through().request(url))
    expect(error).toMatchObject({ refused: false, message: 'https://client.test: no response' })
    expect(error.cause).toMatchObject({ message: `the proxy refused with status ${status}` })
  })

  test('wants other credentials is named as the cause, without the ones that it got', async () => {
    answering('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n')
    const error = await failure(through({ proxy: proxy.url.replace('://', '://ada:secret@') }).request(url))
    expect(error.message).toBe('https://client.test: the proxy wants other credentials')
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toMatch(/secret|YWRh/)
  })

  test.each([
    ['speaks another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['closes the connection', ''],
    ['has headers without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
  ])('%s may do so because of this server, so that is not told', async (_, text) => {
    answering(text)
    expect((await failure(through().request(url))).message).toBe('https://client.test: no response')
  })

  test('is not there does not answer', async () => {
    await proxy.close()
    expect((await failure(through().request(url))).message).toBe(
      'https://client.test: the proxy does not answer',
    )
    proxy = await openProxy(() => there.port)
  })

  test.each<[string, (socket: Socket) => unknown]>([
    ['hangs', () => {}],
    ['opens a tunnel and hangs', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n')],
    ['sends half an answer', (socket) => socket.write('HTTP/1.1 200')],
  ])('%s is left after the time of a request, and no connection stays', async (_, hang) => {
    proxy.answer(hang)
    const error = await failure(through({ timeout: 50 }).request(url))
    expect(error).toMatchObject({ refused: false, message: 'https://client.test: timeout' })
    await allClosed()
  })

  test('speaks TLS is reached by https', async () => {
    const secure = await openProxy(() => there.port, { isTls: true })
    const { status } = await through({ proxy: secure.url }).request(url)
    expect(status).toBe(200)
    expect(secure.asked).toEqual(['client.test:443'])
    await secure.close()
  })
})
