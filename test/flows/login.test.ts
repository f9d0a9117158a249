import { hash as argon2 } from '@node-rs/argon2'
import type { JWTPayload } from 'jose'
import { seedUsers } from '../../lib/index.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import {
  authorizeUrl,
  callback,
  clients,
  type Host,
  type HostSettings,
  issuer,
  secret,
  startHost,
} from '../support/host.ts'
import { claimsOf, codeOf, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, redeem, refresh, userinfo } from '../support/tokens.ts'

const open: Host[] = []
const start = async (settings: HostSettings): Promise<Host> => {
  // Many of these tests type wrong passwords; the limits have tests of their own.
  const host = await startHost({ ...settings, options: { limits: false, ...settings.options } })
  open.push(host)
  return host
}
let host: Host
let clock: Clock
beforeAll(async () => {
  const confidential = { client_secret: secret, redirect_uris: [callback] }
  host = await start({
    clients: [...clients, { ...confidential, client_id: 'impatient', default_max_age: 100 }],
  })
})
afterAll(() => Promise.all(open.map((each) => each.close())))
beforeEach(async () => {
  clock = stopClock()
  await host.table('consents').delete()
})
afterEach(() => jest.restoreAllMocks())

const web = { client_id: 'web', scope: 'openid', state: 's' }
const people = () => host.database.knex(host.usersTable)
const browser = (of = host) => new RawBrowser(of.app)
const loginPage = '200 /login'
const refusal = '400 /login'
const consentPage = '200 /consent'

const silently = (agent: RawBrowser, more: Record<string, string> = {}): Promise<Answer> =>
  agent.get(authorizeUrl({ ...web, prompt: 'none', ...more }))

/** The ID token that a code gives. */
const idTokenOf = async (answer: Answer, client_id = 'web', of = host) => {
  const { id_token } = await answerOf(redeem(of, codeOf(answer), { client_id }))
  return { ...claimsOf(id_token), raw: id_token } as JWTPayload & { raw: string }
}

/** A browser in which Ada has signed in and allowed the client, a while ago. */
const visited = async (request: Record<string, string> = web, seconds = 30) => {
  const agent = browser()
  const idToken = await idTokenOf(await agent.grant(authorizeUrl(request)), request.client_id)
  expect(idToken).toMatchObject({ sub: '1', auth_time: clock.now() })
  clock.travel(seconds)
  return { agent, idToken }
}
const idOf = (page: Answer): string => page.url.searchParams.get('authorization_request') ?? ''

describe('the page', () => {
  test('names the client and its host, and repeats what was typed, escaped, but never a password', async () => {
    const agent = browser()
    const hint = `ada"><script>alert(1)</script>`
    const page = await agent.open(authorizeUrl({ ...web, login_hint: hint }))
    expect(pageOf(page)).toBe(loginPage)
    expect(page.html.replace(/<[^>]+>/g, '')).toContain('to continue to Web client (client.example.com)')
    const fields = fieldsOf(page, 'name="password"')
    expect(Object.keys(fields).sort().join(' ')).toBe('authorization_request csrf_token password username')
    expect(fields.username).toBe(hint)
    expect(page.html).not.toContain('<script>alert')

    const name = `<b>"no'body"</b>`
    const failed = await agent.signIn(page, name, 'not the password of anyone')
    expect(pageOf(failed)).toBe(refusal)
    expect(fieldsOf(failed, 'name="password"')).toMatchObject({ username: name, password: '' })
    expect(failed.html).toContain('&lt;b&gt;')
    expect(failed.html).not.toContain('not the password of anyone')
    expect(failed.html).toMatch(/<title>Error: /)
    expect(failed.html).toContain('Wrong email or password')
  })

  test('accepts a password of 1,024 characters as it was typed, with its spaces', async () => {
    const password = `  a p${'ä'.repeat(1018)} `
    const password_hash = await argon2(password, { memoryCost: 64, timeCost: 1, parallelism: 1 })
    await people().insert({ id: 9, email: 'old@example.com', password_hash })
    const agent = browser()
    const page = await agent.open(authorizeUrl(web))
    for (const wrong of [password.trim(), `${password} `, password.toUpperCase(), 'x'.repeat(9000)])
      expect(pageOf(await agent.signIn(page, 'old@example.com', wrong))).toBe(refusal)
    const done = await agent.decide(await agent.signIn(page, 'old@example.com', password), 'allow')
    expect((await idTokenOf(done)).sub).toBe('9')
    await people().where({ id: 9 }).delete()
  })

  test.each<Record<string, string>>([
    { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost:3000' },
    { 'Sec-Fetch-Site': 'none' },
    { Origin: 'null' },
    {},
  ])('accepts a form with the headers %j', async (headers) => {
    const agent = browser()
    const fields = fieldsOf(await agent.open(authorizeUrl(web)), 'name="password"')
    const typed = { ...fields, username: ada.email, password: ada.password }
    expect((await agent.post('/oauth/login', typed, headers)).location?.pathname).toBe('/oauth/consent')
  })
})

test('a login is remembered until the account is disabled', async () => {
  const agent = browser()
  codeOf(await agent.grant(authorizeUrl(web), bob.email, bob.password))
  codeOf(await agent.open(authorizeUrl(web)))
  await people().where({ id: 2 }).update({ disabled_at: 1 })
  expectErrorRedirect(await silently(agent), 'login_required', { state: 's' })
  const page = await agent.open(authorizeUrl(web))
  expect(pageOf(page)).toBe(loginPage)
  expect(pageOf(await agent.signIn(page, bob.email, bob.password))).toBe(refusal)
  await people().where({ id: 2 }).update({ disabled_at: null })
  codeOf(await agent.open(authorizeUrl(web)))
})

test('users behind functions sign in, and their claims cannot replace protocol claims', async () => {
  let isDisabled = false
  const user = { id: 'u-1', username: 'Grace' }
  const seen: string[][] = []
  const own = await start({
    options: {
      users: {
        find: async (id) => (id === user.id && !isDisabled ? user : undefined),
        authenticate: ({ username, password: given, req }) => {
          seen.push([username, given, req.method])
          return username === 'grace' && given === ' p ' ? user : undefined
        },
        claims: () => ({ name: 'Grace H.', email: 'g@example.com', sub: 'forged', iss: 'forged' }),
      },
    },
  })
  const agent = browser(own)
  const page = await agent.open(authorizeUrl({ ...web, scope: 'openid profile' }))
  expect(pageOf(await agent.signIn(page, 'grace', 'p'))).toBe(refusal)
  const consent = await agent.signIn(page, 'grace', ' p ')
  expect(seen.at(-1)).toEqual(['grace', ' p ', 'POST'])
  expect(consent.html).toContain('Grace H.')
  const token = await idTokenOf(await agent.decide(consent, 'allow'), 'web', own)
  expect(token).toMatchObject({ sub: 'u-1', name: 'Grace H.', iss: issuer })
  expect(token).not.toHaveProperty('email')
  isDisabled = true
  expect(pageOf(await agent.open(authorizeUrl(web)))).toBe(loginPage)
})

test('a seeded account signs in until it is disabled; a new password ends its logins and tokens', async () => {
  const own = await start({ options: { users: undefined } })
  const { knex, tablePrefix } = own.database
  const profile = { name: 'Grace', email: 'g@example.com', email_verified: true }
  const seed = (password: string) =>
    seedUsers(knex, [{ username: 'grace', password, ...profile }], { database: { tablePrefix } })
  const [seeded] = await seed(' correct horse ')
  const agent = browser(own)
  const page = await agent.open(authorizeUrl({ ...web, scope: 'openid profile email offline_access' }))
  expect(pageOf(await agent.signIn(page, 'grace', 'correct horse'))).toBe(refusal)
  expect(pageOf(await agent.signIn(page, 'hopper', ' correct horse '))).toBe(refusal)
  const done = await agent.decide(await agent.signIn(page, 'grace', ' correct horse '), 'allow')
  let tokens = await answerOf(redeem(own, codeOf(done)))
  expect(claimsOf(tokens.id_token)).toMatchObject({ sub: seeded?.subject, ...profile })

  await seed(' correct horse ')
  tokens = await answerOf(refresh(own, tokens.refresh_token))
  await userinfo(own, tokens.access_token).expect(200)
  codeOf(await silently(agent))
  await seed('another horse')
  await refresh(own, tokens.refresh_token).expect(400)
  await userinfo(own, tokens.access_token).expect(401)
  expectErrorRedirect(await silently(agent), 'login_required', { state: 's' })

  await own.table('users').where({ id: seeded?.subject }).update({ disabled_at: 1 })
  const again = await agent.open(authorizeUrl(web))
  expect(pageOf(await agent.signIn(again, 'grace', 'another horse'))).toBe(refusal)
})

describe('prompt=none', () => {
  test('without a login is login_required, and for more than was allowed consent_required', async () => {
    expectErrorRedirect(await silently(browser()), 'login_required', { state: 's' })
    const { agent } = await visited()
    expectErrorRedirect(await silently(agent, { scope: 'openid email' }), 'consent_required', { state: 's' })
    expectErrorRedirect(await silently(agent, { client_id: 'impatient' }), 'consent_required', { state: 's' })
  })

  test('distinguishes the user of the id_token_hint from others, also with an expired hint', async () => {
    const { agent, idToken } = await visited()
    const other = browser()
    const bobs = await idTokenOf(await other.grant(authorizeUrl(web), bob.email, bob.password))
    codeOf(await silently(other, { id_token_hint: bobs.raw }))
    expectErrorRedirect(await silently(agent, { id_token_hint: bobs.raw }), 'login_required', { state: 's' })
    expectErrorRedirect(await silently(browser(), { id_token_hint: idToken.raw }), 'login_required', {
      state: 's',
    })
    clock.travel(4000)
    codeOf(await agent.grant(authorizeUrl(web)))
    codeOf(await silently(agent, { id_token_hint: idToken.raw }))
  })
})

describe('prompt=login', () => {
  const request = { ...web, prompt: 'login' }

  test.each(['login', 'login select_account'])(
    '(%s) asks a signed-in user to sign in again, and creates a new login',
    async (prompt) => {
      const { agent, idToken } = await visited()
      const page = await agent.open(authorizeUrl({ ...web, prompt }))
      expect(pageOf(page)).toBe(loginPage)
      clock.travel(5)
      const { auth_time, sid, sub } = await idTokenOf(await agent.signIn(page))
      expect({ auth_time, sub }).toEqual({ auth_time: clock.now(), sub: '1' })
      expect(sid).not.toBe(idToken.sid)
    },
  )

  test('cannot be skipped by opening any URL of it again', async () => {
    const { agent } = await visited()
    const page = await agent.open(authorizeUrl(request))
    const id = idOf(page)
    const waiting = `/oauth/authorize?authorization_request=${id}`
    // A remembered consent, a consent page opened by hand, and another tab that gets a code do not count.
    const tries = [waiting, `${waiting}&prompt=none`, `${waiting}&max_age=100000`, authorizeUrl(request)]
    for (const url of tries) expect(pageOf(await agent.open(url))).toBe(loginPage)
    codeOf(await agent.get(authorizeUrl(web)))
    const consent = await agent.get(`/oauth/consent?authorization_request=${id}`)
    if (consent.status === 200) expect(pageOf(await agent.decide(consent, 'allow'))).toBe(loginPage)
    expect(pageOf(await agent.open(waiting))).toBe(loginPage)
    codeOf(await agent.signIn(page))
    expectExpiredPage(await agent.get(waiting))
    expect(pageOf(await agent.open(authorizeUrl(request)))).toBe(loginPage)
  })

  test('accepts a new login of another tab', async () => {
    const { agent } = await visited()
    const [one, two] = [await agent.open(authorizeUrl(request)), await agent.open(authorizeUrl(request))]
    clock.travel(5)
    const first = await idTokenOf(await agent.signIn(one))
    const second = await agent.open(`/oauth/authorize?authorization_request=${idOf(two)}`)
    expect((await idTokenOf(second)).auth_time).toBe(first.auth_time)
  })

  test.each<[Record<string, string>, string]>([
    [{ prompt: 'login' }, loginPage],
    [{ max_age: '50' }, loginPage],
    [{ prompt: 'select_account' }, '200 /select-account'],
  ])(
    'or the like, %j, cannot be skipped by leaving out the session cookie at the start (M1)',
    async (demand, page) => {
      const { agent } = await visited(web, 100)
      const thief = browser()
      const start = await thief.open(authorizeUrl({ ...web, ...demand }))
      expect(pageOf(start)).toBe(loginPage)
      for (const [name, value] of agent.cookies) if (name.endsWith('_session')) thief.cookies.set(name, value)
      const named = `authorization_request=${idOf(start)}`
      expect(pageOf(await thief.open(`/oauth/authorize?${named}`))).toBe(page)
      expect(pageOf(await thief.open(`/oauth/login?${named}`))).toBe(loginPage)
      expect(pageOf(await thief.open(`/oauth/authorize?${named}`))).toBe(page)
      codeOf(await thief.get(authorizeUrl(web)))
    },
  )

  test('with consent asks for both, and a consent under the old login does not count', async () => {
    const { agent } = await visited()
    const login = await agent.open(authorizeUrl({ ...web, prompt: 'login consent select_account' }))
    expect(pageOf(login)).toBe(loginPage)
    const early = await agent.get(`/oauth/consent?authorization_request=${idOf(login)}`)
    if (early.status === 200)
      await agent.post('/oauth/consent', { ...fieldsOf(early, 'value="allow"'), decision: 'allow' })
    clock.travel(5)
    const consent = await agent.signIn(login)
    expect(pageOf(consent)).toBe(consentPage)
    const waiting = `/oauth/authorize?authorization_request=${idOf(login)}`
    expect(pageOf(await agent.open(waiting))).toBe(consentPage)
    expect((await idTokenOf(await agent.decide(consent, 'allow'))).auth_time).toBe(clock.now())
  })
})

describe('max_age', () => {
  test('is satisfied by a login of exactly that age, and not a second more', async () => {
    const { agent, idToken } = await visited(web, 50)
    const request = authorizeUrl({ ...web, max_age: '50' })
    expect((await idTokenOf(await agent.get(request))).auth_time).toBe(idToken.auth_time)
    clock.travel(1)
    const page = await agent.open(request)
    expect(pageOf(page)).toBe(loginPage)
    expect((await idTokenOf(await agent.signIn(page))).auth_time).toBe(clock.now())
    codeOf(await agent.get(request))
  })

  test('0 asks each time, also in the second of the login, and never loops', async () => {
    const { agent } = await visited(web, 0)
    const request = { ...web, max_age: '0' }
    for (const _ of [1, 2]) {
      const page = await agent.open(authorizeUrl(request))
      expect(pageOf(page)).toBe(loginPage)
      codeOf(await agent.signIn(page))
    }
  })

  test('a login that grows too old while the request waits for consent is renewed', async () => {
    const agent = browser()
    const login = await agent.open(authorizeUrl({ ...web, max_age: '50' }))
    const consent = await agent.signIn(login)
    const again = await agent.open(authorizeUrl({ ...web, max_age: '50' }))
    expect([pageOf(consent), pageOf(again)]).toEqual([consentPage, consentPage])
    clock.travel(51)
    // The second request found the login, so it must be renewed; the first one saw it made.
    expect(pageOf(await agent.decide(again, 'allow'))).toBe(loginPage)
    codeOf(await agent.decide(consent, 'allow'))
  })

  test('of a request replaces the default of its client, which applies otherwise', async () => {
    const impatient = { client_id: 'impatient', scope: 'openid', state: 's' }
    const { agent } = await visited(impatient, 100)
    codeOf(await agent.get(authorizeUrl(impatient)))
    expect(pageOf(await agent.open(authorizeUrl({ ...impatient, max_age: '99' })))).toBe(loginPage)
    clock.travel(1)
    codeOf(await agent.get(authorizeUrl({ ...impatient, max_age: '101' })))
    expectErrorRedirect(await agent.get(authorizeUrl({ ...impatient, prompt: 'none' })), 'login_required', {
      state: 's',
    })
    expect(pageOf(await agent.open(authorizeUrl(impatient)))).toBe(loginPage)
  })
})

test('an id_token_hint of another user asks to sign in, shows no name, and accepts no other user', async () => {
  const bobs = await idTokenOf(await browser().grant(authorizeUrl(web), bob.email, bob.password))
  const { agent } = await visited()
  const request = authorizeUrl({ ...web, id_token_hint: bobs.raw })
  const page = await agent.open(request)
  expect(pageOf(page)).toBe(loginPage)
  expect(page.html).not.toContain(ada.email)
  expectErrorRedirect(await agent.signIn(page), 'login_required', { state: 's' })
  const done = await agent.signIn(await agent.open(request), bob.email, bob.password)
  expect((await idTokenOf(done)).sub).toBe('2')
})
