import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PublicJwk, parseJwks, parsePublicJwk, usableJwks } from '../../lib/protocol/clients/jwks.ts'
import { hasRegisteredKey } from '../../lib/protocol/clients/registered-certificate.ts'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { parseProofHeader } from '../../lib/protocol/tokens/dpop-proof.ts'

/** A number of so many bits in base64url, with zeros before it. */
const number = (bits: number, zeros = 0): string => {
  const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xff)
  bytes[0] = 0xff >> (bytes.length * 8 - bits)
  return Buffer.concat([Buffer.alloc(zeros), bytes]).toString('base64url')
}
const rsa = (n: string, e = 'AQAB') => ({ kty: 'RSA', n, e })

/** A key of any origin, and what is wrong with it; undefined for one that is used. */
const keys: readonly [what: string, key: object, fault: string | undefined][] = [
  ['2,048 bits', rsa(number(2048)), undefined],
  ['2,048 bits behind zeros, as some libraries write it', rsa(number(2048, 1)), undefined],
  ['4,096 bits', rsa(number(4096)), undefined],
  ['an exponent of 4 bytes', rsa(number(2048), number(32)), undefined],
  ['2,047 bits', rsa(number(2047)), 'fewer than 2048 bits'],
  ['1,024 bits in as many characters as 2,048 take', rsa(number(1024, 128)), 'fewer than 2048 bits'],
  ['4,097 bits', rsa(number(4097)), 'more than 4096 bits'],
  ['12,288 bits', rsa(number(12_288)), 'more than 4096 bits'],
  ['an exponent of 5 bytes', rsa(number(2048), number(33)), '4 bytes'],
  ['an exponent as long as its modulus', rsa(number(2048), number(2048)), '4 bytes'],
  ['no exponent', rsa(number(2048), 'AAAA'), '4 bytes'],
  ['a key id with a control character', { ...rsa(number(2048)), kid: 'a\u0000' }, 'not strings'],
  ['a key id with half a character', { ...rsa(number(2048)), kid: 'a\ud800' }, 'not strings'],
]

test.each(keys)('a key with %s is used, or refused, wherever it comes from (M11, M19)', (_, key, fault) => {
  const parsed = parsePublicJwk(key)
  const registered = (): unknown => parseJwks('jwks', { keys: [key] })
  const proof = (): unknown => parseProofHeader({ typ: 'dpop+jwt', alg: 'PS256', jwk: key })
  if (fault === undefined) {
    expect(parsed).toEqual(key)
    expect(registered()).toEqual({ keys: [key] })
    expect(usableJwks({ keys: [key] })).toEqual({ keys: [key] })
    expect(proof()).toMatchObject({ jwk: key })
  } else {
    expect(parsed).toContain(fault)
    expect(registered).toThrow(OAuthError)
    expect(usableJwks({ keys: [key] })).toEqual({ keys: [] })
    expect(proof).toThrow(OAuthError)
  }
})

/** A certificate of a new key, as `openssl req` makes it. */
const certificateOf = (...newKey: string[]): X509Certificate => {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'))
  try {
    const run = (...words: string[]): string =>
      execFileSync('openssl', words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    if (newKey.includes('dsa:parameters')) run('dsaparam', '-out', 'parameters', '2048')
    return new X509Certificate(run('req', '-x509', '-nodes', '-subj', '/CN=c', '-keyout', 'key', ...newKey))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('a certificate whose key no client can register is that of no client, and no error (M11)', () => {
  const long = certificateOf('-newkey', 'rsa:2048', '-pkeyopt', 'rsa_keygen_pubexp:4294967311')
  const own = long.publicKey.export({ format: 'jwk' }) as PublicJwk
  const registered = [own]
  for (const x509 of [long, certificateOf('-newkey', 'dsa:parameters')])
    expect(hasRegisteredKey({ x509, isAuthorized: false }, registered)).toBe(false)
  const usual = certificateOf('-newkey', 'rsa:2048')
  const known = parsePublicJwk(usual.publicKey.export({ format: 'jwk' })) as PublicJwk
  expect(hasRegisteredKey({ x509: usual, isAuthorized: false }, [known])).toBe(true)
})
