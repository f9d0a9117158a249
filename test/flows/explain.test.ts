import type supertest from 'supertest'
import { admin, connections } from '../../lib/features/index.ts'
import type { ClientSeed } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { listEventsOfRequest } from '../../lib/storage/repositories/events.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { type Answer, locationOf, RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import {
  answerOf,
  codeFor,
  type Fields,
  post,
  redeem,
  refresh,
  tokensFor,
  userinfo,
  web,
} from '../support/tokens.ts'

let host: Host
let key: ClientKey
/** Ada's browser. */
let agent: RawBrowser
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
    options: {
      storedEvents: true,
      features: [connections(), admin({ allow: () => false })],
      lifetimes: { refreshGracePeriod: 0 },
      codeChallengeMethods: ['S256', 'plain'],
    },
    clients: [...clients, signing, off],
  })
  await host.oauth.clients.disable('off')
  agent = new RawBrowser(host.app)
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
  const browser = new RawBrowser(host.app)
  const start = await browser.get(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'login' }))
  return { browser, url: locationOf(start).href }
}
const inAnotherBrowser = async () => at((await begun()).url)
const expiredRequest = async () => {
  const { browser, url } = await begun()
  await host.table('pending_requests').update({ expires_at: 1 })
  return browser.get(url)
}

type Case = readonly [name: string, open: () => PromiseLike<Answer>, expected: string, received: string]

const waiting = 'a request that waits in this browser'
const enabled = 'the client_id of a registered client that is enabled'
const forgedForm = { decision: 'allow', csrf_token: 'x' }
const pages: readonly Case[] = [
  [
    'an unknown client',
    () => at(authorizeUrl({ client_id: 'shop' })),
    enabled,
    'shop, which is not registered',
  ],
  ['a disabled client', () => at(authorizeUrl({ client_id: 'off' })), enabled, 'off, which is disabled'],
  [
    'another redirect URI',
    () => at(authorizeUrl({ client_id: 'web', redirect_uri: `${callback}/` })),
    ...([callback, `${callback}/`] as const),
  ],
  ['no client', () => at('/oauth/authorize?scope=openid'), 'the parameter client_id', 'scope'],
  ['a request that is unknown', () => at('/oauth/login?authorization_request=x'), waiting, 'one .*'],
  [
    'a request of another browser',
    inAnotherBrowser,
    waiting,
    'one that came without the cookie of its browser',
  ],
  ['a request that has expired', expiredRequest, waiting, 'one that is expired'],
  [
    'a form of another site',
    () => new RawBrowser(host.app).post('/oauth/logout', forgedForm),
    ...(['a form of this page, in the browser that opened it', 'a form .*'] as const),
  ],
  [
    'another method',
    () => new RawBrowser(host.app).send('DELETE', '/oauth/consent'),
    'GET, HEAD, POST',
    'DELETE',
  ],
  ['an admin page', () => at('/oauth/admin'), 'true, or the id of an administrator', 'false'],
]
const exactly = (pattern: string) => expect.stringMatching(new RegExp(`^${pattern}$`))

test.each(pages)(
  'the id on the error page for %s leads to the reason',
  async (_, open, expected, received) => {
    const { html } = await open()
    const [, id = ''] = /id="error-id">([^<]+)</.exec(html) ?? []
    expect(await explained(id)).toMatchObject({ expected: exactly(expected), received: exactly(received) })
  },
)

const credentials = (fields: Record<string, string>) =>
  post(host, { grant_type: 'client_credentials', ...fields })

const code = (parameters: Fields = {}) => codeFor(host, parameters, { agent })
const used = async () => {
  const redeemed = await code()
  await redeem(host, redeemed)
  return redeem(host, redeemed)
}
const expired = async () => {
  const redeemed = await code()
  await host.table('authorizations').update({ code_expires_at: 1 })
  return redeem(host, redeemed)
}
const offlineToken = async () => {
  const tokens = await answerOf(redeem(host, await code({ scope: 'openid offline_access' })))
  return tokens.refresh_token
}
const refreshedTwice = async () => {
  const token = await offlineToken()
  await refresh(host, token)
  return refresh(host, token)
}
const withOtherScopes = async () => refresh(host, await offlineToken(), { scope: 'notes:write' })
const verifiedBy = async (method: 'S256' | 'plain') => {
  const { verifier, challenge } = pkce()
  const code_challenge = method === 'S256' ? challenge : verifier
  const redeemed = await code({ code_challenge, code_challenge_method: method })
  return redeem(host, redeemed, { code_verifier: pkce().verifier })
}
const signed = async (claims: object) =>
  credentials({ client_id: 'signing', ...asserted(await assertion('signing', key, { ...claims })) })

const issued = 'a value that this server issued'
const unused = 'a value that was not used'
const other = 'https://client.example.com/other'
type Request = readonly [string, () => PromiseLike<supertest.Response>, expected: string, received: string]
const requests: readonly Request[] = [
  [
    'an unknown client',
    () => credentials({ client_id: 'shop', client_secret: secret }),
    ...(['the client_id of a registered client', 'one that is not registered'] as const),
  ],
  [
    'a wrong secret',
    () => credentials({ ...web, client_secret: 'wrong' }),
    ...(['the credentials of the client, by client_secret_post', 'others, which do not match'] as const),
  ],
  [
    'another method of authentication',
    () => credentials({ client_id: 'native', client_secret: secret }),
    ...(['the registered method none', 'client_secret_post'] as const),
  ],
  [
    'a disabled client',
    () => credentials({ client_id: 'off', client_secret: secret }),
    ...(['a client that is enabled', 'a disabled one'] as const),
  ],
  [
    'an assertion for another server',
    () => signed({ aud: 'https://other.example' }),
    ...(['aud http://localhost:3000/oauth', 'aud "https://other.example"'] as const),
  ],
  [
    'an expired assertion',
    () => signed({ iat: 1, exp: 2 }),
    ...(['a request before 1970-01-01T00:00:02Z', `one at ${time}`] as const),
  ],
  ['an unknown grant', () => post(host, { ...web, grant_type: 'password' }), 'one of: .*', 'password'],
  [
    'a grant that is not registered',
    () => credentials({ client_id: 'native' }),
    ...(['one of: authorization_code refresh_token', 'client_credentials'] as const),
  ],
  [
    'no code',
    () => post(host, { ...web, grant_type: 'authorization_code' }),
    ...(['the parameter code', '.*grant_type.*'] as const),
  ],
  ['an unknown code', () => redeem(host, 'unknown'), issued, 'an unknown one'],
  [
    'a code of another client',
    async () => redeem(host, await code(), { client_id: 'native', client_secret: undefined }),
    ...(['a request of client web', 'one of client native'] as const),
  ],
  [
    'a code with another redirect URI',
    async () => redeem(host, await code(), { redirect_uri: other }),
    ...([callback, other] as const),
  ],
  [
    'another code_verifier',
    () => verifiedBy('S256'),
    ...([`a code_verifier with the SHA-256 ${hash}`, `one with the SHA-256 ${hash}`] as const),
  ],
  ['another plain code_verifier', () => verifiedBy('plain'), 'the code_challenge itself', 'another value'],
  ['a used code', used, unused, `one used ${time}`],
  ['an expired code', expired, 'a request before 1970-01-01T00:00:01Z', `one at ${time}`],
  ['an unknown refresh token', () => refresh(host, 'unknown'), issued, 'an unknown one'],
  ['a used refresh token', refreshedTwice, unused, `one .*used.*`],
  ['a refresh with other scopes', withOtherScopes, 'scopes among: openid offline_access', 'notes:write'],
  [
    'a scope that the client may not have',
    () => credentials({ ...web, scope: 'orders:read' }),
    ...(['scopes among: notes:read notes:write', 'orders:read'] as const),
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
      expected: exactly(expected),
      received: exactly(received),
    })
  },
)

test.each([
  [
    'has expired',
    () => host.table('access_tokens').update({ expires_at: 1 }),
    { reason: 'token_expired', expected: exactly('a request before 1970-01-01T00:00:01Z') },
  ],
  ['was revoked', () => host.table('authorizations').update({ revoked_at: 1 }), { reason: 'token_ended' }],
])(
  'the error_id of the answer of UserInfo to a token that %s leads to client and reason',
  async (_, end, fields) => {
    const { access_token: token } = await answerOf(redeem(host, await code()))
    await end()
    const { status, body } = await userinfo(host, token)
    expect(status).toBe(401)
    expect(await explained(body.error_id)).toMatchObject({ clientId: 'web', path: '/userinfo', ...fields })
    expect(JSON.stringify(body)).not.toContain(fields.reason)
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

describe('a database that does not store events', () => {
  const issue = async (lines: unknown[]) => {
    const logger = { info: () => {}, warn: () => {}, error: (line: unknown) => void lines.push(line) }
    const other = await startHost({ options: { storedEvents: true, logger } })
    const name = `${other.database.tablePrefix}events`
    await other.database.knex.schema.renameTable(name, `${name}_away`)
    const { status, body } = await post(other, { ...web, grant_type: 'client_credentials' })
    expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'Bearer' })
    await serverBehind(other.oauth)!.eventLog!.settled()
    expect(lines.splice(0)).toEqual([
      expect.stringMatching(
        /^latchkey: events cannot be stored now, and wait: .*(no such table|not exist|doesn't exist)/,
      ),
    ])
    return { other, back: () => other.database.knex.schema.renameTable(`${name}_away`, name) }
  }

  test('does not fail a request, and they are stored when it works again', async () => {
    const lines: unknown[] = []
    const { other, back } = await issue(lines)
    await back()
    await other.oauth.close()
    expect(lines).toEqual([])
    expect((await other.table('events')).map(({ type }) => type)).toContain('tokens.issued')
  })

  test('makes the log say how many are lost if the server closes', async () => {
    const lines: unknown[] = []
    const { other } = await issue(lines)
    await other.oauth.close()
    expect(lines).toEqual([
      expect.stringMatching(
        /^latchkey: \d+ events could not be stored: .*(no such table|not exist|doesn't exist)/,
      ),
    ])
  })

  test('keeps room for what strangers cannot cause', async () => {
    const { other, back } = await issue([])
    const { events } = serverBehind(other.oauth)!
    for (let stranger = 0; stranger < 10_000; stranger += 1) {
      const address = `10.${stranger >> 8}.${stranger & 255}.1`
      events.announce(
        'api.refused',
        { requestId: 'id', address },
        {
          code: 'invalid_request',
          status: 400,
          path: '/token',
          reason: 'parameter_missing',
          description: 'grant_type is required',
        },
      )
    }
    events.announce('second_factor.added', undefined, { subject: 'ada' })
    await back()
    await other.oauth.close()
    expect(await other.table('events').where({ type: 'second_factor.added' })).toHaveLength(1)
  })

  test('stores nothing about a user who is erased while it waits', async () => {
    const { other, back } = await issue([])
    serverBehind(other.oauth)!.events.announce('second_factor.added', undefined, { subject: 'ada' })
    await back()
    await other.oauth.users.erase('ada')
    await other.oauth.close()
    const types = (await other.table('events')).map(({ type }) => type)
    expect(types).toContain('tokens.issued')
    expect(types).not.toContain('second_factor.added')
  })

  test('for their content, however many come first, stores one that comes after them', async () => {
    const other = await startHost({ options: { storedEvents: true } })
    const { events, eventLog } = serverBehind(other.oauth)!
    const keys = { keyId: 1n as unknown as string, algorithm: 'RS256', signsFrom: 0 }
    for (let time = 0; time < 4; time += 1) events.announce('key.published', undefined, keys)
    events.announce('second_factor.added', undefined, { subject: 'ada' })
    await eventLog!.settled()
    await other.oauth.close()
    expect(await other.table('events').where({ type: 'second_factor.added' })).toHaveLength(1)
  })

  test('for their content stores the others', async () => {
    const other = await startHost({ options: { storedEvents: true } })
    const { events, eventLog } = serverBehind(other.oauth)!
    events.announce('second_factor.added', undefined, { subject: 'ada' })
    const keys = { keyId: 1n as unknown as string, algorithm: 'RS256', signsFrom: 0 }
    events.announce('key.published', undefined, keys)
    events.announce('second_factor.added', undefined, { subject: 'bob' })
    await eventLog!.settled()
    const stored = await other.table('events').where({ type: 'second_factor.added' })
    expect(stored.map(({ subject }) => subject).sort()).toEqual(['ada', 'bob'])
    await other.oauth.close()
  })
})

test('users.revokeAll() works with a reason that is no text', async () => {
  const other = await startHost({ options: { storedEvents: true } })
  const reason: { self?: unknown } = {}
  reason.self = reason
  await other.oauth.users.revokeAll('1', reason as unknown as string)
  const [stored] = await other.table('events').where({ type: 'user.revoked' })
  expect(JSON.parse(stored.details)).toEqual({ reason: '[object Object]' })
  await other.oauth.close()
})

test('without the option no event is stored, and errors have no id', async () => {
  const other = await startHost()
  const { body } = await post(other, { ...web, grant_type: 'password' })
  expect(Object.keys(body)).toEqual(['error', 'error_description'])
  await other.oauth.close()
  expect(await other.table('events')).toEqual([])
})

test('what strangers can cause is kept for a week, and what exceeds a limit is not stored', async () => {
  const stored = () => host.table('events')
  const settled = () => serverBehind(host.oauth)!.eventLog!.settled()
  await settled()
  await stored().delete()
  await at(authorizeUrl({ client_id: 'shop' }))
  const signIn = new RawBrowser(host.app)
  await signIn.signIn(await signIn.open(authorizeUrl({ client_id: 'web', scope: 'openid' })), 'eve', 'wrong')
  const wrong = { client_id: 'unknown', client_secret: 'wrong', grant_type: 'client_credentials' }
  const refused: supertest.Response[] = []
  for (let times = 0; times < 31; times += 1) refused.push(await post(host, wrong))
  expect(refused.map(({ status }) => status)).toEqual([...Array(30).fill(401), 429])
  expect(refused.at(-1)?.body).not.toHaveProperty('error_id')
  await settled()
  const rows: { type: string; time: number; expires_at: number; details: string }[] = await stored()
  const day = 86_400
  const days = Object.fromEntries(rows.map((row) => [row.type, (row.expires_at - row.time) / day]))
  expect(days).toEqual({
    'request.refused': 7,
    'login.failed': 90,
    'api.refused': 7,
    'client.refused': 90,
    'authorization.requested': 7,
  })
  expect(rows.filter(({ type }) => type === 'api.refused')).toHaveLength(30)
})
