import { decodeJwt } from 'jose'
import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import type { ClientSeed } from '../../lib/index.ts'
import { authorizeUrl, type Host, secret, startHost } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'

const client = (client_id: string, redirect_uri: string, more: Partial<ClientSeed> = {}): ClientSeed => ({
  ...more,
  client_id,
  client_secret: secret,
  subject_type: 'pairwise' as const,
  redirect_uris: [redirect_uri],
  scope: 'openid email',
  first_party: true,
})

/** Redirect URIs of two vendors' apps on the device of the user. */
const onDevice = [
  ['private-use', 'com.example.one:/callback', 'com.example.two:/callback'],
  ['loopback', 'http://127.0.0.1/callback', 'http://127.0.0.1/callback'],
  ['localhost', 'http://localhost:5000/callback', 'http://localhost:5000/callback'],
] as const

/** What a client on the device adds to a redirect URI of its own, in order to join the sector of a web client. */
const joining = [
  ['an https URI of that host', 'com.evil.app://a.example.com/callback', 'https://a.example.com/other'],
  ['another app scheme', 'com.evil.app://a.example.com/callback', 'com.evil.app2://a.example.com/other'],
] as const

let host: Host
beforeAll(async () => {
  const clients = [
    client('one', 'https://a.example.com/callback'),
    client('two', 'https://a.example.com/callback'),
    client('three', 'https://b.example.com/callback'),
    ...onDevice.flatMap(([name, uri, other]) => [
      client(name, uri),
      client(`other-${name}`, other),
      client(`${name}-by-sector`, uri, { sector_identifier_uri: 'https://a.example.com/sector.json' }),
    ]),
    ...joining.map(([name, uri]) => client(name, uri)),
  ]
  host = await startHost({ clients, options: { features: [registration()] } })
})
afterAll(() => host.close())

const tokensOf = async (agent: RawBrowser, clientId: string, redirectUri: string) => {
  const url = authorizeUrl({ client_id: clientId, redirect_uri: redirectUri, scope: 'openid email' })
  let answer = await agent.open(url)
  if (answer.status === 200) answer = await agent.signIn(answer, 'ada@example.com', 'ada’s password')
  const code = locationOf(answer).searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
  const res = await supertest(host.app).post('/oauth/token').auth(clientId, secret).type('form').send(form)
  return res.body as { access_token: string; id_token: string }
}

test('a user has one subject at all clients of a host, another at other hosts (OIDC Core §8.1)', async () => {
  const agent = new RawBrowser(host.app)
  const one = await tokensOf(agent, 'one', 'https://a.example.com/callback')
  const two = await tokensOf(agent, 'two', 'https://a.example.com/callback')
  const three = await tokensOf(agent, 'three', 'https://b.example.com/callback')
  const subjects = [one, two, three].map(({ id_token }) => decodeJwt(id_token).sub)
  expect(subjects[0]).toMatch(/^[\w-]{43}$/)
  expect(subjects[1]).toBe(subjects[0])
  expect(subjects[2]).not.toBe(subjects[0])
  const userinfo = await supertest(host.app).get('/oauth/userinfo').auth(one.access_token, { type: 'bearer' })
  expect(userinfo.body).toEqual({ sub: subjects[0], email: 'ada@example.com', email_verified: true })
  // Whoever correlates users could otherwise do it by their login, or by their username.
  expect(new Set([one, two, three].map(({ id_token }) => decodeJwt(id_token).sid)).size).toBe(3)
  const introspected = await supertest(host.app)
    .post('/oauth/introspect')
    .auth('one', secret)
    .type('form')
    .send({ token: one.access_token })
  expect(introspected.body).toMatchObject({ active: true, sub: subjects[0] })
  expect(introspected.body).not.toHaveProperty('username')
})

test.each(onDevice)('two apps with a %s redirect URI get different subjects', async (name, uri, other) => {
  const agent = new RawBrowser(host.app)
  const subjectAt = async (id: string, redirectUri: string): Promise<string | undefined> =>
    decodeJwt((await tokensOf(agent, id, redirectUri)).id_token).sub
  const subject = await subjectAt(name, uri)
  expect(subject).toMatch(/^[\w-]{43}$/)
  expect(await subjectAt(`other-${name}`, other)).not.toBe(subject)
  expect(await subjectAt(`${name}-by-sector`, uri)).toBe(
    await subjectAt('one', 'https://a.example.com/callback'),
  )
})

describe.each(joining)('a client with %s', (name, uri, added) => {
  const redirect_uris = [added, uri]

  test('does not join the sector of a web client, although it was stored so', async () => {
    const clients = host.database.knex(`${host.database.tablePrefix}clients`).where({ client_id: name })
    const { metadata } = await clients.clone().first()
    await clients.clone().update({ metadata: JSON.stringify({ ...JSON.parse(metadata), redirect_uris }) })
    const agent = new RawBrowser(host.app)
    const own = await tokensOf(agent, name, uri)
    const { id_token } = await tokensOf(agent, 'one', 'https://a.example.com/callback')
    expect(decodeJwt(own.id_token).sub).not.toBe(decodeJwt(id_token).sub)
  })

  test('cannot register with a web host among its redirect URIs', async () => {
    const { status, body } = await supertest(host.app)
      .post('/oauth/register')
      .send({ redirect_uris: ['https://a.example.com/x', uri], subject_type: 'pairwise' })
    expect({ status, error: body.error }).toEqual({
      status: 400,
      error: expect.stringMatching(/^invalid_(client_metadata|redirect_uri)$/),
    })
  })
})

test('a hint contains the pairwise subject of its client', async () => {
  const agent = new RawBrowser(host.app)
  const redirect_uri = 'https://a.example.com/callback'
  const { id_token } = await tokensOf(agent, 'one', redirect_uri)
  const silent = { client_id: 'one', redirect_uri, scope: 'openid', prompt: 'none' }
  const same = locationOf(await agent.open(authorizeUrl({ ...silent, id_token_hint: id_token })))
  expect(same.searchParams.get('code')).toMatch(/^lk_ac_/)
  const other = await tokensOf(agent, 'three', 'https://b.example.com/callback')
  const foreign = locationOf(await agent.open(authorizeUrl({ ...silent, id_token_hint: other.id_token })))
  // That of another client counts as none (M10).
  expect(foreign.searchParams.has('code')).toBe(true)
  const out = await agent.open(`/oauth/logout?${new URLSearchParams({ id_token_hint: id_token })}`)
  expect(out.html).toContain('signed out')
})

test('the salt survives a restart and a change of secrets', async () => {
  const agent = new RawBrowser(host.app)
  const before = decodeJwt((await tokensOf(agent, 'one', 'https://a.example.com/callback')).id_token).sub
  const secrets = ['another secret that is long enough, too', 'a secret of the tests that is long enough']
  const clients = [client('one', 'https://a.example.com/callback')]
  const again = await startHost({ database: host.database, clients, options: { secrets } })
  const first = host
  host = again
  try {
    const tokens = await tokensOf(new RawBrowser(again.app), 'one', 'https://a.example.com/callback')
    expect(decodeJwt(tokens.id_token).sub).toBe(before)
  } finally {
    host = first
    await again.oauth.close()
  }
})
