import type { ClientSeed } from '../../lib/index.ts'
import { browserSide, evil, still } from '../support/browser-side.ts'
import { callback, clients, pkce, secret } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import type { Answer, RawBrowser } from '../support/raw-browser.ts'
import { underAttack, writesNothing } from '../support/target.ts'

const withQuery = `${callback}?organization=7&next=%2Fhome`
const challenge = pkce().challenge
const usesPkce = { code_challenge: challenge, code_challenge_method: 'S256' }

const registered: ClientSeed[] = [
  ...clients,
  { client_id: 'shop', client_secret: secret, redirect_uris: [withQuery], scope: 'openid' },
  { client_id: 'other', client_secret: secret, redirect_uris: ['https://other.example.com/callback'] },
  {
    client_id: 'six',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://[::1]/callback'],
    scope: 'openid',
  },
  {
    client_id: 'local',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://localhost/callback'],
    scope: 'openid',
  },
  {
    client_id: 'fixed',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://localhost:4000/callback', 'http://localhost/other'],
    scope: 'openid',
  },
  {
    client_id: 'desk',
    client_secret: secret,
    redirect_uris: ['http://localhost/callback'],
    scope: 'openid',
  },
]

/** Each differs from `https://client.example.com/callback` as a tolerant comparison would overlook. */
const nearMisses: [string, string][] = [
  ['the host as a prefix of another (CVE-2023-6291)', 'https://client.example.com.evil.example/callback'],
  ['user information that poses as the host', 'https://client.example.com@evil.example/callback'],
  ['a header after a line break', `${callback}\r\nSet-Cookie: planted=1`],
  ['NUL and another host', `${callback}\0.evil.example`],
  ['the default port', 'https://client.example.com:443/callback'],
  ['a script (CVE-2023-6134)', 'javascript://client.example.com/callback%0aalert(1)'],
  ['more path (CVE-2023-6291)', `${callback}/more`],
  ['dots that lead away (CVE-2024-1132)', `${callback}/../../evil`],
  ['an open redirector of the client', `${callback}?next=${encodeURIComponent(evil)}`],
  ['that of another client (RFC 6749 §10.6, CVE-2025-4143)', 'https://other.example.com/callback'],
  ['a native app’s (RFC 6749 §10.6)', 'com.example.app:/callback'],
  ['loopback, where it is none (CVE-2020-15233)', 'http://127.0.0.1/callback'],
]

const loopback: [string, string][] = [
  ['the name for the address (RFC 8252 §8.3)', 'http://localhost:5000/callback'],
  ['the address as a prefix of a name', 'http://127.0.0.1.evil.example/callback'],
  ['user information (CVE-2024-8883)', 'http://127.0.0.1@evil.example/callback'],
  ['port 0', 'http://127.0.0.1:0/callback'],
  ['an open redirector (CVE-2020-15233)', `http://127.0.0.1:5000/callback?next=${encodeURIComponent(evil)}`],
]

underAttack(
  'the redirect URI of an authorization request',
  (target, { mount, describe, test, everyMount }) => {
    const { at, authorizeUrl, silent, browser, code, signedIn, expectRefusal } = browserSide(target)
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
      for (const each of others) {
        const answer = await ada.grant(authorizeUrl({ ...each, ...usesPkce }))
        code(answer, { redirectUri: each.redirect_uri })
      }
    })

    const expectPage = (answer: Answer): void => {
      expectErrorPage(answer, 400)
      expect(answer.html).not.toMatch(/evil|alert\(|planted/)
      expect(answer.setCookies.filter((cookie) => !cookie.startsWith('host.sid='))).toEqual([])
    }
    /** Whoever asks, and however: nothing is redirected, and nothing written. */
    const expectNowhere = async (client_id: string, redirect_uri: string): Promise<void> => {
      const asked = { client_id, redirect_uri, ...usesPkce }
      const form = Object.entries({ ...asked, response_type: 'code', scope: 'openid', prompt: 'none' })
      await writesNothing(
        target(),
        async () => {
          expectPage(await browser().get(authorizeUrl(asked)))
          expectPage(await ada.get(authorizeUrl(asked)))
          expectPage(await ada.get(silent(asked)))
          expectPage(await ada.get(authorizeUrl({ ...asked, response_mode: 'form_post' })))
          expectPage(await ada.follow(await ada.post(at('/authorize'), form)))
        },
        { except: ['sessions'] },
      )
    }

    // RFC 9700 §2.1 and §4.1.3, OAuth 2.1 §2.3.1, RFC 6749 §3.1.2.3, RFC 6819 §4.4.1.7 and §5.2.3.5, ASVS 10.4.1.
    describe('ends on a page when it differs from the registered one by', () => {
      test.each(nearMisses)('%s', (_, uri) => expectNowhere('web', uri))
    })

    // RFC 8252 §7.3 and §8.10: the port may vary, and nothing else.
    describe('ends on a page when it differs from a loopback one by more than a port:', () => {
      test.each(loopback)('%s', (_, uri) => expectNowhere('native', uri))

      test.each([
        ['a zone', 'http://[::1%25lo]:5000/callback'],
        ['user information', 'http://[::1]:5000@evil.example/callback'],
        ['the IPv4 address', 'http://127.0.0.1:5000/callback'],
      ])('[::1] by %s', (_, uri) => expectNowhere('six', uri))

      test.each([
        ['the name as a prefix of another', 'http://localhost.evil.example/callback'],
        ['another case', 'http://LOCALHOST:5000/callback'],
        ['a query', 'http://localhost:5000/callback?x'],
      ])('localhost by %s', (_, uri) => expectNowhere('local', uri))

      test.each([
        ['a port of localhost where one is registered', 'fixed', 'http://localhost:4001/callback'],
        ['no port of localhost where one is registered', 'fixed', 'http://localhost/callback'],
        ['a port of localhost for a client with a secret', 'desk', 'http://localhost:5000/callback'],
      ])('%s', (_, client, uri) => expectNowhere(client, uri))
    })

    // RFC 8252 §7.1 and §8.6.
    describe('ends on a page when it differs from a private-use one by', () => {
      test.each([
        ['an authority', 'com.example.app://callback'],
        ['a longer scheme', 'com.example.app.evil:/callback'],
        ['a query', 'com.example.app:/callback?x=1'],
      ])('%s', (_, uri) => expectNowhere('native', uri))
    })

    // RFC 6749 §3.1.2.3 compares the query too; RFC 9700 §4.1.3.
    describe('ends on a page when its registered query has', () => {
      test.each([
        ['another order', `${callback}?next=%2Fhome&organization=7`],
        ['a parameter more', `${withQuery}&x=1`],
        [
          'another value, through which the client would redirect',
          withQuery.replace('%2Fhome', '%2F%2Fevil'),
        ],
        ['another spelling', withQuery.replace('%2F', '%2f')],
        ['gone', callback],
      ])('%s', (_, uri) => expectNowhere('shop', uri))
    })

    // OWASP WSTG-INPV-04 (parameter pollution); RFC 6749 §3.1: not more than once.
    everyMount(() => {
      describe('parameter pollution:', () => {
        const good = encodeURIComponent(callback)
        const bad = encodeURIComponent(evil)
        const query = (pairs: string): string =>
          `${at('/authorize')}?response_type=code&client_id=web&scope=openid&state=s&prompt=none&${pairs}`

        test.each([
          ['the right one and another', `redirect_uri=${good}&redirect_uri=${bad}`],
          ['another and the right one', `redirect_uri=${bad}&redirect_uri=${good}`],
          ['the right one twice', `redirect_uri=${good}&redirect_uri=${good}`],
          ['a name in brackets alone', `redirect_uri[]=${good}`],
          ['a numbered name alone', `redirect_uri[0]=${good}`],
          ['a name in another case alone', `Redirect_Uri=${good}`],
          ['a name with NUL alone', `redirect_uri%00=${good}`],
          ['a name with a space alone', `redirect_uri%20=${good}`],
          ['two in one value', `redirect_uri=${good},${bad}`],
          ['two in one value with a space', `redirect_uri=${good}%20${bad}`],
          ['a semicolon between them', `redirect_uri=${good};redirect_uri=${bad}`],
          ['encoded twice', `redirect_uri=${encodeURIComponent(good)}`],
          ['encoded three times', `redirect_uri=${encodeURIComponent(encodeURIComponent(good))}`],
          ['bytes that are not UTF-8', `redirect_uri=${good}%ff%fe`],
          ['an overlong encoding of a slash', `redirect_uri=${good}%c0%af`],
          ['half a surrogate', `redirect_uri=${good}%ed%a0%80`],
          ['a broken escape', `redirect_uri=${good}%zz`],
          ['2,049 characters', `redirect_uri=${good}${'x'.repeat(2049 - callback.length)}`],
          ['8,000 characters', `redirect_uri=${'x'.repeat(8000)}`],
          ['nothing', 'redirect_uri='],
        ])('%s ends on a page', async (_, pairs) => {
          await writesNothing(
            target(),
            async () => {
              for (const agent of [browser(), ada]) expectPage(await agent.get(query(pairs)))
            },
            { except: ['sessions'] },
          )
        })

        test.each([
          ['brackets', 'redirect_uri[]'],
          ['a number in brackets', 'redirect_uri[0]'],
          ['a dot', 'redirect_uri.0'],
          ['another case', 'REDIRECT_URI'],
          ['NUL', 'redirect_uri%00'],
          ['a path of properties', '__proto__[redirect_uri]'],
          ['another protocol’s name', 'redirect_url'],
        ])(
          'beside the right one, another under a name with %s is only an unknown parameter',
          async (_, name) => {
            const answer = await browser().get(query(`redirect_uri=${good}&${name}=${bad}`))
            expectRefusal(answer, 'login_required')
          },
        )

        test.each(['redirect_uri[]', 'redirect_uri[x]', 'redirect_uri[__proto__]'])(
          'in a form, %s beside the right one leads nowhere but to the registered place',
          async (name) => {
            const form: [string, string][] = [
              ...Object.entries({ response_type: 'code', client_id: 'web', scope: 'openid', state: 's' }),
              ['prompt', 'none'],
              ['redirect_uri', callback],
              [name, evil],
            ]
            const agent = browser()
            const answer = await agent.follow(await agent.post(at('/authorize'), form))
            // A parser of the host's has made one value of both, and nobody can tell which was meant.
            const isParsed = mount === 'after the host’s own parsers, session, helmet and compression'
            if (isParsed) expectPage(answer)
            else expectRefusal(answer, 'login_required')
          },
        )
      })

      test('what is registered is answered to the letter, its query and each allowed port kept (RFC 8252 §7.3)', async () => {
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
        code(await ada.get(silent()))
        code(await ada.get(silent({ client_id: 'shop', redirect_uri: withQuery })), {
          redirectUri: withQuery,
        })
      })
    })
  },
  () => ({ options: still, clients: registered }),
)
