import type { ServerResponse } from 'node:http'
import type { Browser } from 'playwright-core'
import supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { hasLongBeenInFront, launchBrowser } from '../support/browser.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, issuer, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { describeWith } from '../support/services.ts'
import { answerOf, redeem } from '../support/tokens.ts'

// OIDC Front-Channel Logout 1.0.

const bye = 'https://client.example.com/bye'
const seed = (client_id: string, more: Partial<ClientSeed> = {}): ClientSeed => ({
  client_id,
  client_secret: secret,
  first_party: true,
  redirect_uris: [callback],
  post_logout_redirect_uris: [bye, 'com.example.app:/bye'],
  ...more,
})
const clients = [
  seed('shop', { frontchannel_logout_uri: 'https://client.example.com/out?a=b%20c' }),
  seed('desk', {
    redirect_uris: [callback, 'https://desk.example.com/callback'],
    frontchannel_logout_uri: 'https://desk.example.com/out',
  }),
  seed('plain'),
]

let host: Host
beforeAll(async () => {
  host = await startHost({ clients, options: { protocol: { frontChannelLogout: true } } })
})
afterAll(() => host.close())

const signIn = async (of: Host, agent: RawBrowser, client_id: string): Promise<string> => {
  const done = await agent.grant(authorizeUrl({ client_id, scope: 'openid' }))
  return (await answerOf(redeem(of, codeOf(done), { client_id }))).id_token
}
const signOut = (agent: RawBrowser, id_token_hint: string, more: Record<string, string> = {}) =>
  agent.get(`/oauth/logout?${new URLSearchParams({ id_token_hint, ...more })}`)
const framesOf = ({ html }: Answer): string[] =>
  [...html.matchAll(/<iframe src="([^"]+)"/g)].map(([, url = '']) => url.replaceAll('&amp;', '&'))
/** Where the page leads by itself, and by its button. */
const goOn = async (agent: RawBrowser, { html }: Answer): Promise<string | undefined> => {
  const [, next = ''] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(html) ?? []
  expect(html).toContain(`id="continue" href="${next}"`)
  return (await agent.get(next.replaceAll('&amp;', '&'))).headers.location
}
const policyOf = ({ headers }: Answer): string =>
  /frame-src ([^;]*)/.exec(headers['content-security-policy'] ?? '')?.[1] ?? 'none'

test('the page opens each client’s logout page, with iss and its own sid, and then goes on', async () => {
  const agent = new RawBrowser(host.app)
  const [shop, desk] = [await signIn(host, agent, 'shop'), await signIn(host, agent, 'desk')]
  await signIn(host, agent, 'plain')
  const page = await signOut(agent, shop, { post_logout_redirect_uri: bye, state: 's' })
  const sidOf = (idToken: string) => encodeURIComponent(String(claimsOf(idToken).sid))
  const about = (idToken: string) => `iss=${encodeURIComponent(issuer)}&sid=${sidOf(idToken)}`
  expect(framesOf(page).sort()).toEqual([
    `https://client.example.com/out?a=b%20c&${about(shop)}`,
    `https://desk.example.com/out?${about(desk)}`,
  ])
  expect(policyOf(page).split(' ').sort()).toEqual(['https://client.example.com', 'https://desk.example.com'])
  expect(await goOn(agent, page)).toBe(`${bye}?state=s`)
  const app = 'com.example.app:/bye'
  const again = await signOut(agent, await signIn(host, agent, 'shop'), { post_logout_redirect_uri: app })
  expect(await goOn(agent, again)).toBe(app)
  // Nothing is left to end.
  expect((await signOut(agent, shop, { post_logout_redirect_uri: bye })).headers.location).toBe(bye)
})

test('it goes on although the host still reports its own login', async () => {
  const options = { protocol: { frontChannelLogout: true }, login: { current: () => ({ subject: 1 }) } }
  const reporting = await startHost({ clients, options })
  const agent = new RawBrowser(reporting.app)
  const idToken = await signIn(reporting, agent, 'shop')
  expect(await goOn(agent, await signOut(agent, idToken, { post_logout_redirect_uri: bye }))).toBe(bye)
  await reporting.close()
})

test('the page after the logout has the frames if there is nowhere to go', async () => {
  const agent = new RawBrowser(host.app)
  await signIn(host, agent, 'desk')
  const page = await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
  expect(page.html).toContain('id="sign-in"')
  expect([framesOf(page).length, policyOf(page)]).toEqual([1, 'https://desk.example.com'])
  expect(page.html).not.toContain('http-equiv')
})

test('without such a client, and with the feature off, the browser is redirected at once', async () => {
  const off = await startHost({ clients })
  for (const [of, client_id] of [[host, 'plain'] as const, [off, 'shop'] as const]) {
    const agent = new RawBrowser(of.app)
    const idToken = await signIn(of, agent, client_id)
    expect((await signOut(agent, idToken, { post_logout_redirect_uri: bye })).headers.location).toBe(bye)
  }
  const { body } = await supertest(off.app).get('/oauth/.well-known/openid-configuration')
  expect(body).not.toHaveProperty('frontchannel_logout_supported')
  await off.close()
})

test.each([
  ['https://evil.example/out', 'of another origin'],
  ['http://client.example.com/out', 'of http'],
  ['https://client.example.com/out#x', 'with a fragment'],
])('%s cannot be registered: it is %s', async (frontchannel_logout_uri) => {
  const changed = host.oauth.clients.update('plain', { frontchannel_logout_uri })
  await expect(changed).rejects.toThrow(/frontchannel_logout_uri/)
})

describeWith('chromium', 'in Chromium', () => {
  let chromium: Browser
  let provider: TestServer
  let client: TestServer
  let own: Host
  let received: string[] = []
  /** Logout pages that do not answer, if a test wants that. */
  let held: ServerResponse[] | undefined
  beforeAll(async () => {
    chromium = await launchBrowser()
    provider = await openServer()
    client = await openServer()
    const uris = {
      redirect_uris: [`${client.origin}/callback`],
      frontchannel_logout_uri: `${client.origin}/out`,
    }
    own = await startHost({
      options: { issuer: `${provider.origin}/oauth`, protocol: { frontChannelLogout: true } },
      clients: [seed('web', { ...uris, post_logout_redirect_uris: [`${client.origin}/bye`] })],
    })
    provider.serve(own.app)
    client.serve((req, res) => {
      const [path = ''] = (req.url ?? '').split('?')
      // Cookies ignore ports, so ours are here as well.
      received.push(/(^|; )session=1/.test(req.headers.cookie ?? '') ? `${path} with session` : path)
      if (path === '/out' && held) return void held.push(res)
      const cookie = path === '/callback' ? { 'set-cookie': 'session=1' } : {}
      res
        .writeHead(200, { 'content-type': 'text/html', ...cookie })
        .end('<!doctype html><title>Client</title>')
    })
  })
  afterAll(async () => {
    await chromium?.close()
    await provider?.close()
    await client?.close()
    await own?.close()
  })

  test.each([
    ['with scripts', true, false],
    ['without scripts', false, false],
    ['with scripts, and a client that does not answer', true, true],
  ])(
    '%s the frame loads with the cookie of the client, and the page goes on',
    (_, javaScriptEnabled, hangs) =>
      withWatchedPage(chromium, { javaScriptEnabled }, async ({ page }) => {
        received = []
        held = hangs ? [] : undefined
        const redirect_uri = `${client.origin}/callback`
        const asked = authorizeUrl({ client_id: 'web', scope: 'openid', redirect_uri })
        const agent = new RawBrowser(own.app, provider.origin)
        await agent.grant(asked)
        const url = provider.origin
        await page.context().addCookies([...agent.cookies].map(([name, value]) => ({ name, value, url })))
        await page.goto(provider.origin + asked)
        expect(page.url()).toContain(`${redirect_uri}?`)
        if (hangs) {
          await page.clock.install()
          await page.addInitScript(hasLongBeenInFront)
        }
        const after = { client_id: 'web', post_logout_redirect_uri: `${client.origin}/bye` }
        await page.goto(`${provider.origin}/oauth/logout?${new URLSearchParams(after)}`)
        await page.click('button.primary', { noWaitAfter: true })
        if (hangs) {
          await page.waitForSelector('iframe', { state: 'attached' })
          await page.clock.runFor(3000)
        }
        await page.waitForURL(`${client.origin}/bye`)
        const paths = received.filter((line) => !line.includes('favicon'))
        expect(paths).toEqual(['/callback', '/out with session', '/bye with session'])
        for (const res of held ?? []) res.end()
      }),
  )
})
