import { SignJWT } from 'jose'
import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { type ClientSeed, seedClients } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, issuer, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { type Claims, type ClientKey, createClientKey } from '../support/signing-client.ts'

const clock = stopClock()
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']
const other = 'https://client.example.com/other'

let keys: Record<string, ClientKey>
let stranger: ClientKey
let publisher: TestServer
let host: Host
/** What the client publishes, by path, and which paths were fetched. */
const published = new Map<string, string>()
const fetched: string[] = []

const seed = (client_id: string, more: Partial<ClientSeed> = {}): ClientSeed => ({
  client_id,
  client_secret: secret,
  redirect_uris: [callback, other],
  scope: 'openid email',
  jwks: { keys: Object.values(keys).map(({ publicJwk }) => publicJwk) } as ClientSeed['jwks'],
  request_uris: [
    `${publisher.origin}/object#of-yesterday`,
    `${publisher.origin}/moved`,
    'https://10.0.0.1/object',
  ],
  ...more,
})

beforeAll(async () => {
  const made = algorithms.map(async (alg) => [alg, await createClientKey(alg, alg)] as const)
  keys = Object.fromEntries(await Promise.all(made))
  stranger = await createClientKey('ES256', 'ES256')
  publisher = await openServer()
  publisher.serve((req, res) => {
    fetched.push(String(req.url))
    const object = published.get(String(req.url))
    if (req.url === '/moved') return void res.writeHead(302, { location: '/object' }).end()
    res.writeHead(object === undefined ? 404 : 200, { 'content-type': 'text/plain' }).end(object)
  })
  host = await startHost({
    options: {
      protocol: { requestObjects: true },
      features: [registration()],
      outbound: { allow: [publisher.origin] },
    },
    clients: [
      seed('web'),
      seed('shop'),
      seed('es256', { request_object_signing_alg: 'ES256' }),
      seed('unsigned', { request_object_signing_alg: 'none' }),
      seed('disabled'),
      seed('strict', { require_signed_request_object: true }),
    ],
  })
  await host.oauth.clients.disable('disabled')
})
afterAll(() => Promise.all([publisher.close(), host.close()]))
beforeEach(() => {
  published.clear()
  fetched.length = 0
  // A URL that failed is not fetched again for some seconds.
  clock.travel(10)
})

const inside = {
  client_id: 'web',
  redirect_uri: callback,
  response_type: 'code',
  scope: 'openid',
  state: 's',
}
const plain = { client_id: 'web', scope: 'openid', state: 's' }
const signed = (claims: Claims = {}, key = keys.ES256!, typ?: string): Promise<string> =>
  new SignJWT({ ...inside, ...claims })
    .setProtectedHeader({ alg: key.alg, kid: key.alg, ...(typ && { typ }) })
    .sign(key.privateKey)
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = (claims: Claims = {}, head: Claims = {}): string =>
  `${part({ alg: 'none', ...head })}.${part({ ...inside, ...claims })}.`
const at = (path: string): string => `${publisher.origin}${path}`
const ask = (parameters: Record<string, string>) =>
  new RawBrowser(host.app).get(authorizeUrl({ ...plain, ...parameters }))
/** The server has read the object: the answer to `prompt: none` goes to its redirect URI. */
const expectRead = async (parameters: Record<string, string>, state = 's'): Promise<void> =>
  expectErrorRedirect(await ask(parameters), 'login_required', { state, redirectUri: other })
const silent = { redirect_uri: other, prompt: 'none' }

/** What is wrong, the error, and the parameters of the request. */
type Wrong = [what: string, error: string, () => Promise<Record<string, string>> | Record<string, string>]

describe('a request object', () => {
  test.each(algorithms)('that the client signed with %s is read', async (alg) => {
    const usual = { ...silent, iss: 'web', aud: [issuer, 'https://other.example'], exp: clock.now() + 60 }
    await expectRead({ request: await signed(usual, keys[alg], 'oauth-authz-req+jwt') })
  })

  test('leads to a code, and is read again from its registered URL each time', async () => {
    for (const nonce of ['first', 'second']) {
      published.set('/object', await signed({ nonce, max_age: 600, redirect_uri: callback }))
      const agent = new RawBrowser(host.app)
      const answer = await agent.grant(authorizeUrl({ ...plain, request_uri: at('/object#of-today') }))
      expect(codeOf(answer)).toMatch(/^lk_ac_/)
    }
    expect(fetched).toEqual(['/object', '/object'])
  })

  test.each(['web', 'unsigned'])(
    'without signature is read from a registered URL (%s)',
    async (client_id) => {
      published.set('/object', `${unsigned({ ...silent, client_id })}\n`)
      await expectRead({ client_id, request_uri: at('/object') })
    },
  )

  test('has priority over the query, which completes it in OpenID Connect only', async () => {
    const request = await signed({ ...silent, scope: undefined, state: undefined })
    await expectRead({ request, prompt: 'consent', state: 'of the query' }, 'of the query')
    const oauth = await signed({ ...silent, scope: 'email', state: undefined })
    const answer = await ask({ request: oauth, scope: 'email', state: 'of the query' })
    expectErrorRedirect(answer, 'login_required', { redirectUri: other })
  })

  test('may contain every parameter except client_id', async () => {
    const query = new URLSearchParams({ client_id: 'web', request: await signed(silent) })
    const answer = await new RawBrowser(host.app).get(`/oauth/authorize?${query}`)
    expectErrorRedirect(answer, 'login_required', { state: 's', redirectUri: other })
  })

  const by = async (client_id: string, key?: ClientKey, typ?: string) => ({
    client_id,
    request: await signed({ client_id }, key, typ),
  })
  const claims = async (wrong: Claims) => ({ request: await signed(wrong) })
  const wrong: Wrong[] = [
    ['the client_id of another client', 'invalid_request_object', () => claims({ client_id: 'shop' })],
    ['the iss of another client', 'invalid_request_object', () => claims({ iss: 'shop' })],
    ['the aud of another server', 'invalid_request_object', () => claims({ aud: [other] })],
    ['a past exp', 'invalid_request_object', () => claims({ exp: clock.now() - 30 })],
    ['an exp that is no time', 'invalid_request_object', () => claims({ exp: 'tomorrow' })],
    ['a future nbf', 'invalid_request_object', () => claims({ nbf: clock.now() + 31 })],
    ['another response_type', 'invalid_request_object', () => claims({ response_type: 'token' })],
    ['a request_uri in it', 'invalid_request_object', () => claims({ request_uri: at('/object') })],
    ['another key', 'invalid_request_object', () => by('web', stranger)],
    ['another typ', 'invalid_request_object', () => by('web', keys.ES256, 'at+jwt')],
    ['an alg that is not registered', 'invalid_request_object', () => by('es256', keys.RS256)],
    ['a signature where none is registered', 'invalid_request_object', () => by('unsigned')],
    ['HS256', 'invalid_request_object', () => ({ request: unsigned({}, { alg: 'HS256' }) })],
    ['encryption', 'invalid_request_object', () => ({ request: `${part({ alg: 'RSA-OAEP' })}.a.b.c.d` })],
    ['no JWT', 'invalid_request_object', () => ({ request: 'e30.e30' })],
    ['no signature, by value', 'request_not_supported', () => ({ request: unsigned() })],
    ['half a character', 'invalid_request', async () => ({ request: await signed({ nonce: '\ud800' }) })],
    ['both parameters', 'invalid_request', () => ({ request: unsigned(), request_uri: at('/object') })],
    ['no object at its URL', 'invalid_request_uri', () => ({ request_uri: at('/object') })],
    ['a redirect at its URL', 'invalid_request_uri', () => ({ request_uri: at('/moved') })],
    ['a private address', 'invalid_request_uri', () => ({ request_uri: 'https://10.0.0.1/object' })],
    ['an unregistered URL', 'invalid_request_uri', () => ({ request_uri: at('/other') })],
    ['a registered URL with a query', 'invalid_request_uri', () => ({ request_uri: at('/object?a') })],
  ]
  test.each(wrong)('with %s gets %s', async (_, error, parameters) => {
    expectErrorRedirect(await ask(await parameters()), error, { state: 's' })
    expect(fetched.filter((path) => path !== '/object' && path !== '/moved')).toEqual([])
  })

  test('from a URL is refused if it is no JWT or too large, and not fetched again for some seconds', async () => {
    for (const object of ['<html>', 'e'.repeat(16_385)]) {
      published.set('/object', object)
      for (const _ of [1, 2])
        expectErrorRedirect(await ask({ request_uri: at('/object') }), 'invalid_request_uri', { state: 's' })
      clock.travel(10)
    }
    expect(fetched).toEqual(['/object', '/object'])
  })

  test('is fetched only for a known client and redirect URI, and its own must be registered', async () => {
    const request_uri = at('/object')
    published.set('/object', unsigned())
    const evil = 'https://evil.example/'
    const refused: Record<string, string>[] = [
      { client_id: 'unknown-client', request_uri },
      { client_id: 'disabled', redirect_uri: '', request_uri },
      { redirect_uri: evil, request_uri },
      { request: await signed({ redirect_uri: evil }) },
    ]
    for (const parameters of refused) expectErrorPage(await ask(parameters), 400)
    expect(fetched).toEqual([])
  })
})

describe('a client with require_signed_request_object', () => {
  const times = (nbf = 0, exp = 60) => ({ nbf: clock.now() + nbf, exp: clock.now() + exp })
  const strict = async (claims: Claims) => ({
    client_id: 'strict',
    request: await signed({ ...silent, client_id: 'strict', aud: issuer, ...claims }),
  })

  test('is answered, and parameters outside the object have no effect', async () => {
    await expectRead({ ...(await strict(times(-3600, 0))), max_age: 'wrong' })
  })

  test.each<Wrong>([
    ['no object', 'invalid_request', () => ({ client_id: 'strict' })],
    ['no aud', 'invalid_request_object', () => strict({ ...times(), aud: undefined })],
    ['no exp', 'invalid_request_object', () => strict({ ...times(), exp: undefined })],
    ['no nbf', 'invalid_request_object', () => strict({ ...times(), nbf: undefined })],
    ['an old nbf', 'invalid_request_object', () => strict(times(-3601, 0))],
    ['more than an hour', 'invalid_request_object', () => strict(times(0, 3601))],
    [
      'an unsigned object at its registered URL',
      'invalid_request_object',
      () => {
        published.set('/object', unsigned({ client_id: 'strict', aud: issuer, ...times() }))
        return { client_id: 'strict', request_uri: at('/object') }
      },
    ],
  ])('is refused with %s', async (_, error, parameters) => {
    expectErrorRedirect(await ask(await parameters()), error, { state: 's' })
  })
})

test('clients register URLs of request objects, with public addresses only', async () => {
  const register = (members: object) =>
    supertest(host.app)
      .post('/oauth/register')
      .send({ redirect_uris: [callback], ...members })
  const members = { request_uris: ['https://client.example.com/o#hash'], request_object_signing_alg: 'none' }
  expect((await register(members)).body).toMatchObject(members)
  const long = `https://a.example/${'o'.repeat(500)}`
  for (const uri of ['https://10.0.0.1/o', 'http://client.example.com/o', long, 7]) {
    const { body, status } = await register({ request_uris: [uri] })
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_client_metadata' })
  }
})

test('without the feature, seeds may have the metadata, and no object is read', async () => {
  const off = await startHost({ clients: [] })
  const { knex, tablePrefix } = off.database
  await seedClients(knex, [seed('web')], { database: { tablePrefix } })
  for (const [name, value] of Object.entries({ request: await signed(), request_uri: at('/object') })) {
    const answer = await new RawBrowser(off.app).get(authorizeUrl({ ...plain, [name]: value }))
    expectErrorRedirect(answer, `${name}_not_supported`, { state: 's' })
  }
  expect(fetched).toEqual([])
  await off.close()
})
