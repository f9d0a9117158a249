import { generateKeyPairSync, sign } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { createJwtVerifier } from '../../lib/keys/jwt-verifier.ts'
import { signingAlgorithms } from '../../lib/protocol/clients/client-metadata.ts'

// jose signs, so that another implementation says what a JWT is.

interface Pair {
  readonly jwk: JWK
  sign(header?: object, claims?: object): Promise<string>
}

const pairOf = async (alg: string, kid = alg): Promise<Pair> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    sign: (header = {}, claims = { sub: '1' }) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header }).sign(privateKey),
  }
}

let pairs: Record<string, Pair>
beforeAll(async () => {
  const made = await Promise.all(signingAlgorithms.map(async (alg) => [alg, await pairOf(alg)] as const))
  pairs = Object.fromEntries(made)
})

const open = (jwt: string, keys = Object.values(pairs).map(({ jwk }) => jwk)) =>
  createJwtVerifier({ keys: keys as never }).open(jwt, 'at+jwt')
const flipped = (part = ''): string => `${part.slice(0, 9)}${part[9] === 'A' ? 'B' : 'A'}${part.slice(10)}`

describe.each(signingAlgorithms)('%s', (alg) => {
  test('opens what the key signed, and nothing that was changed', async () => {
    const jwt = await pairs[alg]!.sign()
    // One verifier, which remembers what it opened.
    const verifier = createJwtVerifier({ keys: [pairs[alg]!.jwk] as never })
    const first = verifier.open(jwt, 'at+jwt')
    expect(first).toEqual({ sub: '1' })
    Object.assign(first ?? {}, { sub: 'changed by the host' })
    expect(verifier.open(jwt, 'at+jwt')).toEqual({ sub: '1' })
    expect(verifier.open(jwt, 'JWT')).toBeUndefined()
    const [header, payload, signature] = jwt.split('.')
    const changed = [
      `${flipped(header)}.${payload}.${signature}`,
      `${header}.${flipped(payload)}.${signature}`,
      `${header}.${payload}.${flipped(signature)}`,
      `${header}.${payload}.${signature}=`,
      `${header}.${payload}.${signature}.`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
    ]
    for (const other of changed) expect([other, verifier.open(other, 'at+jwt')]).toEqual([other, undefined])
  })

  test('refuses the signature of another key with this id', async () => {
    expect(open(await (await pairOf(alg)).sign())).toBeUndefined()
  })
})

test.each<[string, object]>([
  ['of another type', { typ: 'JWT' }],
  ['without a type', { typ: undefined }],
  ['of an unknown key', { kid: 'unknown' }],
  ['without a key', { kid: undefined }],
  ['of a key for another algorithm', { kid: 'PS256' }],
  ['whose key is the name of a member of every object', { kid: 'constructor' }],
])('a JWT %s is refused', async (_case, header) => {
  expect(open(await pairs.RS256!.sign(header))).toBeUndefined()
})

test.each([
  ['RS256', true],
  ['PS256', false],
  ['none', false],
  [undefined, false],
])('with a right signature by RS256, a JWT of alg %s is opened: %s', (alg, isOpened) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256' }
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${encode({ alg, kid: 'k', typ: 'at+jwt' })}.${encode({ sub: '1' })}`
  const jwt = `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
  expect(open(jwt, [jwk as JWK])).toEqual(isOpened ? { sub: '1' } : undefined)
})

test('a JWT with an extension that must be understood is refused', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }
  const header = { alg: 'ES256', kid: 'k', typ: 'at+jwt', crit: ['exp-is-hours'], 'exp-is-hours': true }
  const signed = (protectedHeader: typeof header | Omit<typeof header, 'crit'>) =>
    new SignJWT({}).setProtectedHeader(protectedHeader).sign(privateKey, { crit: { 'exp-is-hours': true } })
  const { crit: _, ...others } = header
  expect(open(await signed(others), [jwk])).toEqual({})
  expect(open(await signed(header), [jwk])).toBeUndefined()
})

test.each<[string, Partial<JWK>]>([
  ['for encryption', { use: 'enc' }],
  ['without an algorithm', { alg: undefined }],
  ['for an HMAC, which everyone could compute', { alg: 'HS256' }],
  ['that is malformed', { n: 'x', e: 'x' }],
])('a key %s verifies nothing, and does not disturb the others', async (_case, changes) => {
  const other = { ...pairs.ES256!.jwk }
  const keys = [{ ...pairs.RS256!.jwk, ...changes }, other]
  expect(open(await pairs.RS256!.sign(), keys)).toBeUndefined()
  expect(open(await pairs.ES256!.sign(), keys)).toEqual({ sub: '1' })
})
