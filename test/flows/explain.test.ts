import type supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { listEventsOfRequest } from '../../lib/repositories/events.ts'
import { serverBehind } from '../../lib/router.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { codeFor, post, redeem, refresh, tokensFor, web } from '../support/tokens.ts'

let host: Host
let key: ClientKey
beforeAll(async () => {
  key = await createClientKey('ES256', 'one')
  const signing = {
    client_id: 'signing',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'private_key_jwt' as const,
    jwks: { keys: [key.publicJwk] } as ClientSeed['jwks'],
  }
  const off = { client_id: 'off', client_secret: secret, redirect_uris: [callback] }
  host = await startHost({
    options: { storeEvents: true, refreshTokenGracePeriod: 0, admin: () => false },
    clients: [...clients, signing, off],
  })
  await host.oauth.clients.disable('off')
})
afterAll(() => host.close())

/** What is stored about a request, by its id. */
const explained = async (requestId: string) => {
  const server = serverBehind(host.oauth)!
  await server.eventLog!.settled()
  const events = await listEventsOfRequest(server.database, { requestId })
  return events.find(({ type }) => type.endsWith('.refused') && type !== 'client.refused')?.details
}

const time = '\\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z'
const hash = '[\\w-]{43}'

const at = (url: string) => new RawBrowser(host.app).get(url)

/** The address of the login page of a request, in the browser that began it. */
const begun = async () => {
  const agent = new RawBrowser(host.app)
  const start = await agent.get(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'login' }))
  return { agent, url: locationOf(start).href }
}
const inAnotherBrowser = async () => at((await begun()).url)
const expiredRequest = async () => {
  const { agent, url } = await begun()
  const { knex, tablePrefix } = host.database
  await knex(`${tablePrefix}pending_requests`).update({ expires_at: 1 })
  return agent.get(url)
}

const pages: readonly [string, () => ReturnType<typeof at>, expected: string, received: string][] = [
  [
    'an unknown client',
    () => at(authorizeUrl({ client_id: 'shop' })),
    'the client_id of a registered client that is enabled',
    'shop, which is not registered',
  ],
  [
    'a disabled client',
    () => at(authorizeUrl({ client_id: 'off' })),
    'the client_id of a registered client that is enabled',
    'off, which is disabled',
  ],
  [
    'another redirect URI',
    () => at(authorizeUrl({ client_id: 'web', redirect_uri: `${callback}/` })),
    callback,
    `${callback}/`,
  ],
  ['no client', () => at('/oauth/authorize?scope=openid'), 'the parameter client_id', 'scope'],
  [
    'a request that is unknown',
    () => at('/oauth/login?authorization_request=x'),
    'a request that waits in this browser',
    'one .*',
  ],
  [
    'a request of another browser',
    inAnotherBrowser,
    'a request that waits in this browser',
    'one without the cookie of its browser',
  ],
  [
    'a request that has expired',
    expiredRequest,
    'a request that waits in this browser',
    'one that is expired',
  ],
  [
    'a form of another site',
    () => new RawBrowser(host.app).post('/oauth/logout', { decision: 'allow', csrf_token: 'x' }),
    'a form of this page, in the browser that opened it',
    'a form .*',
  ],
  [
    'another method',
    () => new RawBrowser(host.app).send('DELETE', '/oauth/consent'),
    'GET, HEAD, POST',
    'DELETE',
  ],
  ['an admin page', () => at('/oauth/admin'), 'true, or the id of an administrator', 'false'],
]

test.each(pages)(
  'the id on the error page for %s leads to the reason',
  async (_, open, expected, received) => {
    const { html } = await open()
    const [, id = ''] = /id="error-id">([^<]+)</.exec(html) ?? []
    expect(await explained(id)).toMatchObject({
      expected: expect.stringMatching(new RegExp(`^${expected}$`)),
      received: expect.stringMatching(new RegExp(`^${received}$`)),
    })
  },
)

const credentials = (fields: Record<string, string>) =>
  post(host, { grant_type: 'client_credentials', ...fields })

const used = async () => {
  const code = await codeFor(host)
  await redeem(host, code)
  return redeem(host, code)
}
const expired = async () => {
  const code = await codeFor(host)
  const { knex, tablePrefix } = host.database
  await knex(`${tablePrefix}authorizations`).update({ code_expires_at: 1 })
  return redeem(host, code)
}
const refreshedTwice = async () => {
  const { refresh_token } = await tokensFor(host, { scope: 'openid offline_access' })
  await refresh(host, refresh_token)
  return refresh(host, refresh_token)
}
const withMoreScopes = async () => {
  const { refresh_token } = await tokensFor(host, { scope: 'openid offline_access' })
  return refresh(host, refresh_token, { scope: 'openid notes:write' })
}
const verifiedBy = async (method: 'S256' | 'plain') => {
  const { verifier, challenge } = pkce()
  const code_challenge = method === 'S256' ? challenge : verifier
  const code = await codeFor(host, { code_challenge, code_challenge_method: method })
  return redeem(host, code, { code_verifier: pkce().verifier })
}
const signed = async (claims: object) =>
  credentials({ client_id: 'signing', ...asserted(await assertion('signing', key, { ...claims })) })

const requests: readonly [
  string,
  () => PromiseLike<supertest.Response>,
  expected: string,
  received: string,
][] = [
  [
    'an unknown client',
    () => credentials({ client_id: 'shop', client_secret: secret }),
    'the client_id of a registered client',
    'one that is not registered',
  ],
  [
    'a wrong secret',
    () => credentials({ ...web, client_secret: 'wrong' }),
    'the credentials of the client, by client_secret_post',
    'others, which do not match',
  ],
  [
    'another method of authentication',
    () => credentials({ client_id: 'native', client_secret: secret }),
    'the registered method none',
    'client_secret_post',
  ],
  [
    'a disabled client',
    () => credentials({ client_id: 'off', client_secret: secret }),
    'a client that is enabled',
    'a disabled one',
  ],
  [
    'an assertion for another server',
    () => signed({ aud: 'https://other.example' }),
    'aud http://localhost:3000/oauth',
    'aud "https://other.example"',
  ],
  [
    'an expired assertion',
    () => signed({ iat: 1, exp: 2 }),
    'a request before 1970-01-01T00:00:02Z',
    `one at ${time}`,
  ],
  ['an unknown grant', () => post(host, { ...web, grant_type: 'password' }), 'one of: .*', 'password'],
  [
    'a grant that is not registered',
    () => post(host, { grant_type: 'client_credentials', client_id: 'native' }),
    'one of: authorization_code refresh_token',
    'client_credentials',
  ],
  [
    'no code',
    () => post(host, { ...web, grant_type: 'authorization_code' }),
    'the parameter code',
    '.*grant_type.*',
  ],
  ['an unknown code', () => redeem(host, 'unknown'), 'a value that this server issued', 'an unknown one'],
  [
    'a code of another client',
    async () => redeem(host, await codeFor(host), { client_id: 'native', client_secret: undefined }),
    'a request of client web',
    'one of client native',
  ],
  [
    'a code with another redirect URI',
    async () => redeem(host, await codeFor(host), { redirect_uri: 'https://client.example.com/other' }),
    callback,
    'https://client.example.com/other',
  ],
  [
    'another code_verifier',
    () => verifiedBy('S256'),
    `a code_verifier with the SHA-256 ${hash}`,
    `one with the SHA-256 ${hash}`,
  ],
  ['another plain code_verifier', () => verifiedBy('plain'), 'the code_challenge itself', 'another value'],
  ['a used code', used, 'a value that was not used', `one used ${time}`],
  ['an expired code', expired, 'a request before 1970-01-01T00:00:01Z', `one at ${time}`],
  [
    'an unknown refresh token',
    () => refresh(host, 'unknown'),
    'a value that this server issued',
    'an unknown one',
  ],
  ['a used refresh token', refreshedTwice, 'a value that was not used', `one .*used.*`],
  ['a refresh with more scopes', withMoreScopes, 'scopes among: openid offline_access', 'openid notes:write'],
  [
    'a scope that the client may not have',
    () => credentials({ ...web, scope: 'orders:read' }),
    'scopes among: notes:read notes:write',
    'orders:read',
  ],
]

test.each(requests)(
  'the error_id of the answer to %s leads to the reason',
  async (_, send, expected, received) => {
    const { status, body } = await send()
    expect(status).toBeGreaterThanOrEqual(400)
    expect(await explained(body.error_id)).toMatchObject({
      code: body.error,
      path: '/token',
      expected: expect.stringMatching(new RegExp(`^${expected}$`)),
      received: expect.stringMatching(new RegExp(`^${received}$`)),
    })
  },
)

test('the events of a user are part of their export, and leave with them', async () => {
  await tokensFor(host)
  await serverBehind(host.oauth)!.eventLog!.settled()
  const types = async () => (await host.oauth.users.export(1)).events?.map(({ type }) => type)
  expect(await types()).toEqual(expect.arrayContaining(['login.succeeded', 'tokens.issued']))
  await host.oauth.users.erase(1)
  await serverBehind(host.oauth)!.eventLog!.settled()
  expect(await types()).toEqual([])
})

test('a database that fails does not fail a request, and the log says what is lost', async () => {
  const lines: unknown[] = []
  const logger = { info: () => {}, warn: () => {}, error: (line: unknown) => void lines.push(line) }
  const other = await startHost({ options: { storeEvents: true, logger } })
  await other.database.knex.schema.dropTable(`${other.database.tablePrefix}events`)
  const { status, body } = await post(other, { ...web, grant_type: 'client_credentials' })
  expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'Bearer' })
  await serverBehind(other.oauth)!.eventLog!.settled()
  expect(lines).toEqual([expect.stringMatching(/^latchkey: \d+ events could not be stored$/)])
})

test('without the option no event is stored, and errors have no id', async () => {
  const other = await startHost()
  const { body } = await post(other, { ...web, grant_type: 'password' })
  expect(Object.keys(body)).toEqual(['error', 'error_description'])
  await other.oauth.close()
  expect(await other.database.knex(`${other.database.tablePrefix}events`)).toEqual([])
})
