import session from 'express-session'
import { decodeProtectedHeader } from 'jose'
import supertest from 'supertest'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, bob, expectError, redeem, refresh, type TokenAnswer, userinfo } from '../support/tokens.ts'

const bye = 'https://client.example.com/bye'
const byeWithQuery = `${bye}?organization=a%20b`
const otherBye = 'https://other.example.com/bye'

const site = { client_secret: secret, redirect_uris: [callback] }

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      {
        ...site,
        client_id: 'shop',
        client_name: 'The <b>Shop</b>',
        client_uri: 'https://client.example.com/home',
        post_logout_redirect_uris: [bye, byeWithQuery, 'com.example.app:/bye'],
        userinfo_signed_response_alg: 'RS256',
        id_token_lifetime: 60,
      },
      { ...site, client_id: 'other', post_logout_redirect_uris: [otherBye] },
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

type Fields = Readonly<Record<string, string>>
const logoutUrl = (fields: Fields = {}): string => `/oauth/logout?${new URLSearchParams(fields)}`

const browser = (of: Host = host): RawBrowser => new RawBrowser(of.app)

/** A person who has signed in and granted tokens to a client. */
const signedIn = async (
  agent: RawBrowser,
  { client_id = 'shop', scope = 'openid', as = 'ada', of = host } = {},
): Promise<TokenAnswer> => {
  const person = as === 'bob' ? bob : undefined
  const done = await agent.grant(authorizeUrl({ client_id, scope }), person?.email, person?.password)
  return answerOf(redeem(of, codeOf(done), { client_id }))
}
const visitor = async (settings: Parameters<typeof signedIn>[1] = {}) => {
  const agent = browser()
  return { agent, tokens: await signedIn(agent, settings) }
}

const silent = authorizeUrl({ client_id: 'shop', scope: 'openid', prompt: 'none' })
const expectSignedIn = async (agent: RawBrowser): Promise<void> => void codeOf(await agent.get(silent))
const expectSignedOut = async (agent: RawBrowser): Promise<void> =>
  expectErrorRedirect(await agent.get(silent), 'login_required')

const expectConfirmation = (answer: Answer): void => {
  expect(answer.status).toBe(200)
  expect(answer.html).toContain('Sign out?')
  expect(answer.headers['cache-control']).toBe('no-store')
}
const expectSignedOutPage = (answer: Answer): void => {
  expect({ status: answer.status, location: answer.location }).toEqual({ status: 200, location: undefined })
  expect(answer.html).toContain('You’re signed out')
}
/** Sent to a registered place, with exactly these parameters. */
const expectSentTo = (answer: Answer, uri: string, parameters: Fields = {}): void => {
  expect(answer.status).toBe(303)
  const location = answer.headers.location ?? ''
  expect(location.slice(0, uri.length)).toBe(uri)
  const rest = location.slice(uri.length)
  expect(rest).toMatch(uri.includes('?') ? /^(&|$)/ : /^(\?|$)/)
  expect([...new URLSearchParams(rest.slice(1))]).toEqual(Object.entries(parameters))
  expect(answer.headers['cache-control']).toBe('no-store')
}
const confirm = (agent: RawBrowser, page: Answer, fields: Fields = {}): Promise<Answer> =>
  agent.submit(page, 'csrf_token', fields)

describe('with an ID token of the signed-in user', () => {
  test('the user is signed out at once and redirected to the registered URI', async () => {
    const { agent, tokens } = await visitor()
    const state = 'a&b=c#d?e%20+/"<>\\ a\u202eb\u2066c\u200f'
    const hint = { id_token_hint: tokens.id_token, post_logout_redirect_uri: bye, state }
    expectSentTo(await agent.get(logoutUrl(hint)), bye, { state })
    await expectSignedOut(agent)
  })

  test('without a state none is added, and a query of the registered URI is kept', async () => {
    const one = await visitor()
    const hint = { id_token_hint: one.tokens.id_token, post_logout_redirect_uri: bye }
    expect((await one.agent.get(logoutUrl(hint))).headers.location).toBe(bye)
    const two = await visitor()
    const query = { id_token_hint: two.tokens.id_token, post_logout_redirect_uri: byeWithQuery, state: 's' }
    expectSentTo(await two.agent.get(logoutUrl(query)), byeWithQuery, { state: 's' })
  })

  test('and no redirect URI, a page confirms it and links to the client’s home page', async () => {
    const { agent, tokens } = await visitor()
    const page = await agent.get(logoutUrl({ id_token_hint: tokens.id_token, state: 's' }))
    expectSignedOutPage(page)
    expect(page.html).toContain('href="https://client.example.com/home"')
    expect(page.html).toContain('The &lt;b&gt;Shop&lt;/b&gt;')
    expect(page.html).not.toContain('<b>Shop')
    await expectSignedOut(agent)
  })

  test('that has expired', async () => {
    const clock = stopClock()
    const { agent, tokens } = await visitor()
    clock.travel(1000)
    const hint = { id_token_hint: tokens.id_token, post_logout_redirect_uri: bye }
    expectSentTo(await agent.get(logoutUrl(hint)), bye)
    await expectSignedOut(agent)
  })

  test('from before the user signed in again in this browser', async () => {
    const { agent, tokens } = await visitor()
    codeOf(await agent.grant(authorizeUrl({ client_id: 'shop', scope: 'openid', prompt: 'login' })))
    const hint = { id_token_hint: tokens.id_token, post_logout_redirect_uri: bye }
    expectSentTo(await agent.get(logoutUrl(hint)), bye)
    await expectSignedOut(agent)
  })

  test('that another client got: the redirect URI must be one of that client', async () => {
    const { agent } = await visitor()
    const { id_token } = await signedIn(agent, { client_id: 'other' })
    const asked = await agent.get(logoutUrl({ id_token_hint: id_token, post_logout_redirect_uri: bye }))
    expectConfirmation(asked)
    expect(asked.html).not.toContain('bye')
    await expectSignedIn(agent)
    const answer = await agent.get(logoutUrl({ id_token_hint: id_token, post_logout_redirect_uri: otherBye }))
    expectSentTo(answer, otherBye)
    await expectSignedOut(agent)
  })
})

describe('without a hint the user is asked', () => {
  test('and signs out with one button, then redirects to the registered URI', async () => {
    const { agent } = await visitor()
    const state = 'a&b=c “ü” \u202e👋'
    const asked = { client_id: 'shop', post_logout_redirect_uri: byeWithQuery, state }
    const page = await agent.get(logoutUrl(asked))
    expectConfirmation(page)
    expect(page.html).toContain('ada@example.com')
    expect(page.html).toContain('The &lt;b&gt;Shop&lt;/b&gt;')
    expect(page.headers['content-security-policy']).toContain("form-action 'self' https:")
    await expectSignedIn(agent)
    expectSentTo(await confirm(agent, page), byeWithQuery, { state })
    await expectSignedOut(agent)
  })

  test.each<Fields>([{}, { state: 'a state' }, { post_logout_redirect_uri: bye, state: 's' }])(
    'and signed out without a redirect where no client is named: %j',
    async (parameters) => {
      const { agent } = await visitor()
      const page = await agent.get(logoutUrl(parameters))
      expectConfirmation(page)
      expect(page.headers['content-security-policy']).toMatch(/form-action 'self'(;|$)/)
      expect(page.html).not.toContain('bye')
      expect(Object.keys(fieldsOf(page, 'csrf_token'))).toEqual(['csrf_token'])
      await expectSignedIn(agent)
      expectSignedOutPage(await confirm(agent, page))
      await expectSignedOut(agent)
    },
  )

  test('with the client alone, the page afterwards leads to it', async () => {
    const { agent } = await visitor()
    const page = await agent.get(logoutUrl({ client_id: 'shop' }))
    expectConfirmation(page)
    const done = await confirm(agent, page)
    expectSignedOutPage(done)
    expect(done.html).toContain('href="https://client.example.com/home"')
  })

  test('and with the hint of another user too', async () => {
    const { tokens } = await visitor({ as: 'bob' })
    const { agent } = await visitor()
    const hint = { id_token_hint: tokens.id_token, post_logout_redirect_uri: bye, state: 's' }
    const page = await agent.get(logoutUrl(hint))
    expectConfirmation(page)
    expect(page.html).toContain('ada@example.com')
    expect(page.html).not.toContain(bob.email)
    await expectSignedIn(agent)
    expectSentTo(await confirm(agent, page), bye, { state: 's' })
    await expectSignedOut(agent)
  })
})

// RP-Initiated Logout §2: a token of another session is suspect.
describe('with the user’s ID token of a login that is not active here, the user is asked', () => {
  test.each([
    ['of another browser', async () => (await visitor()).tokens.id_token],
    [
      'that has ended',
      async () => {
        const { agent, tokens } = await visitor()
        await confirm(agent, await agent.get('/oauth/logout'))
        return tokens.id_token
      },
    ],
  ])('one %s', async (_, token) => {
    const id_token_hint = await token()
    const { agent } = await visitor()
    const page = await agent.get(logoutUrl({ id_token_hint, post_logout_redirect_uri: bye }))
    expectConfirmation(page)
    await expectSignedIn(agent)
    expectSentTo(await confirm(agent, page), bye)
    await expectSignedOut(agent)
  })

  test('one of another issuer with the same keys', async () => {
    const { agent } = await visitor()
    const twin = await startHost({ mount: '/id', database: host.database, clients: [] })
    const there = browser(twin)
    const granted = await there.grant(authorizeUrl({ client_id: 'shop', scope: 'openid' }, '/id'))
    const code = granted.location?.searchParams.get('code') ?? ''
    const { body } = await supertest(twin.app)
      .post('/id/token')
      .type('form')
      .send({ grant_type: 'authorization_code', code, redirect_uri: callback, client_id: 'shop' })
      .send({ client_secret: secret })
      .expect(200)
    expectConfirmation(await agent.get(logoutUrl({ id_token_hint: body.id_token })))
    await expectSignedIn(agent)
  })
})

// RP-Initiated Logout §2, §4.
describe('what a client got wrong is not used, and the user can sign out:', () => {
  type Pairs = readonly (readonly [string, string])[]
  const shop = ['client_id', 'shop'] as const
  const place = ['post_logout_redirect_uri', bye] as const
  const elsewhere = ['post_logout_redirect_uri', 'https://client.example.com/elsewhere'] as const
  const hinted = (hint: string) => ['id_token_hint', hint] as const
  const unregistered = 'post_logout_redirect_uri is not registered for this client'
  const noClient = 'client_id does not name a registered client'
  const noHint = 'id_token_hint is not an ID token of this issuer'

  const refusals: unknown[] = []
  const lines: string[] = []
  let shaky: Host
  beforeAll(async () => {
    shaky = await startHost({
      options: {
        logger: { info: () => {}, warn: (line: string) => lines.push(line), error: () => {} },
      },
      clients: [
        {
          ...site,
          client_id: 'shop',
          post_logout_redirect_uris: [bye],
          id_token_signed_response_alg: 'ES256',
        },
        { ...site, client_id: 'other' },
        { ...site, client_id: 'off' },
      ],
    })
    shaky.oauth.events.on('api.refused', (event) => refusals.push(event))
    await shaky.oauth.clients.disable('off')
  })
  afterAll(() => shaky.close())

  const wrong: [string, string, (hint: string) => Pairs][] = [
    ['an address that is not registered', unregistered, (hint) => [hinted(hint), elsewhere]],
    ['the address of another client', unregistered, () => [['client_id', 'other'], place]],
    ['a client that is not registered', noClient, () => [['client_id', 'nobody'], place]],
    ['a client that is disabled', 'the client is disabled', () => [['client_id', 'off'], place]],
    ['a hint that is no ID token', noHint, () => [hinted('x'), place]],
    ['a hint beside the client, which is used', noHint, () => [hinted('x'), shop, place]],
    ['a hint of another client', 'client_id is not', (hint) => [hinted(hint), ['client_id', 'other'], place]],
    ['a parameter twice', 'parameters must not be repeated', (hint) => [hinted(hint), place, place]],
    ['a state, beside an address', 'state must not', () => [shop, place, ['state', 's'.repeat(5000)]]],
  ]
  test.each(wrong)('%s', async (name, reason, pairs) => {
    const agent = browser(shaky)
    const { id_token } = await signedIn(agent, { of: shaky })
    refusals.length = 0
    lines.length = 0
    const page = await agent.get(
      `/oauth/logout?${new URLSearchParams(pairs(id_token) as [string, string][])}`,
    )
    expectConfirmation(page)
    const details = {
      code: expect.any(String),
      status: 400,
      path: '/logout',
      description: expect.stringContaining(reason),
    }
    expect(refusals).toEqual([expect.objectContaining(details)])
    expect(lines).toEqual([expect.stringContaining(`at /logout`)])
    await expectSignedIn(agent)
    const done = await confirm(agent, page)
    if (name.includes('beside')) expectSentTo(done, bye)
    else expectSignedOutPage(done)
    await expectSignedOut(agent)
  })

  test('a hint whose key has been revoked since', async () => {
    const agent = browser(shaky)
    const { id_token } = await signedIn(agent, { of: shaky })
    await shaky.oauth.keys.revoke(String(decodeProtectedHeader(id_token).kid), 'a test')
    const page = await agent.get(
      logoutUrl({ id_token_hint: id_token, client_id: 'shop', post_logout_redirect_uri: bye }),
    )
    expectConfirmation(page)
    expectSentTo(await confirm(agent, page), bye)
    await expectSignedOut(agent)
    const asked = authorizeUrl({ client_id: 'shop', scope: 'openid', id_token_hint: id_token })
    const visitor = browser(shaky)
    expectErrorRedirect(await visitor.get(`${asked}&prompt=none`), 'login_required')
    codeOf(await visitor.grant(asked))
    expectErrorRedirect(await visitor.get(`${asked}&prompt=none`), 'login_required')
  })
})

test('a confirmation that is sent twice leads to the same place', async () => {
  const { agent } = await visitor()
  const page = await agent.get(logoutUrl({ client_id: 'shop', post_logout_redirect_uri: bye, state: 's' }))
  const fields = fieldsOf(page, 'csrf_token')
  const twin = agent.clone()
  expectSentTo(await agent.post('/oauth/logout', fields), bye, { state: 's' })
  expectSentTo(await twin.post('/oauth/logout', fields), bye, { state: 's' })
  await expectSignedOut(agent)
})

describe('without a login', () => {
  test('the browser goes straight to where the client registered', async () => {
    const state = { state: 's' }
    const named = { client_id: 'shop', post_logout_redirect_uri: bye, ...state }
    expectSentTo(await browser().get(logoutUrl(named)), bye, state)
    const { id_token: id_token_hint } = (await visitor()).tokens
    const hinted = { id_token_hint, post_logout_redirect_uri: bye, ...state }
    expectSentTo(await browser().get(logoutUrl(hinted)), bye, state)
  })

  test('or shows a page if no client is named, and no session begins', async () => {
    expectSignedOutPage(await browser().get(logoutUrl({ post_logout_redirect_uri: bye, state: 's' })))
    const page = await browser().get('/oauth/logout')
    expectSignedOutPage(page)
    expect(page.setCookies).toEqual([])
  })
})

describe('what ends with the login', () => {
  const leave = (agent: RawBrowser, { id_token }: TokenAnswer): Promise<Answer> =>
    agent.get(logoutUrl({ id_token_hint: id_token }))

  test('its tokens of every client, but not those granted offline', async () => {
    const agent = browser()
    const shop = await signedIn(agent)
    const other = await signedIn(agent, { client_id: 'other' })
    const offline = await signedIn(agent, { client_id: 'other', scope: 'openid offline_access' })
    await leave(agent, shop)
    for (const [client_id, tokens] of Object.entries({ shop, other })) {
      expect((await userinfo(host, tokens.access_token)).status).toBe(401)
      expectError(await refresh(host, tokens.refresh_token, { client_id }), 400, 'invalid_grant')
    }
    const refreshed = await answerOf(refresh(host, offline.refresh_token, { client_id: 'other' }))
    expect((await userinfo(host, refreshed.access_token)).status).toBe(200)
  })

  test('nothing in another browser of the same user, nor of another user', async () => {
    const { agent, tokens } = await visitor()
    const [elsewhere, stranger] = [await visitor(), await visitor({ as: 'bob' })]
    await leave(agent, tokens)
    for (const untouched of [elsewhere, stranger]) {
      await expectSignedIn(untouched.agent)
      expect((await userinfo(host, untouched.tokens.access_token)).status).toBe(200)
      const { refresh_token } = untouched.tokens
      expect((await refresh(host, refresh_token, { client_id: 'shop' })).status).toBe(200)
    }
  })

  test('what was granted before the user signed in again in the same browser', async () => {
    const { agent, tokens: earlier } = await visitor()
    const again = await agent.grant(authorizeUrl({ client_id: 'other', scope: 'openid', prompt: 'login' }))
    const code = codeOf(again)
    const later = await answerOf(redeem(host, code, { client_id: 'other' }))
    // To sign in again is not to sign out.
    expect((await userinfo(host, earlier.access_token)).status).toBe(200)
    await leave(agent, later)
    expect((await userinfo(host, earlier.access_token)).status).toBe(401)
    expect((await userinfo(host, later.access_token)).status).toBe(401)
  })
})

test('a disabled user signs out without a confirmation', async () => {
  const { agent } = await visitor({ as: 'bob' })
  const person = () => host.database.knex(host.usersTable).where({ email: bob.email })
  await person().update({ disabled_at: 1 })
  const answer = await agent.get(logoutUrl({ client_id: 'shop', post_logout_redirect_uri: bye }))
  await person().update({ disabled_at: null })
  expectSentTo(answer, bye)
  await expectSignedOut(agent)
})

describe("in the host's session", () => {
  let hosted: Host
  beforeAll(async () => {
    hosted = await startHost({
      clients: [{ ...site, client_id: 'shop', post_logout_redirect_uris: [bye] }],
      before: [session({ secret: 'of the host', resave: false, saveUninitialized: false, name: 'host.sid' })],
      options: { session: 'host' },
    })
    hosted.app.get('/cart', (req, res) => {
      Object.assign(req.session, { cart: 'a book' })
      res.send('ok')
    })
    hosted.app.get('/me', (req, res) => void res.json({ ...req.session, cookie: undefined }))
  })
  afterAll(() => hosted.close())
  const seenBy = async (agent: RawBrowser): Promise<object> => JSON.parse((await agent.get('/me')).html)

  test('the host’s data is deleted too, and the session gets a new id', async () => {
    const agent = browser(hosted)
    const tokens = await signedIn(agent, { of: hosted })
    await agent.get('/cart')
    const before = agent.clone()
    expect(await seenBy(before)).toMatchObject({ cart: 'a book' })
    await agent.get(logoutUrl({ id_token_hint: tokens.id_token }))
    expect(await seenBy(agent)).toEqual({})
    expect(await seenBy(before)).toEqual({})
    await expectSignedOut(agent)
  })

  test.each<[string, () => PromiseLike<unknown>]>([
    [
      'the user has been disabled',
      () => hosted.database.knex(hosted.usersTable).where({ id: 1 }).update({ disabled_at: 1 }),
    ],
    ['everything of the user has ended', () => hosted.oauth.users.revokeAll(1)],
  ])('a link does not delete the host’s data after %s, and the login is over (L13)', async (_, end) => {
    const agent = browser(hosted)
    await signedIn(agent, { of: hosted })
    await agent.get('/cart')
    await end()
    expectSignedOutPage(await agent.get('/oauth/logout'))
    expect(await seenBy(agent)).toMatchObject({ cart: 'a book' })
    await hosted.database.knex(hosted.usersTable).where({ id: 1 }).update({ disabled_at: null })
    await expectSignedOut(agent)
  })

  test('the data of a visitor who has not signed in here stays, also with the link of another user', async () => {
    const attacker = browser(hosted)
    const { id_token: id_token_hint } = await signedIn(attacker, { of: hosted })
    const agent = browser(hosted)
    await agent.get('/cart')
    expectSignedOutPage(await agent.get('/oauth/logout'))
    expectSentTo(await agent.get(logoutUrl({ id_token_hint, post_logout_redirect_uri: bye })), bye)
    expect(await seenBy(agent)).toEqual({ cart: 'a book' })
  })
})

test('while the database fails the answer is 503 and the user is still signed in', async () => {
  const { agent, tokens } = await visitor()
  const { knex, tablePrefix } = host.database
  for (const name of ['clients', 'logins']) {
    await knex.schema.renameTable(`${tablePrefix}${name}`, `${tablePrefix}away`)
    const hint = { id_token_hint: tokens.id_token, post_logout_redirect_uri: bye }
    const answer = await agent.get(logoutUrl(hint))
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${name}`)
    expectErrorPage(answer, 503)
  }
  await expectSignedIn(agent)
})
