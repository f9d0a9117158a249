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
  // Another host that looks like it: RFC 9700 §4.1.1.
  ['the host as a prefix of another (CVE-2023-6291)', 'https://client.example.com.evil.example/callback'],
  ['the host as a suffix of another', 'https://evil-client.example.com/callback'],
  ['a dot as a wildcard (CVE-2024-52289)', 'https://clientXexample.com/callback'],
  ['a subdomain', 'https://evil.client.example.com/callback'],
  ['the parent domain', 'https://example.com/callback'],
  ['a trailing dot', 'https://client.example.com./callback'],
  ['a wildcard', 'https://*.example.com/callback'],
  ['nothing but a wildcard (CVE-2024-21637)', '*'],
  ['a regular expression (CVE-2024-52289)', 'https://.*/callback'],
  // User information: what stands before the @ is no host.
  ['user information that poses as the host', 'https://client.example.com@evil.example/callback'],
  ['user information with a port (CVE-2024-8883)', 'https://client.example.com:443@evil.example/callback'],
  ['two at signs (CVE-2026-7504)', 'https://client.example.com@x@evil.example/callback'],
  ['user information before the right host', 'https://evil@client.example.com/callback'],
  ['empty user information', 'https://@client.example.com/callback'],
  ['an encoded at sign (CVE-2023-6927)', 'https://client.example.com%40evil.example/callback'],
  // Parsers repair these in silence (WHATWG URL).
  ['a backslash before the at sign', 'https://client.example.com\\@evil.example/callback'],
  ['backslashes for slashes', 'https:\\\\client.example.com\\callback'],
  ['a backslash as the end of the host', 'https://evil.example\\.client.example.com/callback'],
  ['a tab in the scheme', 'ht\ttps://client.example.com/callback'],
  ['a tab in the host', 'https://client.exa\tmple.com/callback'],
  ['a line feed in the host', 'https://client.exa\nmple.com/callback'],
  ['a header after a line break', `${callback}\r\nSet-Cookie: planted=1`],
  ['a space before', ` ${callback}`],
  ['a space after', `${callback} `],
  ['NUL after', `${callback}\0`],
  ['NUL and another host', `${callback}\0.evil.example`],
  ['DEL after', `${callback}\x7f`],
  // Case, port and scheme.
  ['the path in another case (CVE-2020-15234)', 'https://client.example.com/Callback'],
  ['the host in another case', 'https://CLIENT.example.com/callback'],
  ['the scheme in another case', 'HTTPS://client.example.com/callback'],
  ['the default port', 'https://client.example.com:443/callback'],
  ['an empty port', 'https://client.example.com:/callback'],
  ['another port', 'https://client.example.com:8443/callback'],
  ['http', 'http://client.example.com/callback'],
  ['no scheme', '//client.example.com/callback'],
  ['a path alone', '/callback'],
  ['one slash less', 'https:/client.example.com/callback'],
  ['no slashes', 'https:client.example.com/callback'],
  ['a script (CVE-2023-6134)', 'javascript://client.example.com/callback%0aalert(1)'],
  ['a script that looks like nothing else (CVE-2024-21637)', 'javascript:alert(1)'],
  ['data', 'data:text/html,https://client.example.com/callback'],
  ['a view of it', `view-source:${callback}`],
  ['a scheme before it', `x${callback}`],
  // The fragment would swallow the answer.
  ['a fragment', `${callback}#`],
  ['a fragment with a path', `${callback}#/../evil`],
  ['an encoded fragment', `${callback}%23x`],
  // Path.
  ['more path (CVE-2023-6291)', `${callback}/more`],
  ['more letters', `${callback}x`],
  ['less path', 'https://client.example.com/'],
  ['a slash more', `${callback}/`],
  ['two slashes', 'https://client.example.com//callback'],
  ['a dot', 'https://client.example.com/./callback'],
  ['dots that lead back to it', 'https://client.example.com/x/../callback'],
  ['dots that lead away (CVE-2024-1132)', `${callback}/../../evil`],
  ['encoded dots (CVE-2024-1132)', `${callback}/%2e%2e/evil`],
  ['encoded slashes (CVE-2024-1132)', `${callback}/..%2f..%2fevil`],
  ['twice encoded dots and slashes (CVE-2022-3782)', `${callback}/%252e%252e%252fevil`],
  ['dots with a path parameter (CVE-2026-3872)', `${callback}/..;/evil`],
  ['a path parameter', `${callback};x=1`],
  ['an encoded letter', 'https://client.example.com/%63allback'],
  ['an overlong encoding of dots', `${callback}/%c0%ae%c0%ae/evil`],
  // The query of the client: an open redirector there would pass the code on (RFC 9700 §4.1.1, §4.11.1).
  ['an open redirector of the client', `${callback}?next=${encodeURIComponent(evil)}`],
  ['an empty query', `${callback}?`],
  ['parameters of the answer', `${callback}?code=planted&state=s`],
  ['an ampersand without a query', `${callback}&x=1`],
  // What looks alike, and what name preparation would make of it.
  ['a Cyrillic letter', 'https://сlient.example.com/callback'],
  ['that letter in punycode', 'https://xn--lient-2if.example.com/callback'],
  ['a full-width stop', 'https://client.example．com/callback'],
  ['an ideographic stop', 'https://client。example.com/callback'],
  ['a soft hyphen', 'https://cli\u00adent.example.com/callback'],
  ['a zero-width space', 'https://client.example\u200b.com/callback'],
  ['a full-width solidus', 'https://client.example.com／callback'],
  ['a letter with a compatibility form', 'https://ⓒlient.example.com/callback'],
  ['letters turned around', 'https://client.example.com\u202e/callback'],
  // What belongs to others.
  ['that of another client (RFC 6749 §10.6, CVE-2025-4143)', 'https://other.example.com/callback'],
  ['a native app’s (RFC 6749 §10.6)', 'com.example.app:/callback'],
  ['loopback, where it is none (CVE-2020-15233)', 'http://127.0.0.1/callback'],
  ['our own page', 'http://localhost:3000/oauth/login'],
]

const loopback: [string, string][] = [
  ['the name for the address (RFC 8252 §8.3)', 'http://localhost:5000/callback'],
  ['the other loopback address', 'http://[::1]:5000/callback'],
  ['another address of the loopback network', 'http://127.0.0.2:5000/callback'],
  ['a short form', 'http://127.1:5000/callback'],
  ['a decimal number', 'http://2130706433:5000/callback'],
  ['hexadecimal', 'http://0x7f000001:5000/callback'],
  ['octal', 'http://0177.0.0.1:5000/callback'],
  ['leading zeros', 'http://127.000.000.001:5000/callback'],
  ['every address', 'http://0.0.0.0:5000/callback'],
  ['an IPv4 address within IPv6', 'http://[::ffff:127.0.0.1]:5000/callback'],
  ['a trailing dot', 'http://127.0.0.1.:5000/callback'],
  ['the address as a prefix of a name', 'http://127.0.0.1.evil.example/callback'],
  ['user information (CVE-2024-8883)', 'http://127.0.0.1@evil.example/callback'],
  ['user information that poses as a port (CVE-2024-8883)', 'http://127.0.0.1:5000@evil.example/callback'],
  ['an empty port and user information (CVE-2024-8883)', 'http://127.0.0.1:@evil.example/callback'],
  ['two ports and user information (CVE-2024-8883)', 'http://127.0.0.1:5000:1@evil.example/callback'],
  ['a backslash after the port', 'http://127.0.0.1:5000\\@evil.example/callback'],
  ['user information before the right address', 'http://x@127.0.0.1:5000/callback'],
  ['port 0', 'http://127.0.0.1:0/callback'],
  ['a port beyond the last', 'http://127.0.0.1:65536/callback'],
  ['a port with zeros in front', 'http://127.0.0.1:05000/callback'],
  ['a port with a sign', 'http://127.0.0.1:+5000/callback'],
  ['a port in full-width digits', 'http://127.0.0.1:５０００/callback'],
  ['an empty port', 'http://127.0.0.1:/callback'],
  ['https', 'https://127.0.0.1:5000/callback'],
  ['a query (CVE-2020-15233)', 'http://127.0.0.1:5000/callback?x=1'],
  ['an open redirector (CVE-2020-15233)', `http://127.0.0.1:5000/callback?next=${encodeURIComponent(evil)}`],
  ['more path', 'http://127.0.0.1:5000/callback/more'],
  ['another path', 'http://127.0.0.1:5000/other'],
  ['dots', 'http://127.0.0.1:5000/x/../callback'],
  ['the path in another case (CVE-2020-15233)', 'http://127.0.0.1:5000/Callback'],
  ['a fragment', 'http://127.0.0.1:5000/callback#x'],
  ['a line feed after', 'http://127.0.0.1:5000/callback\n'],
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
        ['its long form', 'http://[0:0:0:0:0:0:0:1]:5000/callback'],
        ['leading zeros', 'http://[::01]:5000/callback'],
        ['a zone', 'http://[::1%25lo]:5000/callback'],
        ['an IPv4 address within it', 'http://[::ffff:7f00:1]:5000/callback'],
        ['the unspecified address', 'http://[::]:5000/callback'],
        ['no brackets', 'http://::1/callback'],
        ['user information', 'http://[::1]:5000@evil.example/callback'],
        ['the IPv4 address', 'http://127.0.0.1:5000/callback'],
      ])('[::1] by %s', (_, uri) => expectNowhere('six', uri))

      test.each([
        ['the name as a prefix of another', 'http://localhost.evil.example/callback'],
        ['user information (CVE-2024-8883)', 'http://localhost:5000@evil.example/callback'],
        ['another case', 'http://LOCALHOST:5000/callback'],
        ['a trailing dot', 'http://localhost.:5000/callback'],
        ['the address', 'http://127.0.0.1:5000/callback'],
        ['a subdomain', 'http://evil.localhost:5000/callback'],
        ['https', 'https://localhost:5000/callback'],
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
        ['an empty authority', 'com.example.app:///callback'],
        ['a longer scheme', 'com.example.app.evil:/callback'],
        ['a shorter scheme', 'com.example:/callback'],
        ['the case of the scheme', 'COM.EXAMPLE.APP:/callback'],
        ['more path', 'com.example.app:/callback/more'],
        ['a query', 'com.example.app:/callback?x=1'],
        ['dots', 'com.example.app:/x/../callback'],
      ])('%s', (_, uri) => expectNowhere('native', uri))
    })

    // RFC 6749 §3.1.2.3 compares the query too; RFC 9700 §4.1.3.
    describe('ends on a page when its registered query has', () => {
      test.each([
        ['another order', `${callback}?next=%2Fhome&organization=7`],
        ['a parameter more', `${withQuery}&x=1`],
        ['a parameter twice', `${withQuery}&organization=8`],
        ['a parameter before', `${callback}?x=1&organization=7&next=%2Fhome`],
        [
          'another value, through which the client would redirect',
          withQuery.replace('%2Fhome', '%2F%2Fevil'),
        ],
        ['another spelling', withQuery.replace('%2F', '%2f')],
        ['no encoding', withQuery.replace('%2F', '/')],
        ['a parameter less', `${callback}?organization=7`],
        ['gone', callback],
        ['a fragment', `${withQuery}#`],
        ['a code of the attacker’s', `${withQuery}&code=planted`],
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
