import type { AuthEvent, Authorization, ListOptions, ListPage } from '../../lib/index.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { type LogoutReceiver, openLogoutReceiver } from '../support/logout-receiver.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  ada,
  answerOf,
  bob,
  expectError,
  redeem,
  refresh,
  type TokenAnswer,
  userinfo,
} from '../support/tokens.ts'

// oauth.sessions and oauth.authorizations.

const scope = 'openid email notes:read'
const offline = `${scope} offline_access`

let receiver: LogoutReceiver
let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  receiver = await openLogoutReceiver()
  const other = { client_id: 'other', client_secret: secret, redirect_uris: [callback] }
  host = await startHost({
    clients: [...clients, { ...other, backchannel_logout_uri: `${receiver.origin}/other` }],
    options: {
      outbound: { allow: [receiver.origin] },
      organizations: () => [
        { id: 'acme', name: 'Acme' },
        { id: 'globex', name: 'Globex' },
      ],
    },
  })
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(async () => {
  await host.close()
  await receiver.close()
})
beforeEach(async () => {
  for (const id of [1, 2]) await host.oauth.users.erase(id)
  events.length = 0
})

const chrome =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36'

interface Asked {
  readonly client?: string
  readonly scope?: string
  readonly organization?: string
}

const newBrowser = () => new RawBrowser(host.app, undefined, { 'user-agent': chrome })

/** The user allows a client, in one organization. */
const allow = async (
  agent: RawBrowser,
  as: typeof ada,
  { client = 'web', scope: asked = scope, organization = 'acme' }: Asked = {},
): Promise<TokenAnswer> => {
  const url = authorizeUrl({ client_id: client, scope: asked, prompt: 'consent' })
  let page = await agent.open(url)
  if (page.html.includes('type="password"'))
    page = await agent.submit(page, 'type="password"', { username: as.email, password: as.password })
  const done = await agent.allowIn(page, organization)
  return answerOf(redeem(host, codeOf(done), { client_id: client }))
}

const authorizationIds = ({ items }: ListPage<Authorization>): string[] => items.map(({ id }) => id)

test('a session says who signed in, how, where and to what', async () => {
  const agent = newBrowser()
  await allow(agent, ada)
  const { items, next } = await host.oauth.sessions.list({ user: 1 })
  expect(next).toBeUndefined()
  expect(items).toEqual([
    {
      id: expect.any(String),
      subject: '1',
      signedInAt: expect.any(Number),
      lastUsedAt: expect.any(Number),
      expiresAt: expect.any(Number),
      device: { browser: 'Chrome', system: 'macOS' },
      address: expect.stringMatching(/127\.0\.0\.1$/),
      amr: ['pwd'],
      clients: ['web'],
    },
  ])
})

test('an authorization says what was granted, for what and until when', async () => {
  await allow(newBrowser(), ada, { scope: offline, organization: 'globex' })
  const [session] = (await host.oauth.sessions.list({ user: '1' })).items
  const { items } = await host.oauth.authorizations.list({ user: 1 })
  expect(items).toEqual([
    {
      id: expect.any(String),
      subject: '1',
      clientId: 'web',
      organization: 'globex',
      scopes: offline.split(' '),
      resources: [],
      createdAt: expect.any(Number),
      lastUsedAt: expect.any(Number),
      expiresAt: expect.any(Number),
      offline: true,
      sessionId: session?.id,
    },
  ])
})

test('a session that ends takes its authorizations along, and tells its clients', async () => {
  const agent = newBrowser()
  const [short, long] = [await allow(agent, ada), await allow(agent, ada, { scope: offline })]
  const [session] = (await host.oauth.sessions.list({ user: 1 })).items
  const id = session?.id ?? ''
  const kept = await allow(newBrowser(), bob)
  expect(await host.oauth.sessions.end(id)).toBe(true)
  expect((await userinfo(host, short.access_token)).status).toBe(401)
  expectError(await refresh(host, short.refresh_token), 400, 'invalid_grant')
  expect((await refresh(host, long.refresh_token)).status).toBe(200)
  expect((await userinfo(host, kept.access_token)).status).toBe(200)
  expect((await host.oauth.sessions.list({ user: 1 })).items).toEqual([])
  expect((await host.oauth.authorizations.list({ user: 1 })).items).toMatchObject([{ offline: true }])
  expect(events).toContainEqual(expect.objectContaining({ type: 'login.ended', subject: '1' }))
  for (const gone of [id, 'unknown', '', 'x'.repeat(5000), '\0'])
    expect(await host.oauth.sessions.end(gone)).toBe(false)
})

test('back-channel logout follows the end of a session', async () => {
  const url = authorizeUrl({ client_id: 'other', scope: 'openid', prompt: 'consent' })
  const agent = newBrowser()
  const login = await agent.open(url)
  const page = await agent.submit(login, 'type="password"', { username: ada.email, password: ada.password })
  await agent.allowIn(page, 'acme')
  const [session] = (await host.oauth.sessions.list({ client: 'other' })).items
  await host.oauth.sessions.end(String(session?.id))
  const [told] = await receiver.requests.until(1)
  expect(claimsOf(String(told?.token))).toMatchObject({ aud: 'other', sub: '1' })
})

test('an authorization that ends takes its tokens along, and nothing else', async () => {
  const agent = newBrowser()
  const [one, other] = [await allow(agent, ada), await allow(agent, ada)]
  const before = (await host.oauth.authorizations.list({ user: 1 })).items
  expect(before).toHaveLength(2)
  const first = events.find(({ type }) => type === 'authorization.issued')
  const id = String(first && 'authorizationId' in first && first.authorizationId)
  expect(await host.oauth.authorizations.end(id)).toBe(true)
  expect((await userinfo(host, one.access_token)).status).toBe(401)
  expect((await userinfo(host, other.access_token)).status).toBe(200)
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'authorization.revoked',
      authorizationId: id,
      clientId: 'web',
      reason: 'revoked_by_host',
    }),
  )
  for (const gone of [id, 'unknown', '', '\0']) expect(await host.oauth.authorizations.end(gone)).toBe(false)
  expect(
    (await host.oauth.authorizations.list({ user: 1 })).items.map((authorization) => authorization.id),
  ).not.toContain(id)
})

test('for a user, only a session or authorization of that user ends', async () => {
  const tokens = await allow(newBrowser(), ada)
  const [session] = (await host.oauth.sessions.list({ user: 1 })).items
  const [authorization] = (await host.oauth.authorizations.list({ user: 1 })).items
  for (const [end, id] of [
    [host.oauth.authorizations.end, authorization?.id ?? ''],
    [host.oauth.sessions.end, session?.id ?? ''],
  ] as const) {
    expect(await end(id, { user: bob.id })).toBe(false)
    await expect(end(id, { user: undefined as never })).rejects.toThrow('needs the id of the user')
    expect((await userinfo(host, tokens.access_token)).status).toBe(
      end === host.oauth.authorizations.end ? 200 : 401,
    )
    expect(await end(id, { user: '1' })).toBe(true)
  }
  expect(await host.oauth.sessions.list({ user: 1 })).toEqual({ items: [] })
})

test('lists go by user, client and organization, page by page', async () => {
  const agent = newBrowser()
  for (const organization of ['acme', 'globex', 'acme']) await allow(agent, ada, { organization })
  await allow(newBrowser(), bob)
  const count = async (options: ListOptions) => [
    (await host.oauth.sessions.list(options)).items.length,
    (await host.oauth.authorizations.list(options)).items.length,
  ]
  expect(await count({})).toEqual([2, 4])
  expect(await count({ user: 1 })).toEqual([1, 3])
  expect(await count({ client: 'web' })).toEqual([2, 4])
  expect(await count({ client: 'other' })).toEqual([0, 0])
  expect(await count({ user: 2, client: 'web' })).toEqual([1, 1])
  expect(await count({ organization: 'globex' })).toEqual([1, 1])
  expect(await count({ user: 1, client: 'web', organization: 'acme' })).toEqual([1, 2])
  expect(await count({ user: '\0' })).toEqual([0, 0])
  const found: string[] = []
  let page: ListPage<Authorization> = { items: [] }
  do {
    page = await host.oauth.authorizations.list({ client: 'web', limit: 3, after: page.next })
    expect(page.items.length).toBeLessThanOrEqual(3)
    found.push(...authorizationIds(page))
  } while (page.next !== undefined)
  expect(found).toEqual(authorizationIds(await host.oauth.authorizations.list()))
  expect(new Set(found).size).toBe(4)
})

test.each([0, 101, 1.5, Number.NaN])('limit cannot be %s', async (limit) => {
  await expect(host.oauth.sessions.list({ limit })).rejects.toThrow(RangeError)
  await expect(host.oauth.authorizations.list({ limit })).rejects.toThrow(
    'limit must be an integer from 1 to 100',
  )
})
