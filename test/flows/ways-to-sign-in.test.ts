import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import express from 'express'
import session from 'express-session'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'

const docs = readFileSync(join(__dirname, '../../docs/pages.md'), 'utf8')
/** The example of docs/pages.md, in an app whose provider knows one user. */
const snippet = /## The way back[\s\S]*?```js\n([\s\S]*?)```/.exec(docs)?.[1] ?? ''
const app = express.Router()
const google = { authorizationUrl: () => '/auth/google/callback?code=1' }
const run = new Function('app', 'google', 'userOfGoogle', `${snippet}; return login`)
const login: AuthRouterOptions['login'] = run(app, google, async () => ({ id: 1 }))

let host: Host
beforeAll(async () => {
  const links = { forgotPassword: '/forgot?from=oauth', signUp: 'https://join.example.com/now' }
  host = await startHost({
    before: [session({ secret: 'of the host', resave: false, saveUninitialized: false }), app],
    options: { login, branding: { links }, session: 'host' },
  })
})
afterAll(() => host.close())

const browser = () => new RawBrowser(host.app)
const request = authorizeUrl({ client_id: 'web', scope: 'openid' })
/** Where the link with this text leads. */
const linkOn = ({ html }: Answer, text: RegExp): URL => {
  const links = [...html.matchAll(/<a\b[^>]* href="([^"]*)"[^>]*>(.*?)<\/a>/g)]
  const [, href = ''] = links.find(([, , words = '']) => text.test(words)) ?? []
  return new URL(href.replaceAll('&amp;', '&'), 'http://localhost:3000')
}
const returnTo = (link: URL): string => link.searchParams.get('return_to') ?? ''
/** Follows the page that leads on after a page of the host. */
const goOn = (agent: RawBrowser, page: Answer): Promise<Answer> => {
  const [, url = ''] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.html) ?? []
  return agent.open(url.replaceAll('&amp;', '&'))
}

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

test('who comes back without having signed in sees the form again', async () => {
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

test.each(['ada@example.com', 'nobody@example.com'])(
  'one try is left after four failures of %s',
  async (name) => {
    const agent = browser()
    let page = await agent.open(request)
    const says: string[] = []
    for (let failures = 1; failures <= 6; failures += 1) {
      page = await agent.signIn(page, name, `wrong ${failures}`)
      const [words = ''] = /You have 1 try left|Too many attempts/.exec(page.html) ?? []
      says.push(words)
    }
    // The other test has failed once already with one of the names.
    const isCounted = name === 'ada@example.com' ? 1 : 0
    expect(says.slice(3 - isCounted)).toEqual([
      ...['You have 1 try left', '', 'Too many attempts', 'Too many attempts'].slice(0, 3 + isCounted),
    ])
  },
)
