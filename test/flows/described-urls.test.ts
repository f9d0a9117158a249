import supertest from 'supertest'
import { clientMetadataDocuments, developers, registration } from '../../lib/features/index.ts'
import { type AuthRouterOptions, migrate } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { openTestDatabase } from '../support/database.ts'
import { kept } from '../support/features.ts'
import { authorizeUrl, callback, createUsers, type Host, pkce, startHost } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import { expectError } from '../support/tokens.ts'

type Members = Readonly<Record<string, unknown>>

const client = {
  client_name: 'Notes client',
  token_endpoint_auth_method: 'none',
  redirect_uris: [callback, 'http://localhost:8787/callback', 'http://127.0.0.1/callback'],
  post_logout_redirect_uris: ['http://localhost:8787/bye'],
}

const environment = process.env.NODE_ENV
let server: TestServer
let host: Host
const start = async (nodeEnv: string | undefined) => {
  const options: Partial<AuthRouterOptions> = {
    protocol: { frontChannelLogout: true, requestObjects: true },
    features: [
      registration(),
      clientMetadataDocuments(),
      developers({ allow: () => true, scopes: ['openid'] }),
    ],
    outbound: { allowSelfDescribed: [server.origin] },
    limits: false,
  }
  process.env.NODE_ENV = nodeEnv
  const database = openTestDatabase()
  const { knex, tablePrefix } = database
  await migrate(knex, { features: kept, database: { knex, tablePrefix } })
  await createUsers(database, `${tablePrefix}people`)
  host = await startHost({ options, database })
}
beforeAll(async () => {
  server = await openServer()
})
afterAll(() => server.close())
afterEach(async () => {
  process.env.NODE_ENV = environment
  await host.close()
})

const register = (members: Members) =>
  supertest(host.app)
    .post('/oauth/register')
    .send({ ...client, ...members })

/** A page on the machine of the user who opens it, under each name that a client may give it. */
const pages = [
  'initiate_login_uri',
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'policy_uri#de',
  'frontchannel_logout_uri',
].map((name): [string, string] => [name, 'http://localhost:8787/page'])

describe('in production a client that describes itself has its pages at https', () => {
  beforeEach(() => start('production'))

  test('so a registration with a page at http://localhost is refused, and so is a change (C1)', async () => {
    const { body } = await register({}).expect(201)
    const change = (members: Members) =>
      supertest(host.app)
        .put(`/oauth/register/${body.client_id}`)
        .auth(body.registration_access_token, { type: 'bearer' })
        .send({ ...client, client_id: body.client_id, ...members })
    for (const [name, url] of pages) {
      for (const res of [await register({ [name]: url }), await change({ [name]: url })]) {
        expectError(res, 400, 'invalid_client_metadata')
        expect(res.body.error_description).toBe(`${name} must be an https URL`)
      }
      expect((await register({ [name]: `${new URL(callback).origin}/page` })).status).toBe(201)
    }
  })

  test('a page at https is registered, and read at the registration (C5)', async () => {
    const page = 'https://client.example.com/start'
    const { body } = await register({ initiate_login_uri: page }).expect(201)
    const read = await supertest(host.app)
      .get(`/oauth/register/${body.client_id}`)
      .auth(body.registration_access_token, { type: 'bearer' })
    expect([body.initiate_login_uri, read.body.initiate_login_uri]).toEqual([page, page])
  })

  test('so a metadata document with a page at http://localhost is refused (C1)', async () => {
    const id = `${server.origin}/client.json`
    const opened = async (members: Members) => {
      server.serve((_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        res.end(JSON.stringify({ ...client, client_id: id, ...members }))
      })
      const challenge = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
      return new RawBrowser(host.app).open(authorizeUrl({ client_id: id, ...challenge }))
    }
    for (const [name, url] of pages) expectErrorPage(await opened({ [name]: url }), 400)
    expect((await opened({})).url.pathname).toBe('/oauth/login')
  })

  test('so the form of a developer refuses a page at http://localhost (C1)', async () => {
    const agent = new RawBrowser(host.app)
    const form = await agent.signIn(await agent.open('/oauth/developer/new'))
    const desk = { client_name: 'Order Desk', redirect_uris: callback, 'scopes:openid': 'on' }
    const client_uri = 'http://localhost:8787/page'
    const refused = await agent.submit(form, 'name="decision"', { ...desk, client_uri })
    expect(refused.status).toBe(400)
    expect(textOf(refused)).toContain('Use https://. http:// works for localhost only.')
    const https = { client_uri: 'https://client.example.com/' }
    expect((await agent.submit(refused, 'name="decision"', { ...desk, ...https })).url.pathname).toBe(
      '/oauth/developer/client',
    )
  })

  test('a URL that the server calls may use http if outbound.allowSelfDescribed lists its origin', async () => {
    const [listed, other] = [`${server.origin}/x`, 'http://localhost:1/x']
    for (const name of ['jwks_uri', 'backchannel_logout_uri', 'request_uris']) {
      const of = (url: string) => ({ [name]: name === 'request_uris' ? [url] : url })
      expect((await register(of(listed))).status).toBe(201)
      expectError(await register(of(other)), 400, 'invalid_client_metadata')
    }
  })
})

test('in development such a client may be at http://localhost (C1)', async () => {
  await start('test')
  for (const [name, url] of pages) expect((await register({ [name]: url })).status).toBe(201)
})
