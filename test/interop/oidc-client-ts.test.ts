// oidc-client-ts, on a page of another site in Chromium, signs in with PKCE, refreshes, revokes and logs out,
// with every call across origins.

import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { describeWith } from '../support/services.ts'
import { type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'

const library = readFileSync(
  join(__dirname, '../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js'),
)

const appPage = (issuer: string): string => `<!doctype html><title>App</title>
  <script src="/oidc-client-ts.js"></script>
  <script>
    const manager = new oidc.UserManager({
      authority: ${JSON.stringify(issuer)}, client_id: 'spa', scope: 'openid profile email', loadUserInfo: true,
      redirect_uri: location.origin + '/callback', post_logout_redirect_uri: location.origin + '/signed-out',
      automaticSilentRenew: false, filterProtocolClaims: false,
    })
    const userInfo = async (token) => {
      const { userinfo_endpoint } = await manager.metadataService.getMetadata()
      const response = await fetch(userinfo_endpoint, { headers: { authorization: 'Bearer ' + token } })
      return [response.status, response.headers.get('www-authenticate')]
    }
  </script>`

interface SpaUser {
  readonly profile: Readonly<Record<string, unknown>>
  readonly id_token: string
  readonly access_token: string
  readonly refresh_token: string
}

describeWith('chromium', 'oidc-client-ts in Chromium', () => {
  let browser: Browser
  let provider: Provider
  let server: Server
  let origin: string
  beforeAll(async () => {
    server = createServer((req, res) => {
      const isLibrary = req.url === '/oidc-client-ts.js'
      res.setHeader('Content-Type', isLibrary ? 'text/javascript' : 'text/html')
      res.end(isLibrary ? library : appPage(provider.issuer))
    })
    // Another host than the provider's, so that the two are foreign to each other in every respect.
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const registration = {
      client_id: 'spa',
      client_name: 'App',
      token_endpoint_auth_method: 'none' as const,
      redirect_uris: [`${origin}/callback`],
      post_logout_redirect_uris: [`${origin}/signed-out`],
    }
    provider = await startProvider({ clients: [registration] })
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    await new Promise((resolve) => server?.close(resolve))
    await provider?.close()
  })

  /** Leaves for the provider; `then` is where the browser ends. */
  const leave = async (page: Page, call: string, then: string): Promise<void> => {
    await Promise.all([page.waitForURL(then), page.evaluate(`void ${call}`)])
  }

  const signIn = async (page: Page): Promise<SpaUser> => {
    await page.goto(origin)
    await leave(page, 'manager.signinRedirect({ state: { from: "/notes" } })', `${provider.issuer}/login**`)
    await page.fill('#username', ada.email)
    await page.fill('#password', ada.password)
    await page.click('#submit')
    await page.click('[value=allow]')
    await page.waitForURL(`${origin}/callback?**`)
    return page.evaluate('manager.signinRedirectCallback()')
  }

  test('signs in with PKCE and verifies the ID token by the published keys', () =>
    withWatchedPage(browser, {}, async ({ page }) => {
      const asked = page.waitForRequest((request) => request.url().includes('/authorize?'))
      const { id_token, ...user } = await signIn(page)
      const { searchParams } = new URL((await asked).url())
      expect(searchParams.get('code_challenge_method')).toBe('S256')
      expect(user).toMatchObject({
        state: { from: '/notes' },
        token_type: 'Bearer',
        scope: 'openid profile email',
      })
      const claims = { sub: '1', name: ada.full_name, email: ada.email, email_verified: true }
      expect(user.profile).toMatchObject(claims)
      const keys = (await page.evaluate('manager.metadataService.getSigningKeys()')) as JSONWebKeySet['keys']
      const expected = { issuer: provider.issuer, audience: 'spa' }
      const { payload } = await jwtVerify(id_token, createLocalJWKSet({ keys }), expected)
      expect(payload).toMatchObject(claims)
    }))

  test('renews in silence by its refresh token, and revokes what it has', () =>
    withWatchedPage(browser, {}, async ({ page }) => {
      const before = await signIn(page)
      const asked: string[] = []
      page.on(
        'request',
        (request) => void asked.push(`${request.method()} ${new URL(request.url()).pathname}`),
      )
      const after = (await page.evaluate('manager.signinSilent()')) as SpaUser
      expect(after.access_token).not.toBe(before.access_token)
      expect(after.refresh_token).not.toBe(before.refresh_token)
      expect(after.profile).toMatchObject({ sub: '1', auth_time: before.profile.auth_time })
      expect(asked).toContain('POST /oauth/token')
      expect(asked).not.toContain('GET /oauth/authorize')

      const ask = `userInfo(${JSON.stringify(after.access_token)})`
      expect(await page.evaluate(ask)).toEqual([200, null])
      await page.evaluate('manager.revokeTokens()')
      expect(await page.evaluate(ask)).toEqual([401, expect.stringContaining('invalid_token')])
      expect(await page.evaluate('manager.getUser()')).toMatchObject({ profile: { sub: '1' } })
    }))

  test('logs out at the provider with its ID token as the hint, and comes back', () =>
    withWatchedPage(browser, {}, async ({ page }) => {
      await signIn(page)
      const asked = page.waitForRequest((request) => request.url().includes('/logout?'))
      await leave(page, 'manager.signoutRedirect({ state: "bye" })', `${origin}/signed-out?**`)
      expect(new URL((await asked).url()).searchParams.has('id_token_hint')).toBe(true)
      expect(await page.evaluate('manager.signoutRedirectCallback()')).toMatchObject({ userState: 'bye' })
      expect(await page.evaluate('manager.getUser()')).toBeNull()
      await leave(page, 'manager.signinRedirect({ prompt: "none" })', `${origin}/callback?**`)
      const refused = 'manager.signinRedirectCallback().catch(({ error }) => error)'
      expect(await page.evaluate(refused)).toBe('login_required')
    }))
})
