import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createShares } from '../lib/events/shares.ts'
import type { AuthEvent, AuthRouterOptions } from '../lib/index.ts'
import { serverBehind } from '../lib/router.ts'
import { authorizeUrl, type Host, startHost } from './support/host.ts'
import { codeOf } from './support/outcomes.ts'
import { RawBrowser } from './support/raw-browser.ts'
import { ada, answerOf, codeFor, post, redeem, refresh, tokensFor, web } from './support/tokens.ts'

const open: Host[] = []
afterAll(() => Promise.all(open.map((host) => host.close())))

const start = async (options: Partial<AuthRouterOptions> = {}): Promise<Host & { events: AuthEvent[] }> => {
  const host = await startHost({ options })
  open.push(host)
  const events: AuthEvent[] = []
  host.oauth.events.on('*', (event) => events.push(event))
  return { ...host, events }
}

const read = (path: string): string => readFileSync(join(__dirname, '..', path), 'utf8')

test('docs/events.md names every event with its fields, and no other', () => {
  const sources = readdirSync(join(__dirname, '../lib/features'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => read(join('lib/features', path)))
    .filter((source) => source.includes('interface EventDetails'))
  const declared = [read('lib/events/event.ts'), ...sources].map((source) =>
    source.slice(source.indexOf('interface EventDetails')),
  )
  const types = declared.flatMap((source) =>
    [...source.matchAll(/^ +'([a-z_]+(?:\.[a-z_]+)+)':/gm)].map(([, type]) => type),
  )
  const items = read('docs/events.md').match(/^- `[a-z_.]+` \(.*/gm) ?? []
  const named = items.flatMap((item) =>
    [...item.matchAll(/`([a-z_]+(?:\.[a-z_]+)+)` \(/g)].map(([, type]) => type),
  )
  expect(named.sort()).toEqual(types.sort())
  expect(types.length).toBeGreaterThan(12)
})

test('a login, a consent, a code, its tokens and their end are announced in order', async () => {
  const host = await start()
  const browser = new RawBrowser(host.app)
  const asked = authorizeUrl({ client_id: 'web', scope: 'openid offline_access notes:read' })
  const login = await browser.open(asked)
  await browser.signIn(login, ada.email, 'wrong')
  const consent = await browser.signIn(login)
  const code = codeOf(await browser.decide(consent, 'allow'))
  const { refresh_token } = await answerOf(redeem(host, code))
  const { refresh_token: next, access_token } = await answerOf(refresh(host, refresh_token))
  await post(host, { ...web, client_secret: 'wrong', grant_type: 'client_credentials' })
  await post(host, { ...web, grant_type: 'client_credentials', scope: 'notes:read' })
  await browser.post('/oauth/revoke', { ...web, token: access_token })
  await browser.post('/oauth/revoke', { ...web, token: next })
  const second = await codeFor(host, { scope: 'openid' }, {})
  await redeem(host, second)
  await redeem(host, second)
  await host.oauth.users.revokeAll(1, 'left the company')

  const family = { authorizationId: expect.stringMatching(/^[\w-]{22}$/), clientId: 'web', subject: '1' }
  const scopes = ['openid', 'offline_access', 'notes:read']
  const account = expect.stringMatching(/^[\w-]{43}$/)
  const seen = host.events.map(({ time: _, requestId: __, address: ___, ...event }) => event)
  expect(seen.slice(0, 13)).toEqual([
    { type: 'login.failed', clientId: 'web', account },
    { type: 'login.succeeded', clientId: 'web', account, subject: '1' },
    { type: 'consent.allowed', clientId: 'web', subject: '1', scopes },
    { type: 'authorization.issued', ...family, scopes, responseType: 'code' },
    { type: 'tokens.issued', grantType: 'authorization_code', ...family, scopes },
    { type: 'tokens.issued', grantType: 'refresh_token', ...family, scopes },
    { type: 'client.refused', clientId: 'web', endpoint: 'token' },
    expect.objectContaining({ type: 'api.refused', code: 'invalid_client', clientId: 'web', path: '/token' }),
    { type: 'tokens.issued', grantType: 'client_credentials', clientId: 'web', scopes: ['notes:read'] },
    { type: 'token.revoked', clientId: 'web' },
    { type: 'authorization.revoked', ...family, reason: 'revoked_by_client' },
    { type: 'login.succeeded', clientId: 'web', account, subject: '1' },
    { type: 'authorization.issued', ...family, scopes: ['openid'], responseType: 'code' },
  ])
  const last = 'tokens.issued authorization.revoked api.refused login.ended login.ended user.revoked'
  expect(seen.slice(13).map(({ type }) => type)).toEqual(last.split(' '))
  expect(seen[14]).toEqual({ type: 'authorization.revoked', ...family, reason: 'code_replayed' })
  expect(seen.at(-1)).toEqual({ type: 'user.revoked', subject: '1', reason: 'left the company' })
  const now = Math.floor(Date.now() / 1000)
  for (const { time } of host.events) expect(Math.abs(time - now)).toBeLessThan(60)
  expect(new Set(host.events.slice(0, 16).map(({ address }) => address))).toEqual(new Set(['127.0.0.1']))
})

test('a refresh token that is used again outside its window is announced with its family', async () => {
  const host = await start({ lifetimes: { refreshGracePeriod: 0 } })
  const { refresh_token } = await tokensFor(host, { scope: 'openid offline_access' })
  await refresh(host, refresh_token)
  await refresh(host, refresh_token)
  const reason = 'refresh_token_replayed'
  expect(host.events.at(-2)).toMatchObject({ type: 'authorization.revoked', reason })
})

test('a refresh that is repeated within its window is announced with both addresses', async () => {
  const host = await start()
  host.app.set('trust proxy', true)
  const { refresh_token } = await tokensFor(host, { scope: 'openid offline_access' })
  const from = (address: string) => answerOf(refresh(host, refresh_token).set('X-Forwarded-For', address))
  const [first, again] = [await from('192.0.2.1'), await from('2001:db8::1')]
  expect(again.refresh_token).toBe(first.refresh_token)
  expect(host.events.filter(({ type }) => type === 'token.repeated')).toEqual([
    expect.objectContaining({
      clientId: 'web',
      subject: '1',
      authorizationId: expect.any(String),
      firstAddress: '192.0.2.1',
      address: '2001:db8::1',
    }),
  ])
})

test('Cancel is announced', async () => {
  const host = await start()
  const browser = new RawBrowser(host.app)
  const consent = await browser.grant(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'consent' }))
  expect(consent.location?.searchParams.get('code')).not.toBeNull()
  const again = await browser.open(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'consent' }))
  await browser.decide(again, 'deny')
  expect(host.events.at(-1)).toMatchObject({ type: 'consent.denied', clientId: 'web', subject: '1' })
})

test('the id on an error page finds its event and one log line, which says why and what to read', async () => {
  const logged: unknown[][] = []
  const log = (...words: unknown[]): void => void logged.push(words)
  const host = await start({
    logger: { info: () => {}, warn: () => {}, error: log },
    users: {
      find: () => undefined,
      authenticate: () => {
        throw new Error('the directory is unavailable')
      },
    },
  })
  const browser = new RawBrowser(host.app)
  const page = await browser.signIn(await browser.open(authorizeUrl({ client_id: 'web' })))
  expect(page.status).toBe(500)
  const [, id = ''] = /id="error-id">([^<]+)</.exec(page.html) ?? []
  expect(host.events.at(-1)).toMatchObject({
    type: 'request.failed',
    requestId: id,
    status: 500,
    // Without the host's own words, which may be a statement with its values.
    description: 'users.authenticate failed: Error',
  })
  const why = 'users.authenticate failed: the directory is unavailable'
  expect(logged.map(([first]) => first)).toEqual([
    `latchkey: server_error ${id} (docs/errors.md#server_error): ${why}`,
  ])
  expect(page.html).not.toContain('directory')
})

test.each([
  [
    'an unregistered redirect URI',
    authorizeUrl({ client_id: 'web', redirect_uri: 'https://evil.example/' }),
    { path: '/authorize', clientId: 'web', description: 'redirect_uri is not registered for this client' },
  ],
  ['an expired request', '/oauth/login?authorization_request=x', { path: '/login', code: 'invalid_request' }],
  ['a path that cannot be decoded', '/oauth/assets/%ff', { path: '/assets/%ff', code: 'invalid_request' }],
])(
  'the log and an event explain the error page for %s, under the id on the page',
  async (_case, url, event) => {
    const logged: unknown[][] = []
    const log = (...words: unknown[]): void => void logged.push(words)
    const host = await start({ logger: { info: log, warn: log, error: log } })
    logged.length = 0
    const page = await new RawBrowser(host.app).get(url)
    const [, id = ''] = /id="error-id">([^<]+)</.exec(page.html) ?? []
    expect(id).not.toBe('')
    expect(host.events).toEqual([
      expect.objectContaining({ ...event, type: 'request.refused', requestId: id, status: page.status }),
    ])
    expect(logged).toEqual([[expect.stringContaining(` ${id} at ${event.path}`)]])
    expect(logged[0]?.[0]).toContain(`: ${Reflect.get(Object(host.events[0]), 'description')}`)
  },
)

test('a listener that throws or rejects changes nothing and is logged', async () => {
  const logged: unknown[][] = []
  const host = await start({
    logger: { info: () => {}, warn: () => {}, error: (...words) => void logged.push(words) },
  })
  const heard: string[] = []
  const failing = (): never => {
    throw new Error('listener')
  }
  const { events } = host.oauth
  events.on('tokens.issued', failing).on('tokens.issued', async () => failing())
  events.on('tokens.issued', ({ grantType }) => heard.push(grantType))
  const ask = () => post(host, { ...web, grant_type: 'client_credentials' })
  expect((await ask()).status).toBe(200)
  expect(heard).toEqual(['client_credentials'])
  expect(logged).toHaveLength(2)
  host.oauth.events.off('tokens.issued', failing)
  expect((await ask()).status).toBe(200)
  expect(logged).toHaveLength(3)
})

test('a change that loses a race, and so is made again, is announced and stored once', async () => {
  const { oauth, events, table } = await start({ storedEvents: true })
  const server = serverBehind(oauth)!
  let runs = 0
  await server.events.change(server.database, async (_tx, tell) => {
    runs += 1
    await tell('login.ended', undefined, { subject: '1' })
    if (runs === 1) throw Object.assign(new Error('another has it'), { code: 'SQLITE_CONSTRAINT_UNIQUE' })
  })
  const types = [events, await table('events')].map((told) => told.map(({ type }) => type))
  expect({ runs, types }).toEqual({ runs: 2, types: [['login.ended'], ['login.ended']] })
})

test('an IPv4 address that a socket has mapped to IPv6 is announced as IPv4', async () => {
  const { app, events } = await start()
  app.set('trust proxy', 1)
  const browser = new RawBrowser(app, undefined, { 'X-Forwarded-For': '::ffff:203.0.113.7' })
  await browser.signIn(await browser.open(authorizeUrl({ client_id: 'web' })), ada.email, 'wrong')
  expect(events.at(-1)).toMatchObject({ type: 'login.failed', address: '203.0.113.7' })
})

test('each key has a share of a window, and so have all keys; the first use beyond it is told apart', () => {
  let time = 6000
  const take = createShares({ seconds: 600, each: 2, all: 3, now: () => time })
  expect(['a', 'a', 'a', 'b', 'c'].map(take)).toEqual(['within', 'within', 'reached', 'within', 'beyond'])
  time += 600
  expect(['a', 'b', 'c', 'c'].map(take)).toEqual(['within', 'within', 'within', 'reached'])
})

test('once() calls its listener for one event, on() for each, and off() removes either', async () => {
  const host = await start()
  const heard: string[] = []
  const removed = (): never => {
    throw new Error('removed')
  }
  host.oauth.events
    .once('tokens.issued', () => heard.push('once'))
    .once('*', ({ type }) => heard.push(`once * ${type}`))
    .on('tokens.issued', () => heard.push('on'))
    .once('tokens.issued', removed)
    .off('tokens.issued', removed)
  for (let count = 0; count < 2; count += 1) await post(host, { ...web, grant_type: 'client_credentials' })
  expect(heard).toEqual(['once', 'on', 'once * tokens.issued', 'on'])
})
