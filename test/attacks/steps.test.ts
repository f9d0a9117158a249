import crypto from 'node:crypto'
import supertest from 'supertest'
import {
  clientMetadataDocuments,
  device,
  pushedRequests,
  registration,
  trustedIssuers,
} from '../../lib/features/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, startHost } from '../support/host.ts'
import { countSteps, type StepCounter } from '../support/steps.ts'

/** The longest body of a request and of a document. */
const size = 65_536
/** What one request may cost before anyone is authenticated: a few steps for each member of the largest body. */
const most = 40_000

let host: Host
let documents: TestServer
let steps: StepCounter
beforeAll(async () => {
  documents = await openServer()
  host = await startHost({
    options: {
      limits: false,
      outbound: { allowSelfDescribed: [documents.origin] },
      protocol: {
        requestObjects: true,
        dpop: true,
        mutualTls: { header: 'X-Client-Cert' },
        authorizationDetails: { payment: { description: 'Pay' } },
      },
      features: [
        registration(),
        clientMetadataDocuments(),
        pushedRequests(),
        device(),
        trustedIssuers({ issuers: { 'https://idp.example.com': { jwksUri: `${documents.origin}/keys` } } }),
      ],
    },
  })
  // Time stands still, so that the server does not read its own keys again.
  stopClock()
  // The first requests load what the others find.
  await supertest(host.app)
    .post('/oauth/register')
    .send({ redirect_uris: [callback] })
  await supertest(host.app).get(authorizeUrl({ client_id: 'web' }))
  steps = await countSteps()
})
afterAll(async () => {
  jest.restoreAllMocks()
  await steps.stop()
  await host.close()
  await documents.close()
})

/** As many items as fit into so many characters. */
const items = (item: (index: number) => string, characters: number): string[] => {
  const all: string[] = []
  for (let left = characters, index = 0; left > 0; index += 1) {
    const next = item(index)
    left -= next.length + 3
    if (left > 0) all.push(next)
  }
  return all
}
/** As many members as fit into a body, each with a short value. */
const members = (name: (index: number) => string): object =>
  Object.fromEntries(
    items((index) => `${name(index)}":"x`, size - 2000).map((key) => [key.slice(0, -4), 'x']),
  )
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const key = {
  kty: 'RSA',
  n: Buffer.alloc(512, 0xff).toString('base64url'),
  e: Buffer.alloc(1000, 0xff).toString('base64url'),
}

/** What a client may say about itself. Each is as large as a body may be, or as its member. */
const descriptions: readonly [what: string, described: object][] = [
  ['unknown members', members((index) => `m${index}`)],
  ['languages', members((index) => `client_name#de-x-${index}`)],
  ['languages of unknown members', members((index) => `m${index}#de`)],
  ['a long language tag', { [`client_name#de-a-${'abcdefgh-'.repeat(6500)}abc`]: 'x' }],
  ['redirect URIs', { redirect_uris: items((index) => `https://a.example/${index}`, size - 2000) }],
  ['contacts', { contacts: items((index) => `${index}`, size - 2000) }],
  ['scopes', { scope: items((index) => `s${index}`, size - 2000).join(' ') }],
  ['levels', { default_acr_values: items((index) => `${index}`, size - 2000) }],
  ['response types', { response_types: items(() => 'code', size - 2000) }],
  ['grant types', { grant_types: items(() => 'authorization_code', size - 2000) }],
  ['keys', { jwks: { keys: items(() => '{"kty":"EC"}', size - 2000).map(() => ({ kty: 'EC' })) } }],
  ['keys of long exponents', { jwks: { keys: Array(20).fill(key) } }],
  ['a distinguished name', { tls_client_auth_subject_dn: 'CN=a,'.repeat(12_000) }],
]

interface Sent {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly type?: 'form' | 'json'
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

const form = (path: string, fields: Readonly<Record<string, string>>, headers = {}): Sent => ({
  method: 'post',
  path: `/oauth${path}`,
  type: 'form',
  body: new URLSearchParams(fields).toString(),
  headers,
})
const client = { client_id: 'web', client_secret: 'wrong' }
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const audiences = Array.from({ length: 1000 }, (_, index) => `${index}`)
const headerOf = (length: number, item: (index: number) => string): string =>
  items(item, length).join(',').slice(0, length)

const requests: readonly [what: string, sent: Sent][] = [
  ...['/token', '/introspect', '/revoke', '/par', '/device_authorization', '/login'].flatMap(
    (path): [string, Sent][] => [
      [
        `names at ${path}`,
        {
          ...form(path, {}),
          body: items((index) => `n${index}=`, size)
            .join('&')
            .slice(0, 16_000),
        },
      ],
      [`empty pairs at ${path}`, { ...form(path, {}), body: '&='.repeat(8000) }],
      [`encoded characters at ${path}`, { ...form(path, {}), body: `client_id=${'%41'.repeat(5000)}` }],
    ],
  ),
  [
    'resources',
    {
      ...form('/token', {}),
      body: items((index) => `resource=https://a.example/${index}`, size - 9).join('&'),
    },
  ],
  [
    'an assertion',
    form('/token', {
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion: `${part({ alg: 'RS256' })}.${part({ iss: 'web', sub: 'web', aud: audiences })}.AA`,
    }),
  ],
  [
    'a grant',
    form('/token', {
      ...client,
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'a.'.repeat(4000),
    }),
  ],
  ['a proof', form('/token', client, { DPoP: `${part({ typ: 'dpop+jwt', alg: 'PS256', jwk: key })}.AA.AA` })],
  ['a certificate', form('/token', client, { 'X-Client-Cert': 'A'.repeat(10_000) })],
  [
    'Basic',
    form('/token', {}, { Authorization: `Basic ${Buffer.from('%'.repeat(7000)).toString('base64')}` }),
  ],
  [
    'an access token',
    { method: 'get', path: '/oauth/userinfo', headers: { Authorization: `Bearer ${'a.'.repeat(6000)}` } },
  ],
  [
    'languages of a browser',
    {
      method: 'get',
      path: '/oauth/login',
      headers: { 'Accept-Language': headerOf(14_000, (index) => `a${index % 10};q=0.1`) },
    },
  ],
  [
    'cookies',
    {
      method: 'get',
      path: '/oauth/login',
      headers: { Cookie: items((index) => `c${index}=`, 14_000).join(';') },
    },
  ],
  [
    'claims',
    {
      method: 'get',
      path: authorizeUrl({
        client_id: 'web',
        claims: JSON.stringify({
          userinfo: Object.fromEntries(
            items((index) => `c${index}_______`, 1200).map((name) => [name, null]),
          ),
        }),
      }),
    },
  ],
  [
    'details',
    {
      method: 'get',
      path: authorizeUrl({
        client_id: 'web',
        authorization_details: JSON.stringify(Array(10).fill({ type: 'payment', list: Array(90).fill(1) })),
      }),
    },
  ],
  [
    'a request object',
    {
      method: 'get',
      path: authorizeUrl({
        client_id: 'web',
        request: `${part({ alg: 'RS256' })}.${part({ aud: audiences })}.AA`,
      }),
    },
  ],
  [
    'scopes of a request',
    {
      method: 'get',
      path: authorizeUrl({ client_id: 'web', scope: items((index) => `s${index}`, 2000).join(' ') }),
    },
  ],
  [
    'levels of a request',
    {
      method: 'get',
      path: authorizeUrl({ client_id: 'web', acr_values: items((index) => `${index}`, 2000).join(' ') }),
    },
  ],
]

const deep = `{"redirect_uris":${'['.repeat(30_000)}${']'.repeat(30_000)}}`

const cost = async (send: () => Promise<{ status: number }>) => {
  const tags = jest.spyOn(Intl, 'getCanonicalLocales')
  const keys = jest.spyOn(crypto, 'createPublicKey')
  let status = 0
  const counted = await steps.count(async () => {
    status = (await send()).status
  })
  const characters = tags.mock.calls.map(([tag]) => String(tag).length)
  const imported = keys.mock.calls.length
  tags.mockRestore()
  keys.mockRestore()
  return { status, counted, characters: Math.max(0, ...characters), tags: characters.length, imported }
}

/** Also what the runtime does for us, which our steps do not show. */
const expectCheap = async (send: () => Promise<{ status: number }>): Promise<void> => {
  const { status, counted, characters, tags, imported } = await cost(send)
  expect(status).toBeLessThan(500)
  expect(counted).toBeGreaterThan(50)
  expect(counted).toBeLessThan(most)
  expect(characters).toBeLessThanOrEqual(35)
  expect(tags).toBeLessThanOrEqual(300)
  expect(imported).toBeLessThanOrEqual(3)
}

describe('before anyone is authenticated, a request costs a bounded number of steps', () => {
  test.each(requests)('%s (H4)', async (_, { method, path, type, body, headers = {} }) => {
    const sent = supertest(host.app)[method](path).set(headers)
    if (type) sent.type(type)
    await expectCheap(async () => sent.send(body))
  })

  test.each(descriptions)('a registration with %s (H4, M11, M16)', async (_, described) => {
    const body = { redirect_uris: [callback], client_name: 'Long', ...described }
    await expectCheap(async () => supertest(host.app).post('/oauth/register').send(body))
  })

  test('a registration with values in values (H4, M16)', async () => {
    await expectCheap(async () => supertest(host.app).post('/oauth/register').type('json').send(deep))
  })

  let number = 0
  test.each(descriptions)('a metadata document with %s (H4, M11, M16)', async (_, described) => {
    number += 1
    const client_id = `${documents.origin}/${number}`
    const document = { redirect_uris: [callback], client_name: 'Long', ...described, client_id }
    documents.serve((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    })
    await expectCheap(async () => supertest(host.app).get(authorizeUrl({ client_id })))
  })
})
