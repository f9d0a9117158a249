import supertest from 'supertest'
import type { AuthEvent, SecondFactor } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { codesFor, deviceClients, openCode, poll } from '../support/device.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, expectError, redeem, type TokenAnswer } from '../support/tokens.ts'

// Ada always needs a second factor, and gets its code. Bob needs one only when a request asks for the level `mfa`.

let host: Host
let factor: SecondFactor
let right = ''
let sent: string[] = []
let events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost({
    clients: [
      {
        ...{ client_id: 'web', client_secret: secret, redirect_uris: [callback], first_party: true },
        scope: 'openid notes:read',
      },
      ...deviceClients,
    ],
    options: {
      features: { deviceAuthorization: true },
      acrValues: ['password', 'mfa'],
      login: {
        acr: 'password',
        secondFactor: (user, _req, { acrValues }) => (user.id === 1 || acrValues.includes('mfa')) && factor,
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
  await host.database.knex(`${host.database.tablePrefix}throttles`).delete()
})
afterEach(() => jest.restoreAllMocks())

const url = (more: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope: 'openid notes:read', ...more })
const enter = (agent: RawBrowser, page: Answer, code = right): Promise<Answer> =>
  agent.submit(page, 'name="code"', { code })
/** The page that asks for the code, after the right password. */
const codePage = async (agent = new RawBrowser(host.app), path = url(), user = ada): Promise<Answer> => {
  const page = await agent.signIn(await agent.open(path), user.email, user.password)
  expect(page.url.pathname).toBe('/oauth/second-factor')
  return page
}
const tokensOf = (answer: Answer): Promise<TokenAnswer> => answerOf(redeem(host, codeOf(answer)))
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
  const { id_token } = await tokensOf(done)
  expect(claimsOf(id_token)).toMatchObject({ sub: '1', acr: 'mfa', amr: ['pwd', 'otp', 'mfa'] })
})

test('Connected apps asks for the code, too', async () => {
  const agent = new RawBrowser(host.app)
  const page = await codePage(agent, '/oauth/account')
  expect((await agent.open('/oauth/account')).html).toContain('name="password"')
  expect((await enter(agent, page)).html).toContain('<h1>Connected apps</h1>')
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

test('another user can sign in instead', async () => {
  const agent = new RawBrowser(host.app)
  const [, other = ''] = /class="switch" href="([^"]+)"/.exec((await codePage(agent)).html) ?? []
  const form = await agent.open(other.replaceAll('&amp;', '&'))
  codeOf(await agent.signIn(form, bob.email, bob.password))
})

test('a user signs in with the password until an API asks for a level, which the code gives', async () => {
  const agent = new RawBrowser(host.app)
  const first = await tokensOf(await agent.grant(url(), bob.email, bob.password))
  expect(claimsOf(first.id_token)).toMatchObject({ acr: 'password', amr: ['pwd'] })
  const call = ({ access_token }: TokenAnswer) =>
    supertest(host.app).get('/api/mfa').set('Authorization', `Bearer ${access_token}`)
  const refused = await call(first)
  expect(refused.status).toBe(401)
  const [, level = ''] = /acr_values="([^"]+)"/.exec(String(refused.headers['www-authenticate'])) ?? []

  expectErrorRedirect(await agent.get(url({ acr_values: level, prompt: 'none' })), 'login_required')
  const page = await codePage(agent, url({ acr_values: level }), bob)
  const better = await tokensOf(await enter(agent, page))
  expect(claimsOf(better.id_token)).toMatchObject({ sub: '2', acr: 'mfa', amr: ['pwd', 'otp', 'mfa'] })
  const passed = await call(better)
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

test('a field for recovery codes takes letters', async () => {
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

test('five wrong codes pause the sign-in, also after several passwords, and the user starts again with the password', async () => {
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

test('the user starts again after ten minutes', async () => {
  const clock = stopClock()
  const agent = new RawBrowser(host.app)
  const page = await codePage(agent)
  clock.travel(600)
  const answer = await enter(agent, page)
  expect(answer.html).toContain('Please sign in again.')
  expect(answer.html).toContain('name="password"')
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
])('login.secondFactor that returns %s signs no user in', async (_case, wrong) => {
  factor = wrong as SecondFactor
  const agent = new RawBrowser(host.app)
  let page = await agent.signIn(await agent.open(url()))
  if (page.html.includes('name="code"')) page = await enter(agent, page)
  expect(page.status).toBe(500)
  expect(typesOf()).not.toContain('login.succeeded')
})
