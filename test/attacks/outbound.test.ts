import { createServer, type Server } from 'node:net'
import type { ClientSeed } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { callback, secret } from '../support/host.ts'
import { createInbox, openLogoutReceiver } from '../support/logout-receiver.ts'
import { codeOf } from '../support/outcomes.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { type Asked, apiSide, comparable, expectRefusal, rivals } from './api-side.ts'
import { plainMount, startTarget, type Target, targetIn } from './target.ts'

/** A service of the inner network: an attacker who connects to it has got through. */
let inside: Server
let port: number
let connections: number
/** A server that the host allows to be asked, and that a client controls. */
let client: TestServer
let visits: string[]
let key: ClientKey
let stranger: ClientKey
let warnings: ReturnType<typeof createInbox<string>>

beforeAll(async () => {
  key = await createClientKey('ES256', 'k')
  stranger = await createClientKey('ES256', 'k')
  inside = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  // On every address of this machine, of both kinds where there are both.
  await new Promise<void>((resolve) => inside.listen(0, resolve))
  const address = inside.address()
  port = typeof address === 'object' && address !== null ? address.port : 0
  client = await openServer()
})
afterAll(async () => {
  await new Promise((resolve) => inside.close(resolve))
  await client.close()
})
beforeEach(() => {
  connections = 0
  visits = []
  warnings = createInbox()
})
afterEach(() => {
  jest.restoreAllMocks()
  expect(connections).toBe(0)
})

/** Addresses that are this machine or its network, in every spelling that a browser or a resolver understands. */
const innerAddresses: readonly [string, (port: number) => string][] = [
  ['a loopback address', (to) => `https://127.0.0.1:${to}/jwks`],
  ['its number', (to) => `https://2130706433:${to}/jwks`],
  ['its octal form', (to) => `https://0177.0.0.1:${to}/jwks`],
  ['the unspecified address', (to) => `https://0.0.0.0:${to}/jwks`],
  ['IPv6 loopback', (to) => `https://[::1]:${to}/jwks`],
  ['IPv4 mapped into IPv6', (to) => `https://[::ffff:127.0.0.1]:${to}/jwks`],
  ['a name of this machine', (to) => `https://localhost:${to}/jwks`],
  ['plain http', (to) => `http://localhost:${to}/jwks`],
  ['the metadata of a cloud', () => 'https://169.254.169.254/latest/meta-data/iam/'],
  ['a private network', () => 'https://10.0.0.1/jwks'],
  ['a link-local address', () => 'https://[fe80::1]/jwks'],
]

/** A name that the resolver may not know: no response instead of a refusal, which is tried again. */
const dotted = (to: number): string => `https://localhost.:${to}/jwks`

const signing = (client_id: string, jwks_uri: string): ClientSeed => ({
  client_id,
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  jwks_uri,
  scope: 'notes:read',
})

const keySet = (): string => JSON.stringify({ keys: [key.publicJwk] })

/** What the client's server says, by path; the keys of the client unless something else is said. */
const answers = new Map<string, Parameters<TestServer['serve']>[0]>()
const paths = 'good redirect page shared private many silent drip'.split(' ').map((name) => `/${name}`)

const warn = (...words: unknown[]): void => warnings.add(words.map(String).join(' '))

const settings = () => ({
  clients: [
    ...rivals,
    ...innerAddresses.map(([, at], index) => signing(`inner-${index}`, at(port))),
    signing('inner-dotted', dotted(port)),
    ...paths.map((path) => signing(path.slice(1), `${client.origin}${path}`)),
  ],
  options: {
    outbound: { allow: [client.origin] },
    logger: { info: () => {}, warn, error: warn },
  },
})

describe('the keys of a client', () => {
  const target = targetIn(plainMount, settings)
  const { own, token } = apiSide(target)
  const grant = { grant_type: 'client_credentials', scope: 'notes:read' }
  const ask = async (clientId: string, signer = key, header = {}) => {
    const jwt = await assertion(clientId, signer, { aud: target().issuer }, header)
    return token({ ...grant, ...asserted(jwt) } as Asked)
  }

  beforeAll(() => {
    client.serve((req, res) => {
      visits.push(String(req.url))
      const answer = answers.get(String(req.url))
      if (answer) answer(req, res)
      else res.end(keySet())
    })
  })
  afterEach(async () => {
    answers.clear()
    expect((await own()).status).toBe(200)
  })

  const inner = [
    ...innerAddresses.map(([what], index) => [what, `inner-${index}`]),
    ['a name with a dot behind', 'inner-dotted'],
  ]

  test.each(inner as [string, string][])(
    'are not fetched from %s, and the refusal does not show it (CVE-2026-22752, ASVS 1.3.6)',
    async (_, clientId) => {
      const refused = await ask(clientId)
      expectRefusal(refused, 'invalid_client')
      // The answer is that for an unknown client, so it does not reveal which servers exist.
      expect(comparable(refused)).toEqual(comparable(await ask('unknown-client')))
      const [warning] = await warnings.until(1)
      expect(warning).toMatch(/^latchkey: the keys at http/)
      expect(warning).toMatch(/not public|only https|no response/)
      expect(connections).toBe(0)
    },
  )

  test('are not fetched from where they were moved to (ASVS 1.3.6)', async () => {
    const clock = stopClock()
    for (const status of [301, 302, 303, 307, 308]) {
      for (const Location of [`https://127.0.0.1:${port}/`, `http://localhost:${port}/`, '/good']) {
        answers.set('/redirect', (_req, res) => void res.writeHead(status, { Location }).end(keySet()))
        // Past the pause after a failure.
        clock.travel(11)
        expectRefusal(await ask('redirect'), 'invalid_client')
      }
    }
    expect(new Set(visits)).toEqual(new Set(['/redirect']))
    expect(visits).toHaveLength(15)
  })

  // What an answer may weigh, and that nothing is unpacked, is in test/outbound.
  test.each<[string, string, () => unknown[]]>([
    ['a page', '/page', () => []],
    [
      'a shared secret (RFC 8725 §2.1, CVE-2024-37568)',
      '/shared',
      () => [{ kty: 'oct', k: 'AAAA', kid: 'k', alg: 'HS256' }],
    ],
    ['a key with a private part', '/private', () => [{ ...key.publicJwk, d: 'AAAA' }]],
    [
      'a hundred keys, and only the last is right (RFC 6819 §4.4.1.11)',
      '/many',
      () => [...Array(99).fill(stranger.publicJwk), key.publicJwk],
    ],
  ])('are not taken from an answer that is %s', async (_, path, keys) => {
    const body = path === '/page' ? '<html>token=secret</html>' : JSON.stringify({ keys: keys() })
    answers.set(path, (_req, res) => void res.end(body))
    const refused = await ask(path.slice(1))
    expectRefusal(refused, 'invalid_client')
    expect(refused.html).not.toMatch(/secret|html/)
    expect(new Set(visits)).toEqual(new Set([path]))
  })

  test.each<[string, Parameters<TestServer['serve']>[0]]>([
    ['/silent', () => {}],
    ['/drip', (_req, res) => void res.write('{"keys":[')],
  ])('delay no other client, and their own client only for a limited time: %s', async (path, answer) => {
    const limits: AbortController[] = []
    const received = createInbox<string>()
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
      expect(milliseconds).toBeLessThanOrEqual(5000)
      const limit = new AbortController()
      limits.push(limit)
      return limit.signal
    })
    answers.set(path, (req, res) => {
      answer(req, res)
      received.add(path)
    })
    const slow = ask(path.slice(1))
    await received.until(1)
    expect((await own()).status).toBe(200)
    expect((await ask('good')).status).toBe(200)
    for (const limit of limits) limit.abort()
    expectRefusal(await slow, 'invalid_client')
  })

  test('are fetched at most once a minute for unknown keys (RFC 6819 §4.4.1.11)', async () => {
    const clock = stopClock()
    clock.travel(3600)
    expect((await ask('good')).status).toBe(200)
    clock.travel(1)
    visits = []
    const flood = Array.from({ length: 20 }, (_, index) => ask('good', stranger, { kid: `made-up-${index}` }))
    for (const answer of await Promise.all(flood)) expectRefusal(answer, 'invalid_client')
    expect(visits).toEqual(['/good'])
    clock.travel(5)
    expectRefusal(await ask('good', stranger, { kid: 'made-up' }), 'invalid_client')
    expect(visits).toEqual(['/good'])
    expect((await ask('good')).status).toBe(200)
  })
})

describe('what else names an address', () => {
  const target = targetIn(plainMount, () => {
    const { options } = settings()
    const confidential = { client_secret: secret, redirect_uris: [callback] }
    const at = (path: string): string => `${client.origin}/${path}`
    return {
      options,
      clients: [
        ...rivals,
        {
          ...confidential,
          client_id: 'shown',
          logo_uri: at('logo'),
          client_uri: at('home'),
          policy_uri: at('policy'),
          tos_uri: at('tos'),
          sector_identifier_uri: at('sector'),
        },
        ...innerAddresses.map(
          ([, address], index): ClientSeed => ({
            ...confidential,
            client_id: `notified-${index}`,
            first_party: true,
            backchannel_logout_uri: address(port),
          }),
        ),
      ],
    }
  })
  const { authorizeUrl, browserOf, tokensFor } = apiSide(target)

  beforeAll(() => {
    client.serve((req, res) => {
      visits.push(String(req.url))
      res.end('{}')
    })
  })

  test('what a client says of itself is shown, and only its logo is fetched (CVE-2021-26715)', async () => {
    const page = await target()
      .browser()
      .open(authorizeUrl({ client_id: 'shown' }))
    expect(page.status).toBe(200)
    await tokensFor({ client_id: 'shown' }, { client_id: 'shown' })
    expect(visits.filter((path) => path !== '/logo')).toEqual([])
  })

  test('logout notices go to no inner address, and the user is signed out anyway (ASVS 1.3.6)', async () => {
    const browser = browserOf()
    const named = innerAddresses.map((_, index) => `notified-${index}`)
    for (const client_id of named) {
      codeOf(await browser.grant(authorizeUrl({ client_id })), { iss: target().issuer })
    }
    const page = await browser.open(`${target().base}/logout`)
    const left = await browser.submit(page, 'name="csrf_token"')
    expect(left.status).toBe(200)
    const told = await warnings.until(named.length)
    for (const client_id of named) {
      const [warning, ...more] = told.filter((line) => line.includes(`client ${client_id} did not receive`))
      expect(more).toEqual([])
      expect(warning).toMatch(/not public|only https|no response/)
      // Neither the token nor the path is in the log.
      expect(warning).not.toMatch(/eyJ|jwks|meta-data/)
    }
    expect(connections).toBe(0)
    const again = await browser.get(authorizeUrl({ prompt: 'none' }))
    expect(again.location?.searchParams.get('error')).toBe('login_required')
  })
})

test('a logout notice does not follow a redirect to an inner address (ASVS 1.3.6)', async () => {
  const receiver = await openLogoutReceiver()
  receiver.answer('/moved', (res, count) => {
    const inner = [`https://127.0.0.1:${port}/`, `http://localhost:${port}/`]
    const Location = [...inner, `${receiver.origin}/elsewhere`][count - 1]
    res.writeHead(307, { Location }).end()
  })
  const { options } = settings()
  const target = await startTarget(plainMount, {
    clients: [
      {
        client_id: 'web',
        client_secret: secret,
        redirect_uris: [callback],
        backchannel_logout_uri: `${receiver.origin}/moved`,
      },
    ],
    options: { ...options, outbound: { allow: [receiver.origin] } },
  })
  const { browserOf, tokensFor } = apiSide(() => target as Target)
  await tokensFor()
  const page = await browserOf().open('/oauth/logout')
  await browserOf().submit(page, 'name="csrf_token"')
  await receiver.requests.until(1)
  // A server that closes makes its last attempts at once, and waits for them.
  await target.close()
  expect(new Set(receiver.requests.items.map(({ path }) => path))).toEqual(new Set(['/moved']))
  expect(warnings.items.join()).toContain('it responded with status 307')
  await receiver.close()
})
