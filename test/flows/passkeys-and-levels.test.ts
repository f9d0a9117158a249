import session from 'express-session'
import { Secret, TOTP } from 'otpauth'
import supertest from 'supertest'
import { authenticatorApps, passkeys, secondFactor } from '../../lib/features/index.ts'
import { settingsPath } from '../../lib/features/second-factor/settings-page.ts'
import type { AuthRouterOptions, HostLogin } from '../../lib/index.ts'
import type { Feature } from '../../lib/options/features.ts'
import { askedBy, createAuthenticator, passkeyForm } from '../support/authenticator.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, type HostSettings, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem } from '../support/tokens.ts'

// Ada has a second factor at the level `mfa` only, and a passkey; bob has neither.

const page = '/oauth/account/passkeys'
const authenticator = createAuthenticator()
const open: Host[] = []
afterAll(() => Promise.all(open.map((host) => host.close())))
afterEach(() => jest.restoreAllMocks())

const start = async (
  own: Parameters<typeof passkeys>[0],
  login: AuthRouterOptions['login'] = {},
  settings: HostSettings = {},
  more: readonly Feature[] = [],
): Promise<Host> => {
  const host = await startHost({
    clients: [
      {
        client_id: 'web',
        client_secret: secret,
        redirect_uris: [callback],
        first_party: true,
        scope: 'openid notes:read',
      },
    ],
    ...settings,
    options: {
      acrValues: ['password', 'mfa'],
      login,
      features: [passkeys(own), ...more],
      ...settings.options,
    },
  })
  open.push(host)
  await host.table('passkeys').insert(authenticator.row('1'))
  return host
}
const url = (more: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope: 'openid notes:read', ...more })
const usePasskey = (browser: RawBrowser, login: Answer): Promise<Answer> =>
  browser.submit(login, 'id="login"', { passkey: authenticator.get(askedBy(login)) })
const tokensOf = (host: Host, answer: Answer) => answerOf(redeem(host, codeOf(answer)))

describe('with a second factor', () => {
  let host: Host
  beforeAll(async () => {
    host = await start(
      { acr: 'mfa' },
      {
        acr: 'password',
      },
      {},
      [
        secondFactor({
          find: (user, { acrValues }) =>
            user.id === 1 &&
            acrValues.includes('mfa') && { kind: 'code', verify: (code) => code === '123456', acr: 'mfa' },
        }),
      ],
    )
    host.app.get('/api/mfa', host.oauth.requireToken('notes:read', { acr: 'mfa' }), (_req, res) => {
      res.json({})
    })
  })

  test('an API asks for a level, which a passkey has, without a code', async () => {
    const browser = new RawBrowser(host.app)
    const call = (token: string) =>
      supertest(host.app).get('/api/mfa').set('Authorization', `Bearer ${token}`)
    const first = await tokensOf(host, await browser.signIn(await browser.open(url())))
    const refused = await call(first.access_token)
    expect(refused.headers['www-authenticate']).toContain('acr_values="mfa"')
    const confirm = await browser.open(url({ acr_values: 'mfa' }))
    const { id_token, access_token } = await tokensOf(host, await usePasskey(browser, confirm))
    expect(claimsOf(id_token)).toMatchObject({ sub: '1', acr: 'mfa', amr: ['hwk', 'user', 'mfa'] })
    expect((await call(access_token)).status).toBe(200)
  })

  test('the password alone adds no passkey, and the code leads to the page', async () => {
    const browser = new RawBrowser(host.app)
    codeOf(await browser.signIn(await browser.open(url())))
    const confirm = await browser.open(page)
    expect(confirm.html).toContain('Confirm it’s you')
    const asked = await browser.signIn(confirm)
    expect(asked.url.pathname).toBe('/oauth/second-factor')
    for (const address of [page, '/oauth/account/passkeys?id=x'])
      expect((await browser.open(address)).html).toContain('Confirm it’s you')
    const { fields } = passkeyForm(confirm)
    await browser.post(page, { ...fields, decision: 'add', passkey: 'x' })
    expect((await browser.open(page)).html).toContain('Confirm it’s you')
    const wrong = await browser.submit(asked, 'name="code"', { code: '000000' })
    expect(wrong.status).toBe(400)
    const list = await browser.submit(wrong, 'name="code"', { code: '123456' })
    expect({ path: list.url.pathname, html: list.html }).toMatchObject({
      path: page,
      html: expect.stringContaining('<h1>Passkeys</h1>'),
    })
    // For a client, the same user needs the password only.
    codeOf(await browser.open(url()))
  })
})

describe('with authenticator apps', () => {
  const settings = `/oauth${settingsPath}`
  const features = [passkeys(), authenticatorApps()]
  const user = { id: 1, username: 'ada@example.com' }

  test.each([
    ['functions', { find: () => user, authenticate: () => user }],
    ['a table', undefined],
  ])('who has a passkey sets one up only after a sign-in with it: users in %s (M5)', async (_, users) => {
    const host = await start({}, {}, { options: { ...(users && { users }), features } })
    const browser = new RawBrowser(host.app)
    const asked = await browser.signIn(await browser.open(settings))
    expect(asked.html).toContain('Use your passkey to continue.')
    expect(asked.html).not.toContain('id="secret"')
    const sent = await browser.submit(asked, 'id="login"', { decision: 'confirm', code: '123456' })
    expect(sent.html).toContain('Use your passkey to continue.')
    expect(await host.table('second_factors')).toEqual([])
    expect((await usePasskey(browser, asked)).html).toContain('id="secret"')
  })

  test('adding a passkey needs a sign-in with the app’s code, unless the app was set up since then', async () => {
    const clock = stopClock()
    const host = await start({}, {}, { options: { features } })
    await host.table('passkeys').delete()
    const browser = new RawBrowser(host.app)
    const shown = await browser.signIn(await browser.open(settings))
    const [, key = ''] = /id="secret" dir="ltr">([A-Z2-7 ]+)</.exec(shown.html) ?? []
    const code = () =>
      new TOTP({ secret: Secret.fromBase32(key.replaceAll(' ', '')) }).generate({ timestamp: Date.now() })
    const codes = await browser.submit(shown, 'name="code"', { decision: 'confirm', code: code() })
    expect(codes.html).toMatch(/id="recovery-codes"[^>]*>[a-z2-7-]+/)
    expect((await browser.open(page)).html).toContain('<h1>Passkeys</h1>')
    clock.travel(60)
    const other = new RawBrowser(host.app)
    const asked = await other.signIn(await other.open(page))
    expect(asked.url.pathname).toBe('/oauth/second-factor')
    expect((await other.open(page)).html).not.toContain('<h1>Passkeys</h1>')
    const list = await other.submit(asked, 'name="code"', { code: code() })
    expect(list.html).toContain('<h1>Passkeys</h1>')
  })
})

describe('with the session of an app', () => {
  test('the app stores how the user signed in, and reports the level', async () => {
    const host = await start(
      { acr: 'mfa' },
      {
        current: ({ req }) => (req.session as { login?: HostLogin }).login,
        remember: (user, { req, amr, acr }) => {
          const login: HostLogin = { subject: user.id, authTime: Math.floor(Date.now() / 1000), amr, acr }
          Object.assign(req.session, { login })
        },
      },
      {
        before: [session({ secret: 'of the host', resave: false, saveUninitialized: false })],
        options: { session: 'host' },
      },
    )
    const browser = new RawBrowser(host.app)
    await tokensOf(host, await usePasskey(browser, await browser.open(url({ acr_values: 'mfa' }))))
    const { id_token } = await tokensOf(host, await browser.open(url({ prompt: 'none', acr_values: 'mfa' })))
    expect(claimsOf(id_token)).toMatchObject({ acr: 'mfa', amr: ['hwk', 'user', 'mfa'] })
    expect((await browser.open(page)).html).toContain('<h1>Passkeys</h1>')
  })

  test('a login whose time the app does not know adds no passkey', async () => {
    const host = await start({}, { current: () => ({ subject: 1 }) })
    const browser = new RawBrowser(host.app)
    codeOf(await browser.open(url()))
    const confirm = await browser.open(page)
    expect(confirm.html).toContain('Confirm it’s you')
    expect((await usePasskey(browser, confirm)).html).toContain('<h1>Passkeys</h1>')
  })
})

describe('without the option', () => {
  test('there is no page and no script, and a passkey does not sign in', async () => {
    const host = await start({}, {}, { options: { features: [] } })
    const browser = new RawBrowser(host.app)
    const login = await browser.open(url())
    expect(login.html).not.toContain('passkey')
    expect((await browser.get(page)).status).toBe(404)
    const refused = await browser.submit(login, 'name="password"', {
      username: 'ada@example.com',
      passkey: authenticator.get({ challenge: 'x' }),
    })
    expect(refused.html).toContain('Wrong email or password')
  })

  test('or without the package, the error at the start contains the command that installs it', async () => {
    jest.doMock('@simplewebauthn/server', () => {
      throw new Error('Cannot find module')
    })
    await expect(start({})).rejects.toThrow(
      'latchkey: passkeys() needs the package @simplewebauthn/server; run: npm install @simplewebauthn/server@14',
    )
    jest.dontMock('@simplewebauthn/server')
  })
})
