// The recipes for clients without a page of their own, and the backend of a single-page app, beside the app of README.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { secret } from '../support/host.ts'
import { freePort } from '../support/host-folder.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { type Recipe, startClientRecipe } from '../support/recipe.ts'
import { partFor } from '../support/snippets.ts'
import { ada } from '../support/stock-client.ts'

describe('docs/recipes/native.md', () => {
  let recipe: Recipe
  let program: ChildProcess | undefined
  beforeAll(async () => {
    recipe = await startClientRecipe('docs/recipes/native.md')
  }, 60_000)
  afterAll(() => {
    program?.kill()
    recipe?.folder.remove()
  })

  test('the command line signs in by a port of loopback, and reads the orders', async () => {
    const env = { ...process.env, ISSUER: recipe.issuer }
    const running = spawn(process.execPath, ['shop.mjs'], { cwd: recipe.folder.path, env })
    program = running
    const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]()
    const nextLine = async (): Promise<string> => (await lines.next()).value
    expect(await nextLine()).toBe('Open this address in your browser:')
    const back = locationOf(await recipe.browser().grant(await nextLine(), ada.email, ada.password))
    expect(back.href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\?code=/)
    expect(await (await fetch(back)).text()).toBe('You can close this window.')
    expect(await nextLine()).toBe('{"ordersOf":"1"}')
  })
})

describe('docs/recipes/machine.md', () => {
  let recipe: Recipe
  beforeAll(async () => {
    const { code } = partFor('docs/recipes/machine.md', 'app.mjs')
    recipe = await startClientRecipe('docs/recipes/machine.md', {
      add: (app) => app.replace('app.listen(', `${code}app.listen(`),
      before: (run) => run('create-key.mjs'),
    })
  }, 60_000)
  afterAll(() => recipe?.folder.remove())

  test('a client with a secret shares one token between parallel calls', async () => {
    expect(await recipe.run('nightly.mjs', { NIGHTLY_SECRET: secret })).toBe('200 {"for":"nightly"}\n')
    const twice = `const { accessToken } = await import('./token.mjs')
      const [one, two] = await Promise.all([accessToken(), accessToken()])
      console.log(one === two)`
    const written = await recipe.run(['--input-type=module', '--eval', twice], {
      NIGHTLY_SECRET: secret,
    })
    expect(written).toBe('true\n')
  })

  test('a client with a key', async () => {
    expect(await recipe.run('billing.mjs')).toBe('3600 {"for":"billing"}\n')
  })

  test('its tokens are refused where a user is required', async () => {
    const elsewhere = { NIGHTLY_SECRET: secret }
    const program = `console.log((await fetch(new URL('/api/orders', process.env.ISSUER), {
      headers: { Authorization: 'Bearer ' + (await (await import('./token.mjs')).accessToken()) } })).status)`
    expect(await recipe.run(['--input-type=module', '--eval', program], elsewhere)).toBe('403\n')
  })
})

describe('the backend of docs/recipes/spa.md', () => {
  let recipe: Recipe
  let backend: string
  beforeAll(async () => {
    const port = await freePort()
    backend = `http://localhost:${port}`
    const client = `[{ client_id: 'shop', client_name: 'Shop', client_secret: process.env.SHOP_SECRET,
      redirect_uris: ['${backend}/callback'], scope: 'openid profile offline_access orders:read' }]`
    recipe = await startClientRecipe('docs/recipes/spa.md', {
      changed: (files) => ({ ...files, 'latchkey.clients.mjs': `export default ${client}` }),
      env: { SHOP_SECRET: secret },
    })
    const env = { ISSUER: recipe.issuer, BASE_URL: backend, SHOP_SECRET: secret, SESSION_SECRET: secret }
    await recipe.folder.start('bff.mjs', { PORT: String(port), ...env })
  }, 60_000)
  afterAll(() => recipe?.folder.remove())

  test('signs in, and calls the API with a token that the browser never sees', async () => {
    const browser = new RawBrowser(backend, backend)
    const toProvider = locationOf(await browser.get('/login'))
    const back = locationOf(await recipe.browser().grant(toProvider.href, ada.email, ada.password))
    await browser.open(back.href)
    expect((await browser.get('/api/orders')).html).toBe('{"ordersOf":"1"}')
    expect(browser.cookies.values().join()).not.toContain('lk_at_')
  })
})
