// Every page on which a request cannot go on leads somewhere: back to the client, to the sign-in form, or to the product.
import { type Clock, stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, people, secret, startHost } from '../support/host.ts'
import { codeOf, expectExpiredPage, headings } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'

const [ada, bob] = [people[0]!, people[1]!]
const home = 'https://client.example.com/'
const start = `${home}start`
const notes = {
  client_id: 'notes',
  client_name: 'Notes',
  client_secret: secret,
  scope: 'openid',
  redirect_uris: [callback],
}
const request = (more: Readonly<Record<string, string>> = {}): string =>
  authorizeUrl({ client_id: 'notes', scope: 'openid', prompt: 'consent', ...more })

let host: Host
let clock: Clock
let browser: RawBrowser
beforeAll(async () => {
  const withPages = { ...notes, client_uri: home, initiate_login_uri: start }
  host = await startHost({
    options: { pages: { name: 'Acme', home: '/home' } },
    clients: [withPages, { ...notes, client_id: 'plain' }],
  })
  host.app.get('/home', (_req, res) => void res.send('<h1>Acme’s home</h1>'))
})
afterAll(() => host.close())
beforeEach(() => {
  clock = stopClock()
  browser = new RawBrowser(host.app)
})
afterEach(() => jest.restoreAllMocks())

const textOf = (html: string): string => html.replaceAll(/<[^>]*>/g, '').trim()
const headingOf = ({ html }: Answer): string => textOf(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(html)?.[1] ?? '')
const accountOn = ({ html }: Answer): string | undefined =>
  people
    .map(({ email }) => email)
    .find((email) => html.replaceAll('<wbr>', '').includes(`<bdi>${email}</bdi>`))
/** Where the link of this name leads. */
const linkOn = ({ html }: Answer, name: string): string => {
  const links = [...html.matchAll(/<a\b[^>]*href="([^"]*)"[^>]*>([\s\S]*?)<\/a>/g)]
  const [, address] = links.find(([, , text = '']) => textOf(text) === name) ?? []
  if (address === undefined) throw new Error(`there is no link ${name} in: ${html}`)
  return address.replaceAll('&amp;', '&')
}
const follow = (page: Answer, name: string, agent = browser): Promise<Answer> =>
  agent.open(linkOn(page, name))

const expectSignInForm = (page: Answer): void => {
  expect(headingOf(page)).toBe('Sign in to Acme')
  expect(page.html).toContain('You were signed out. Sign in to continue.')
}
const expectConsent = (page: Answer, email = ada.email): Answer => {
  expect({ path: page.url.pathname, account: accountOn(page) }).toEqual({
    path: '/oauth/consent',
    account: email,
  })
  return page
}
const atConsent = async (): Promise<Answer> =>
  expectConsent(await browser.signIn(await browser.open(request())))
/** Signs in if the form asks, allows, and the client receives a code. */
const finish = async (page: Answer): Promise<void> => {
  const consent = page.url.pathname.endsWith('/login') ? await browser.signIn(page) : page
  codeOf(await browser.decide(consent, 'allow'))
}
/** What a client does at its initiate_login_uri (OIDC Core §4). */
const initiate = (address: string): Promise<Answer> => {
  expect(new URL(address).searchParams.get('iss')).toBe('http://localhost:3000/oauth')
  expect(address.startsWith(`${start}?`)).toBe(true)
  return browser.open(request())
}

test.each(['sign-in form', 'consent page'])(
  'a request that expired at the %s starts again at the client',
  async (at) => {
    const form = await browser.open(request())
    const consent = at === 'consent page' ? await browser.signIn(form) : undefined
    clock.travel(3601)
    const send = () => (consent ? browser.decide(consent, 'allow') : browser.signIn(form))
    expectExpiredPage(await send(), 'expired')
    const reloaded = await send()
    expectExpiredPage(reloaded, 'expired')
    await finish(await initiate(linkOn(reloaded, 'Start again')))
  },
)

test('an expired request of a client without pages of its own leads to the product', async () => {
  const form = await browser.open(request({ client_id: 'plain' }))
  clock.travel(3601)
  const page = await browser.open(form.url.href)
  expectExpiredPage(page, 'expired')
  expect(textOf(page.html)).toContain('continue to Notes')
  expect(headingOf(await follow(page, 'Go to Acme'))).toBe('Acme’s home')
})

test.each(['allow', 'deny'] as const)(
  'the consent page after %s says that it is done, and leads to the client',
  async (answer) => {
    const consent = await atConsent()
    await browser.decide(consent, answer)
    const page = await browser.open(consent.url.href)
    expectExpiredPage(page, 'finished')
    expect(linkOn(page, 'Continue to Notes')).toBe(home)
  },
)

test.each(['allow', 'deny', 'switch'] as const)(
  'with the session lost, %s leads to the sign-in form, which says why',
  async (answer) => {
    const consent = await atConsent()
    for (const name of browser.cookies.keys()) if (name.endsWith('_session')) browser.cookies.delete(name)
    const page = await browser.decide(consent, answer)
    expectSignInForm(page)
    await finish(page)
  },
)

test('after a restart that loses sessions, consent leads to sign-in, and on to the client', async () => {
  const consent = await atConsent()
  await host.table('logins').update({ session_hash: null })
  const page = await browser.open(consent.url.href)
  expectSignInForm(page)
  await finish(page)
})

test('in an old tab a wrong password for another account does not show the signed-in account', async () => {
  const olds = [await browser.open(request()), await browser.open('/oauth/account')]
  await atConsent()
  const pages: Answer[] = []
  for (const old of olds) {
    const refused = await browser.signIn(old, bob.email, 'mistyped')
    const reloaded = await browser.open(refused.url.href)
    for (const { html } of [refused, reloaded]) {
      expect(html).toContain('Wrong email or password')
      expect(html).toContain(`id="username" value="${bob.email}"`)
    }
    pages.push(await follow(reloaded, `Continue as ${ada.email}`))
  }
  const [consent, account] = pages as [Answer, Answer]
  expect([headingOf(account), accountOn(account)]).toEqual(['Connected apps', ada.email])
  const form = await browser.decide(expectConsent(consent), 'switch')
  expectConsent(await browser.signIn(form, bob.email, bob.password), bob.email)
})

test('Allow after a login of another user in another tab asks once more, under the new name', async () => {
  const consent = await atConsent()
  const form = await follow(await browser.open(request({ prompt: 'login' })), 'Not you?')
  expectConsent(await browser.signIn(form, bob.email, bob.password), bob.email)
  const again = expectConsent(await browser.decide(consent, 'allow'), bob.email)
  expect(textOf(again.html)).toContain(`You’re now signed in as ${bob.email}. Check and allow again.`)
  codeOf(await browser.decide(again, 'allow'))
})

test('a browser that blocks cookies gets a page about it, whose Try again leads to the client', async () => {
  const first = await browser.get(request())
  browser.cookies.clear()
  const page = await browser.follow(first)
  expectExpiredPage(page, 'cookies')
  await finish(await initiate(linkOn(page, 'Try again')))
})

test.each(['that is no longer stored', 'of another browser'])(
  'a restored tab with the address of a request %s leads to its client',
  async (which) => {
    const first = await browser.get(request())
    const other = new RawBrowser(host.app)
    await other.open(request())
    const used = which.startsWith('of') ? other : browser
    if (used === browser) await host.database.knex(`${host.database.tablePrefix}pending_requests`).delete()
    const page = await used.follow(first)
    expectExpiredPage(page, 'expired')
    expect(linkOn(page, 'Start again').startsWith(`${start}?`)).toBe(true)
  },
)

test('an address that names another client in vain names none', async () => {
  const { location } = await browser.get(request())
  const stranger = new URL(location?.href ?? '')
  stranger.searchParams.set('client_id', 'unknown')
  await host.database.knex(`${host.database.tablePrefix}pending_requests`).delete()
  const page = await browser.open(stranger.href)
  expectExpiredPage(page, 'expired')
  expect(headingOf(await follow(page, 'Go to Acme'))).toBe('Acme’s home')
})

test('the address of a request tells another browser nothing', async () => {
  const consent = await atConsent()
  const stranger = new RawBrowser(host.app)
  for (const address of [consent.url.href, consent.url.href.replace('/consent', '/login')]) {
    const page = await stranger.open(address)
    expect([headingOf(page), page.html.includes('Notes')]).toEqual([headings.cookies, false])
  }
  await stranger.open(request({ client_id: 'plain' }))
  const page = await stranger.open(consent.url.href)
  expect([headingOf(page), page.html.includes('Notes')]).toEqual([headings.expired, false])
  expect(headingOf(await follow(page, 'Go to Acme', stranger))).toBe('Acme’s home')
  codeOf(await browser.decide(consent, 'allow'))
})

test.each(['login', 'consent', 'select-account'])('a bookmark of /%s leads to the product', async (path) => {
  expect(headingOf(await browser.open(`/oauth/${path}`))).toBe('Acme’s home')
})

test('“Not you?” keeps the login until another user has signed in', async () => {
  const consent = await atConsent()
  const form = await browser.decide(consent, 'switch')
  const refused = await browser.signIn(form, bob.email, 'mistyped')
  expect(refused.html).toContain(`id="username" value="${bob.email}"`)
  expect(accountOn(await browser.open('/oauth/account'))).toBe(ada.email)
  expectConsent(await browser.signIn(refused, bob.email, bob.password), bob.email)
  expect(accountOn(await browser.open('/oauth/account'))).toBe(bob.email)
  // Back shows the form for another user, which is done with.
  await finish(await browser.open(form.url.href))
})

test('“Stay signed in” and “Sign in again” lead from the sign-out pages to the client', async () => {
  await finish(await browser.open(request()))
  const question = await browser.open('/oauth/logout?client_id=notes')
  expect(linkOn(question, 'Stay signed in')).toBe(home)
  const page = await browser.submit(question, 'csrf_token')
  expect(headingOf(page)).toBe('You’re signed out')
  await finish(await initiate(linkOn(page, 'Sign in again')))
})
