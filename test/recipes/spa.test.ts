// The recipe for single-page apps in Chromium: its modules as they stand there, from another origin than the API.

import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { type Recipe, startClientRecipe } from '../support/recipe.ts'
import { describeWith } from '../support/services.ts'
import { filesOf, partFor } from '../support/snippets.ts'
import { ada } from '../support/stock-client.ts'

const page = 'docs/recipes/spa.md'
const modules = join(__dirname, '../../node_modules')
const libraries: Readonly<Record<string, string>> = {
  '/oidc-client-ts.js': join(modules, 'oidc-client-ts/dist/esm/oidc-client-ts.js'),
  '/jwt-decode.js': join(modules, 'jwt-decode/build/esm/index.js'),
}
const imports = { 'oidc-client-ts': '/oidc-client-ts.js', 'jwt-decode': '/jwt-decode.js' }
const html = `<!doctype html><title>Shop</title>
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module">
  import { callApi, manager, signedIn } from '/auth.js'
  Object.assign(window, { callApi, manager, user: await signedIn() })
</script>`

jest.setTimeout(60_000)

describeWith('chromium', page, () => {
  let browser: Browser
  let recipe: Recipe
  let server: Server
  let origin: string
  beforeAll(async () => {
    server = createServer((req, res) => {
      const { pathname } = new URL(req.url ?? '/', origin)
      const library = libraries[pathname]
      const auth = filesOf(page)['auth.js']?.replace('http://localhost:3000', recipe.origin)
      const script = library === undefined ? pathname === '/auth.js' && auth : readFileSync(library)
      res.setHeader('Content-Type', script ? 'text/javascript' : 'text/html')
      res.end(script || html)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, 'localhost', resolve)
    })
    origin = `http://localhost:${(server.address() as AddressInfo).port}`
    const { imports: imported, code } = partFor(page, 'app.mjs')
    const here = (text: string): string => text.replaceAll('http://localhost:5173', origin)
    recipe = await startClientRecipe(page, {
      add: (app) =>
        `${imported}\n${app.replace('const app = express()\n', `const app = express()\n${here(code)}`)}`,
      changed: (files) => ({ ...files, 'latchkey.clients.mjs': here(files['latchkey.clients.mjs'] ?? '') }),
    })
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
    recipe?.folder.remove()
  })

  const signIn = async (tab: Page): Promise<void> => {
    await tab.goto(origin)
    await tab.waitForURL(`${recipe.issuer}/login**`)
    await tab.fill('#username', ada.email)
    await tab.fill('#password', ada.password)
    await tab.click('#submit')
    await tab.click('[value=allow]')
    await tab.waitForFunction('window.user !== undefined')
  }
  const orders = (tab: Page) =>
    tab.evaluate(
      `callApi('${recipe.origin}/api/orders').then(async (answer) => [answer.status, await answer.text()])`,
    )

  test('signs in, and calls the API of another origin', () =>
    withPage(browser, {}, async (tab) => {
      await signIn(tab)
      expect(tab.url()).toBe(`${origin}/`)
      expect(await tab.evaluate('user.profile.name')).toBe(ada.full_name)
      expect(await orders(tab)).toEqual([200, '{"ordersOf":"1"}'])
    }))

  test('renews a token that the API refuses, and signs out', () =>
    withPage(browser, {}, async (tab) => {
      await signIn(tab)
      await tab.evaluate(`manager.getUser().then((user) => {
        user.access_token = 'lk_at_' + 'x'.repeat(43)
        return manager.storeUser(user)
      })`)
      expect(await orders(tab)).toEqual([200, '{"ordersOf":"1"}'])
      await Promise.all([
        tab.waitForURL(`${recipe.issuer}/login**`),
        tab.evaluate('void manager.signoutRedirect()'),
      ])
    }))
})
