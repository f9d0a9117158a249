// The recipes for frameworks other than Express, as they stand in the documentation, with the real frameworks.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as openid from 'openid-client'
import type { Browser } from 'playwright-core'
import { attack } from '../../lib/tools/testing/index.ts'
import { launchBrowser, withPage } from '../support/browser.ts'
import { press, signIn } from '../support/browser-person.ts'
import { callback, secret } from '../support/host.ts'
import { openHostFolder } from '../support/host-folder.ts'
import {
  authorizeAt,
  compileFolder,
  grantedTo,
  type Recipe,
  redeemed,
  startRecipe,
} from '../support/recipe.ts'
import { describeWith } from '../support/services.ts'
import { fileOfFirstPath, filesOf } from '../support/snippets.ts'
import { ada } from '../support/tokens.ts'

jest.setTimeout(240_000)

const withConfig = (files: Record<string, string>): Record<string, string> => ({
  'latchkey.config.mjs': fileOfFirstPath('latchkey.config.mjs'),
  ...files,
})
const compiled = (folder: Recipe['folder']): string => `${compileFolder(folder)}/src/main.js`

/** Hono with the web-standard request instead of that of Node. */
const withWebRequest = (files: Record<string, string>): Record<string, string> => {
  const app = files['hono.mjs'] ?? ''
  const changed = app.replace('c.env.incoming', 'c.req.raw')
  if (changed === app) throw new Error('the recipe has no c.env.incoming')
  return withConfig({ ...files, 'hono.mjs': changed })
}

/** NestJS on Fastify takes the other files of the recipe for NestJS. */
const withNest = (files: Record<string, string>): Record<string, string> =>
  withConfig({ ...filesOf('docs/recipes/nestjs.md'), ...files })

const withBrowser = async (visit: (browser: Browser) => Promise<void>): Promise<void> => {
  const browser = await launchBrowser()
  await visit(browser).finally(() => browser.close())
}

/** `npm run test:next` installs Next.js, which is too large for every run. */
const nextFolder = join(__dirname, '../next/node_modules/next')
const withNext = ({ path }: Recipe['folder']): string => {
  symlinkSync(nextFolder, join(path, 'node_modules/next'))
  return 'server.mjs'
}
const hasNext = existsSync(nextFolder)
if (!hasNext) console.warn('skipped: the recipe for Next.js; run npm run test:next')

const frameworks = 'docs/recipes/frameworks.md'
const recipes = [
  { name: 'Fastify', page: frameworks, main: () => 'fastify.mjs' },
  { name: 'Koa', page: frameworks, main: () => 'koa.mjs' },
  { name: 'Hono', page: frameworks, main: () => 'hono.mjs' },
  {
    name: 'Hono, with the web-standard request',
    page: frameworks,
    changed: withWebRequest,
    main: () => 'hono.mjs',
  },
  { name: 'NestJS on Fastify', page: 'docs/recipes/nestjs-fastify.md', changed: withNest, main: compiled },
  ...(hasNext ? [{ name: 'Next.js', page: frameworks, main: withNext }] : []),
]

describe.each(recipes)('$name', ({ page, changed = withConfig, main }) => {
  let recipe: Recipe
  beforeAll(async () => {
    recipe = await startRecipe(page, { changed, main })
  })
  afterAll(() => recipe?.folder.remove())

  const discovered = () =>
    openid.discovery(new URL(recipe.issuer), 'web', undefined, openid.ClientSecretPost(secret), {
      execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
    })
  /** An authorization request of openid-client, and what redeems its answer. */
  const begin = async (config: openid.Configuration) => {
    const [state, nonce, verifier] = [
      openid.randomState(),
      openid.randomNonce(),
      openid.randomPKCECodeVerifier(),
    ]
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'openid profile email orders:read',
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      prompt: 'consent',
    })
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
    return { url, redeem: (back: URL) => openid.authorizationCodeGrant(config, back, checks) }
  }
  const orders = (headers: Record<string, string> = {}, path = '/api/orders') =>
    fetch(recipe.origin + path, { headers })

  test('openid-client signs a user in, reads UserInfo and calls the guarded route', async () => {
    const config = await discovered()
    const { url, redeem } = await begin(config)
    const answer = await recipe.browser().grant(url.href, ada.email, ada.password)
    const tokens = await redeem(answer.location ?? new URL('about:blank'))
    expect(tokens.claims()).toMatchObject({ sub: '1', iss: recipe.issuer, aud: 'web' })
    expect(await openid.fetchUserInfo(config, tokens.access_token, '1')).toMatchObject({ email: ada.email })
    const api = new URL('/api/orders', recipe.origin)
    const called = await openid.fetchProtectedResource(config, tokens.access_token, api, 'GET')
    expect(await called.json()).toEqual({ ordersOf: '1' })
  })

  test('the guard answers with the status, the challenge and the body of requireToken()', async () => {
    const none = await orders()
    expect([none.status, none.headers.get('www-authenticate'), await none.json()]).toEqual([
      401,
      'Bearer realm="api", scope="orders:read"',
      { error: 'invalid_token', error_description: 'an access token is required' },
    ])
    expect(none.headers.get('content-type')).toMatch(/^application\/json/)
    const { access_token } = await redeemed(recipe, await grantedTo(recipe, recipe.browser()))
    const less = await orders({ Authorization: `Bearer ${access_token}` })
    expect([less.status, (await less.json()).error]).toEqual([403, 'insufficient_scope'])
    expect(less.headers.get('www-authenticate')).toMatch(/error="insufficient_scope"/)
  })

  test('discovery is at the root, and other paths belong to the framework', async () => {
    const found = await orders({}, '/.well-known/oauth-authorization-server/oauth')
    expect((await found.json()).issuer).toBe(recipe.issuer)
    for (const path of ['/nothing', '/oauth/nothing', '/.well-known/security.txt'])
      expect((await orders({}, path)).status).toBe(404)
  })

  test('latchkey doctor finds no mistake', async () => {
    const { port } = new URL(recipe.origin)
    const cli = 'node_modules/latchkey/lib/tools/cli/index.js'
    const told = await recipe.run([cli, 'doctor', recipe.issuer], { PORT: port })
    expect(told).not.toMatch(/^error/m)
  })

  test('the attack pack finds nothing', async () => {
    const report = await attack(recipe.origin, {
      issuer: recipe.issuer,
      client: { client_id: 'web', client_secret: secret, redirect_uri: callback, scope: 'openid email' },
      user: { username: ada.email, password: ada.password },
    })
    if (report.findings.length > 0) throw new Error(String(report))
    expect(report.passed.length).toBeGreaterThan(30)
  })

  describeWith('chromium', 'in Chromium', () => {
    test('a person signs in, allows, and comes back to the client', () =>
      withBrowser((browser) =>
        withPage(browser, {}, async (tab) => {
          await tab.goto(authorizeAt(recipe.issuer, { scope: 'openid orders:read', prompt: 'consent' }))
          await signIn(tab)
          // The client has no server here; where the browser goes is enough.
          const back = tab.waitForRequest((request) => request.url().startsWith(callback))
          await press(tab, 'Allow')
          const { access_token } = await redeemed(recipe, new URL((await back).url()))
          const answer = await orders({ Authorization: `Bearer ${access_token}` })
          expect(await answer.json()).toEqual({ ordersOf: '1' })
        }),
      ))
  })
})

;(hasNext ? test : test.skip)(
  'Next.js: a build needs no server and no database, and its routes contain neither',
  async () => {
    const folder = openHostFolder(withConfig(filesOf(frameworks)))
    withNext(folder)
    const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
    const build = [join(folder.path, 'node_modules/next/dist/bin/next'), 'build']
    const { stdout } = await promisify(execFile)(process.execPath, build, { cwd: folder.path, env })
    expect(stdout).toContain('/api/orders')
    const built = join(folder.path, '.next/server')
    const files = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.js'),
    )
    expect(files).toContain('app/api/orders/route.js')
    const texts = files.map((name) => readFileSync(join(built, name), 'utf8')).join('\n')
    expect(texts).toContain('ordersOf')
    expect(texts).not.toMatch(/authRouter|better-sqlite3|knex/)
    expect(existsSync(join(folder.path, 'app.sqlite'))).toBe(false)
    folder.remove()
  },
)
