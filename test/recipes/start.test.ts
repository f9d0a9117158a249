// The paths of docs/start.md, with the files of their pages as they stand, beside the app of README.

import { until } from '../support/fault-programs.ts'
import { freePort } from '../support/free-ports.ts'
import { secret } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { type Recipe, startClientRecipes } from '../support/recipe.ts'
import { partFor } from '../support/snippets.ts'
import { ada } from '../support/stock-client.ts'

jest.setTimeout(60_000)

describe('docs/start/own-apps.md', () => {
  const page = 'docs/start/own-apps.md'
  const secrets = { BILLING_SECRET: secret, WIKI_SECRET: secret }
  let recipe: Recipe
  let billing: string
  let wiki: string
  beforeAll(async () => {
    const ports = [await freePort(), await freePort()]
    ;[billing = '', wiki = ''] = ports.map((port) => `http://localhost:${port}`)
    const here = (text: string): string =>
      text.replaceAll('http://localhost:4001', billing).replaceAll('http://localhost:4002', wiki)
    recipe = await startClientRecipes([page], {
      changed: (files) => Object.fromEntries(Object.entries(files).map(([name, text]) => [name, here(text)])),
      env: secrets,
    })
    for (const [CLIENT_ID, origin] of Object.entries({ billing, wiki })) {
      const { port } = new URL(origin)
      const client = { CLIENT_ID, CLIENT_SECRET: secret, SESSION_SECRET: secret, ISSUER: recipe.issuer }
      await recipe.folder.start('own-app.mjs', { ...client, PORT: port })
    }
  })
  afterAll(() => recipe?.folder.remove())

  test('one sign-in opens both apps without a consent page, and one sign-out ends both', async () => {
    const person = recipe.browser()
    const atBilling = new RawBrowser(billing, billing)
    const atWiki = new RawBrowser(wiki, wiki)
    /** Opens an app, and returns where Latchkey sends the browser or which page it shows. */
    const askedBy = async (app: RawBrowser) => {
      expect(locationOf(await app.get('/')).pathname).toBe('/login')
      return person.open(locationOf(await app.get('/login')).href)
    }
    const login = await askedBy(atBilling)
    const answer = await person.signIn(login, ada.email, ada.password)
    await atBilling.open(locationOf(answer).href)
    expect((await atBilling.get('/')).html).toBe(`billing: ${ada.email}`)

    await atWiki.open(locationOf(await askedBy(atWiki)).href)
    expect((await atWiki.get('/')).html).toBe(`wiki: ${ada.email}`)

    const signedOut = await person.open(locationOf(await atBilling.get('/logout')).href)
    expect(locationOf(signedOut).href).toBe(`${billing}/signed-out`)
    // The notice arrives in the background.
    await until('the wiki has ended its session', async () => (await atWiki.get('/')).status === 302)
    for (const app of [atBilling, atWiki]) expect((await askedBy(app)).html).toContain('type="password"')
  })
})

describe('docs/start/partners.md', () => {
  const page = 'docs/start/partners.md'
  let recipe: Recipe
  beforeAll(async () => {
    recipe = await startClientRecipes([page], {
      add: (app) => app.replace('app.listen(', `${partFor(page, 'app.mjs').code}app.listen(`),
    })
  })
  afterAll(() => recipe?.folder.remove())

  const latchkey = (...args: string[]): Promise<string> =>
    recipe.run(['node_modules/latchkey/lib/cli/index.js', ...args])

  test('a user registers an app, which works once it is approved, and not beyond what a user allowed', async () => {
    const callback = 'http://localhost:4000/callback'
    const developer = recipe.browser()
    const portal = `${recipe.origin}/oauth/developer`
    await developer.signIn(await developer.open(portal), ada.email, ada.password)
    const fields = { client_name: 'Order Desk', redirect_uris: callback, 'scopes:orders:read': 'on' }
    const { html } = await developer.submit(await developer.open(`${portal}/new`), 'name="decision"', fields)
    const [secret = ''] = /lk_cs_[\w-]+/.exec(html) ?? []
    const [waiting] = JSON.parse(await latchkey('client', 'requests', '--json'))
    const { client_id } = waiting.client
    const url = `${recipe.issuer}/authorize?${new URLSearchParams({
      client_id,
      response_type: 'code',
      redirect_uri: callback,
      scope: 'openid orders:read',
    })}`
    const person = recipe.browser()
    expect((await person.open(url)).status).toBe(400)

    await latchkey('client', 'approve', client_id, String(waiting.revision))
    const back = locationOf(await person.grant(url, ada.email, ada.password))
    const code = back.searchParams.get('code') ?? ''
    const token = await fetch(`${recipe.issuer}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: callback }),
    })
    const headers = { Authorization: `Bearer ${(await token.json()).access_token}` }
    const orders = `${recipe.origin}/api/orders`
    expect(await (await fetch(orders, { headers })).json()).toEqual({ ordersOf: '1' })
    const refused = await fetch(orders, { method: 'POST', headers })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('scope="orders:write"')
  })
})
