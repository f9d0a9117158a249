import { createHash } from 'node:crypto'
import { exportJWK } from 'jose'
import { openProof } from '../../lib/keys/dpop-proof.ts'
import { normalUrl, type ProofContext, proofAlgorithms } from '../../lib/protocol/tokens/dpop-proof.ts'
import { createDpopKey, type DpopKey, dpopProof } from '../support/dpop-client.ts'
import { fc } from '../support/property.ts'

const now = 1_800_000_000
const url = 'https://api.example.com/notes/1'
const token = 'lk_at_a-token'
const ath = createHash('sha256').update(token).digest('base64url')

const rules: ProofContext = { method: 'GET', urls: [url], accessTokenHash: ath, isNonce: undefined, now }
const nonceRules: ProofContext = { ...rules, isNonce: (nonce) => nonce === 'good' }

let key: DpopKey
let otherKey: DpopKey
beforeAll(async () => {
  key = await createDpopKey()
  otherKey = await createDpopKey()
})

type Parts = NonNullable<Parameters<typeof dpopProof>[3]>
const proof = ({ claims, header }: Parts = {}, by = key): Promise<string> =>
  dpopProof(by, 'GET', url, { token, claims: { iat: now, ...claims }, ...(header && { header }) })

const invalid = (description: string): Error =>
  expect.objectContaining({ code: 'invalid_dpop_proof', message: expect.stringContaining(description) })

/** The header and the payload of a JWT, without its signature. */
const unsigned = (header: object, payload: object): string =>
  [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

describe('a proof', () => {
  test.each(proofAlgorithms)('with %s returns the thumbprint of its key', async (alg) => {
    const own = await createDpopKey(alg)
    expect(openProof(await proof({}, own), rules).thumbprint).toBe(own.thumbprint)
  })

  test.each<[string, Parts, string]>([
    ['another method', { claims: { htm: 'POST' } }, 'must have the htm GET'],
    ['a method in lower case', { claims: { htm: 'get' } }, 'htm'],
    ['no method', { claims: { htm: undefined } }, 'htm'],
    ['another path', { claims: { htu: `${url}0` } }, `must have the htu ${url}`],
    ['another origin', { claims: { htu: url.replace('api', 'other') } }, 'htu'],
    ['http for https', { claims: { htu: url.replace('https', 'http') } }, 'htu'],
    ['a path with a slash at the end', { claims: { htu: `${url}/` } }, 'htu'],
    ['a relative URL', { claims: { htu: '/notes/1' } }, 'htu'],
    ['no URL', { claims: { htu: undefined } }, 'htu'],
    ['a list of URLs', { claims: { htu: [url] } }, 'htu'],
    ['an old iat', { claims: { iat: now - 61 } }, 'iat'],
    ['an iat in the future', { claims: { iat: now + 61 } }, 'iat'],
    ['iat as a string', { claims: { iat: String(now) } }, 'iat'],
    ['no iat', { claims: { iat: undefined } }, 'iat'],
    ['no jti', { claims: { jti: undefined } }, 'jti'],
    ['an empty jti', { claims: { jti: '' } }, 'jti'],
    ['a long jti', { claims: { jti: 'j'.repeat(256) } }, 'jti'],
    ['the hash of another token', { claims: { ath: ath.replace(/./, '_') } }, 'ath'],
    ['no hash of the token', { claims: { ath: undefined } }, 'ath'],
    ['another typ', { header: { typ: 'JWT' } }, 'typ'],
    ['no typ', { header: { typ: undefined } }, 'typ'],
    ['no key', { header: { jwk: undefined } }, 'jwk'],
    ['an extension', { header: { crit: ['b64'], b64: true } }, 'crit'],
  ])('with %s is refused', async (_case, parts, description) => {
    const made = await proof(parts)
    expect(() => openProof(made, rules)).toThrow(invalid(description))
  })

  test('with another key in its header than that of the signature is refused', async () => {
    const made = await proof({ header: { jwk: otherKey.publicJwk } })
    expect(() => openProof(made, rules)).toThrow(invalid('is not signed with the key in its jwk'))
  })

  test('with the private key in its header is refused', async () => {
    const made = await proof({ header: { jwk: await exportJWK(key.privateKey) } })
    expect(() => openProof(made, rules)).toThrow(invalid('a private key'))
  })

  test.each<[string, object, string]>([
    ['alg none', { alg: 'none' }, 'alg'],
    ['a symmetric alg', { alg: 'HS256', jwk: { kty: 'oct', k: 'c2VjcmV0' } }, 'alg'],
    ['a symmetric key', { jwk: { kty: 'oct', k: 'c2VjcmV0' } }, 'a symmetric key'],
    ['an alg of another type of key', { alg: 'PS256' }, 'does not suit its alg'],
    ['an alg of another curve', { alg: 'ES384' }, 'does not suit its alg'],
    ['a point that is not on the curve', { jwk: { kty: 'EC', crv: 'P-256', x: 'AQ', y: 'AQ' } }, 'not a key'],
    ['RS256', { alg: 'RS256', jwk: { kty: 'RSA', n: 'A'.repeat(342), e: 'AQAB' } }, 'must have an alg of'],
    ['a short RSA key', { alg: 'PS256', jwk: { kty: 'RSA', n: 'A'.repeat(341), e: 'AQAB' } }, '2048 bits'],
    ['a long RSA key', { alg: 'PS256', jwk: { kty: 'RSA', n: '_'.repeat(684), e: 'AQAB' } }, '4096 bits'],
    ['a long exponent', { alg: 'PS256', jwk: { kty: 'RSA', n: '_'.repeat(342), e: 'AQABAQAB' } }, '4 bytes'],
  ])('with %s is refused before a signature is verified', (_case, header, description) => {
    const made = unsigned({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.publicJwk, ...header }, {})
    expect(() => openProof(`${made}.AA`, rules)).toThrow(invalid(description))
  })

  test.each<[string, (made: string) => string | undefined, string]>([
    ['no header', () => undefined, 'is missing'],
    ['an empty header', () => '', 'is missing'],
    ['two headers, which Node joins', (made) => `${made}, ${made}`, 'send one DPoP header'],
    ['more than 4096 characters', (made) => `${made}${'A'.repeat(4096)}`, 'must not exceed 4096 characters'],
    ['no signature', (made) => made.replace(/[^.]+$/, ''), 'is not a JWT'],
    ['a cut signature', (made) => made.slice(0, -4), 'is not signed'],
    ['padding', (made) => `${made}=`, 'is not a JWT'],
    ['claims that are not JSON', (made) => made.replace(/\..*\./, '.AAAA.'), 'is not signed'],
    ['a header that is not JSON', (made) => made.replace(/^[^.]*/, 'AAAA'), 'header that is not JSON'],
  ])('in a request with %s is refused', async (_case, change, description) => {
    const made = await proof()
    expect(() => openProof(change(made), rules)).toThrow(invalid(description))
  })

  test('may be a minute old or early, and must be remembered for as long as it is accepted', async () => {
    for (const iat of [now - 60, now, now + 60]) {
      const { expiresAt } = openProof(await proof({ claims: { iat } }), rules)
      expect(expiresAt).toBe(iat + 61)
    }
  })

  test('needs the nonce of the server where there is one, and then no certain iat', async () => {
    for (const nonce of [undefined, 'bad', 1]) {
      const made = await proof({ claims: { nonce } })
      expect(() => openProof(made, nonceRules)).toThrow(expect.objectContaining({ code: 'use_dpop_nonce' }))
    }
    const made = await proof({ claims: { nonce: 'good', iat: now - 4000 } })
    expect(openProof(made, nonceRules).expiresAt).toBe(now + 300)
    const wrong = await proof({ claims: { nonce: 'good', htm: 'POST' } })
    expect(() => openProof(wrong, nonceRules)).toThrow(invalid('htm'))
  })

  test('whatever the header holds, the answer is a proof or invalid_dpop_proof', async () => {
    const made = await proof()
    const [header = '', payload = '', signature = ''] = made.split('.')
    const part = fc.oneof(fc.constantFrom(header, payload, signature), fc.base64String(), fc.string())
    const jwk = fc.dictionary(
      fc.constantFrom('kty', 'crv', 'x', 'y', 'n', 'e'),
      fc.constantFrom('RSA', 'EC', 'OKP', 'P-256', 'Ed25519', 'AQAB', 'A'.repeat(342), 'A'.repeat(43), ''),
    )
    const forged = fc
      .tuple(fc.constantFrom(...proofAlgorithms), jwk, part)
      .map(([alg, key_, rest]) => `${unsigned({ typ: 'dpop+jwt', alg, jwk: key_ }, {})}.${rest}`)
    const any = fc.oneof(
      fc.tuple(part, part, part).map((parts) => parts.join('.')),
      forged,
    )
    fc.assert(
      fc.property(any, (field) => {
        try {
          openProof(field, rules)
          expect(field).toBe(made)
        } catch (error) {
          expect(error).toEqual(expect.objectContaining({ code: 'invalid_dpop_proof' }))
        }
      }),
    )
  })
})

test.each([
  ['HTTPS://API.Example.com:443/notes/1', url],
  ['https://api.example.com/notes/x/../1?q=1#f', url],
  ['https://api.example.com/%6eotes/%31', url],
  ['https://api.example.com', 'https://api.example.com/'],
  ['http://localhost:80/a%2fb', 'http://localhost/a%2Fb'],
  ['ftp://api.example.com/', undefined],
  ['nothing', undefined],
])('the normal form of %s', (written, normal) => {
  expect(normalUrl(written)).toBe(normal)
})
