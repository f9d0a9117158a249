import { decodeJwt } from 'jose'
import { forgedForms } from '../support/forged-forms.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, bob, redeem, userinfo } from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  const other = { client_id: 'other', client_secret: secret, redirect_uris: [callback] }
  host = await startHost({ clients: [...clients, other] })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())
beforeEach(() => table('consents').delete())

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const browser = () => new RawBrowser(host.app)
const web = { client_id: 'web', scope: 'openid', state: 's' }
const select = { ...web, prompt: 'select_account' }
const pathOf = (answer: Answer): string => `${answer.status} ${answer.url.pathname}`
const choicePage = '200 /oauth/select-account'
const loginPage = '200 /oauth/login'
const consentPage = '200 /oauth/consent'

/** Presses a button of the page. */
const choose = (agent: RawBrowser, page: Answer, decision: 'continue' | 'another'): Promise<Answer> =>
  agent.submit(page, `value="${decision}"`, { decision })

const idTokenOf = async (answer: Answer) => decodeJwt((await answerOf(redeem(host, codeOf(answer)))).id_token)

/** A browser in which Ada has signed in and allowed the client. */
const visited = async () => {
  const agent = browser()
  const idToken = await idTokenOf(await agent.grant(authorizeUrl(web)))
  return { agent, idToken }
}

/** The same, asked which account it shall be. */
const asked = async (request: Record<string, string> = select) => {
  const { agent, idToken } = await visited()
  const page = await agent.open(authorizeUrl(request))
  expect(pathOf(page)).toBe(choicePage)
  const id = page.url.searchParams.get('authorization_request') ?? ''
  return { agent, idToken, page, waiting: `/oauth/authorize?authorization_request=${id}` }
}

test('a signed-in user can continue or use another account', async () => {
  const { page } = await asked()
  const text = page.html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  expect(text).toContain('Choose an account to continue to Web client ( client.example.com )')
  expect(text).toContain('Continue as ada@example.com')
  expect(text).toContain('Use another account')
  expect(page.html).not.toContain('name="password"')
  expect(page.headers['cache-control']).toBe('no-store')
  expect(page.headers['content-security-policy']).toContain("form-action 'self' https:")
})

describe('“Continue”', () => {
  test('is for this request alone: the next one asks again', async () => {
    const { agent, page, waiting } = await asked()
    codeOf(await choose(agent, page, 'continue'))
    expectExpiredPage(await agent.get(waiting))
    expectExpiredPage(await choose(agent, page, 'continue'))
    expect(pathOf(await agent.open(authorizeUrl(select)))).toBe(choicePage)
  })

  test('of one tab does not answer for another', async () => {
    const { agent, page } = await asked()
    const other = await agent.open(authorizeUrl({ ...select, state: 'other' }))
    codeOf(await choose(agent, page, 'continue'))
    const id = other.url.searchParams.get('authorization_request') ?? ''
    expect(pathOf(await agent.open(`/oauth/authorize?authorization_request=${id}`))).toBe(choicePage)
    codeOf(await choose(agent, other, 'continue'))
  })

  test('cannot be skipped by opening any URL of it again', async () => {
    const { agent, page, waiting } = await asked()
    const tries = [waiting, `${waiting}&prompt=none`, `${waiting}&max_age=100000`, authorizeUrl(select)]
    for (const url of tries) expect(pathOf(await agent.open(url))).toBe(choicePage)
    codeOf(await agent.get(authorizeUrl(web)))
    const consent = await agent.get(waiting.replace('/authorize', '/consent'))
    expect(pathOf(await agent.decide(consent, 'allow'))).toBe(choicePage)
    codeOf(await choose(agent, page, 'continue'))
  })

  test('means the account that the page named: after another sign-in it asks about that one', async () => {
    const { agent, page } = await asked()
    const bobs = await agent.open(authorizeUrl({ ...select, client_id: 'other' }))
    await agent.signIn(await choose(agent, bobs, 'another'), bob.email, bob.password)
    const again = await choose(agent, page, 'continue')
    expect(pathOf(again)).toBe(choicePage)
    expect(again.html).toContain('bob@example.com')
    expect(again.html).not.toContain('ada@example.com')
    const consent = await choose(agent, again, 'continue')
    expect(pathOf(consent)).toBe(consentPage)
    expect((await idTokenOf(await agent.decide(consent, 'allow'))).sub).toBe('2')
  })
})

describe('“Use another account”', () => {
  test('shows an empty sign-in form, and keeps the login until another user signs in', async () => {
    const agent = browser()
    const tokens = await answerOf(redeem(host, codeOf(await agent.grant(authorizeUrl(web)))))
    const open = async () => (await table('logins').where({ subject: '1' }).whereNull('ended_at')).length
    const before = await open()
    const login = await choose(agent, await agent.open(authorizeUrl(select)), 'another')
    expect(pathOf(login)).toBe(loginPage)
    expect(fieldsOf(login, 'name="password"').username).toBe('')
    expect((await agent.signIn(login, bob.email, 'wrong')).status).toBe(400)
    expect(await open()).toBe(before)
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    codeOf(await agent.get(authorizeUrl({ ...web, prompt: 'none' })))
    const consent = await agent.signIn(login, bob.email, bob.password)
    expect((await idTokenOf(await agent.decide(consent, 'allow'))).sub).toBe('2')
    expect(await open()).toBe(before - 1)
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
  })

  test('can be undone: the same page still accepts the current account', async () => {
    const { agent, page } = await asked()
    await choose(agent, page, 'another')
    expect((await idTokenOf(await choose(agent, page, 'continue'))).sub).toBe('1')
  })

  test('keeps the login_hint', async () => {
    const { agent, page } = await asked({ ...select, login_hint: bob.email })
    const login = await choose(agent, page, 'another')
    expect(fieldsOf(login, 'name="password"').username).toBe(bob.email)
  })
})

describe('a form of another site', () => {
  const foreign = { 'another browser': async () => fieldsOf((await asked()).page, 'value="continue"') }
  test.each(forgedForms(foreign))('%s is 403 and chooses nothing', async (_, forge) => {
    const { agent, page, waiting } = await asked()
    const { fields, headers } = await forge(fieldsOf(page, 'value="continue"'), agent)
    for (const decision of ['continue', 'another'])
      expectErrorPage(await agent.post('/oauth/select-account', { ...fields, decision }, headers), 403)
    expect(pathOf(await agent.open(waiting))).toBe(choicePage)
  })

  test('with the token of the login form of the same request is 403: the token names the form', async () => {
    const { agent, page, waiting } = await asked()
    const fields = fieldsOf(page, 'value="continue"')
    const login = await agent.get(waiting.replace('/authorize?', '/login?'))
    const { csrf_token = '' } = fieldsOf(login, 'name="password"')
    const form = { ...fields, csrf_token, decision: 'continue' }
    expectErrorPage(await agent.post('/oauth/select-account', form), 403)
    expect(pathOf(await agent.open(waiting))).toBe(choicePage)
  })

  test.each<Record<string, string>>([{}, { decision: 'maybe' }])(
    'with the decision %j is a page',
    async (decision) => {
      const { agent, page, waiting } = await asked()
      const fields = { ...fieldsOf(page, 'value="continue"'), ...decision }
      expectErrorPage(await agent.post('/oauth/select-account', fields), 400)
      expect(pathOf(await agent.open(waiting))).toBe(choicePage)
    },
  )

  test('of a login that is made up chooses nothing', async () => {
    const { agent, page, waiting } = await asked()
    const { login: _, ...fields } = fieldsOf(page, 'value="continue"')
    for (const login of [[], [['login', 'made up']]] as [string, string][][]) {
      const pairs: [string, string][] = [...Object.entries(fields), ['decision', 'continue'], ...login]
      expect(pathOf(await agent.follow(await agent.post('/oauth/select-account', pairs)))).toBe(choicePage)
    }
    expect(pathOf(await agent.open(waiting))).toBe(choicePage)
  })

  test('of another browser is expired', async () => {
    const { page } = await asked()
    const thief = (await visited()).agent
    expectExpiredPage(await thief.get(page.url.href))
    expectExpiredPage(await choose(thief, page, 'continue'))
  })
})

test('the host’s own login page gets the prompt, and decides', async () => {
  const user = { id: 1, at: 1_700_000_000 }
  const login = { url: '/sign-in', current: () => ({ subject: user.id, authTime: user.at }) }
  const hosted = await startHost({ options: { login } })
  const agent = new RawBrowser(hosted.app)
  codeOf(await agent.decide(await agent.open(authorizeUrl(web)), 'allow'))
  const there = await agent.get(authorizeUrl(select))
  expect(there.location?.pathname).toBe('/sign-in')
  expect(there.location?.searchParams.get('prompt')).toBe('select_account')
  const returnTo = there.location?.searchParams.get('return_to') ?? ''
  const refresh = async () => /url=([^"]+)"/.exec((await agent.get(returnTo)).html)?.[1] ?? ''
  const back = (await refresh()).replaceAll('&amp;', '&')
  expectErrorRedirect(await agent.open(back), 'login_required', { state: 's' })
  const again = await agent.get(authorizeUrl(select))
  user.at += 1000
  const second = await agent.get(again.location?.searchParams.get('return_to') ?? '')
  const url = (/url=([^"]+)"/.exec(second.html)?.[1] ?? '').replaceAll('&amp;', '&')
  codeOf(await agent.open(url))
  await hosted.close()
})
