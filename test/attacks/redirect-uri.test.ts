import type { ClientSeed } from '../../lib/index.ts'
import { callback, clients, pkce, secret } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import type { Answer, RawBrowser } from '../support/raw-browser.ts'
import { browserSide, evil, still } from './browser-side.ts'
import { forUsers, type Mount, mounts, plainMount, targetIn, writesNothing } from './target.ts'

const withQuery = `${callback}?organization=7&next=%2Fhome`
const challenge = pkce().challenge
const usesPkce = { code_challenge: challenge, code_challenge_method: 'S256' }

const ofApp = { token_endpoint_auth_method: 'none' as const, scope: 'openid' }
const registered: ClientSeed[] = [
  ...clients,
  { client_id: 'shop', client_secret: secret, redirect_uris: [withQuery], scope: 'openid' },
  { ...ofApp, client_id: 'six', redirect_uris: ['http://[::1]/callback'] },
  { ...ofApp, client_id: 'local', redirect_uris: ['http://localhost/callback'] },
  {
    ...ofApp,
    client_id: 'fixed',
    redirect_uris: ['http://localhost:4000/callback', 'http://localhost/other'],
  },
  { client_id: 'desk', client_secret: secret, redirect_uris: ['http://localhost/callback'], scope: 'openid' },
]

/**
 * Clients, and redirect URIs that a tolerant comparison would take for theirs. `latchkey/testing` tries many more for
 * one client of each kind, and test/protocol/redirect-uri.test.ts has the whole rule.
 */
const nearMisses: [string, string][] = [
  ['web', 'https://client.example.com.evil.example/callback'], // CVE-2023-6291
  ['web', 'https://client.example.com@evil.example/callback'],
  ['web', `${callback}\r\nSet-Cookie: planted=1`],
  ['web', 'javascript://client.example.com/callback%0aalert(1)'], // CVE-2023-6134
  ['web', `${callback}/../../evil`], // CVE-2024-1132
  ['web', `${callback}?next=${encodeURIComponent(evil)}`], // an open redirector of the client
  ['web', 'com.example.app:/callback'], // another client’s (RFC 6749 §10.6, CVE-2025-4143)
  ['web', 'http://127.0.0.1/callback'], // CVE-2020-15233
  ['native', 'http://localhost:5000/callback'], // RFC 8252 §8.3
  ['native', 'http://127.0.0.1@evil.example/callback'], // CVE-2024-8883
  ['native', `http://127.0.0.1:5000/callback?next=${encodeURIComponent(evil)}`],
  ['native', 'com.example.app://callback'], // RFC 8252 §7.1 and §8.6
  ['six', 'http://[::1]:5000@evil.example/callback'],
  ['six', 'http://127.0.0.1:5000/callback'],
  ['local', 'http://localhost.evil.example/callback'],
  ['local', 'http://localhost:5000/callback?x'],
  ['fixed', 'http://localhost:4001/callback'],
  ['desk', 'http://localhost:5000/callback'],
  ['shop', `${withQuery}&x=1`], // RFC 6749 §3.1.2.3 compares the query too
  ['shop', withQuery.replace('%2Fhome', '%2F%2Fevil')],
]

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({ options: still, clients: registered }))
  const side = browserSide(target)
  const { at, authorizeUrl, silent, browser, code, signedIn } = side
  /** A browser in which every request of every client would be served: the worst place for a lapse. */
  let ada: RawBrowser
  beforeAll(async () => {
    ada = await signedIn()
    const others = [
      { client_id: 'native', redirect_uri: 'http://127.0.0.1:5000/callback' },
      { client_id: 'six', redirect_uri: 'http://[::1]:5000/callback' },
      { client_id: 'local', redirect_uri: 'http://localhost:5000/callback' },
      { client_id: 'fixed', redirect_uri: 'http://localhost:4000/callback' },
      { client_id: 'desk', redirect_uri: 'http://localhost/callback' },
      { client_id: 'shop', redirect_uri: withQuery },
      { client_id: 'native', redirect_uri: 'com.example.app:/callback' },
    ]
    for (const each of others)
      code(await ada.grant(authorizeUrl({ ...each, ...usesPkce })), { redirectUri: each.redirect_uri })
  })

  const undisturbed = <T>(work: () => Promise<T>): Promise<T> => writesNothing(target(), work)
  const expectPage = (answer: Answer): void => {
    expectErrorPage(answer, 400)
    expect(forUsers(answer.html)).not.toMatch(/evil|alert\(|planted/)
    expect(answer.setCookies.filter((cookie) => !cookie.startsWith('host.sid='))).toEqual([])
  }
  /** The server redirects neither a stranger nor Ada, by any method, and writes nothing. */
  const expectNowhere = async (client_id: string, redirect_uri: string): Promise<void> => {
    const asked = { client_id, redirect_uri, ...usesPkce }
    const form = Object.entries({ ...asked, response_type: 'code', scope: 'openid', prompt: 'none' })
    await undisturbed(async () => {
      expectPage(await browser().get(authorizeUrl(asked)))
      expectPage(await ada.get(silent(asked)))
      expectPage(await ada.get(authorizeUrl({ ...asked, response_mode: 'form_post' })))
      expectPage(await ada.follow(await ada.post(at('/authorize'), form)))
    })
  }
  return { ...side, target, ada: () => ada, undisturbed, expectPage, expectNowhere }
}

describe('the redirect URI of an authorization request', () => {
  const { expectNowhere } = attackerIn(plainMount)

  // RFC 9700 §2.1 and §4.1.3, OAuth 2.1 §2.3.1, RFC 6749 §3.1.2.3, RFC 6819 §4.4.1.7 and §5.2.3.5, ASVS 10.4.1.
  test.each(nearMisses)(
    'of %s ends on a page when it differs from the registered one by anything: %j',
    expectNowhere,
  )
})

describe.each(mounts)('the redirect URI of an authorization request, mounted $name', (mount) => {
  const { at, silent, browser, code, expectRefusal, ada, undisturbed, expectPage } = attackerIn(mount)

  // OWASP WSTG-INPV-04 (parameter pollution); RFC 6749 §3.1: not more than once.
  describe('parameter pollution:', () => {
    const good = encodeURIComponent(callback)
    const bad = encodeURIComponent(evil)
    const query = (pairs: string): string =>
      `${at('/authorize')}?response_type=code&client_id=web&scope=openid&state=s&prompt=none&${pairs}`

    const twice = encodeURIComponent(good)
    test('twice, under another name, encoded twice, too long or not UTF-8 ends on a page', () =>
      undisturbed(async () => {
        const queries = [
          `${good}&redirect_uri=${bad}`,
          `${bad}&redirect_uri=${good}`,
          `${good}&redirect_uri=${good}`,
          `${good};redirect_uri=${bad}`,
          `${good},${bad}`,
          `${good}%20${bad}`,
          twice,
          '',
          ...['%ff%fe', '%c0%af', '%ed%a0%80', '%zz'].map((bytes) => good + bytes),
          'x'.repeat(8000),
        ].map((value) => `redirect_uri=${value}`)
        for (const name of ['redirect_uri[]', 'redirect_uri[0]', 'Redirect_Uri', 'redirect_uri%00'])
          queries.push(`${name}=${good}`)
        for (const each of queries)
          for (const agent of [browser(), ada()]) expectPage(await agent.get(query(each)))
      }))

    test('beside the right one, another under another name is only an unknown parameter', async () => {
      const names =
        'redirect_uri[] redirect_uri.0 REDIRECT_URI redirect_uri%00 __proto__[redirect_uri]'.split(' ')
      for (const name of names) {
        const answer = await browser().get(query(`redirect_uri=${good}&${name}=${bad}`))
        expectRefusal(answer, 'login_required')
      }
    })

    test.each(['redirect_uri[]', 'redirect_uri[x]', 'redirect_uri[__proto__]'])(
      'in a form, %s beside the right one leads nowhere but to the registered place',
      async (name) => {
        const asked = { response_type: 'code', client_id: 'web', scope: 'openid', state: 's' }
        const form = { ...asked, prompt: 'none', redirect_uri: callback, [name]: evil }
        const agent = browser()
        const answer = await agent.follow(await agent.post(at('/authorize'), form))
        // A parser of the host has made one value of both, so it is unknown which was meant.
        if (mount.isParsed) expectPage(answer)
        else expectRefusal(answer, 'login_required')
      },
    )
  })

  test('what is registered gets the answer, with its query and any allowed port (RFC 8252 §7.3)', async () => {
    const silently = (client_id: string, redirect_uri: string) =>
      browser().get(silent({ client_id, redirect_uri, ...usesPkce }))
    for (const [client, redirectUri] of [
      ['web', callback],
      ['shop', withQuery],
      ['native', 'http://127.0.0.1:1/callback'],
      ['native', 'http://127.0.0.1:65535/callback'],
      ['native', 'com.example.app:/callback'],
      ['six', 'http://[::1]:49152/callback'],
      ['local', 'http://localhost:49152/callback'],
      ['fixed', 'http://localhost:4000/callback'],
      ['desk', 'http://localhost/callback'],
    ] as const) {
      expectRefusal(await silently(client, redirectUri), 'login_required', { redirectUri })
    }
    code(await ada().get(silent()))
    code(await ada().get(silent({ client_id: 'shop', redirect_uri: withQuery })), {
      redirectUri: withQuery,
    })
  })
})
