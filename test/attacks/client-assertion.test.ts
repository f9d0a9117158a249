import {
  constants,
  createHmac,
  createPublicKey,
  type JsonWebKey,
  KeyObject,
  randomUUID,
  sign,
} from 'node:crypto'
import { base64url, CompactSign } from 'jose'
import type { ClientSeed } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { secret } from '../support/host.ts'
import type { Answer } from '../support/raw-browser.ts'
import {
  asserted,
  assertion,
  type Claims,
  type ClientKey,
  createClientKey,
} from '../support/signing-client.ts'
import { type Asked, apiSide, expectRefusal, jsonOf, rivals, tokensOf } from './api-side.ts'
import { plainMount, type Target, targetIn } from './target.ts'

const noCredentials = { client_id: undefined, client_secret: undefined }

/** What a thief's server would be asked for, if the server under attack followed a header. */
let thief: TestServer
let visits: string[]
let ec: ClientKey
let rsa: ClientKey
let stranger: ClientKey

beforeAll(async () => {
  thief = await openServer()
  thief.serve((req, res) => {
    visits.push(String(req.url))
    res.end(JSON.stringify({ keys: [stranger.publicJwk] }))
  })
  ec = await createClientKey('ES256', 'ec')
  rsa = await createClientKey('RS256', 'rsa')
  stranger = await createClientKey('ES256', 'ec')
})
afterAll(() => thief.close())
beforeEach(() => {
  visits = []
})

const signing = (client_id: string, ...keys: ClientKey[]): ClientSeed => ({
  client_id,
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  jwks: { keys: keys.map(({ publicJwk }) => publicJwk) } as ClientSeed['jwks'],
  scope: 'notes:read',
})

const now = (): number => Math.floor(Date.now() / 1000)
const usual = ({ issuer }: Target): Claims => ({
  iss: 'signer',
  sub: 'signer',
  aud: issuer,
  exp: now() + 60,
  jti: randomUUID(),
})
const unsigned = (header: object, claims: object): string =>
  [header, claims].map((part) => base64url.encode(JSON.stringify(part))).join('.')
const signed = (payload: string, key: ClientKey, header: object = {}): Promise<string> =>
  new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: key.alg, kid: String(key.publicJwk.kid), ...header })
    .sign(key.privateKey)
const pem = ({ publicJwk }: ClientKey) => createPublicKey({ key: publicJwk as JsonWebKey, format: 'jwk' })

// The order of the group of P-256 (FIPS 186-4 D.1.2.3).
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** The other signature that is as right as this one: (r, n − s). */
const mirrored = (jwt: string): string => {
  const [header, payload, signature = ''] = jwt.split('.')
  const hex = Buffer.from(signature, 'base64url').toString('hex')
  const s = (order - BigInt(`0x${hex.slice(64)}`)).toString(16).padStart(64, '0')
  return `${header}.${payload}.${Buffer.from(hex.slice(0, 64) + s, 'hex').toString('base64url')}`
}

/** What proves nothing, although it is written like an assertion of the client `signer`. */
const forgeries: Record<string, (target: Target) => (string | Promise<string>)[]> = {
  'without a signature (RFC 8725 §3.2, CVE-2026-28802, ASVS 9.1.2)': (target) =>
    ['none', 'nOnE', '', 'HS256', 'ES256'].flatMap((alg) => {
      const input = unsigned({ alg, kid: 'ec' }, usual(target))
      return [input, `${input}.`, `${input}.AA`]
    }),
  'with an HMAC whose key is what everybody knows (RFC 8725 §2.1, CVE-2024-37568, CVE-2026-11800)': (
    target,
  ) =>
    [ec, rsa].flatMap((key) => {
      const spki = pem(key).export({ type: 'spki', format: 'pem' }).toString()
      const der = pem(key).export({ type: 'spki', format: 'der' })
      const input = unsigned({ alg: 'HS256', kid: key.publicJwk.kid }, usual(target))
      const known = [spki, spki.trim(), der, JSON.stringify(key.publicJwk), '', 'signer']
      return known.map((each) => `${input}.${createHmac('sha256', each).update(input).digest('base64url')}`)
    }),
  'signed by its own key with an algorithm that is not offered (RFC 8725 §3.1, ASVS 9.1.2)': (target) =>
    ['RS1 sha1', 'RS384 sha384', 'PS512 sha512'].map((names) => {
      const [alg = '', digest = ''] = names.split(' ')
      const input = unsigned({ alg, kid: 'rsa' }, usual(target))
      const key = KeyObject.from(rsa.privateKey)
      const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      const signature = sign(digest, Buffer.from(input), alg.startsWith('PS') ? { key, ...pss } : { key })
      return `${input}.${signature.toString('base64url')}`
    }),
  'with a signature of zeros, or of the order of the curve (CVE-2022-21449)': (target) => {
    const input = unsigned({ alg: 'ES256', kid: 'ec' }, usual(target))
    const signatures = ['00'.repeat(64), '00'.repeat(32), '3006020100020100', order.toString(16).repeat(2)]
    return signatures.map((hex) => `${input}.${Buffer.from(hex, 'hex').toString('base64url')}`)
  },
  'signed by a stranger, whatever the header says of the key (RFC 8725 §3.10, ASVS 9.1.3, CVE-2026-27962)': ({
    issuer,
  }) => {
    const kids = ['../../../../../../dev/null', '__proto__', ['ec']].map((kid): object => ({ kid }))
    return [{ jwk: stranger.publicJwk }, { jku: `${thief.origin}/jku` }, ...kids].map((header) =>
      assertion('signer', stranger, { aud: issuer }, header),
    )
  },
  'signed by a stranger in the name of a client of another key, of a secret, a public one, and none': ({
    issuer: aud,
  }) => ['signer', 'web', 'native', 'unregistered'].map((clientId) => assertion(clientId, stranger, { aud })),
  'signed by its client, of another type or with an extension that is critical (RFC 7515 §4.1.11, CVE-2025-59420)':
    (target) =>
      [{ crit: ['x'], x: 1 }, { crit: ['exp'], exp: 1 }, { typ: 'at+jwt' }, { typ: ['JWT'] }].map(
        (header) => {
          // By hand: a library would not sign what it does not understand.
          const input = unsigned({ alg: 'ES256', kid: 'ec', ...header }, usual(target))
          const key = KeyObject.from(ec.privateKey)
          const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
          return `${input}.${signature.toString('base64url')}`
        },
      ),
  'with an end that is no time (ASVS 9.2.1)': (target) =>
    ['1e999', '-1', 'true', '{}'].map((exp) =>
      signed(JSON.stringify({ ...usual(target), exp: '$' }).replace('"$"', exp), ec),
    ),
  'that is no JWT (CVE-2022-36083, CVE-2025-61920)': (target) => {
    const rounds = '{"alg":"PBES2-HS256+A128KW","enc":"A128CBC-HS256","p2c":2147483647,"p2s":"AAAA"}'
    return [
      unsigned({ alg: 'ES256' }, usual(target)),
      `e30.${base64url.encode('['.repeat(3000))}.AA`,
      `e30.${base64url.encode('null')}.AA`,
      `${base64url.encode(rounds)}.AA.AA.AA.AA`,
    ]
  },
}

/** RFC 7523 §3, OIDC Core §9, ASVS 9.2.1; CVE-2020-15222, CVE-2025-27370, CVE-2025-27371. */
const wrongClaims: Record<string, (issuer: string) => Claims> = {
  'for another server': () => ({ aud: 'https://as.example.net' }),
  'for this server and another': (issuer) => ({ aud: [issuer, 'https://as.example.net/token'] }),
  'for an endpoint that authenticates no client': (issuer) => ({ aud: `${issuer}/userinfo` }),
  'without an audience': () => ({ aud: undefined }),
  'with no end': () => ({ exp: undefined }),
  'with an end that is past': () => ({ exp: now() - 31 }),
  'with an end in ten years': () => ({ exp: now() + 315_360_000 }),
  'with a beginning in the future': () => ({ nbf: now() + 120 }),
  'with an issue in the future': () => ({ iat: now() + 120 }),
  'with no identifier': () => ({ jti: undefined }),
  'with another issuer than its subject': () => ({ iss: 'mallory' }),
  'with another subject than its issuer': () => ({ sub: 'mallory' }),
  'with a NUL behind the issuer': () => ({ iss: 'signer\0', sub: 'signer\0' }),
}

describe('a client assertion', () => {
  const target = targetIn(plainMount, () => ({
    clients: [...rivals, signing('signer', ec, rsa), signing('mallory', stranger)],
    options: { outbound: { allow: [thief.origin] } },
  }))
  const side = apiSide(target)
  const { ask, introspect, redeem, refresh, token, tokensFor, userinfo } = side
  const grant = { grant_type: 'client_credentials', scope: 'notes:read' }
  const send = (jwt: string, fields: Asked = {}): Promise<Answer> =>
    token({ ...grant, ...asserted(jwt), ...fields })
  const right = (claims: Claims = {}, key = ec): Promise<string> =>
    assertion('signer', key, { aud: target().issuer, ...claims })
  const expectAccepted = async (jwt: string): Promise<void> => expect((await send(jwt)).status).toBe(200)
  const expectInvalidClient = async (jwt: string): Promise<void> => {
    await side.expectRefused(() => send(jwt), 'invalid_client')
  }

  afterEach(async () => {
    await expectAccepted(await right())
    expect(visits).toEqual([])
  })

  test.each(Object.entries(forgeries))('%s is refused', async (_, make) => {
    for (const jwt of make(target())) await expectInvalidClient(await jwt)
  })

  test.each(Object.entries(wrongClaims))('%s is refused', async (_, claims) =>
    expectInvalidClient(await right(claims(target().issuer))),
  )

  test('that says two names is taken for neither unless the last one signed it (RFC 8259 §4)', async () => {
    const { aud, exp } = usual(target())
    const both = (first: string, last: string): string =>
      `{"iss":"${first}","sub":"${first}","aud":"${aud}","exp":${exp},"jti":"${randomUUID()}","iss":"${last}","sub":"${last}"}`
    await expectInvalidClient(await signed(both('mallory', 'signer'), stranger))
    await expectInvalidClient(await signed(both('signer', 'mallory'), ec))
    const answer = await send(await signed(both('signer', 'mallory'), stranger))
    const asking = asserted(await assertion('mallory', stranger, { aud }))
    const told = await introspect(tokensOf(answer).access_token, { ...noCredentials, ...asking })
    expect(jsonOf(told)).toMatchObject({ active: true, client_id: 'mallory' })
  })

  test('of another client than the request names is refused', async () => {
    const jwt = await assertion('mallory', stranger, { aud: target().issuer })
    await side.expectRefused(() => send(jwt, { client_id: 'signer' }), 'invalid_request')
  })

  test('is not replaced by an ID token or an access token of this server (RFC 8725 §3.12)', async () => {
    const { id_token, access_token, refresh_token } = await tokensFor()
    for (const value of [id_token, access_token, refresh_token]) await expectInvalidClient(value)
  })

  describe('is used once (OIDC Core §9, CVE-2020-15222, GHSA-3p3g-vpw6-4w66)', () => {
    test('at whatever endpoint', async () => {
      const jwt = await right()
      await expectAccepted(jwt)
      await expectInvalidClient(jwt)
      const again = { token: `lk_rt_${'A'.repeat(43)}`, ...noCredentials, ...asserted(jwt) }
      for (const path of ['/introspect', '/revoke'])
        await side.expectRefused(() => ask(path, again), 'invalid_client')
    })

    test('and not again with the other right signature of the same words', async () => {
      const [one, two] = [await right(), await right()]
      await expectAccepted(mirrored(one))
      await expectInvalidClient(one)
      await expectAccepted(two)
      await expectInvalidClient(mirrored(two))
    })

    test('nor in other words with the same identifier', async () => {
      const jti = randomUUID()
      await expectAccepted(await right({ jti }))
      await expectInvalidClient(await right({ jti, aud: `${target().issuer}/token`, exp: now() + 300 }, rsa))
    })

    test('and is not used up by an assertion with a wrong signature', async () => {
      const jti = randomUUID()
      await expectInvalidClient(await assertion('signer', stranger, { aud: target().issuer, jti }))
      await expectAccepted(await right({ jti }))
    })
  })

  test.each<[string, Asked, string?]>([
    ['without its type', { client_assertion_type: undefined }],
    [
      'of another type',
      { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' },
      'invalid_client',
    ],
    ['missing', { client_assertion: undefined }],
    ['of more than 16 kB', { client_assertion: 'A'.repeat(16_385) }],
    ['with NUL', { client_assertion: 'e30.e30.AA\0' }],
    ['beside a secret', { client_id: 'signer', client_secret: secret }],
  ])('%s is refused and not used up (RFC 7521 §4.2)', async (_, fields, error = 'invalid_request') => {
    const jwt = await right()
    await side.expectRefused(() => send(jwt, fields), error)
    await expectAccepted(jwt)
  })

  test('is no token, no code and no hint (RFC 8725 §3.12)', async () => {
    const jwt = await right()
    expectRefusal(await userinfo(jwt), 'invalid_token')
    expectRefusal(await redeem(jwt), 'invalid_request')
    expectRefusal(await refresh(jwt), 'invalid_grant')
    expect(jsonOf(await introspect(jwt))).toEqual({ active: false })
    const page = await target().get(`${target().base}/logout?id_token_hint=${jwt}`)
    expect({ status: page.status, location: page.location }).toEqual({ status: 200 })
    await expectAccepted(jwt)
  })
})
