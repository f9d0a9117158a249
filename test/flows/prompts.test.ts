import { decodeJwt, type JWTPayload } from 'jose'
import { type ClientAnswer, clientAnswer } from '../support/client-answer.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { codeOf, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, redeem } from '../support/tokens.ts'

const web = { client_id: 'web', scope: 'openid', state: 's' }
const impatient = { client_id: 'impatient', scope: 'openid', state: 's' }

let host: Host
let clock: Clock
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'impatient', client_secret: secret, redirect_uris: [callback], default_max_age: 100 },
      { client_id: 'zero', client_secret: secret, redirect_uris: [callback], default_max_age: 0 },
    ],
  })
})
afterAll(() => host.close())
beforeEach(async () => {
  clock = stopClock()
  await table('consents').delete()
})
afterEach(() => jest.restoreAllMocks())

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const browser = () => new RawBrowser(host.app)
const pathOf = (answer: Answer): string => `${answer.status} ${answer.url.pathname}`
const loginPage = '200 /oauth/login'
const consentPage = '200 /oauth/consent'

const refusal = (error: string): ClientAnswer => ({
  mode: 'query',
  fields: { error, error_description: expect.any(String), state: 's', iss: issuer },
})

/** The ID token that a code gives. */
const idTokenOf = async (answer: Answer, client_id = 'web'): Promise<JWTPayload & { raw: string }> => {
  const { id_token } = await answerOf(redeem(host, codeOf(answer), { client_id }))
  return { ...decodeJwt(id_token), raw: id_token }
}

/** A browser in which Ada has signed in and allowed the client, a while ago. */
const visited = async (request: Record<string, string> = web, seconds = 30) => {
  const agent = browser()
  const idToken = await idTokenOf(await agent.grant(authorizeUrl(request)), request.client_id)
  expect(idToken).toMatchObject({ sub: '1', auth_time: clock.now() })
  clock.travel(seconds)
  return { agent, idToken }
}

const expectRefused = (answer: Answer, error: string): void =>
  expect(clientAnswer(answer)).toEqual(refusal(error))
const silently = (agent: RawBrowser, more: Record<string, string> = {}): Promise<Answer> =>
  agent.get(authorizeUrl({ ...web, prompt: 'none', ...more }))

describe('prompt=none', () => {
  test('without consent is consent_required, also for more than was allowed', async () => {
    const { agent } = await visited()
    expectRefused(await silently(agent, { scope: 'openid email' }), 'consent_required')
    expectRefused(await silently(agent, { client_id: 'impatient' }), 'consent_required')
    await table('consents').delete()
    expectRefused(await silently(agent), 'consent_required')
  })

  test('distinguishes the user of the id_token_hint from others, also with an expired hint', async () => {
    const { agent, idToken } = await visited()
    const other = browser()
    const bobs = await idTokenOf(await other.grant(authorizeUrl(web), bob.email, bob.password))
    codeOf(await silently(agent, { id_token_hint: idToken.raw }))
    codeOf(await silently(other, { id_token_hint: bobs.raw }))
    expectRefused(await silently(agent, { id_token_hint: bobs.raw }), 'login_required')
    expectRefused(await silently(browser(), { id_token_hint: idToken.raw }), 'login_required')
    clock.travel(4000)
    const again = await agent.grant(authorizeUrl(web))
    codeOf(again)
    codeOf(await silently(agent, { id_token_hint: idToken.raw }))
  })

  test('after the user signed out, or was disabled, is login_required', async () => {
    const { agent } = await visited()
    await agent.submit(await agent.open('/oauth/logout'), 'name="csrf_token"')
    expect(clientAnswer(await silently(agent))).toEqual(refusal('login_required'))
    const other = await visited()
    const users = () => host.database.knex(host.usersTable).where({ id: 1 })
    await users().update({ disabled_at: 1 })
    const refused = await silently(other.agent)
    await users().update({ disabled_at: null })
    expect(clientAnswer(refused)).toEqual(refusal('login_required'))
  })
})

describe.each(['login', 'login select_account'])('prompt=%s', (prompt) => {
  const request = { ...web, prompt }

  test('asks a signed-in user to sign in again, and creates a new login', async () => {
    const { agent, idToken } = await visited()
    const page = await agent.open(authorizeUrl(request))
    expect(pathOf(page)).toBe(loginPage)
    clock.travel(5)
    const { auth_time, sid, sub } = await idTokenOf(await agent.signIn(page))
    expect({ auth_time, sub }).toEqual({ auth_time: clock.now(), sub: '1' })
    expect(sid).not.toBe(idToken.sid)
  })

  test('cannot be skipped by opening any URL of it again', async () => {
    const { agent } = await visited()
    const page = await agent.open(authorizeUrl(request))
    const id = page.url.searchParams.get('authorization_request') ?? ''
    const waiting = `/oauth/authorize?authorization_request=${id}`
    // A remembered consent, a consent page opened by hand, another tab that is served: none of them counts.
    const tries = [waiting, `${waiting}&prompt=none`, `${waiting}&max_age=100000`, authorizeUrl(request)]
    for (const url of tries) expect(pathOf(await agent.open(url))).toBe(loginPage)
    codeOf(await agent.get(authorizeUrl(web)))
    expect(pathOf(await agent.open(waiting))).toBe(loginPage)
    const consent = await agent.get(`/oauth/consent?authorization_request=${id}`)
    if (consent.status === 200) expect(pathOf(await agent.decide(consent, 'allow'))).toBe(loginPage)
    expect(pathOf(await agent.open(waiting))).toBe(loginPage)
    codeOf(await agent.signIn(page))
    expectExpiredPage(await agent.get(waiting))
    expect(pathOf(await agent.open(authorizeUrl(request)))).toBe(loginPage)
  })

  test('accepts a new login of another tab', async () => {
    const { agent } = await visited()
    const [one, two] = [await agent.open(authorizeUrl(request)), await agent.open(authorizeUrl(request))]
    clock.travel(5)
    const first = await idTokenOf(await agent.signIn(one))
    const waiting = two.url.searchParams.get('authorization_request') ?? ''
    const second = await agent.open(`/oauth/authorize?authorization_request=${waiting}`)
    expect((await idTokenOf(second)).auth_time).toBe(first.auth_time)
  })
})

describe('prompt=consent', () => {
  test.each(['login consent', 'login consent select_account'])(
    '%s asks for both, and neither is skipped',
    async (prompt) => {
      const { agent } = await visited()
      const login = await agent.open(authorizeUrl({ ...web, prompt }))
      expect(pathOf(login)).toBe(loginPage)
      const id = login.url.searchParams.get('authorization_request') ?? ''
      clock.travel(5)
      const consent = await agent.signIn(login)
      expect(pathOf(consent)).toBe(consentPage)
      expect(pathOf(await agent.open(`/oauth/authorize?authorization_request=${id}`))).toBe(consentPage)
      const done = await agent.decide(consent, 'allow')
      expect((await idTokenOf(done)).auth_time).toBe(clock.now())
    },
  )

  test('an answer under the old login does not count under the new one', async () => {
    const { agent } = await visited()
    const login = await agent.open(authorizeUrl({ ...web, prompt: 'login consent' }))
    const id = login.url.searchParams.get('authorization_request') ?? ''
    const early = await agent.get(`/oauth/consent?authorization_request=${id}`)
    if (early.status === 200)
      await agent.post('/oauth/consent', { ...fieldsOf(early, 'value="allow"'), decision: 'allow' })
    expect(pathOf(await agent.signIn(login))).toBe(consentPage)
  })
})

test('prompt=select_account lets another user in, prompt=login only the same one', async () => {
  const { agent } = await visited()
  const choice = await agent.open(authorizeUrl({ ...web, prompt: 'select_account' }))
  const select = await agent.submit(choice, 'value="another"', { decision: 'another' })
  expect(select.html).not.toContain('Confirm it’s you')
  const asBob = await agent.decide(await agent.signIn(select, bob.email, bob.password), 'allow')
  expect((await idTokenOf(asBob)).sub).toBe('2')
  const confirm = await agent.open(authorizeUrl({ ...web, prompt: 'login' }))
  expect(confirm.html).toContain('Confirm it’s you')
  expect(fieldsOf(confirm, 'name="password"').username).toBe(bob.email)
})

describe('max_age', () => {
  test('is satisfied by a login of exactly that age, and not a second more', async () => {
    const { agent, idToken } = await visited(web, 50)
    const request = { ...web, max_age: '50' }
    expect((await idTokenOf(await agent.get(authorizeUrl(request)))).auth_time).toBe(idToken.auth_time)
    clock.travel(1)
    const page = await agent.open(authorizeUrl(request))
    expect(pathOf(page)).toBe(loginPage)
    expect((await idTokenOf(await agent.signIn(page))).auth_time).toBe(clock.now())
    codeOf(await agent.get(authorizeUrl(request)))
  })

  test('0 asks each time, also in the second of the login, and never loops', async () => {
    const { agent } = await visited(web, 0)
    const request = { ...web, max_age: '0' }
    for (const _ of [1, 2]) {
      const page = await agent.open(authorizeUrl(request))
      expect(pathOf(page)).toBe(loginPage)
      expect((await idTokenOf(await agent.signIn(page))).auth_time).toBe(clock.now())
    }
  })

  test('a login that grows too old while the request waits for consent is renewed', async () => {
    const agent = browser()
    const login = await agent.open(authorizeUrl({ ...web, max_age: '50' }))
    const consent = await agent.signIn(login)
    expect(pathOf(consent)).toBe(consentPage)
    const again = await agent.open(authorizeUrl({ ...web, max_age: '50' }))
    expect(pathOf(again)).toBe(consentPage)
    clock.travel(51)
    // The second request found the login, so it must be renewed; the first one saw it made.
    expect(pathOf(await agent.decide(again, 'allow'))).toBe(loginPage)
    codeOf(await agent.decide(consent, 'allow'))
  })
})

describe('default_max_age of a client', () => {
  test('applies if the request has none', async () => {
    const { agent, idToken } = await visited(impatient, 100)
    const answer = await agent.get(authorizeUrl(impatient))
    expect((await idTokenOf(answer, 'impatient')).auth_time).toBe(idToken.auth_time)
    clock.travel(1)
    expectRefused(await agent.get(authorizeUrl({ ...impatient, prompt: 'none' })), 'login_required')
    const page = await agent.open(authorizeUrl(impatient))
    expect(pathOf(page)).toBe(loginPage)
    expect((await idTokenOf(await agent.signIn(page), 'impatient')).auth_time).toBe(clock.now())
  })

  test('gives way to the request, for more and for less', async () => {
    const { agent } = await visited(impatient, 101)
    codeOf(await agent.get(authorizeUrl({ ...impatient, max_age: '101' })))
    const young = await visited(impatient, 30)
    expect(pathOf(await young.agent.open(authorizeUrl({ ...impatient, max_age: '29' })))).toBe(loginPage)
  })
})

describe('id_token_hint', () => {
  test('of another user asks to sign in, shows no name, and accepts no other user', async () => {
    const other = browser()
    const bobs = await idTokenOf(await other.grant(authorizeUrl(web), bob.email, bob.password))
    const { agent } = await visited()
    const request = authorizeUrl({ ...web, id_token_hint: bobs.raw })
    const page = await agent.open(request)
    expect(pathOf(page)).toBe(loginPage)
    expect(page.html).not.toContain(ada.email)
    expect(clientAnswer(await agent.signIn(page))).toEqual(refusal('login_required'))
    const second = await agent.open(request)
    expect(pathOf(second)).toBe(loginPage)
    const done = await agent.signIn(second, bob.email, bob.password)
    expect((await idTokenOf(done)).sub).toBe('2')
  })
})
