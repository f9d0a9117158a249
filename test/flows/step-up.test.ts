import supertest from 'supertest'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem, type TokenAnswer, web } from '../support/tokens.ts'

// A host with its own login page and two levels. Its login is a cookie of its own: `time@level`.

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      {
        ...{ client_id: 'web', client_secret: secret, redirect_uris: [callback], first_party: true },
        scope: 'openid notes:read',
      },
      {
        ...{ client_id: 'careful', client_secret: secret, redirect_uris: [callback], first_party: true },
        ...{ default_acr_values: ['mfa'], default_max_age: 60, require_auth_time: true },
        scope: 'openid notes:read',
      },
    ],
    options: {
      acrValues: ['password', 'mfa'],
      login: {
        url: '/signin',
        current: ({ headers }) => {
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
afterEach(() => jest.restoreAllMocks())

const seconds = (): number => Math.floor(Date.now() / 1000)
const signedIn = (acr: string, time = seconds()): RawBrowser => {
  const agent = new RawBrowser(host.app)
  agent.cookies.set('host_user', `${time}@${acr}`)
  return agent
}
const url = (more: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope: 'openid notes:read', ...more })
const tokensOf = (answer: Answer): Promise<TokenAnswer> => answerOf(redeem(host, codeOf(answer)))
const call = (path: string, { access_token }: TokenAnswer) =>
  supertest(host.app).get(path).set('Authorization', `Bearer ${access_token}`)

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
  const tokens = await tokensOf(await agent.get(url()))
  expect(claimsOf(tokens.id_token)).toMatchObject({ acr: 'password' })
  const refused = await call('/api/mfa', tokens)
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
  const better = await tokensOf(await comeBack(agent, page))
  const claims = { acr: 'mfa', auth_time: time }
  expect(claimsOf(better.id_token)).toMatchObject(claims)
  const passed = await call('/api/mfa', better)
  expect({ status: passed.status, body: passed.body }).toMatchObject({ status: 200, body: claims })
  const introspection = supertest(host.app).post('/oauth/introspect').type('form')
  expect((await introspection.send({ ...web, token: better.access_token })).body).toMatchObject(claims)
})

test('an API asks for a recent login', async () => {
  const clock = stopClock()
  const tokens = await tokensOf(await signedIn('').get(url()))
  clock.travel(60)
  expect((await call('/api/recent', tokens)).status).toBe(200)
  clock.travel(1)
  const refused = await call('/api/recent', tokens)
  expect({ status: refused.status, error: refused.body.error }).toEqual({
    status: 401,
    error: 'insufficient_user_authentication',
  })
  expect(refused.headers['www-authenticate']).toMatch(/, scope="notes:read", max_age="60"$/)
})

const acrClaim = (values: string[], essential: boolean): string =>
  JSON.stringify({ id_token: { acr: { essential, values } } })
const essential = (values: string[]): string => acrClaim(values, true)

test.each([
  ['a level that the login has', 'mfa', { acr_values: 'password mfa' }],
  ['an essential one that the login has', 'mfa', { claims: essential(['mfa']) }],
  ['no level', '', {}],
])('a request for %s is answered at once', async (_case, level, more) => {
  codeOf(await signedIn(level).get(url({ ...more, prompt: 'none' })))
})

test.each([
  ['no one supports', { acr_values: 'gold' }, 'unmet_authentication_requirements'],
  ['is essential, and no one supports', { claims: essential(['gold']) }, 'unmet_authentication_requirements'],
  ['the login lacks, without interaction', { acr_values: 'mfa', prompt: 'none' }, 'login_required'],
])('a level that %s is an error', async (_case, more, error) => {
  expectErrorRedirect(await signedIn('password').get(url(more)), error)
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
  const tokens = await tokensOf(await comeBack(agent, page))
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

test('a level ends with the session at the host that had it', async () => {
  const agent = signedIn('mfa')
  codeOf(await agent.get(url({ acr_values: 'mfa' })))
  agent.cookies.set('host_user', `${seconds()}@`)
  loginPage(await agent.get(url({ acr_values: 'mfa' })))
})

test('the metadata names the levels', async () => {
  const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
  expect(body.acr_values_supported).toEqual(['password', 'mfa'])
  expect(body.claims_supported).toContain('acr')
})

test('a guard for an unknown level is refused when it is made', () => {
  expect(() => host.oauth.requireToken('notes:read', { acr: 'gold' })).toThrow(
    "latchkey: requireToken('notes:read'): gold is not in the option acrValues",
  )
})
