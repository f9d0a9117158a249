// The recipes for clients without a page of their own, and for single-page apps in Chromium, beside the app of README.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { launchBrowser, withPage } from '../support/browser.ts'
import { freePort } from '../support/free-ports.ts'
import { secret } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { type Recipe, startClientRecipes } from '../support/recipe.ts'
import { describeWith } from '../support/services.ts'
import { filesOf, partFor } from '../support/snippets.ts'
import { ada } from '../support/tokens.ts'

const spa = 'docs/recipes/spa.md'
const machine = 'docs/recipes/machine.md'
const pages = ['docs/recipes/native.md', machine, spa]
const secrets = { NIGHTLY_SECRET: secret, SHOP_SECRET: secret }

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

let recipe: Recipe
/** The backend of the single-page app. */
let backend: string
/** Serves the files of the single-page app from another origin. */
let files: Server
let origin: string
beforeAll(async () => {
  files = createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '/', origin)
    const library = libraries[pathname]
    const auth = filesOf(spa)['auth.js']?.replace('http://localhost:3000', recipe.origin)
    const script = library === undefined ? pathname === '/auth.js' && auth : readFileSync(library)
    res.setHeader('Content-Type', script ? 'text/javascript' : 'text/html')
    res.end(script || html)
  })
  await new Promise<void>((resolve) => {
    files.listen(0, 'localhost', resolve)
  })
  origin = `http://localhost:${(files.address() as AddressInfo).port}`
  const here = (text: string): string => text.replaceAll('http://localhost:5173', origin)
  const port = await freePort()
  backend = `http://localhost:${port}`
  const shop = `{ client_id: 'shop', client_name: 'Shop', client_secret: process.env.SHOP_SECRET,
    redirect_uris: ['${backend}/callback'], scope: 'openid profile offline_access orders:read' }`
  const cors = partFor(spa, 'app.mjs')
  recipe = await startClientRecipes(pages, {
    add: (app) =>
      `${cors.imports}\n${app}`
        .replace('const app = express()\n', `const app = express()\n${here(cors.code)}`)
        .replace('app.listen(', `${partFor(machine, 'app.mjs').code}app.listen(`),
    changed: ({ 'latchkey.clients.mjs': clients = '', ...others }) => ({
      ...Object.fromEntries(Object.entries(others).map(([name, text]) => [name, here(text)])),
      'latchkey.clients.mjs': clients.replace('[...', `[${shop}, ...`),
    }),
    before: (run) => run('create-key.mjs'),
    env: secrets,
  })
})
afterAll(() => {
  files?.closeAllConnections()
  files?.close()
  recipe?.folder.remove()
})

test('a command line signs in by a port of loopback, and reads the orders', async () => {
  const env = { ...process.env, ISSUER: recipe.issuer }
  const program = spawn(process.execPath, ['shop.mjs'], { cwd: recipe.folder.path, env })
  try {
    const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]()
    const nextLine = async (): Promise<string> => (await lines.next()).value
    expect(await nextLine()).toBe('Open this address in your browser:')
    const back = locationOf(await recipe.browser().grant(await nextLine(), ada.email, ada.password))
    expect(back.href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\?code=/)
    expect(await (await fetch(back)).text()).toBe('You can close this window.')
    expect(await nextLine()).toBe('{"ordersOf":"1"}')
  } finally {
    program.kill()
  }
})

test('a machine client with a secret shares one token, which is refused where a user is required', async () => {
  expect(await recipe.run('nightly.mjs', secrets)).toBe('200 {"for":"nightly"}\n')
  const program = `const { accessToken } = await import('./token.mjs')
    const [one, two] = await Promise.all([accessToken(), accessToken()])
    const orders = new URL('/api/orders', process.env.ISSUER)
    console.log(one === two, (await fetch(orders, { headers: { Authorization: 'Bearer ' + one } })).status)`
  expect(await recipe.run(['--input-type=module', '--eval', program], secrets)).toBe('true 403\n')
})

test('a machine client with a key calls the API', async () => {
  expect(await recipe.run('billing.mjs')).toBe('3600 {"for":"billing"}\n')
})

test('a single-page app’s backend signs in, and calls the API with a token no browser sees', async () => {
  const env = { ISSUER: recipe.issuer, BASE_URL: backend, SESSION_SECRET: secret, ...secrets }
  await recipe.folder.start('bff.mjs', { PORT: new URL(backend).port, ...env })
  const browser = new RawBrowser(backend, backend)
  const toProvider = locationOf(await browser.get('/login'))
  const back = locationOf(await recipe.browser().grant(toProvider.href, ada.email, ada.password))
  await browser.open(back.href)
  expect((await browser.get('/api/orders')).html).toBe('{"ordersOf":"1"}')
  expect(browser.cookies.values().join()).not.toContain('lk_at_')
})

describeWith('chromium', 'a single-page app', () => {
  test('signs in, calls the API of another origin, renews a token that it refuses, and signs out', async () => {
    const browser = await launchBrowser()
    try {
      await withPage(browser, {}, async (tab) => {
        const orders = () =>
          tab.evaluate(
            `callApi('${recipe.origin}/api/orders').then(async (answer) => [answer.status, await answer.text()])`,
          )
        await tab.goto(origin)
        await tab.waitForURL(`${recipe.issuer}/login**`)
        await tab.fill('#username', ada.email)
        await tab.fill('#password', ada.password)
        await tab.click('#submit')
        await tab.click('[value=allow]')
        await tab.waitForFunction('window.user !== undefined')
        expect(tab.url()).toBe(`${origin}/`)
        expect(await tab.evaluate('user.profile.name')).toBe(ada.full_name)
        expect(await orders()).toEqual([200, '{"ordersOf":"1"}'])
        await tab.evaluate(`manager.getUser().then((user) => {
          user.access_token = 'lk_at_' + 'x'.repeat(43)
          return manager.storeUser(user)
        })`)
        expect(await orders()).toEqual([200, '{"ordersOf":"1"}'])
        await Promise.all([
          tab.waitForURL(`${recipe.issuer}/login**`),
          tab.evaluate('void manager.signoutRedirect()'),
        ])
      })
    } finally {
      await browser.close()
    }
  })
})
