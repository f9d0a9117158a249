import supertest from 'supertest'
import { device, secondFactor } from '../../lib/features/index.ts'
import { codePath } from '../../lib/features/second-factor/pending-login.ts'
import type { AuthEvent, SecondFactor } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { codesFor, deviceClients, openCode, poll } from '../support/device.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import {
  ada,
  answerOf,
  bob,
  expectError,
  guarded,
  introspect,
  redeem,
  type TokenAnswer,
} from '../support/tokens.ts'

const firstParty = {
  client_secret: secret,
  redirect_uris: [callback],
  first_party: true,
  scope: 'openid notes:read',
}
const url = (more: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope: 'openid notes:read', ...more })
const tokensOf = (host: Host, answer: Answer): Promise<TokenAnswer> => answerOf(redeem(host, codeOf(answer)))
afterEach(() => jest.restoreAllMocks())

// Ada always needs a second factor, and gets its code. Bob needs one only when a request asks for the level `mfa`.
describe('a second factor of the host', () => {
  let host: Host
  let factor: SecondFactor
  let right = ''
  let sent: string[] = []
  let events: AuthEvent[] = []
  beforeAll(async () => {
    host = await startHost({
      clients: [{ ...firstParty, client_id: 'web' }, ...deviceClients],
      options: {
        features: [
          device(),
          secondFactor({
            find: (user, { acrValues }) => (user.id === 1 || acrValues.includes('mfa')) && factor,
          }),
        ],
        acrValues: ['password', 'mfa'],
        login: {
          acr: 'password',
        },
      },
    })
    host.oauth.events.on('*', (event) => void events.push(event))
    host.app.get('/api/mfa', host.oauth.requireToken('notes:read', { acr: 'mfa' }), (req, res) => {
      res.json(req.auth.claims)
    })
  })
  afterAll(() => host.close())
  beforeEach(async () => {
    right = String(Math.random()).slice(2, 8)
    factor = { kind: 'code', verify: (code) => code === right, send: () => void sent.push(right), acr: 'mfa' }
    sent = []
    events = []
    await host.table('throttles').delete()
  })

  const enter = (agent: RawBrowser, page: Answer, code = right): Promise<Answer> =>
    agent.submit(page, 'name="code"', { code })
  /** The page that asks for the code, after the right password. */
  const codePage = async (agent = new RawBrowser(host.app), path = url(), user = ada): Promise<Answer> => {
    const page = await agent.signIn(await agent.open(path), user.email, user.password)
    expect(page.url.pathname).toBe(`/oauth${codePath}`)
    return page
  }
  const unavailable = (): Promise<never> => Promise.reject(Object.assign(new Error('away'), { status: 503 }))
  const typesOf = (): string[] => events.map(({ type }) => type)

  test('a code is sent and entered, and tokens say how the user signed in', async () => {
    const agent = new RawBrowser(host.app)
    const page = await codePage(agent)
    expect(sent).toEqual([right])
    expect(page.html).toMatch(/autocomplete="one-time-code" inputmode="numeric"/)
    expect(typesOf()).toEqual(['second_factor.requested'])
    const done = await enter(agent, page, ` ${right.slice(0, 3)} ${right.slice(3)}`)
    expect(typesOf()).toEqual(['second_factor.requested', 'login.succeeded', 'authorization.issued'])
    const { id_token } = await tokensOf(host, done)
    expect(claimsOf(id_token)).toMatchObject({ sub: '1', acr: 'mfa', amr: ['pwd', 'otp', 'mfa'] })
  })

  test('a device is connected only after the code, and its tokens say how the user signed in', async () => {
    const codes = await codesFor(host)
    const agent = new RawBrowser(host.app)
    const page = await openCode(agent, codes.user_code)
    expect(page.url.pathname).toBe('/oauth/second-factor')
    expect((await enter(agent, page, 'wrong')).status).toBe(400)
    expectError(await poll(host, codes), 400, 'authorization_pending')
    const confirm = await enter(agent, await agent.open(page.url.href))
    expect(confirm.html).toContain(codes.user_code)
    const consent = await agent.decide(confirm, 'allow')
    expect((await agent.decide(consent, 'allow')).html).toContain('Your device is connected')
    stopClock().travel(5)
    const { id_token } = await answerOf(poll(host, codes))
    expect(claimsOf(id_token)).toMatchObject({ sub: '1', amr: ['pwd', 'otp', 'mfa'], acr: 'mfa' })
  })

  test('a wrong code can be corrected without the password, after a reload and in another tab', async () => {
    const agent = new RawBrowser(host.app)
    const page = await codePage(agent)
    const wrong = await enter(agent, page, '000')
    expect({ status: wrong.status, html: wrong.html }).toEqual({
      status: 400,
      html: expect.stringContaining('Wrong code'),
    })
    expect((await agent.get(wrong.url.href)).html).toContain('Wrong code')
    const failed = events.find(({ type }) => type === 'second_factor.failed')
    expect(failed).toMatchObject({
      subject: '1',
      clientId: 'web',
      account: await host.oauth.users.accountOf(ada.email),
    })
    codeOf(await enter(agent, page))
  })

  test('another code is sent on request, three in all, and ten an hour for one user', async () => {
    const agent = new RawBrowser(host.app)
    const page = await codePage(agent)
    const again = (): Promise<Answer> => agent.submit(page, 'name="send"', { send: '1' })
    expect((await again()).html).toContain('We’ve sent you another code.')
    await again()
    expect(await again()).toMatchObject({
      status: 429,
      html: expect.stringContaining('We can’t send more codes'),
    })
    expect(sent).toHaveLength(3)
    for (let times = 0; times < 9; times += 1) await codePage()
    expect(sent).toHaveLength(10)
  })

  test('the browser of the owner still gets its codes after others have used up the number (L12)', async () => {
    const own = new RawBrowser(host.app)
    codeOf(await enter(own, await codePage(own)))
    for (let times = 0; times < 11; times += 1) await codePage()
    expect(sent).toHaveLength(10)
    right = `${right}2`
    codeOf(await enter(own, await codePage(own, url({ prompt: 'login' }))))
    expect(sent).toHaveLength(11)
    // Its own number ends, too.
    for (let times = 0; times < 11; times += 1) await codePage(own, url({ prompt: 'login' }))
    expect(sent).toHaveLength(20)
  })

  test('another user can sign in instead', async () => {
    const agent = new RawBrowser(host.app)
    const [, other = ''] = /class="switch" href="([^"]+)"/.exec((await codePage(agent)).html) ?? []
    const form = await agent.open(other.replaceAll('&amp;', '&'))
    codeOf(await agent.signIn(form, bob.email, bob.password))
  })

  test('a user signs in with the password until an API asks for a level, which the code gives', async () => {
    const agent = new RawBrowser(host.app)
    const first = await tokensOf(host, await agent.grant(url(), bob.email, bob.password))
    expect(claimsOf(first.id_token)).toMatchObject({ acr: 'password', amr: ['pwd'] })
    const refused = await guarded(host, first.access_token, '/api/mfa')
    expect(refused.status).toBe(401)
    const [, level = ''] = /acr_values="([^"]+)"/.exec(String(refused.headers['www-authenticate'])) ?? []

    expectErrorRedirect(await agent.get(url({ acr_values: level, prompt: 'none' })), 'login_required')
    const page = await codePage(agent, url({ acr_values: level }), bob)
    const better = await tokensOf(host, await enter(agent, page))
    expect(claimsOf(better.id_token)).toMatchObject({ sub: '2', acr: 'mfa', amr: ['pwd', 'otp', 'mfa'] })
    const passed = await guarded(host, better.access_token, '/api/mfa')
    expect({ status: passed.status, acr: passed.body.acr }).toEqual({ status: 200, acr: 'mfa' })
  })

  test('a second factor without the level that is asked for is not enough', async () => {
    const agent = new RawBrowser(host.app)
    factor = { ...factor, acr: 'password' }
    expectErrorRedirect(
      await enter(agent, await codePage(agent, url({ acr_values: 'mfa' }))),
      'unmet_authentication_requirements',
    )
  })

  test('the field for recovery codes accepts letters', async () => {
    factor = { ...factor, recoveryCodes: true, verify: (code) => code === 'abcd-efgh' }
    const agent = new RawBrowser(host.app)
    const page = await codePage(agent)
    const [, other = ''] = /id="other-code" href="([^"]+)"/.exec(page.html) ?? []
    expect((await enter(agent, page, 'x')).html).toContain('Wrong code')
    const recovery = await agent.open(other.replaceAll('&amp;', '&'))
    expect(recovery.html).not.toMatch(/inputmode|Wrong code/)
    expect((await enter(agent, recovery, 'x')).html).toContain('Enter a recovery code')
    codeOf(await enter(agent, recovery, 'abcd-efgh'))
  })

  test('five wrong codes, even after several passwords, send the user back to the password', async () => {
    const clock = stopClock()
    const agent = new RawBrowser(host.app)
    let answer: Answer | undefined
    for (const count of [3, 2]) {
      const page = await codePage(agent)
      for (let times = 0; times < count; times += 1) answer = await enter(agent, page, `wrong ${times}`)
    }
    expect(answer).toMatchObject({ status: 429, html: expect.stringContaining('Too many attempts') })
    expect(answer?.html).toContain('name="password"')
    expect(typesOf().slice(-2)).toEqual(['second_factor.failed', 'login.locked'])
    // The right code is not even checked.
    const refused = await enter(agent, await codePage(agent))
    expect(refused).toMatchObject({ status: 429, html: expect.stringContaining('Too many attempts') })
    clock.travel(901)
    codeOf(await enter(agent, await codePage(agent)))
  })

  test.each<[string, Partial<SecondFactor>, string]>([
    ['cannot be sent', { send: unavailable }, 'password'],
    ['cannot be checked', { verify: unavailable }, 'code'],
  ])('a code that %s gets 503 and no login', async (_case, broken, field) => {
    const agent = new RawBrowser(host.app)
    const working = factor
    factor = { ...working, ...broken }
    let page = await agent.signIn(await agent.open(url()))
    if (field === 'code') page = await enter(agent, page)
    expect({ status: page.status, html: page.html }).toEqual({
      status: 503,
      html: expect.stringContaining(`name="${field}"`),
    })
    factor = working
    codeOf(await enter(agent, field === 'code' ? page : await codePage(agent)))
  })

  test.each<[string, unknown]>([
    ['true', true],
    ['another kind', { kind: 'push', verify: () => true }],
    ['no verify', { kind: 'code' }],
    ['an unknown level', { kind: 'code', verify: () => true, acr: 'gold' }],
    ['methods that are no list', { kind: 'code', verify: () => true, amr: 'otp' }],
    ['an empty list of methods', { kind: 'code', verify: () => true, amr: [] }],
    ['a method that is no string', { kind: 'code', verify: () => true, amr: ['otp', 1] }],
    ['a result that is no boolean', { kind: 'code', verify: () => ({ valid: false }) }],
  ])('secondFactor({ find }) that returns %s signs no user in', async (_case, wrong) => {
    factor = wrong as SecondFactor
    const agent = new RawBrowser(host.app)
    let page = await agent.signIn(await agent.open(url()))
    if (page.html.includes('name="code"')) page = await enter(agent, page)
    expect(page.status).toBe(500)
    expect(typesOf()).not.toContain('login.succeeded')
  })
})

// A host with its own login page and two levels. Its login is a cookie of its own: `time@level`.
test('the function gets what users.find() returns, and a user who is not found does not sign in', async () => {
  const asked: unknown[] = []
  const found = { id: 'a', username: 'ada', totp_secret: 'JBSWY3DPEHPK3PXP' }
  let isFound = true
  const host = await startHost({
    clients: [{ ...firstParty, client_id: 'web' }],
    options: {
      users: { find: () => (isFound ? found : undefined), authenticate: () => ({ id: 'a' }) },
      features: [
        secondFactor({
          find: (user) => {
            asked.push(user)
            return Boolean(user.totp_secret) && { kind: 'code', verify: () => true }
          },
        }),
      ],
    },
  })
  const browser = new RawBrowser(host.app)
  const page = await browser.signIn(await browser.open(url()))
  expect(page.url.pathname).toBe(`/oauth${codePath}`)
  expect(new Set(asked)).toEqual(new Set([found]))
  isFound = false
  const other = new RawBrowser(host.app)
  expect((await other.signIn(await other.open(url()))).status).toBe(400)
  await host.close()
})

describe('levels at the login page of the host', () => {
  let host: Host
  beforeAll(async () => {
    host = await startHost({
      clients: [
        { ...firstParty, client_id: 'web' },
        {
          ...firstParty,
          client_id: 'careful',
          default_acr_values: ['mfa'],
          default_max_age: 60,
          require_auth_time: true,
        },
      ],
      options: {
        acrValues: ['password', 'mfa'],
        login: {
          url: '/signin',
          current: ({ req: { headers } }) => {
            const [, time, acr] = /host_user=(\d+)@(\w*)/.exec(headers.cookie ?? '') ?? []
            return time !== undefined && { subject: 1, authTime: Number(time), ...(acr && { acr }) }
          },
        },
      },
    })
    const { requireToken } = host.oauth
    host.app.get('/api/mfa', requireToken('notes:read', { acr: 'mfa' }), (req, res) => {
      res.json(req.auth.claims)
    })
    host.app.get('/api/recent', requireToken('notes:read', { maxAge: 60 }), (_req, res) => void res.json({}))
  })
  afterAll(() => host.close())

  const seconds = (): number => Math.floor(Date.now() / 1000)
  const signedIn = (acr: string, time = seconds()): RawBrowser => {
    const agent = new RawBrowser(host.app)
    agent.cookies.set('host_user', `${time}@${acr}`)
    return agent
  }

  /** The host's login page as the request names it. */
  const loginPage = (answer: Answer): URL => {
    const page = new URL(answer.headers.location ?? '', 'http://localhost:3000')
    expect({ status: answer.status, path: page.pathname }).toEqual({ status: 303, path: '/signin' })
    return page
  }
  /** What happens after the host's page has sent the browser back. */
  const comeBack = async (agent: RawBrowser, page: URL): Promise<Answer> => {
    const { html } = await agent.get(page.searchParams.get('return_to') ?? '')
    const [, next = ''] = /url=([^"]+)"/.exec(html) ?? []
    return agent.get(next.replaceAll('&amp;', '&'))
  }

  test('an API asks for a level, the user signs in again with it, and the new token passes', async () => {
    const time = seconds() - 300
    const agent = signedIn('password', time)
    const tokens = await tokensOf(host, await agent.get(url()))
    expect(claimsOf(tokens.id_token)).toMatchObject({ acr: 'password' })
    const refused = await guarded(host, tokens.access_token, '/api/mfa')
    expect({ status: refused.status, error: refused.body.error }).toEqual({
      status: 401,
      error: 'insufficient_user_authentication',
    })
    expect(refused.headers['www-authenticate']).toMatch(
      /^Bearer realm="api", error="insufficient_user_authentication", error_description="[^"]+", scope="notes:read", acr_values="mfa"$/,
    )

    const page = loginPage(await agent.get(url({ acr_values: 'mfa' })))
    expect(Object.fromEntries(page.searchParams)).toMatchObject({ prompt: 'login', acr_values: 'mfa' })
    // The host checked a second factor, and kept the time of the password.
    agent.cookies.set('host_user', `${time}@mfa`)
    const better = await tokensOf(host, await comeBack(agent, page))
    const claims = { acr: 'mfa', auth_time: time }
    expect(claimsOf(better.id_token)).toMatchObject(claims)
    const passed = await guarded(host, better.access_token, '/api/mfa')
    expect({ status: passed.status, body: passed.body }).toMatchObject({ status: 200, body: claims })
    expect((await introspect(host, better.access_token)).body).toMatchObject(claims)
  })

  test('an API asks for a recent login', async () => {
    const clock = stopClock()
    const tokens = await tokensOf(host, await signedIn('').get(url()))
    clock.travel(60)
    expect((await guarded(host, tokens.access_token, '/api/recent')).status).toBe(200)
    clock.travel(1)
    const refused = await guarded(host, tokens.access_token, '/api/recent')
    expect({ status: refused.status, error: refused.body.error }).toEqual({
      status: 401,
      error: 'insufficient_user_authentication',
    })
    expect(refused.headers['www-authenticate']).toMatch(/, scope="notes:read", max_age="60"$/)
  })

  const acrClaim = (values: string[], essential: boolean): string =>
    JSON.stringify({ id_token: { acr: { essential, values } } })
  const essential = (values: string[]): string => acrClaim(values, true)

  test('an essential claim and acr_values require a level that is supported', async () => {
    codeOf(await signedIn('mfa').get(url({ claims: essential(['mfa']), prompt: 'none' })))
    codeOf(await signedIn('').get(url({ prompt: 'none' })))
    const unsupported: Record<string, string>[] = [{ acr_values: 'gold' }, { claims: essential(['gold']) }]
    for (const more of unsupported) {
      const answer = await signedIn('password').get(url(more))
      expectErrorRedirect(answer, 'unmet_authentication_requirements')
    }
  })

  test.each([
    ['acr_values', { acr_values: 'mfa' }],
    ['an essential claim', { claims: essential(['mfa']) }],
  ])('a user who comes back without the level of %s gets no token for it', async (_case, more) => {
    const agent = signedIn('password')
    const page = loginPage(await agent.get(url(more)))
    expectErrorRedirect(await comeBack(agent, page), 'unmet_authentication_requirements')
  })

  test('a voluntary claim asks for the level, and accepts a login without it', async () => {
    for (const [values, prompt] of [['mfa', 'none'] as const, ['gold', ''] as const])
      codeOf(await signedIn('password').get(url({ claims: acrClaim([values], false), prompt })))
    const agent = signedIn('password')
    const page = loginPage(await agent.get(url({ claims: acrClaim(['mfa'], false) })))
    expect(page.searchParams.get('acr_values')).toBe('mfa')
    const tokens = await tokensOf(host, await comeBack(agent, page))
    expect(claimsOf(tokens.id_token)).toMatchObject({ acr: 'password' })
    // RFC 9470 requires it nevertheless.
    const both = { claims: acrClaim(['mfa'], false), acr_values: 'mfa', prompt: 'none' }
    expectErrorRedirect(await signedIn('password').get(url(both)), 'login_required')
  })

  test('default_acr_values and default_max_age count unless the request says otherwise', async () => {
    const ask = (more: Record<string, string>, level = 'password', time?: number) =>
      signedIn(level, time).get(url({ client_id: 'careful', prompt: 'none', ...more }))
    expectErrorRedirect(await ask({}), 'login_required')
    codeOf(await ask({}, 'mfa'))
    expectErrorRedirect(await ask({}, 'mfa', seconds() - 90), 'login_required')
    codeOf(await ask({ max_age: '120' }, 'mfa', seconds() - 90))
    codeOf(await ask({ acr_values: 'password' }))
    codeOf(await ask({ claims: acrClaim(['mfa'], false) }))
  })

  test('a level ends when the user signs in at the host without it', async () => {
    const agent = signedIn('mfa')
    codeOf(await agent.get(url({ acr_values: 'mfa' })))
    agent.cookies.set('host_user', `${seconds()}@`)
    loginPage(await agent.get(url({ acr_values: 'mfa' })))
  })

  test('the metadata names the levels, and a guard for an unknown one is refused', async () => {
    const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
    expect(body.acr_values_supported).toEqual(['password', 'mfa'])
    expect(body.claims_supported).toContain('acr')
    expect(() => host.oauth.requireToken('notes:read', { acr: 'gold' })).toThrow(
      "latchkey: requireToken('notes:read'): gold is not in the option acrValues",
    )
  })
})
