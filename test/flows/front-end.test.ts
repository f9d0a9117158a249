import type { Request, Response } from 'express'
import express from 'express'
import { authenticatorApps, device } from '../../lib/features/index.ts'
import { OptionsError } from '../../lib/index.ts'
import { authorizeUrl, callback, type Host, startHost } from '../support/host.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada } from '../support/tokens.ts'
import { acme, globex } from './organizations.ts'

type Fields = Readonly<Record<string, string>>

/** What the front end of a host gets, as a script reads it. */
interface Shown {
  readonly page?: string
  readonly status?: number
  readonly redirectTo?: string
  readonly model?: {
    readonly action: string
    readonly hidden: Fields
    readonly [member: string]: unknown
  }
}

const url = '/sign-in'
const ui = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' }
const scope = 'openid email notes:read'

let host: Host
let other: Host
beforeAll(async () => {
  const pages = { url }
  const features = [authenticatorApps(), device()]
  const organizations = () => [acme, globex]
  host = await startHost({ options: { pages, features, organizations } })
  // A host that renders on its own server, and takes the form there.
  const parse = express.urlencoded({ extended: false })
  host.app.all(url, parse, async (req: Request, res: Response) => {
    const shown = await host.oauth.interaction(req, res)
    if (shown === undefined) return
    if ('redirectTo' in shown) res.redirect(303, shown.redirectTo)
    else res.status(shown.status).json(shown)
  })
  other = await startHost()
})
afterAll(async () => {
  await host.close()
  await other.close()
})
beforeEach(async () => {
  for (const name of ['consents', 'throttles']) {
    await host.table(name).delete()
  }
})

const jsonOf = ({ html }: Answer): Shown => JSON.parse(html)

/** A front end that knows only the query of its own page, and follows each redirectTo. */
class FrontEnd {
  readonly browser = new RawBrowser(host.app)
  search = ''

  /** Opens an authorization request as the client does, and stays where the host's page would. */
  async start(parameters: Fields = {}): Promise<Shown> {
    const request = authorizeUrl({ client_id: 'web', scope, state: 's', ...parameters })
    return this.follow({ redirectTo: String((await this.browser.send('GET', request)).location) })
  }

  async ask(form?: Fields, headers: Fields = ui): Promise<Answer> {
    const body = form && new URLSearchParams(form).toString()
    const type = form && { 'content-type': 'application/x-www-form-urlencoded' }
    const path = `/oauth/interaction${this.search}`
    return this.browser.send(form ? 'POST' : 'GET', path, { body, headers: { ...headers, ...type } })
  }

  /** Until a page stays, or the browser leaves the host. */
  async follow(shown: Shown): Promise<Shown> {
    if (shown.redirectTo === undefined) return shown
    const next = new URL(shown.redirectTo, 'http://localhost:3000')
    if (next.pathname === url) {
      this.search = next.search
      return this.follow(jsonOf(await this.ask()))
    }
    if (next.pathname.startsWith('/oauth/')) {
      const { location } = await this.browser.send('GET', next.href)
      return this.follow({ redirectTo: String(location) })
    }
    return shown
  }

  async submit({ model }: Shown, fields: Fields): Promise<Shown> {
    return this.follow(jsonOf(await this.ask({ ...model?.hidden, ...fields })))
  }

  signIn(login: Shown): Promise<Shown> {
    return this.submit(login, { username: ada.email, password: ada.password })
  }

  /** Signs in, chooses an organization, and stays on the consent page. */
  async consent(): Promise<Shown> {
    return this.submit(await this.signIn(await this.start()), { organization: 'acme' })
  }
}

const toClient = ({ redirectTo = '' }: Shown): URLSearchParams => {
  expect(redirectTo).toMatch(new RegExp(`^${callback}\\?`))
  return new URL(redirectTo).searchParams
}

test('a wrong password, the right one, an organization and consent lead to the client', async () => {
  const front = new FrontEnd()
  const login = await front.start()
  expect(login).toMatchObject({ page: 'login', status: 200, model: { client: { name: 'Web client' } } })
  const wrong = await front.submit(login, { username: ada.email, password: 'wrong' })
  expect(wrong).toMatchObject({ page: 'login', status: 400, model: { error: 'credentials' } })
  const list = await front.signIn(wrong)
  expect(list).toMatchObject({
    page: 'organization',
    model: { username: ada.email, organizations: [acme, globex], range: { total: 2 } },
  })
  expect(await front.submit(list, { organization: 'initech' })).toMatchObject({ model: { notice: 'gone' } })
  const consent = await front.submit(list, { organization: globex.id })
  expect(consent).toMatchObject({ page: 'consent', model: { organization: { ...globex, hasOthers: true } } })
  const end = await front.submit(consent, { decision: 'allow' })
  expect([...toClient(end).keys()]).toEqual(['code', 'state', 'iss'])
})

test('the answers are JSON of this origin only, which nothing stores', async () => {
  const front = new FrontEnd()
  await front.start()
  const { headers, html } = await front.ask()
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  })
  expect(headers).not.toHaveProperty('access-control-allow-origin')
  expect(html).not.toMatch(/<\w/)
  const crossSite = await front.ask(undefined, { 'sec-fetch-site': 'cross-site' })
  expect([crossSite.status, jsonOf(crossSite).page]).toEqual([403, 'error'])
})

test('a decision without its token, with another, from another site or as JSON is refused', async () => {
  const front = new FrontEnd()
  const consent = await front.consent()
  const { csrf_token: token = '', ...rest } = consent.model?.hidden ?? {}
  const fields = { ...rest, decision: 'allow' }
  const elsewhere = await new FrontEnd().start()
  const answers = [
    await front.ask(fields),
    await front.ask({ ...fields, csrf_token: elsewhere.model?.hidden.csrf_token ?? '' }),
    await front.ask({ ...fields, csrf_token: token }, { 'sec-fetch-site': 'cross-site' }),
    await front.browser.send('POST', `/oauth/interaction${front.search}`, {
      body: JSON.stringify({ ...fields, csrf_token: token }),
      headers: { ...ui, 'content-type': 'application/json' },
    }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 415])
  for (const answer of answers)
    expect(jsonOf(answer)).toMatchObject({ page: 'error', model: { code: 'invalid_request' } })
  toClient(await front.submit(consent, { decision: 'allow' }))
})

test('the token of one step is worthless at another', async () => {
  const front = new FrontEnd()
  const login = await front.start()
  await front.signIn(login)
  const forged = await front.ask({ ...login.model?.hidden, decision: 'allow' })
  expect(forged.status).toBe(403)
})

test('another browser learns nothing of a request, and an ended request is named as ended', async () => {
  const front = new FrontEnd()
  const consent = await front.consent()
  const thief = new FrontEnd()
  await thief.start()
  thief.search = front.search
  expect(jsonOf(await thief.ask())).toMatchObject({ page: 'error', model: { kind: 'expired' } })
  toClient(await front.submit(consent, { decision: 'deny' }))
  const again = jsonOf(await front.ask())
  expect(again).toMatchObject({ page: 'error', model: { kind: 'finished', client: { name: 'Web client' } } })
  expect(again.model?.errorId).toMatch(/^\w+/)
})

test('an unknown step, no step and another method are errors as JSON', async () => {
  const front = new FrontEnd()
  const asked = async (method: string, query: string) => {
    const answer = await front.browser.send(method, `/oauth/interaction${query}`, { headers: ui })
    return [answer.status, jsonOf(answer).page]
  }
  expect(await asked('GET', '')).toEqual([404, 'error'])
  expect(await asked('GET', '?step=account')).toEqual([404, 'error'])
  expect(await asked('GET', '?step=../login')).toEqual([404, 'error'])
  expect(await asked('PUT', '?step=login')).toEqual([405, 'error'])
})

test('a choice of accounts, a form_post response and a refusal arrive as values', async () => {
  const front = new FrontEnd()
  await front.submit(await front.consent(), { decision: 'allow' })
  const choice = await front.start({ prompt: 'select_account', response_mode: 'form_post' })
  expect(choice).toMatchObject({ page: 'select-account', model: { username: ada.email } })
  const chosen = await front.submit(choice, { decision: 'continue' })
  const end = await front.submit(chosen, { decision: 'choose' })
  expect(end).toMatchObject({ page: 'form-post', model: { action: callback, fields: { state: 's' } } })
  const consent = await front.start({ prompt: 'consent' })
  expect(toClient(await front.submit(consent, { decision: 'deny' })).get('error')).toBe('access_denied')
})

test('coming back from another page of the host continues the request', async () => {
  const front = new FrontEnd()
  await front.start()
  front.search += '&returned=1'
  expect(jsonOf(await front.ask()).redirectTo).toMatch(/^\/oauth\/authorize\?authorization_request=/)
})

describe('a host that renders on its server', () => {
  test('shows the same values, which no cache keeps, and takes the form itself or leaves it to the router', async () => {
    const browser = new RawBrowser(host.app)
    const open = async (location: string): Promise<Shown> => {
      const answer = await browser.open(location)
      // It has a token for this browser, and the name of the user.
      expect(answer.headers['cache-control']).toBe('no-store')
      return jsonOf(answer)
    }
    const post = async (path: string, { model }: Shown, fields: Fields): Promise<URL> => {
      const answer = await browser.post(path, { ...model?.hidden, ...fields })
      expect([answer.status, answer.headers['cache-control']]).toEqual([303, 'no-store'])
      return answer.location as URL
    }
    const login = await open(authorizeUrl({ client_id: 'web', scope, state: 's' }))
    expect(login.page).toBe('login')
    // A form of plain HTML posts to the router, which sends the browser back to the page of the host.
    const next = await post(login.model?.action ?? '', login, { username: ada.email, password: ada.password })
    expect([next.pathname, next.searchParams.get('step')]).toEqual([url, 'organization'])
    const list = await open(next.href)
    const chosen = await post(`${url}${next.search}`, list, { organization: 'acme' })
    expect(chosen.searchParams.get('step')).toBe('consent')
    const consent = await open(chosen.href)
    const decision = { decision: 'allow' }
    const { csrf_token: _, ...untrusted } = consent.model?.hidden ?? {}
    const forged = await browser.post(`${url}${chosen.search}`, { ...untrusted, ...decision })
    expect(forged.status).toBe(403)
    const end = await post(`${url}${chosen.search}`, consent, decision)
    expect(end.searchParams.get('code')).toMatch(/^lk_ac_/)
  })

  test('answers HEAD and a prefetch with nothing', async () => {
    const browser = new RawBrowser(host.app)
    expect(await browser.send('HEAD', `${url}?step=login`)).toMatchObject({ status: 200, html: '' })
    const prefetch = { headers: { 'sec-purpose': 'prefetch' } }
    expect(await browser.send('GET', `${url}?step=login`, prefetch)).toMatchObject({ status: 503, html: '' })
  })

  test('gets a cookie for a new browser with what it shows', async () => {
    const browser = new RawBrowser(host.app)
    const shown = jsonOf(await browser.open('/oauth/device?user_code=BCDF-GHJK'))
    expect(shown).toMatchObject({ page: 'device', model: { userCode: 'BCDF-GHJK' } })
    const wrong = await browser.post('/oauth/interaction?step=device', {
      ...shown.model?.hidden,
      user_code: 'BCDF-GHJK',
    })
    expect(jsonOf(wrong)).toMatchObject({ page: 'device', status: 400, model: { error: 'wrong' } })
  })
})

test('the pages of the account and the errors before a request stay those of the router', async () => {
  const browser = new RawBrowser(host.app)
  const account = await browser.open('/oauth/account')
  expect([account.url.pathname, account.html.includes('type="password"')]).toEqual(['/oauth/account', true])
  const unknown = await browser.open(authorizeUrl({ client_id: 'nobody' }))
  expect(unknown.url.pathname).toBe('/oauth/authorize')
})

test('without pages.url there is no endpoint, and the function says what it needs', async () => {
  const browser = new RawBrowser(other.app)
  expect((await browser.send('GET', '/oauth/interaction?step=login', { headers: ui })).status).toBe(404)
  const request = authorizeUrl({ client_id: 'web', scope })
  expect((await browser.send('GET', request)).location?.pathname).toBe('/oauth/login')
  await expect(other.oauth.interaction({} as Request, {} as Response)).rejects.toThrow(OptionsError)
})

test.each(['https://other.example/sign-in', '//other.example', 'sign-in'])(
  'pages.url cannot be %s',
  async (wrong) => {
    await expect(startHost({ options: { pages: { url: wrong } } })).rejects.toThrow(
      /pages\.url must be a path/,
    )
  },
)
