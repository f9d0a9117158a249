import {
  assertRegistrableRedirectUri,
  isRegisteredRedirectUri,
  redirectUriHost,
  redirectUriKind,
} from '../../lib/protocol/clients/redirect-uri.ts'
import { fc } from '../support/property.ts'

const confidential = { isPublic: false }
const native = { isPublic: true }
const matches = (presented: string, registered: string, client = native): boolean =>
  isRegisteredRedirectUri(presented, [registered], client)
const invalid = expect.objectContaining({ code: 'invalid_redirect_uri' })
const isRegistrable = (uri: string): boolean => {
  try {
    assertRegistrableRedirectUri(uri)
    return true
  } catch (error) {
    expect(error).toEqual(invalid)
    return false
  }
}

describe('a presented redirect URI is refused', () => {
  const web = 'https://app.example.com/cb'
  test.each([
    ['another path', 'https://app.example.com/cb2'],
    ['a trailing slash', 'https://app.example.com/cb/'],
    ['an empty fragment', 'https://app.example.com/cb#'],
    ['another scheme', 'http://app.example.com/cb'],
    ['upper case in the host', 'https://APP.example.com/cb'],
    ['upper case in the path', 'https://app.example.com/CB'],
    ['the default port written out', 'https://app.example.com:443/cb'],
    ['a trailing dot on the host', 'https://app.example.com./cb'],
    ['a subdomain', 'https://evil.app.example.com/cb'],
    ['a suffix on the host', 'https://app.example.com.evil.example/cb'],
    ['user information', 'https://user@app.example.com/cb'],
    ['the registered host as user information', 'https://app.example.com@evil.example/cb'],
    ['a backslash before the real host', 'https://evil.example\\@app.example.com/cb'],
    ['three slashes', 'https:///app.example.com/cb'],
    ['dot segments', 'https://app.example.com/cb/../cb'],
    ['an encoded letter', 'https://app.example.com/%63b'],
    ['a trailing space', 'https://app.example.com/cb '],
    ['a trailing newline', 'https://app.example.com/cb\n'],
    ['a NUL at the end', 'https://app.example.com/cb\0'],
    ['a Cyrillic letter', 'https://аpp.example.com/cb'],
    ['a zero-width space', 'https://app.example.com/cb\u200b'],
    ['two URIs', 'https://app.example.com/cb https://evil.example/'],
    ['nothing', ''],
  ])('for %s', (_attack, presented) => {
    expect(matches(presented, web)).toBe(false)
    expect(matches(presented, web, confidential)).toBe(false)
  })

  test.each([
    ['a host that only begins like loopback', 'http://127.0.0.1.evil.example/cb'],
    ['a port that is user information', 'http://127.0.0.1:80@evil.example/cb'],
    ['loopback as user name', 'http://127.0.0.1@evil.example/cb'],
    ['another address of the network', 'http://127.0.0.2:80/cb'],
    ['the short form of the address', 'http://127.1:80/cb'],
    ['the octal form', 'http://0177.0.0.1:80/cb'],
    ['the name localhost', 'http://localhost:80/cb'],
    ['the IPv6 loopback', 'http://[::1]:80/cb'],
    ['the IPv4 address mapped into IPv6', 'http://[::ffff:127.0.0.1]:80/cb'],
    ['https', 'https://127.0.0.1:80/cb'],
    ['a trailing dot', 'http://127.0.0.1.:80/cb'],
    ['port 0', 'http://127.0.0.1:0/cb'],
    ['port 65536', 'http://127.0.0.1:65536/cb'],
    ['leading zeros in the port', 'http://127.0.0.1:00080/cb'],
    ['an empty port', 'http://127.0.0.1:/cb'],
    ['two ports', 'http://127.0.0.1:80:80/cb'],
    ['another path', 'http://127.0.0.1:80/other'],
    ['a trailing slash', 'http://127.0.0.1:80/cb/'],
    ['a trailing newline', 'http://127.0.0.1:80/cb\n'],
  ])('beside a registered loopback address, for %s', (_attack, presented) => {
    expect(matches(presented, 'http://127.0.0.1/cb')).toBe(false)
    expect(matches(presented, 'http://127.0.0.1:8080/cb')).toBe(false)
  })

  test.each(['0:0:0:0:0:0:0:1', '::01', '::1%25lo', '::2', '::', '::ffff:7f00:1'])(
    'beside a registered [::1], for the spelling [%s]',
    (address) => {
      expect(matches(`http://[${address}]:80/cb`, 'http://[::1]/cb')).toBe(false)
    },
  )

  test.each([
    ['of a confidential client', 'http://localhost:5000/cb', 'http://localhost/cb', confidential],
    ['where a port was registered', 'http://localhost:5000/cb', 'http://localhost:3000/cb', native],
    ['on another path', 'http://localhost:5000/evil', 'http://localhost/cb', native],
    ['as part of a domain', 'http://localhost.evil.example:5000/cb', 'http://localhost/cb', native],
    ['below it', 'http://app.localhost:5000/cb', 'http://app.localhost/cb', native],
    ['over https', 'https://localhost:5000/cb', 'https://localhost/cb', native],
    ['as an address', 'http://127.0.0.1:5000/cb', 'http://localhost/cb', native],
    ['with port 0', 'http://localhost:0/cb', 'http://localhost/cb', native],
    ['with a trailing dot', 'http://localhost.:5000/cb', 'http://localhost/cb', native],
  ])('for another port of localhost %s', (_case, presented, registered, client) => {
    expect(matches(presented, registered, client)).toBe(false)
  })

  test.each([
    ['another port of an https URI', 'https://127.0.0.1:5000/cb', 'https://127.0.0.1/cb'],
    ['another path of a private-use scheme', 'com.example.app:/evil', 'com.example.app:/cb'],
    ['another case of a private-use scheme', 'COM.example.app:/cb', 'com.example.app:/cb'],
    ['more slashes in a private-use URI', 'com.example.app:///cb', 'com.example.app:/cb'],
  ])('for %s', (_attack, presented, registered) => {
    expect(matches(presented, registered)).toBe(false)
  })

  test('when nothing is registered', () => {
    expect(isRegisteredRedirectUri('https://app.example.com/cb', [], native)).toBe(false)
  })
})

describe('a presented redirect URI is accepted', () => {
  test.each([
    [
      'as registered, query included',
      'https://app.example.com/cb?a=1&x=%20',
      'https://app.example.com/cb?a=1&x=%20',
    ],
    ['on any port of 127.0.0.1', 'http://127.0.0.1:51004/cb', 'http://127.0.0.1/cb'],
    ['on port 1', 'http://127.0.0.1:1/cb', 'http://127.0.0.1/cb'],
    ['on port 65535', 'http://127.0.0.1:65535/cb', 'http://127.0.0.1/cb'],
    ['on another port than the registered one', 'http://127.0.0.1:51004/cb', 'http://127.0.0.1:8080/cb'],
    ['without the registered port', 'http://127.0.0.1/cb', 'http://127.0.0.1:8080/cb'],
    ['on any port of [::1]', 'http://[::1]:51004/cb', 'http://[::1]/cb'],
    ['on a port without a path', 'http://127.0.0.1:51004', 'http://127.0.0.1'],
    ['on a port with a query', 'http://127.0.0.1:51004/cb?x=1', 'http://127.0.0.1/cb?x=1'],
  ])('%s', (_case, presented, registered) => {
    expect(matches(presented, registered, confidential)).toBe(true)
    expect(isRegisteredRedirectUri(presented, ['https://other.example/cb', registered], native)).toBe(true)
  })

  test('on any port of localhost for a public client that registered none (RFC 8252 §8.3)', () => {
    expect(matches('http://localhost:33418/cb', 'http://localhost/cb', native)).toBe(true)
  })
})

/** The URI without the port of a host that may vary; read by hand, not by the patterns under test. */
const withoutVaryingPort = (uri: string, hosts: readonly string[]): string => {
  const host = hosts.find((candidate) => uri.startsWith(`${candidate}:`))
  if (host === undefined) return uri
  const digits = [...uri.slice(host.length + 1)]
  const end = digits.findIndex((character) => !'0123456789'.includes(character))
  const port = digits.slice(0, end === -1 ? undefined : end).join('')
  const rest = end === -1 ? '' : digits.slice(end).join('')
  const isPort = port !== '' && String(Number(port)) === port && Number(port) > 0 && Number(port) < 65_536
  return isPort && (rest === '' || rest.startsWith('/') || rest.startsWith('?')) ? host + rest : uri
}
const literals = ['http://127.0.0.1', 'http://[::1]']
const mayMatch = (presented: string, registered: string, isPublic: boolean): boolean => {
  if (presented === registered) return true
  const ownPort = (uri: string): string => withoutVaryingPort(uri, literals)
  if (literals.some((host) => registered.startsWith(host)) && ownPort(presented) === ownPort(registered))
    return true
  return isPublic && withoutVaryingPort(presented, ['http://localhost']) === registered
}

const registeredUris = fc.constantFrom(
  'https://app.example.com/cb',
  'https://app.example.com',
  'https://app.example.com/cb?a=b',
  'http://127.0.0.1/cb',
  'http://127.0.0.1:8080/cb?a=b',
  'http://127.0.0.1',
  'http://[::1]:7/cb',
  'http://[::1]/',
  'http://localhost/cb',
  'http://localhost:3000/cb',
  'http://localhost',
  'com.example.app:/cb',
)
const noise = fc.oneof(
  fc.constantFrom(...':/?#[]@\\.%\t\n\r\0 *-0189aA'),
  fc.constantFrom(':80', ':0', ':65536', ':08', '//', '..', '%2e', '%2f', '@evil.example', '.evil.example'),
  fc.string({ unit: 'binary', maxLength: 4 }),
)
/** Near misses: characters put in, taken out, replaced or put elsewhere. */
const changed = (uri: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(uri, fc.array(fc.tuple(fc.nat(60), fc.nat(2), noise), { maxLength: 3 }))
    .map(([text, edits]) =>
      edits.reduce((now, [at, length, put]) => now.slice(0, at) + put + now.slice(at + length), text),
    )

test('only a loopback port may differ from a registered URI', () => {
  fc.assert(
    fc.property(
      fc.array(registeredUris, { maxLength: 3 }),
      fc.oneof(changed(registeredUris), registeredUris, fc.string({ unit: 'binary' })),
      fc.boolean(),
      (registered, presented, isPublic) => {
        const expected = registered.some((uri) => mayMatch(presented, uri, isPublic))
        expect(isRegisteredRedirectUri(presented, registered, { isPublic })).toBe(expected)
      },
    ),
    { numRuns: 3000 },
  )
})

describe('registration refuses', () => {
  test.each([
    ['a fragment', 'https://app.example.com/cb#x', 'fragment'],
    ['user information', 'https://user:pass@app.example.com/cb', 'user information'],
    ['empty user information', 'https://@app.example.com/cb', 'user information'],
    ['user information of a private-use scheme', 'com.example.app://me@host/cb', 'user information'],
    ['a wildcard host', 'https://*.example.com/cb', 'wildcard'],
    ['dot segments', 'https://app.example.com/a/../cb', 'dot segments'],
    ['a single dot segment', 'https://app.example.com/./cb', 'dot segments'],
    ['encoded dot segments', 'https://app.example.com/a/%2e%2E/cb', 'dot segments'],
    ['dot segments between encoded slashes', 'https://app.example.com/a%2f..%2Fcb', 'dot segments'],
    ['dot segments between encoded backslashes', 'https://app.example.com/a%5c..%5Ccb', 'dot segments'],
    ['http beyond loopback', 'http://app.example.com/cb', 'https beyond loopback'],
    ['http on a name that begins like loopback', 'http://127.0.0.1.evil.example/cb', 'https beyond loopback'],
    ['http on a name that ends like localhost', 'http://evillocalhost/cb', 'https beyond loopback'],
    [
      'http on a name below localhost with a trailing dot',
      'http://app.localhost./cb',
      'https beyond loopback',
    ],
    ['http on localhost with a trailing dot', 'http://localhost./cb', 'https beyond loopback'],
    ['the decimal form of 127.0.0.1', 'http://2130706433/cb', 'not in canonical form'],
    ['the hexadecimal form of 127.0.0.1', 'http://0x7f000001/cb', 'not in canonical form'],
    ['a long spelling of [::1]', 'http://[0:0:0:0:0:0:0:1]/cb', 'not in canonical form'],
    ['an encoded host', 'https://app%2eexample.com/cb', 'not in canonical form'],
    ['one slash', 'https:/app.example.com/cb', 'name a host'],
    ['three slashes', 'https:///app.example.com/cb', 'name a host'],
    ['backslashes', 'https:\\\\app.example.com\\cb', 'characters'],
    ['a backslash before user information', 'https://evil.example\\@app.example.com/cb', 'characters'],
    ['a newline', 'https://app.example.com/cb\n', 'characters'],
    ['NUL', 'https://app.example.com/\0', 'characters'],
    ['an unescaped letter beyond ASCII', 'https://app.example.com/é', 'characters'],
    ['a percent that escapes nothing', 'https://app.example.com/%zz', 'characters'],
    ['nothing', '', 'characters'],
    ['a relative path', '/cb', 'absolute'],
    ['a port above 65535', 'https://app.example.com:65536/cb', 'absolute'],
    ['no host', 'https://', 'absolute'],
    ['javascript', 'javascript:alert(1)', 'scheme javascript:'],
    ['data', 'data:text/html,x', 'scheme data:'],
    ['vbscript', 'vbscript:x', 'scheme vbscript:'],
    ['file', 'file:///etc/passwd', 'scheme file:'],
    ['ftp', 'ftp://app.example.com/cb', 'scheme ftp:'],
    ['ws', 'ws://app.example.com/cb', 'scheme ws:'],
    ['a private-use scheme without a slash', 'myapp:cb', 'a slash'],
    ['a URN', 'urn:ietf:wg:oauth:2.0:oob', 'scheme urn:'],
    ['an Android intent', 'intent://scan/#Intent'.slice(0, 14), 'scheme intent:'],
    ['a page of the browser', 'chrome://settings/cb', 'scheme chrome:'],
    ['a browser extension', 'chrome-extension://abc/cb', 'scheme chrome-extension:'],
    ['a handler of Windows', 'ms-msdt:/id', 'scheme ms-msdt:'],
    ['the source of a page', 'view-source:/https://app.example.com', 'scheme view-source:'],
    ['a shop of apps', 'itms-apps://apps.apple.com/x', 'scheme itms-apps:'],
    ['a scheme that any page may register', 'web+app:/cb', 'scheme web+app:'],
    ['https in Chrome on a phone', 'googlechromes://app.example.com/cb', 'scheme googlechromes:'],
    ['https in Safari', 'x-safari-https://app.example.com/cb', 'scheme x-safari-https:'],
    ['https in any other program', 'some-browser-https://app.example.com/cb', 'scheme some-browser-https:'],
    ['a page in Edge', 'microsoft-edge:/https://app.example.com/cb', 'scheme microsoft-edge:'],
    ['a page in Firefox', 'firefox://open-url', 'scheme firefox:'],
    ['a script of macOS', 'applescript://com.apple.scripteditor/x', 'scheme applescript:'],
    ['a shortcut of iOS', 'shortcuts://run-shortcut/x', 'scheme shortcuts:'],
    ['a manual page', 'x-man-page://ls', 'scheme x-man-page:'],
    ['a desktop elsewhere', 'vnc://app.example.com/', 'scheme vnc:'],
    ['a torrent', 'magnet:/x', 'scheme magnet:'],
    ['a Java program', 'jnlp://app.example.com/x', 'scheme jnlp:'],
    ['code in the query', 'https://app.example.com/cb?code=1', 'parameter code'],
    ['code in the query, encoded', 'https://app.example.com/cb?%63ode=1', 'parameter code'],
    ['state in the query', 'https://app.example.com/cb?state=1', 'parameter state'],
    ['iss in the query', 'https://app.example.com/cb?iss=x', 'parameter iss'],
    ['error in the query', 'https://app.example.com/cb?error=x', 'parameter error'],
    ['error_description', 'https://app.example.com/cb?error_description=x', 'parameter error_desc'],
    ['error_uri in the query', 'https://app.example.com/cb?error_uri=x', 'parameter error_uri'],
    ['id_token in the query', 'https://app.example.com/cb?id_token=x', 'parameter id_token'],
    ['access_token in the query', 'https://app.example.com/cb?access_token=x', 'parameter access_token'],
    ['response in the query', 'https://app.example.com/cb?response=x', 'parameter response'],
    ['state in the query of a native client', 'com.example.app:/cb?state=x', 'parameter state'],
    ['2,049 characters', `https://app.example.com/${'x'.repeat(2049 - 24)}`, '2048'],
  ])('%s', (_what, uri, reason) => {
    expect(() => assertRegistrableRedirectUri(uri)).toThrow(invalid)
    expect(() => assertRegistrableRedirectUri(uri)).toThrow(reason)
  })
})

test.each([
  ['https', 'https://app.example.com/cb', 'https', 'app.example.com'],
  ['https without a path', 'https://app.example.com', 'https', 'app.example.com'],
  ['https with a query', 'https://app.example.com/cb?organization=1&next=%2Fx', 'https', 'app.example.com'],
  ['https with punycode', 'https://xn--bcher-kva.example/cb', 'https', 'xn--bcher-kva.example'],
  ['https on loopback', 'https://localhost:3000/cb', 'https', 'localhost:3000'],
  ['http on 127.0.0.1', 'http://127.0.0.1/cb', 'loopback', '127.0.0.1'],
  ['http on [::1]', 'http://[::1]:7000/cb', 'loopback', '[::1]:7000'],
  ['http on localhost', 'http://localhost:3000/cb', 'loopback', 'localhost:3000'],
  ['http on a name below localhost', 'http://app.localhost:3000/cb', 'loopback', 'app.localhost:3000'],
  ['a private-use scheme with a dot', 'com.example.app:/cb', 'private-use', 'com.example.app:'],
  ['a private-use scheme with a host', 'com.example.app://auth/cb', 'private-use', 'com.example.app:'],
  [
    'a private-use scheme without a dot',
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'private-use',
    'cursor:',
  ],
  ['2,048 characters', `https://app.example.com/${'x'.repeat(2048 - 24)}`, 'https', 'app.example.com'],
])('registration accepts %s', (_what, uri, kind, host) => {
  assertRegistrableRedirectUri(uri)
  expect(redirectUriKind(uri)).toBe(kind)
  expect(redirectUriHost(uri)).toBe(host)
  expect(matches(uri, uri, confidential)).toBe(true)
})

const pieces = fc.constantFrom(
  ...'https: http: HTTPS: com.example.app: javascript: data: // / \\ @ : :80 ? # . .. %2e %2f %40'.split(' '),
  ...'127.0.0.1 [::1] [0:0::1] localhost 0x7f.1 evil.example app.example.com xn--bcher-kva.example'.split(
    ' ',
  ),
  'é',
  '。',
  '\t',
  '\n',
  ' ',
  '*',
  'code=x',
  'a=b',
  '&',
  ';',
  '|',
)
const oddUris = fc.oneof(
  changed(registeredUris),
  fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
  fc
    .tuple(fc.constantFrom('https://', 'http://', 'com.example.app://'), fc.array(pieces, { maxLength: 5 }))
    .map(([scheme, parts]) => scheme + parts.join('')),
  fc.webUrl({ validSchemes: ['https', 'http'], withQueryParameters: true, withFragments: true }),
  fc.string({ unit: 'binary' }),
)

test('a browser reads a registrable URI as the host that is written, and the URI matches itself', () => {
  let accepted = 0
  fc.assert(
    fc.property(oddUris, (uri) => {
      if (!isRegistrable(uri)) return
      accepted += 1
      const url = new URL(uri)
      const written = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?/i.exec(uri)
      expect(url.protocol).toBe(`${written?.[1]?.toLowerCase()}:`)
      expect(`${url.username}${url.password}${url.hash}`).toBe('')
      if (url.protocol === 'https:' || url.protocol === 'http:') {
        expect(url.hostname).toBe(written?.[2]?.replace(/:[0-9]*$/, '').toLowerCase())
        expect(url.pathname === '/' || uri.includes(url.pathname)).toBe(true)
      }
      // Every name below localhost is this machine (RFC 6761 §6.3).
      if (url.protocol === 'http:') expect(url.hostname).toMatch(/^(127\.0\.0\.1|\[::1\]|(.*\.)?localhost)$/)
      expect(matches(uri, uri, confidential)).toBe(true)
      expect(matches(uri, uri, native)).toBe(true)
    }),
    { numRuns: 4000 },
  )
  expect(accepted).toBeGreaterThan(100)
})
