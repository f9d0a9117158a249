import type { Request } from 'express'
import { bearerToken } from '../../lib/http/bearer-token.ts'
import { formParameters } from '../../lib/http/form.ts'
import {
  hashSecret,
  isEqual,
  isSecretOf,
  openUnder,
  sealUnder,
  secretPrefixes,
} from '../../lib/keys/secrets.ts'
import { isPublicAddress } from '../../lib/outbound/public-address.ts'
import { parseTarget } from '../../lib/outbound/target.ts'
import { assertClientAssertion, claimedClientId } from '../../lib/protocol/client-assertion.ts'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { parseJwks, usableJwks } from '../../lib/protocol/jwks.ts'
import { Parameters } from '../../lib/protocol/parameters.ts'
import { assertRegistrableRedirectUri, isRegisteredRedirectUri } from '../../lib/protocol/redirect-uri.ts'
import { isWithinScopes, narrowedScopes, parseScope } from '../../lib/protocol/scope.ts'
import { fc, runs } from '../support/property.ts'

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string())
/** What a function gives, or the code of the OAuth error that it throws; any other error is one of ours. */
const outcomeOf = <T>(work: () => T): { value: T } | { code: string } => {
  try {
    return { value: work() }
  } catch (error) {
    if (error instanceof OAuthError) return { code: error.code }
    throw error
  }
}

describe('scope (RFC 6749 §3.3 and §6)', () => {
  const names = ['openid', 'profile', 'email', 'notes:read', 'notes:write', 'admin']
  const some = fc.uniqueArray(fc.constantFrom(...names))

  test('however often it is narrowed, and whatever is asked in between, it never grows', () => {
    fc.assert(
      fc.property(some, fc.array(some, { maxLength: 12 }), (granted, requests) => {
        for (const asked of requests) {
          // Each refresh is judged by the grant, never by what the refresh before it was given.
          const outcome = outcomeOf(() => narrowedScopes(asked, granted))
          if ('code' in outcome) {
            expect(outcome.code).toBe('invalid_scope')
            expect(isWithinScopes(asked, granted)).toBe(false)
          } else {
            expect(isWithinScopes(outcome.value, granted)).toBe(true)
            expect(outcome.value).toEqual(
              granted.filter((name) => asked.length === 0 || asked.includes(name)),
            )
          }
        }
      }),
    )
  })

  test('spaces, repeats and order add no scope', () => {
    fc.assert(
      fc.property(some, fc.array(fc.nat(5)), fc.nat(3), (scopes, repeats, spaces) => {
        const again = repeats.flatMap((index) => scopes[index] ?? [])
        const written = [...scopes, ...again].join(' '.repeat(spaces + 1)).padStart(spaces)
        expect(parseScope(written)).toEqual(scopes)
      }),
    )
  })
})

describe('parameters (RFC 6749 §3.1 and §3.2)', () => {
  const request = (body: unknown): Request =>
    ({ body, headers: { 'content-type': 'application/x-www-form-urlencoded' }, is: () => true }) as never
  const name = fc.constantFrom(
    'client_id',
    'code',
    'scope',
    '__proto__',
    'constructor',
    'toString',
    'length',
    '0',
  )

  test('whatever a parser of the host’s has made of a body, only texts come out, each as it was', () => {
    const value = fc.oneof(
      fc.string(),
      fc.constantFrom(null, undefined, true, 0, 1n, Symbol.iterator),
      fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 3 }),
      fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
      fc.func(fc.string()),
    )
    const bodies = fc.oneof(
      fc.dictionary(name, value),
      fc.array(fc.anything()),
      fc.anything(),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    )
    fc.assert(
      fc.property(bodies, name, (body, asked) => {
        const outcome = outcomeOf(() => {
          const parameters = formParameters(request(body))
          parameters.assertEachOnce()
          return parameters.optional(asked)
        })
        if ('code' in outcome) expect(outcome.code).toBe('invalid_request')
        else if (outcome.value !== undefined) {
          expect(typeof outcome.value).toBe('string')
          if (!Buffer.isBuffer(body) && typeof body === 'object' && body !== null) {
            expect([Reflect.get(body, asked)].flat()).toContain(outcome.value)
            expect(Object.hasOwn(body, asked)).toBe(true)
          }
        }
        expect({}).not.toHaveProperty('polluted')
      }),
      { numRuns: runs(100) },
    )
  })

  test('a parameter that stands twice is refused, wherever and however it is written', () => {
    const spelt = (text: string): string =>
      [...text].map((character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
    const written = fc
      .tuple(name, fc.boolean())
      .map(([plain, hides]) => ({ plain, text: hides ? spelt(plain) : plain }))
    fc.assert(
      fc.property(fc.array(written, { maxLength: 6 }), (pairs) => {
        const body = pairs.map(({ text }, index) => `${text}=v${index}`).join('&')
        const outcome = outcomeOf(() => Parameters.from(new URLSearchParams(body)).assertEachOnce())
        const isRepeated = new Set(pairs.map(({ plain }) => plain)).size < pairs.length
        expect('code' in outcome).toBe(isRepeated)
      }),
    )
  })
})

describe('redirect URIs (RFC 9700 §4.1.3, ASVS 10.4.1)', () => {
  const registered = ['https://client.example.com/callback', 'https://client.example.com/a/b?organization=1']
  /** Spellings that a browser reads as the same address. */
  const respellings: ((uri: string) => string)[] = [
    (uri) =>
      uri.toUpperCase().replace('/CALLBACK', '/callback').replace('/A/B?ORGANIZATION', '/a/b?organization'),
    (uri) => uri.replace('https:', 'HTTPS:'),
    (uri) => uri.replace('client', 'CLIENT'),
    (uri) => uri.replace('.com/', '.com:443/'),
    (uri) => uri.replace('.com/', '.com:/'),
    (uri) => uri.replace('.com/', '.com/./'),
    (uri) => uri.replace('.com/', '.com/x/../'),
    (uri) => uri.replace('.com/', '.com/x/%2e%2E/'),
    (uri) => uri.replace('://', ':\\\\'),
    (uri) => uri.replace('://', ':/'),
    (uri) => uri.replace('.com/', '.com\\'),
    (uri) => ` ${uri}`,
    (uri) => `${uri} `,
    (uri) => uri.replace('client', 'cli\tent'),
    (uri) => uri.replace('/c', '/\nc'),
    (uri) => uri.replace('client', 'ｃlient'),
    (uri) => uri.replace('.example', '。example'),
    (uri) => uri.replace('client', 'cl\u00adient'),
    (uri) => uri.replace('://', '://@'),
    (uri) => uri.replace('://', '://:@'),
    (uri) => `${uri}#`,
    (uri) => `${uri}\0`,
  ]

  test('are compared as they are written: the same address spelt in another way is another', () => {
    let respelt = 0
    fc.assert(
      fc.property(
        fc.constantFrom(...registered),
        fc.subarray(respellings, { minLength: 1 }),
        fc.boolean(),
        (uri, ways, isPublic) => {
          const presented = ways.reduce((text, way) => way(text), uri)
          if (presented === uri) return
          if (URL.canParse(presented) && new URL(presented).href.replace(/#$/, '') === uri) respelt += 1
          expect(isRegisteredRedirectUri(presented, registered, { isPublic })).toBe(false)
        },
      ),
      { numRuns: runs(400) },
    )
    // The property is about addresses that are equal to a browser, so there must have been many.
    expect(respelt).toBeGreaterThan(30)
  })

  test('of another host are never taken for a registered one, whatever the loopback rule lets vary', () => {
    const part = fc.constantFrom(
      '127.0.0.1',
      '[::1]',
      'localhost',
      'evil.example',
      ':80',
      ':',
      '@',
      '\\',
      '/',
      '?',
      '#',
      '.',
      '%2f',
      'cb',
    )
    const uris = fc
      .tuple(fc.constantFrom('http://', 'https://', 'http:'), fc.array(part, { maxLength: 7 }))
      .map(([start, parts]) => start + parts.join(''))
    const loopback = ['http://127.0.0.1/cb', 'http://[::1]/cb', 'http://localhost/cb', 'http://127.0.0.1']
    let matched = 0
    fc.assert(
      fc.property(uris, fc.boolean(), (presented, isPublic) => {
        if (!isRegisteredRedirectUri(presented, loopback, { isPublic })) return
        matched += 1
        const { protocol, hostname, username, hash } = new URL(presented)
        expect({ protocol, username, hash }).toEqual({ protocol: 'http:', username: '', hash: '' })
        expect(['127.0.0.1', '[::1]', 'localhost']).toContain(hostname)
      }),
      { numRuns: runs(4000) },
    )
    expect(matched).toBeGreaterThan(3)
  })

  test('that can be registered have no part that an attacker can change', () => {
    fc.assert(
      fc.property(fc.constantFrom(...registered), fc.nat(40), anyText, (uri, at, put) => {
        const candidate = uri.slice(0, at) + put + uri.slice(at)
        if (!('value' in outcomeOf(() => assertRegistrableRedirectUri(candidate)))) return
        expect(candidate).not.toMatch(/[\s\\*#<>"]/)
        expect(new URL(candidate).username).toBe('')
      }),
      { numRuns: runs(100) },
    )
  })
})

describe('client assertions (RFC 7523 §3)', () => {
  const rules = {
    clientId: 'signer',
    issuer: 'https://as.example',
    endpoints: [],
    issuerOnly: false,
    now: 1_800_000_000,
  }
  const right = { iss: 'signer', sub: 'signer', aud: rules.issuer, exp: rules.now + 60, jti: 'j' }

  test('whatever their claims say, they are refused as invalid_client or keep every rule', () => {
    const odd = fc.oneof(
      fc.anything(),
      fc.constantFrom(
        'signer',
        rules.issuer,
        [rules.issuer],
        rules.now,
        rules.now + 60,
        rules.now + 3700,
        Number.NaN,
        Number.POSITIVE_INFINITY,
      ),
    )
    const claims = fc
      .record({ iss: odd, sub: odd, aud: odd, exp: odd, nbf: odd, iat: odd, jti: odd }, { requiredKeys: [] })
      .chain((wrong) =>
        fc.subarray(Object.keys(wrong)).map((kept) => ({
          ...right,
          ...Object.fromEntries(kept.map((name) => [name, wrong[name as keyof typeof wrong]])),
        })),
      )
    let accepted = 0
    fc.assert(
      fc.property(claims, (said: Record<string, unknown>) => {
        const outcome = outcomeOf(() => assertClientAssertion(said, rules))
        if ('code' in outcome) return expect(outcome.code).toBe('invalid_client')
        accepted += 1
        expect([said.iss, said.sub]).toEqual(['signer', 'signer'])
        expect([said.aud].flat()).toEqual([said.aud].flat().map(() => rules.issuer))
        expect(Number(said.exp)).toBeGreaterThan(rules.now - 31)
        expect(Number(said.exp)).toBeLessThanOrEqual(rules.now + 3630)
        expect(typeof said.jti).toBe('string')
        // Its identifier is kept for as long as any clock could take it for good.
        expect(outcome.value.expiresAt).toBeGreaterThanOrEqual(Number(said.exp) + 30)
      }),
      { numRuns: runs(400) },
    )
    expect(accepted).toBeGreaterThan(8)
  })

  test('any text names one client or none, and nothing is thrown', () => {
    const parts = fc.array(
      fc.oneof(
        anyText,
        fc.json().map((text) => Buffer.from(text).toString('base64url')),
      ),
      { maxLength: 5 },
    )
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          parts.map((list) => list.join('.')),
        ),
        (jwt) => {
          const clientId = claimedClientId(jwt)
          if (clientId !== undefined) expect(typeof clientId).toBe('string')
        },
      ),
      { numRuns: runs(100) },
    )
  })

  test('whatever a client publishes or registers as keys, nothing secret and nothing symmetric is kept', () => {
    const member = fc.constantFrom(
      'kty',
      'kid',
      'n',
      'e',
      'crv',
      'x',
      'y',
      'd',
      'p',
      'q',
      'k',
      'oth',
      'jku',
      '__proto__',
    )
    const value = fc.oneof(
      fc.constantFrom('RSA', 'EC', 'OKP', 'oct', 'P-256', 'x'.repeat(342)),
      fc.anything(),
    )
    const keys = fc.array(fc.oneof(fc.dictionary(member, value), fc.anything()), { maxLength: 25 })
    fc.assert(
      fc.property(
        fc.oneof(
          keys.map((list) => ({ keys: list })),
          fc.anything(),
        ),
        (set) => {
          const registered = outcomeOf(() => parseJwks('jwks', set))
          if ('code' in registered) expect(registered.code).toBe('invalid_client_metadata')
          for (const jwks of [usableJwks(set), 'value' in registered ? registered.value : undefined]) {
            expect(jwks?.keys.length ?? 0).toBeLessThanOrEqual(20)
            for (const key of jwks?.keys ?? []) {
              expect(['RSA', 'EC', 'OKP']).toContain(key.kty)
              expect(
                Object.keys(key).filter((name) => !/^(kty|kid|use|alg|key_ops|n|e|crv|x|y)$/.test(name)),
              ).toEqual([])
            }
          }
        },
      ),
      { numRuns: runs(100) },
    )
  })
})

describe('tokens', () => {
  const kinds = Object.keys(secretPrefixes) as (keyof typeof secretPrefixes)[]
  const secret = fc.string({ unit: fc.constantFrom(...'AZaz09-_'), minLength: 43, maxLength: 43 })

  test('are of one kind, and any character more, less or other makes them none (RFC 8725 §3.12)', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), secret, fc.nat(60), anyText, (kind, random, at, put) => {
        const token = secretPrefixes[kind] + random
        expect(kinds.filter((other) => isSecretOf(other, token))).toEqual([kind])
        const changed = token.slice(0, at) + put + token.slice(at)
        if (changed.length !== token.length) {
          expect(kinds.filter((other) => isSecretOf(other, changed))).toEqual([])
        }
      }),
    )
  })

  test('are taken from a header in full or not at all (RFC 6750 §2.1)', () => {
    const header = fc.oneof(
      anyText,
      fc
        .tuple(fc.constantFrom('Bearer ', 'bearer  ', 'Bearer'), anyText)
        .map(([scheme, text]) => scheme + text),
    )
    fc.assert(
      fc.property(header, (authorization) => {
        const outcome = outcomeOf(() => bearerToken({ headers: { authorization } } as never))
        if ('code' in outcome) expect(['invalid_request', 'invalid_token']).toContain(outcome.code)
        else {
          expect(authorization.endsWith(` ${outcome.value}`)).toBe(true)
          expect(authorization.slice(0, -outcome.value.length)).toMatch(/^bearer +$/i)
          expect(outcome.value).toMatch(/^[\w.~+/-]+=*$/)
        }
      }),
      { numRuns: runs(100) },
    )
  })

  test('a sealed successor opens only under its predecessor, and not after a change (RFC 6819 §4.5.2)', () => {
    fc.assert(
      fc.property(secret, secret, secret, fc.nat(70), (token, other, successor, at) => {
        const sealed = sealUnder(token, successor)
        expect(openUnder(token, sealed)).toBe(successor)
        expect(sealed).not.toContain(successor.slice(0, 12))
        if (other !== token) expect(() => openUnder(other, sealed)).toThrow()
        expect(() => openUnder(hashSecret(token), sealed)).toThrow()
        const bytes = Buffer.from(sealed, 'base64url')
        const place = at % bytes.length
        bytes[place] = (bytes[place] ?? 0) ^ 1
        expect(() => openUnder(token, bytes.toString('base64url'))).toThrow()
        expect(() => openUnder(token, sealed.slice(0, -4))).toThrow()
      }),
      { numRuns: runs(20) },
    )
  })

  test('are compared in whole', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) =>
        expect(isEqual(one, other)).toBe(Buffer.from(one).equals(Buffer.from(other))),
      ),
    )
  })
})

describe('addresses to call (ASVS 1.3.6, CVE-2026-22752)', () => {
  const octet = fc.integer({ min: 0, max: 255 })
  const ipv4 = fc.tuple(octet, octet, octet, octet)
  /** RFC 6890 and what came after it, written down once more by hand. */
  const isInner = ([a, b, c]: readonly number[]): boolean =>
    [0, 10, 127].includes(a!) ||
    a! >= 224 ||
    (a === 100 && b! >= 64 && b! <= 127) ||
    (a === 169 && b === 254) ||
    (a === 172 && b! >= 16 && b! <= 31) ||
    (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99))) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113)
  const inner = ipv4.map(([, b, c, d]): [number, number, number, number] => [10, b, c, d])
  const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0')

  test('an IPv4 address is public or inner as the registries say', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          ipv4,
          inner,
          ipv4.map(([, ...rest]): [number, number, number, number] => [127, ...rest]),
        ),
        (address) => {
          expect(isPublicAddress(address.join('.'))).toBe(!isInner(address))
        },
      ),
      { numRuns: runs(500) },
    )
  })

  test('an IPv4 address in the clothes of IPv6 is never public', () => {
    fc.assert(
      fc.property(ipv4, ([a, b, c, d]) => {
        const [high, low] = [hex(a * 256 + b, 4), hex(c * 256 + d, 4)]
        const spellings = ['::ffff:', '::', '64:ff9b::', '64:ff9b:1::', '2002:', '::ffff:0:']
        for (const start of spellings) {
          expect(isPublicAddress(`${start}${high}:${low}${start === '2002:' ? '::' : ''}`)).toBe(false)
        }
      }),
    )
  })

  test('a public address is asked by https alone, and without a name and password', () => {
    fc.assert(
      fc.property(ipv4, fc.constantFrom('http', 'ftp', 'ws', 'file', 'gopher'), (address, scheme) => {
        fc.pre(!isInner(address))
        const host = address.join('.')
        expect(parseTarget(`https://${host}/jwks`, [])).toMatchObject({ allowed: false })
        expect(() => parseTarget(`${scheme}://${host}/jwks`, [])).toThrow('only https')
        for (const user of ['a@', 'a:b@', ':b@']) {
          expect(() => parseTarget(`https://${user}${host}/jwks`, [])).toThrow('credentials')
        }
      }),
    )
  })

  test('an inner address is refused in every spelling that a URL may have', () => {
    fc.assert(
      fc.property(inner, fc.constantFrom('http', 'https'), ([a, b, c, d], scheme) => {
        const number = ((a * 256 + b) * 256 + c) * 256 + d
        const hosts = [
          [a, b, c, d].join('.'),
          String(number),
          `0x${hex(number, 8)}`,
          `0${number.toString(8)}`,
          [a, b, c, d].map((part) => `0x${hex(part, 2)}`).join('.'),
          [a, b, c, d].map((part) => `0${part.toString(8)}`).join('.'),
          `${a}.${b}.${c * 256 + d}`,
          `[::ffff:${hex(a * 256 + b, 4)}:${hex(c * 256 + d, 4)}]`,
          `%31%30.${b}.${c}.${d}`,
        ]
        for (const host of hosts) {
          const url = `${scheme}://${host}/jwks`
          expect(() => parseTarget(url, [])).toThrow(/not public|only https/)
          expect(() => parseTarget(url, ['https://10.0.0.256', 'null', '*'])).toThrow()
        }
      }),
    )
  })
})
