import type { Request } from 'express'
import { hashSecret, openUnder, sealUnder } from '../../lib/keys/secrets.ts'
import { isPublicAddress } from '../../lib/outbound/public-address.ts'
import { parseTarget } from '../../lib/outbound/target.ts'
import { assertClientAssertion, claimedClientId } from '../../lib/protocol/clients/client-assertion.ts'
import { parseJwks, usableJwks } from '../../lib/protocol/clients/jwks.ts'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { formParameters } from '../../lib/web/http/form.ts'
import { bearerToken } from '../../lib/web/http/presented-token.ts'
import { fc, runs } from '../support/property.ts'

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string())
/** The result of a function, or the code of the OAuth error that it throws. Any other error is a fault. */
const outcomeOf = <T>(work: () => T): { value: T } | { code: string } => {
  try {
    return { value: work() }
  } catch (error) {
    if (error instanceof OAuthError) return { code: error.code }
    throw error
  }
}

describe('parameters (RFC 6749 §3.1 and §3.2)', () => {
  const request = (body: unknown): Request =>
    ({ body, headers: { 'content-type': 'application/x-www-form-urlencoded' }, is: () => true }) as never
  const names = ['client_id', 'code', 'scope', '__proto__', 'constructor', 'toString', 'length', '0']
  const name = fc.constantFrom(...names)

  test('whatever a parser of the host’s has made of a body, only texts come out, each as it was', () => {
    const value = fc.oneof(
      fc.string(),
      fc.constantFrom(null, undefined, true, 0, 1n, Symbol.iterator),
      fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 3 }),
      fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
      fc.func(fc.string()),
    )
    const bytes = fc.uint8Array().map((array) => Buffer.from(array))
    const bodies = fc.oneof(fc.dictionary(name, value), fc.array(fc.anything()), fc.anything(), bytes)
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
})

describe('client assertions (RFC 7523 §3)', () => {
  const issuer = 'https://as.example'
  const rules = { clientId: 'signer', issuer, endpoints: [], issuerOnly: false, now: 1_800_000_000 }
  const right = { iss: 'signer', sub: 'signer', aud: rules.issuer, exp: rules.now + 60, jti: 'j' }

  test('whatever their claims say, they are refused as invalid_client or keep every rule', () => {
    const { now } = rules
    const times = [now, now + 60, now + 3700, Number.NaN, Number.POSITIVE_INFINITY]
    const odd = fc.oneof(fc.anything(), fc.constantFrom('signer', issuer, [issuer], ...times))
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
    const encoded = fc.json().map((text) => Buffer.from(text).toString('base64url'))
    const parts = fc.array(fc.oneof(anyText, encoded), { maxLength: 5 }).map((list) => list.join('.'))
    fc.assert(
      fc.property(fc.oneof(anyText, parts), (jwt) => {
        const clientId = claimedClientId(jwt)
        if (clientId !== undefined) expect(typeof clientId).toBe('string')
      }),
      { numRuns: runs(100) },
    )
  })

  test('no secret or symmetric key of a client is kept, whatever it publishes or registers', () => {
    const members = 'kty kid n e crv x y d p q k oth jku __proto__'.split(' ')
    const member = fc.constantFrom(...members)
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
  const secret = fc.string({ unit: fc.constantFrom(...'AZaz09-_'), minLength: 43, maxLength: 43 })

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

  test('a sealed successor opens only under its predecessor and unchanged (RFC 6819 §4.5.2)', () => {
    fc.assert(
      fc.property(secret, secret, secret, fc.nat(70), (token, other, successor, at) => {
        const sealed = sealUnder(token, successor, 'a test')
        expect(openUnder(token, sealed, 'a test')).toBe(successor)
        expect(sealed).not.toContain(successor.slice(0, 12))
        if (other !== token) expect(() => openUnder(other, sealed, 'a test')).toThrow()
        expect(() => openUnder(hashSecret(token), sealed, 'a test')).toThrow()
        const bytes = Buffer.from(sealed, 'base64url')
        const place = at % bytes.length
        bytes[place] = (bytes[place] ?? 0) ^ 1
        expect(() => openUnder(token, bytes.toString('base64url'), 'a test')).toThrow()
        expect(() => openUnder(token, sealed.slice(0, -4), 'a test')).toThrow()
        expect(() => openUnder(token, sealed, 'another')).toThrow()
        // The nonce and four bytes of the tag.
        const short = Buffer.from(sealUnder(token, '', 'a test'), 'base64url').subarray(0, 16)
        expect(() => openUnder(token, short.toString('base64url'), 'a test')).toThrow()
      }),
      { numRuns: runs(20) },
    )
  })
})

describe('addresses to call (ASVS 1.3.6, CVE-2026-22752)', () => {
  const octet = fc.integer({ min: 0, max: 255 })
  const ipv4 = fc.tuple(octet, octet, octet, octet)
  const inner = ipv4.map(([, b, c, d]): [number, number, number, number] => [10, b, c, d])
  const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0')

  test('an IPv6 address that contains an IPv4 address is never public', () => {
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
