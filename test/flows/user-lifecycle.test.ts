import session from 'express-session'
import { authenticatorApps, developers, passkeys } from '../../lib/features/index.ts'
import { type AuthEvent, seedUsers } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { type LogoutReceiver, openLogoutReceiver } from '../support/logout-receiver.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  ada,
  answerOf,
  bob,
  expectError,
  guarded,
  introspect,
  redeem,
  refresh,
  type TokenAnswer,
  userinfo,
} from '../support/tokens.ts'

// What hosts call about their users: users.revokeAll, signedOut, export and erase.

const scope = 'openid email notes:read'
const offline = `${scope} offline_access`
const nothing = { consents: [], receipts: [], authorizations: [], logins: [] }
const other = { client_id: 'other', client_secret: secret, redirect_uris: [callback] }

let receiver: LogoutReceiver
let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  receiver = await openLogoutReceiver()
  const logoutUri = `${receiver.origin}/told`
  host = await startHost({
    clients: [...clients, other, { ...other, client_id: 'told', backchannel_logout_uri: logoutUri }],
    options: { outbound: { allow: [receiver.origin] } },
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

/** While it cannot be found, statements about the table fail. */
const without = async (name: string, work: () => Promise<unknown>): Promise<void> => {
  const { knex, tablePrefix } = host.database
  await knex.schema.renameTable(`${tablePrefix}${name}`, `${tablePrefix}away`)
  await work()
  await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${name}`)
}

interface Person {
  readonly agent: RawBrowser
  /** Without and with `offline_access`. */
  readonly tokens: readonly [TokenAnswer, TokenAnswer]
}

const signedIn = async (as = ada, of = host): Promise<Person> => {
  const agent = new RawBrowser(of.app)
  const grant = async (asked: string): Promise<TokenAnswer> => {
    const done = await agent.grant(authorizeUrl({ client_id: 'web', scope: asked }), as.email, as.password)
    return answerOf(redeem(of, codeOf(done)))
  }
  return { agent, tokens: [await grant(scope), await grant(offline)] }
}
const silentFor = (asked: string): string => authorizeUrl({ client_id: 'web', scope: asked, prompt: 'none' })
const silent = silentFor(scope)

/** Whether session, access tokens and refresh tokens still work, the last being used up by it. */
const standing = async ({ agent, tokens }: Person, of = host): Promise<unknown[]> => {
  const answers: unknown[] = [(await agent.get(silent)).location?.searchParams.get('error') ?? 'signed in']
  for (const { access_token, refresh_token } of tokens) {
    answers.push([
      (await userinfo(of, access_token)).status,
      (await guarded(of, access_token)).status,
      (await introspect(of, access_token)).body.active,
      (await refresh(of, refresh_token)).status,
    ])
  }
  return answers
}
const alive = ['signed in', [200, 200, true, 200], [200, 200, true, 200]]
const dead = ['login_required', [401, 401, false, 400], [401, 401, false, 400]]

describe('users.revokeAll(id)', () => {
  test('ends sessions, tokens, repeated refreshes and codes, by id or subject, also in parallel', async () => {
    const person = await signedIn()
    const codes: string[] = []
    for (const asked of [scope, offline]) codes.push(codeOf(await person.agent.get(silentFor(asked))))
    const next = await answerOf(refresh(host, person.tokens[1].refresh_token))
    await Promise.all(['1', 1, '1'].map((id) => host.oauth.users.revokeAll(id)))
    expect(await standing(person)).toEqual(dead)
    for (const code of codes) expectError(await redeem(host, code), 400, 'invalid_grant')
    expectError(await refresh(host, next.refresh_token), 400, 'invalid_grant')
  })

  test('makes pages ask for the password again, also an open consent page; later grants are valid', async () => {
    const { agent } = await signedIn()
    const before = agent.clone()
    const consent = await agent.open(authorizeUrl({ client_id: 'other', scope: 'openid', prompt: 'consent' }))
    await host.oauth.users.revokeAll(1)
    const answer = await agent.decide(consent, 'allow')
    expect(answer.url.pathname).toBe('/oauth/login')
    expect(answer.html).toContain('You were signed out.')
    const login = await agent.open(authorizeUrl({ client_id: 'web', scope }))
    expect(login.url.pathname).toBe('/oauth/login')
    const tokens = await answerOf(redeem(host, codeOf(await agent.signIn(login))))
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    expect((await refresh(host, tokens.refresh_token)).status).toBe(200)
    expectErrorRedirect(await before.get(silent), 'login_required')
  })
})

test('revokeAll(), export() and erase() find no user under an unknown id', async () => {
  const person = await signedIn()
  const before = await host.oauth.users.export('1')
  const odd = ['4711', 0, -1, '', ' 1', 'a\0b', '01', '1.0', "1' OR '1'='1", '%', 'ä'.repeat(300)]
  for (const id of odd) {
    await host.oauth.users.revokeAll(id)
    await host.oauth.users.erase(id)
    expect(await host.oauth.users.export(id)).toEqual(nothing)
  }
  expect(await host.oauth.users.export(1)).toEqual(before)
  expect(await standing(person)).toEqual(alive)
})

test('a call that names no user by an id rejects and says so, whatever stands in its place', async () => {
  const at = await startHost({
    clients: [{ client_id: 'web', client_secret: secret, redirect_uris: [callback] }],
    options: { features: [passkeys(), authenticatorApps(), developers({ allow: () => true })] },
  })
  const announced: AuthEvent[] = []
  at.oauth.events.on('*', (event) => announced.push(event))
  const { users, sessions, authorizations } = at.oauth
  const calls: Record<string, (id: never) => Promise<unknown>> = {
    'users.revokeAll': users.revokeAll,
    'users.export': users.export,
    'users.erase': users.erase,
    'sessions.list': (user) => sessions.list({ user }),
    'authorizations.list': (user) => authorizations.list({ user }),
    'passkeys.removeAll': at.oauth.passkeys!.removeAll,
    'secondFactor.remove': at.oauth.secondFactor!.remove,
    'developers.transfer': (id) => at.oauth.developers!.transfer('web', id ?? undefined),
    // These take the id of a session or authorization.
    'sessions.end': sessions.end,
    'authorizations.end': authorizations.end,
  }
  const wrong = [{ id: 1 }, [1], Promise.resolve(1), undefined, null, true, 1.5, 2 ** 53, Number.NaN, () => 1]
  for (const [name, call] of Object.entries(calls)) {
    for (const id of wrong)
      await expect(call(id as never)).rejects.toThrow(new RegExp(`^latchkey: ${name}\\(\\) needs the id`))
  }
  expect(announced).toEqual([])
  await at.oauth.developers!.transfer('web', 1n)
  expect(await at.oauth.developers!.ownerOf('web')).toBe('1')
  await users.revokeAll(1n)
  expect(announced).toContainEqual(expect.objectContaining({ type: 'user.revoked', subject: '1' }))
  await at.close()
})

describe('users.signedOut(req)', () => {
  let hosted: Host
  beforeAll(async () => {
    hosted = await startHost({
      before: [session({ secret: 'of the host', resave: false, saveUninitialized: false })],
      options: { session: 'host' },
    })
    for (const { app, oauth } of [host, hosted]) {
      app.post('/sign-out', (req, res, next) => {
        oauth.users.signedOut(req).then(() => res.send('bye'), next)
      })
    }
  })
  afterAll(() => hosted.close())

  test('ends the login of this browser and what depends on it; what was granted offline stays', async () => {
    const [person, elsewhere] = [await signedIn(ada, hosted), await signedIn(ada, hosted)]
    const again = await person.agent.grant(authorizeUrl({ client_id: 'web', scope, prompt: 'login' }))
    const later = await answerOf(redeem(hosted, codeOf(again)))
    expect(claimsOf(later.id_token).sid).not.toBe(claimsOf(person.tokens[0].id_token).sid)
    expect((await userinfo(hosted, person.tokens[0].access_token)).status).toBe(200)
    expect((await person.agent.post('/sign-out', {})).html).toBe('bye')
    expect(await standing(person, hosted)).toEqual([dead[0], dead[1], alive[2]])
    expect((await userinfo(hosted, later.access_token)).status).toBe(401)
    expect(await standing(elsewhere, hosted)).toEqual(alive)
    expect((await person.agent.post('/sign-out', {})).html).toBe('bye')
  })

  test('does no harm where no user is signed in, or where there is no session at all', async () => {
    for (const { app } of [hosted, host])
      expect((await new RawBrowser(app).post('/sign-out', {})).html).toBe('bye')
  })
})

test('users.export(id) returns all stored data as plain JSON, without a hash or a secret', async () => {
  const agent = new RawBrowser(host.app)
  const asked = { client_id: 'web', scope: offline }
  const first = await answerOf(redeem(host, codeOf(await agent.grant(authorizeUrl(asked)))))
  const tokens = await answerOf(refresh(host, first.refresh_token))
  codeOf(await agent.get(silentFor(offline)))
  const now = Math.floor(Date.now() / 1000)
  const exported = await host.oauth.users.export(1)
  expect(JSON.parse(JSON.stringify(exported))).toEqual(exported)
  const time = expect.any(Number)
  const granted = { clientId: 'web', scopes: ['openid', 'email', 'notes:read', 'offline_access'] }
  expect(exported.consents).toEqual([{ ...granted, createdAt: time, updatedAt: time }])
  const claims = ['email', 'email_verified']
  expect(exported.receipts).toMatchObject([{ clientId: 'web', locale: 'en', claims }])
  const authorization = {
    id: expect.stringMatching(/^[\w-]{22}$/),
    ...granted,
    redirectUri: callback,
    createdAt: time,
    lastUsedAt: null,
    expiresAt: time,
    revokedAt: null,
  }
  const refreshedLast = [...exported.authorizations].sort((one) => (one.lastUsedAt === null ? -1 : 1))
  expect(refreshedLast).toEqual([authorization, { ...authorization, lastUsedAt: time }])
  const place = { userAgent: 'latchkey/testing', address: '127.0.0.1', lastSeenAt: time }
  expect(exported.logins).toEqual([
    { authTime: time, amr: ['pwd'], expiresAt: time, endedAt: null, ...place },
  ])
  expect(Math.abs(Number(exported.logins[0]?.authTime) - now)).toBeLessThan(60)
  const [row] = await host.table('authorizations')
  for (const hidden of [row.code_hash, row.sid, tokens.access_token, 'lk_'])
    expect(JSON.stringify(exported)).not.toContain(hidden)
})

describe('users.erase(id)', () => {
  test('ends everything at once, leaves no row of the user, and changes no other user', async () => {
    const people = [await signedIn(), await signedIn()]
    const [{ agent }] = people as [Person]
    const code = codeOf(await agent.get(silent))
    const bobs = await signedIn(bob)
    const bobsRows = await host.oauth.users.export(2)
    await host.oauth.users.erase(1)
    for (const person of people) expect(await standing(person)).toEqual(dead)
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expect(await host.oauth.users.export(1)).toEqual(nothing)
    for (const name of ['consents', 'consent_receipts', 'authorizations', 'logins'])
      expect(await host.table(name).where({ subject: '1' })).toEqual([])
    const families = (await host.table('authorizations')).map(({ id }) => id)
    for (const name of ['access_tokens', 'refresh_tokens'])
      expect(await host.table(name).whereNotIn('authorization_id', families)).toEqual([])
    expect(await host.oauth.users.export(2)).toEqual(bobsRows)
    expect(await standing(bobs)).toEqual(alive)
    expect(events.filter(({ type }) => type === 'user.erased')).toMatchObject([{ subject: '1' }])
    expect(await host.database.knex(host.usersTable).where({ id: 1 })).toHaveLength(1)
  })

  test('notifies the clients that registered for it, although their rows are gone', async () => {
    const done = await new RawBrowser(host.app).grant(authorizeUrl({ client_id: 'told', scope: 'openid' }))
    const { id_token } = await answerOf(redeem(host, codeOf(done), { client_id: 'told' }))
    await host.oauth.users.erase(1)
    const [request] = await receiver.requests.until(1)
    expect(claimsOf(request?.token ?? '')).toMatchObject({ sub: '1', sid: claimsOf(id_token).sid })
  })

  test('removes more rows than fit in one batch, and continues where it stopped', async () => {
    const { agent } = await signedIn()
    const [row] = await host.table('authorizations').where({ subject: '1' })
    const copies = Array.from({ length: 230 }, (_, index) => `copy-${index}`)
    const rows = copies.map((id) => ({ ...row, id, code_hash: id }))
    await host.database.knex.batchInsert(`${host.database.tablePrefix}authorizations`, rows, 20)
    await without('consents', () =>
      expect(host.oauth.users.erase(1)).rejects.toMatchObject({ code: 'temporarily_unavailable' }),
    )
    await host.oauth.users.erase(1)
    expect(await host.oauth.users.export(1)).toEqual(nothing)
    expect((await agent.get('/oauth/account')).html).toContain('name="password"')
  })

  test('removes failed sign-ins under the names of the user from the stored events, and no others', async () => {
    const kept = await startHost({ options: { storedEvents: true } })
    const fail = async (name: string) => {
      const agent = new RawBrowser(kept.app)
      await agent.signIn(await agent.open(authorizeUrl({ client_id: 'web', scope: 'openid' })), name, 'wrong')
    }
    for (const name of [ada.email, 'ADA@example.com', bob.email, 'mira']) await fail(name)
    await signedIn(ada, kept)
    await signedIn(bob, kept)
    await kept.oauth.users.erase(1)
    await serverBehind(kept.oauth)!.eventLog!.settled()
    const accounts = (await kept.table('events').whereNotNull('account')).map(({ account }) => account)
    const others = await Promise.all([bob.email, 'mira'].map((name) => kept.oauth.users.accountOf(name)))
    expect(new Set(accounts)).toEqual(new Set(others))
    await kept.close()
  })

  test('keeps the stored events about another user who signed in under the same name', async () => {
    const kept = await startHost({ options: { storedEvents: true } })
    await signedIn(ada, kept)
    await serverBehind(kept.oauth)!.eventLog!.settled()
    const [row] = await kept.table('events').where({ type: 'login.succeeded' })
    await kept.table('events').insert({ ...row, id: 'of another user', subject: '2' })
    await kept.oauth.users.erase(1)
    const left = await kept.table('events').where({ account: row.account })
    expect(left.map(({ id }) => id)).toEqual(['of another user'])
    await kept.close()
  })

  test('deletes an account in our own table', async () => {
    const own = await startHost({ options: { users: undefined } })
    const seeds = [ada, bob].map(({ email: username, password }) => ({ username, password }))
    const { knex, tablePrefix } = own.database
    const [first] = await seedUsers(knex, seeds, { database: { tablePrefix } })
    const agent = new RawBrowser(own.app)
    codeOf(await agent.grant(authorizeUrl({ client_id: 'web', scope: 'openid' })))
    await own.oauth.users.erase(first?.subject ?? '')
    expect((await own.table('users')).map(({ username }) => username)).toEqual([bob.email])
    expect((await agent.signIn(await agent.open('/oauth/account'))).status).toBe(400)
    await own.close()
  })
})

// MariaDB pads strings with spaces before it compares them, and collations ignore case. To us such ids are different people.
describe('ids that a database may take for one another', () => {
  const password = 'one for all of them'
  let similar: Host
  beforeAll(async () => {
    similar = await startHost({
      options: {
        users: {
          find: (id) => ({ id }),
          // Users type their id as JSON, because forms trim spaces.
          authenticate: ({ username, password: given }) =>
            given === password && username.startsWith('"') ? { id: JSON.parse(username) } : undefined,
          claims: () => ({}),
        },
      },
    })
  })
  afterAll(() => similar.close())

  const visit = async (id: string) => {
    const agent = new RawBrowser(similar.app)
    const url = authorizeUrl({ client_id: 'web', scope: 'openid offline_access' })
    const done = await agent.grant(url, JSON.stringify(id), password)
    return { id, agent, tokens: await answerOf(redeem(similar, codeOf(done))) }
  }
  type Visitor = Awaited<ReturnType<typeof visit>>
  const removeClient = async ({ agent }: Visitor): Promise<void> => {
    const { html } = await agent.get('/oauth/account')
    const [, href = ''] = /<a class="button secondary" href="(.*?)"/.exec(html) ?? []
    await agent.submit(await agent.get(href.replaceAll('&amp;', '&')), 'type="submit"')
  }

  test.each<[string, string, (visitor: Visitor) => Promise<unknown>]>([
    ['revokeAll()', 'eve', ({ id }) => similar.oauth.users.revokeAll(id)],
    ['erasing a user', 'kim', ({ id }) => similar.oauth.users.erase(id)],
    ['removing a client', 'pat', removeClient],
  ])('%s ends nothing of users whose ids are similar', async (_, name, end) => {
    const [one, ...others] = [
      await visit(name),
      await visit(`${name} `),
      await visit(name.toUpperCase()),
    ] as [Visitor, ...Visitor[]]
    for (const { id, tokens } of [one, ...others]) {
      const { consents, receipts, authorizations, logins } = await similar.oauth.users.export(id)
      const counts = [consents, receipts, authorizations, logins].map(({ length }) => length)
      expect([id, counts]).toEqual([id, [1, 1, 1, 1]])
      expect((await userinfo(similar, tokens.access_token)).body.sub).toBe(id)
    }
    const exported = () => Promise.all(others.map(({ id }) => similar.oauth.users.export(id)))
    const before = await exported()
    await end(one)
    expect(await exported()).toEqual(before)
    expect((await userinfo(similar, one.tokens.access_token)).status).toBe(401)
    for (const { agent, tokens } of others) {
      expect((await userinfo(similar, tokens.access_token)).status).toBe(200)
      codeOf(await agent.get(silentFor('openid')))
      expect((await agent.get('/oauth/account')).html).toContain('Web client')
      expect((await refresh(similar, tokens.refresh_token)).status).toBe(200)
    }
  })
})
