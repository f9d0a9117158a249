import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import express from 'express'
import session from 'express-session'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorPage, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, redeem, userinfo } from '../support/tokens.ts'
import { forgedForms } from './forged-forms.ts'

// What else a user can choose to sign in: another account, and links to other pages of the host.

let host: Host
beforeAll(async () => {
  const other = { client_id: 'other', client_secret: secret, redirect_uris: [callback] }
  host = await startHost({ clients: [...clients, other] })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())
beforeEach(() => host.table('consents').delete())

const browser = () => new RawBrowser(host.app)
const web = { client_id: 'web', scope: 'openid', state: 's' }
const select = { ...web, prompt: 'select_account' }
const choicePage = '200 /select-account'
const loginPage = '200 /login'
const consentPage = '200 /consent'

/** Presses a button of the page. */
const choose = (agent: RawBrowser, page: Answer, decision: 'continue' | 'another'): Promise<Answer> =>
  agent.submit(page, `value="${decision}"`, { decision })

const subjectIn = async (answer: Answer): Promise<unknown> =>
  claimsOf((await answerOf(redeem(host, codeOf(answer)))).id_token).sub
/** Follows the page that continues after a page of the host. */
const goOn = (agent: RawBrowser, page: Answer): Promise<Answer> => {
  const [, url = ''] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.html) ?? []
  return agent.open(url.replaceAll('&amp;', '&'))
}

/** A browser in which Ada has signed in and allowed the client. */
const visited = async (): Promise<RawBrowser> => {
  const agent = browser()
  codeOf(await agent.grant(authorizeUrl(web)))
  return agent
}

/** The same, asked which account it shall be. */
const asked = async (request: Record<string, string> = select) => {
  const agent = await visited()
  const page = await agent.open(authorizeUrl(request))
  expect(pageOf(page)).toBe(choicePage)
  const id = page.url.searchParams.get('authorization_request') ?? ''
  return { agent, page, waiting: `/oauth/authorize?authorization_request=${id}` }
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
  test('is for this request alone: another tab and the next request ask again', async () => {
    const { agent, page, waiting } = await asked()
    const other = await agent.open(authorizeUrl({ ...select, state: 'other' }))
    codeOf(await choose(agent, page, 'continue'))
    expectExpiredPage(await agent.get(waiting))
    expectExpiredPage(await choose(agent, page, 'continue'))
    const id = other.url.searchParams.get('authorization_request') ?? ''
    expect(pageOf(await agent.open(`/oauth/authorize?authorization_request=${id}`))).toBe(choicePage)
    codeOf(await choose(agent, other, 'continue'))
    expect(pageOf(await agent.open(authorizeUrl(select)))).toBe(choicePage)
  })

  test('cannot be skipped by opening any URL of it again', async () => {
    const { agent, page, waiting } = await asked()
    const tries = [waiting, `${waiting}&prompt=none`, `${waiting}&max_age=100000`, authorizeUrl(select)]
    for (const url of tries) expect(pageOf(await agent.open(url))).toBe(choicePage)
    codeOf(await agent.get(authorizeUrl(web)))
    const consent = await agent.get(waiting.replace('/authorize', '/consent'))
    expect(pageOf(await agent.decide(consent, 'allow'))).toBe(choicePage)
    codeOf(await choose(agent, page, 'continue'))
  })

  test('means the account that the page named: after another sign-in it asks about that one', async () => {
    const { agent, page } = await asked()
    const bobs = await agent.open(authorizeUrl({ ...select, client_id: 'other' }))
    await agent.signIn(await choose(agent, bobs, 'another'), bob.email, bob.password)
    const again = await choose(agent, page, 'continue')
    expect(pageOf(again)).toBe(choicePage)
    expect(again.html).toContain('bob@example.com')
    expect(again.html).not.toContain('ada@example.com')
    const consent = await choose(agent, again, 'continue')
    expect(pageOf(consent)).toBe(consentPage)
    expect(await subjectIn(await agent.decide(consent, 'allow'))).toBe('2')
  })
})

describe('“Use another account”', () => {
  test('shows an empty sign-in form, and keeps the login until another user signs in', async () => {
    const agent = browser()
    const tokens = await answerOf(redeem(host, codeOf(await agent.grant(authorizeUrl(web)))))
    const open = async () => (await host.table('logins').where({ subject: '1' }).whereNull('ended_at')).length
    const before = await open()
    const login = await choose(agent, await agent.open(authorizeUrl(select)), 'another')
    expect(pageOf(login)).toBe(loginPage)
    expect(fieldsOf(login, 'name="password"').username).toBe('')
    expect((await agent.signIn(login, bob.email, 'wrong')).status).toBe(400)
    expect(await open()).toBe(before)
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    codeOf(await agent.get(authorizeUrl({ ...web, prompt: 'none' })))
    const consent = await agent.signIn(login, bob.email, bob.password)
    expect(await subjectIn(await agent.decide(consent, 'allow'))).toBe('2')
    expect(await open()).toBe(before - 1)
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
  })

  test('keeps the login_hint, and the same page still accepts the current account', async () => {
    const { agent, page } = await asked({ ...select, login_hint: bob.email })
    const login = await choose(agent, page, 'another')
    expect(fieldsOf(login, 'name="password"').username).toBe(bob.email)
    expect(await subjectIn(await choose(agent, page, 'continue'))).toBe('1')
  })
})

describe('a wrong form chooses nothing:', () => {
  let agent: RawBrowser
  let page: Answer
  let waiting: string
  let right: Record<string, string>
  const send = (form: Record<string, string> | [string, string][], headers = {}): Promise<Answer> =>
    agent.post('/oauth/select-account', form, headers)
  beforeAll(async () => {
    ;({ agent, page, waiting } = await asked())
    right = fieldsOf(page, 'value="continue"')
  })
  afterEach(async () => expect(pageOf(await agent.open(waiting))).toBe(choicePage))

  const foreign = { 'another browser': async () => fieldsOf((await asked()).page, 'value="continue"') }
  test.each(forgedForms(foreign))('one %s is 403', async (_, forge) => {
    const { fields, headers } = await forge(right, agent)
    for (const decision of ['continue', 'another'])
      expectErrorPage(await send({ ...fields, decision }, headers), 403)
  })

  test('one with the token of the login form of the same request is 403', async () => {
    const login = await agent.get(waiting.replace('/authorize?', '/login?'))
    const { csrf_token = '' } = fieldsOf(login, 'name="password"')
    expectErrorPage(await send({ ...right, csrf_token, decision: 'continue' }), 403)
  })

  test('one without a known decision is 400', async () => {
    for (const decision of [{}, { decision: 'maybe' }] as Record<string, string>[])
      expectErrorPage(await send({ ...right, ...decision }), 400)
  })

  test('one with a login that is made up asks again', async () => {
    const { login: _, ...fields } = right
    for (const login of [{}, { login: 'made up' }] as Record<string, string>[])
      expect(pageOf(await agent.follow(await send({ ...fields, decision: 'continue', ...login })))).toBe(
        choicePage,
      )
  })

  test('one of another browser is the page for expired requests', async () => {
    const thief = await visited()
    expectExpiredPage(await thief.get(page.url.href))
    expectExpiredPage(await choose(thief, page, 'continue'))
  })
})

describe('with the host’s own login page', () => {
  // Like many pages, it shows its form only to users who are not signed in, or if prompt asks for it.
  const user = { id: 1, at: 1_700_000_000 }
  const login = { url: '/sign-in', current: () => ({ subject: user.id, authTime: user.at }) }
  const signInPage: express.RequestHandler = ({ path, query: { prompt } }, res, next) => {
    if (path !== '/sign-in') return next()
    if (String(prompt).split(' ').includes('login')) return void res.send('the form')
    res.redirect('/')
  }

  const warn = jest.fn()
  let hosted: Host
  let agent: RawBrowser
  beforeAll(async () => {
    hosted = await startHost({ before: [signInPage], options: { login, logger: { ...console, warn } } })
  })
  afterAll(() => hosted.close())
  beforeEach(async () => {
    Object.assign(user, { id: 1, at: 1_700_000_000 })
    agent = new RawBrowser(hosted.app)
    codeOf(await agent.decide(await agent.open(authorizeUrl({ ...web, prompt: 'consent' })), 'allow'))
  })

  const comeBack = async ({ url }: Answer): Promise<Answer> =>
    goOn(agent, await agent.get(url.searchParams.get('return_to') ?? ''))
  const asked = async (): Promise<Answer> => {
    const choice = await agent.open(authorizeUrl(select))
    expect(pageOf(choice)).toBe(choicePage)
    expect(choice.html).toContain('ada@example.com')
    return choice
  }

  test('a signed-in user chooses on our page, and goes on without signing in', async () => {
    codeOf(await choose(agent, await asked(), 'continue'))
  })

  test('another account is the host’s form, also for a user who is signed in', async () => {
    const form = await choose(agent, await asked(), 'another')
    expect(form.html).toBe('the form')
    expect(form.url.searchParams.get('prompt')).toBe('select_account login')
    Object.assign(user, { id: 2, at: Math.floor(Date.now() / 1000) })
    expect(pageOf(await comeBack(form))).toBe(consentPage)
  })

  test('a user who comes back with the same login is asked again, and may go on with it', async () => {
    const choice = await comeBack(await choose(agent, await asked(), 'another'))
    expect(pageOf(choice)).toBe(choicePage)
    codeOf(await choose(agent, choice, 'continue'))
  })

  test('for a client that asked for a new login, the error and the log say that there was none', async () => {
    const back = await comeBack(await agent.open(authorizeUrl({ ...select, prompt: 'select_account login' })))
    const { error, error_description } = Object.fromEntries(back.location?.searchParams ?? [])
    expect(error).toBe('login_required')
    expect(error_description).toBe('the user is signed in, but no new login was reported')
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('login.url sent the browser back'))
  })
})

describe('the links of the sign-in form', () => {
  const docs = readFileSync(join(__dirname, '../../docs/pages.md'), 'utf8')
  /** The example of docs/pages.md, in an app whose provider knows one user. */
  const snippet = /## The way back[\s\S]*?```js\n([\s\S]*?)```/.exec(docs)?.[1] ?? ''
  const app = express.Router()
  const google = { authorizationUrl: () => '/auth/google/callback?code=1' }
  const run = new Function('app', 'google', 'userOfGoogle', `${snippet}; return login`)
  const login: AuthRouterOptions['login'] = run(app, google, async () => ({ id: 1 }))

  let own: Host
  beforeAll(async () => {
    const links = { forgotPassword: '/forgot?from=oauth', signUp: 'https://join.example.com/now' }
    own = await startHost({
      before: [session({ secret: 'of the host', resave: false, saveUninitialized: false }), app],
      options: { login, pages: { links }, session: 'host' },
    })
  })
  afterAll(() => own.close())

  const browser = () => new RawBrowser(own.app)
  const request = authorizeUrl(web)
  /** Where the link with this text leads. */
  const linkOn = ({ html }: Answer, text: RegExp): URL => {
    const links = [...html.matchAll(/<a\b[^>]* href="([^"]*)"[^>]*>(.*?)<\/a>/g)]
    const [, href = ''] = links.find(([, , words = '']) => text.test(words)) ?? []
    return new URL(href.replaceAll('&amp;', '&'), 'http://localhost:3000')
  }
  const returnTo = (link: URL): string => link.searchParams.get('return_to') ?? ''
  test('the example of the documentation signs in with a provider and comes back to the client', async () => {
    const agent = browser()
    const form = await agent.open(request)
    expect(form.html).toContain('<label for="username">Email</label>')
    expect(form.html).toContain('<img src="/google.svg" alt="" width="20" height="20">')
    const link = linkOn(form, /Continue with <bdi>Google/)
    expect(`${link.pathname} ${returnTo(link)}`).toMatch(
      /^\/auth\/google \/oauth\/login\?authorization_request=/,
    )
    const consent = await goOn(agent, await agent.open(link.href))
    expect(consent.html).toContain('ada<wbr>@example.com')
    codeOf(await agent.decide(consent, 'allow'))
  })

  test('a user who comes back without having signed in sees the form again', async () => {
    const agent = browser()
    const link = linkOn(await agent.open(request), /Forgot/)
    const again = await goOn(agent, await agent.open(returnTo(link)))
    expect(again.url.pathname).toBe('/oauth/login')
    codeOf(await agent.decide(await agent.signIn(again, 'bob@example.com', 'bob’s password'), 'allow'))
  })

  test('the links carry the way back, and the name that was typed to the page for a new password', async () => {
    const agent = browser()
    const failed = await agent.signIn(await agent.open(request), 'ada@example.com', 'wrong')
    const [forgot, signUp] = [linkOn(failed, /Forgot/), linkOn(failed, /Create/)]
    expect(Object.fromEntries(forgot.searchParams)).toEqual({
      from: 'oauth',
      return_to: expect.stringMatching(/^\/oauth\/login\?authorization_request=lk_ar_[\w-]{43}&returned=1$/),
      login_hint: 'ada@example.com',
    })
    expect(linkOn(failed, /reset your password/).href).toBe(forgot.href)
    expect(signUp.host).toBe('join.example.com')
    expect(returnTo(signUp)).toBe(`http://localhost:3000${returnTo(forgot)}`)
    expect(signUp.searchParams.has('login_hint')).toBe(false)
    expect(returnTo(linkOn(await browser().open('/oauth/account'), /Google/))).toBe('/oauth/account')
  })

  test('while a password is locked, only another user can enter one; other ways stay (pages 20)', async () => {
    const agent = browser()
    let page = await agent.open(request)
    for (let failures = 1; failures <= 6; failures += 1)
      page = await agent.signIn(page, 'locked@example.com', `wrong ${failures}`)
    expect(page.status).toBe(429)
    const [shown = '', other = ''] = page.html.split('<details class="another">')
    expect(shown).not.toContain('type="password"')
    expect(shown).toMatch(/<p data-seconds="\d+" data-at="Try again at \{time\}\.">.*<bdi>15 minutes<\/bdi>/)
    expect(linkOn({ ...page, html: shown }, /Google/).pathname).toBe('/auth/google')
    expect(linkOn({ ...page, html: shown }, /Forgot/).pathname).toBe('/forgot')
    expect(other).toContain('<summary>Use another account</summary>')
    expect(other).not.toContain('locked@example.com')
    await agent.signIn(page, 'bob@example.com', 'bob’s password')
    expect((await agent.open('/oauth/account')).html).toContain('bob<wbr>@example.com')
  })

  test.each([
    [ada.email, 3],
    ['unknown@example.com', 4],
  ])('after four failures of %s one try is left', async (name, more) => {
    // The previous test has failed once with the first name.
    const agent = browser()
    let page = await agent.open(request)
    const says: string[] = []
    for (let failures = 1; failures <= more + 2; failures += 1) {
      page = await agent.signIn(page, name, `wrong ${failures}`)
      const [words = ''] = /You have 1 try left|Too many attempts/.exec(page.html) ?? []
      says.push(words)
    }
    expect(says.slice(more - 1)).toEqual(['You have 1 try left', '', 'Too many attempts'])
  })
})
