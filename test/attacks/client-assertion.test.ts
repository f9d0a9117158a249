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
import { type Asked, apiSide, changesNothing, expectRefusal, jsonOf, rivals } from '../support/api-side.ts'
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
import { type Target, underAttack } from '../support/target.ts'

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
const hmac = (algorithm: string, key: string | Buffer, input: string): string =>
  `${input}.${createHmac(algorithm, key).update(input).digest('base64url')}`
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

underAttack(
  'a client assertion',
  (target) => {
    const { ask, introspect, redeem, refresh, token, tokensFor, userinfo } = apiSide(target)
    const grant = { grant_type: 'client_credentials', scope: 'notes:read' }
    const send = (jwt: string, fields: Asked = {}): Promise<Answer> =>
      token({ ...grant, ...asserted(jwt), ...fields })
    const right = (claims: Claims = {}, header: object = {}, key = ec): Promise<string> =>
      assertion('signer', key, { aud: target().issuer, ...claims }, header)

    afterEach(async () => {
      expect((await send(await right())).status).toBe(200)
      expect(visits).toEqual([])
    })

    const expectRefused = async (jwt: string): Promise<void> => {
      expectRefusal(await changesNothing(target(), () => send(jwt)), 401, 'invalid_client')
    }

    test.each(['none', 'None', 'NONE', 'nOnE', '', 'HS256', 'ES256'])(
      'without a signature, alg %p (RFC 8725 §3.2, CVE-2026-28802, ASVS 9.1.2)',
      async (alg) => {
        for (const signature of ['', 'AA', '='])
          await expectRefused(`${unsigned({ alg, kid: 'ec' }, usual(target()))}.${signature}`)
        await expectRefused(unsigned({ alg, kid: 'ec' }, usual(target())))
      },
    )

    test.each(['sha256', 'sha384', 'sha512'])(
      'with an HMAC, %s, whose key is what everybody knows (RFC 8725 §2.1, CVE-2024-37568, CVE-2026-11800)',
      async (algorithm) => {
        for (const key of [ec, rsa]) {
          const spki = pem(key).export({ type: 'spki', format: 'pem' }).toString()
          const known = [
            spki,
            spki.trim(),
            pem(key).export({ type: 'spki', format: 'der' }),
            JSON.stringify(key.publicJwk),
            String(key.publicJwk.n ?? key.publicJwk.x),
            '',
            'signer',
          ]
          const header = { alg: `HS${algorithm.slice(3)}`, kid: key.publicJwk.kid }
          for (const text of known) {
            await expectRefused(hmac(algorithm, text, unsigned(header, usual(target()))))
          }
        }
      },
    )

    test.each([
      ['RS1', 'sha1'],
      ['RS384', 'sha384'],
      ['RS512', 'sha512'],
      ['PS384', 'sha384'],
      ['PS512', 'sha512'],
    ])(
      'signed by its own key with %s, which is not offered (RFC 8725 §3.1, ASVS 9.1.2)',
      async (alg, digest) => {
        const input = unsigned({ alg, kid: 'rsa' }, usual(target()))
        const key = KeyObject.from(rsa.privateKey)
        const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
        const signature = sign(digest, Buffer.from(input), alg.startsWith('PS') ? { key, ...pss } : { key })
        await expectRefused(`${input}.${signature.toString('base64url')}`)
      },
    )

    test('with a signature of zeros (CVE-2022-21449)', async () => {
      const input = unsigned({ alg: 'ES256', kid: 'ec' }, usual(target()))
      for (const bytes of [Buffer.alloc(64), Buffer.alloc(32), Buffer.from('3006020100020100', 'hex')]) {
        await expectRefused(`${input}.${bytes.toString('base64url')}`)
      }
      const scalar = Buffer.from(order.toString(16), 'hex')
      await expectRefused(`${input}.${Buffer.concat([scalar, scalar]).toString('base64url')}`)
    })

    test.each<[string, () => object | Promise<object>]>([
      ['the key itself (CVE-2026-27962)', () => ({ jwk: stranger.publicJwk })],
      ['the address of a key set', () => ({ jku: `${thief.origin}/jku` })],
      ['a path as kid', () => ({ kid: '../../../../../../dev/null' })],
      ['a property as kid', () => ({ kid: '__proto__' })],
      ['a kid that is no text', () => ({ kid: ['ec'] })],
    ])('signed by a stranger whose header holds %s (RFC 8725 §3.10, ASVS 9.1.3)', async (_, header) => {
      await expectRefused(await assertion('signer', stranger, { aud: target().issuer }, await header()))
    })

    test.each<[string, () => object]>([
      ['an unknown critical extension (RFC 7515 §4.1.11, CVE-2025-59420)', () => ({ crit: ['x'], x: 1 })],
      ['a critical claim', () => ({ crit: ['exp'], exp: 1 })],
      ['the type of an access token (RFC 8725 §3.11)', () => ({ typ: 'at+jwt' })],
      ['a type that is no text', () => ({ typ: ['JWT'] })],
    ])('signed by its client, with %s', async (_, header) => {
      // By hand: a library would not sign what it does not understand.
      const input = unsigned({ alg: 'ES256', kid: 'ec', ...header() }, usual(target()))
      const key = KeyObject.from(ec.privateKey)
      const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
      await expectRefused(`${input}.${signature.toString('base64url')}`)
    })

    test.each<[string, (target: Target) => Claims]>([
      ['another server (RFC 7523 §3)', () => ({ aud: 'https://as.example.net' })],
      [
        'this server and another, which could use it here first (CVE-2025-27370, CVE-2025-27371)',
        ({ issuer }) => ({ aud: [issuer, 'https://as.example.net/token'] }),
      ],
      ['the issuer and a slash', ({ issuer }) => ({ aud: `${issuer}/` })],
      ['an endpoint that authenticates no client', ({ issuer }) => ({ aud: `${issuer}/userinfo` })],
      ['no audience', () => ({ aud: undefined })],
    ])('for %s', async (_, claims) => {
      await expectRefused(await right(claims(target())))
    })

    test.each<[string, () => Claims]>([
      ['no end (RFC 7523 §3)', () => ({ exp: undefined })],
      ['an end that is past (ASVS 9.2.1)', () => ({ exp: now() - 31 })],
      ['an end in ten years', () => ({ exp: now() + 315_360_000 })],
      ['a beginning in the future (ASVS 9.2.1)', () => ({ nbf: now() + 120 })],
      ['an issue in the future', () => ({ iat: now() + 120 })],
      ['no identifier (OIDC Core §9, CVE-2020-15222)', () => ({ jti: undefined })],
      ['an identifier of 256 characters', () => ({ jti: 'x'.repeat(256) })],
      ['another issuer than its subject (RFC 7523 §3)', () => ({ iss: 'mallory' })],
      ['another subject than its issuer', () => ({ sub: 'mallory' })],
      ['a NUL behind the issuer', () => ({ iss: 'signer\0', sub: 'signer\0' })],
      ['no subject', () => ({ sub: undefined })],
    ])('with %s', async (_, claims) => {
      await expectRefused(await right(claims()))
    })

    test.each(['1e999', '-1e999', '1e-999', '-1', 'true', '{}'])(
      'with the end %s (ASVS 9.2.1)',
      async (exp) => {
        const claims = JSON.stringify({ ...usual(target()), exp: '$' })
        await expectRefused(await signed(claims.replace('"$"', exp), ec))
      },
    )

    describe('in the name of another (RFC 7523 §3, RFC 6819 §4.1.1)', () => {
      test.each<[string, string]>([
        ['a client whose key is another', 'signer'],
        ['a client with a secret', 'web'],
        ['a public client', 'native'],
        ['a client that does not exist', 'nobody'],
      ])('%s', async (_, clientId) => {
        await expectRefused(await assertion(clientId, stranger, { aud: target().issuer }))
      })

      test('a client of its choice, by saying two names (RFC 8259 §4)', async () => {
        const { aud, exp } = usual(target())
        const both = (first: string, last: string): string =>
          `{"iss":"${first}","sub":"${first}","aud":"${aud}","exp":${exp},"jti":"${randomUUID()}","iss":"${last}","sub":"${last}"}`
        await expectRefused(await signed(both('mallory', 'signer'), stranger))
        await expectRefused(await signed(both('signer', 'mallory'), ec))
        const answer = await send(await signed(both('signer', 'mallory'), stranger))
        const { access_token } = jsonOf(answer)
        const asking = asserted(await assertion('mallory', stranger, { aud }))
        const told = await introspect(String(access_token), { ...noCredentials, ...asking })
        expect(jsonOf(told)).toMatchObject({ active: true, client_id: 'mallory' })
      })

      test('a client named in the request', async () => {
        const refused = await changesNothing(target(), async () =>
          send(await assertion('mallory', stranger, { aud: target().issuer }), { client_id: 'signer' }),
        )
        expectRefusal(refused, 400, 'invalid_request')
      })

      test('by an ID token or an access token of this server (RFC 8725 §3.12)', async () => {
        const tokens = await tokensFor()
        for (const value of [tokens.id_token, tokens.access_token, tokens.refresh_token])
          await expectRefused(value)
      })
    })

    describe('is used once (OIDC Core §9, CVE-2020-15222, GHSA-3p3g-vpw6-4w66)', () => {
      test('at whatever endpoint', async () => {
        const jwt = await right()
        expect((await send(jwt)).status).toBe(200)
        const again = { ...noCredentials, ...asserted(jwt) }
        const value = `lk_rt_${'A'.repeat(43)}`
        await expectRefused(jwt)
        for (const path of ['/introspect', '/revoke']) {
          const refused = await changesNothing(target(), () => ask(path, { token: value, ...again }))
          expectRefusal(refused, 401, 'invalid_client')
        }
      })

      test('ten times at the same moment', async () => {
        const jwt = await right()
        const answers = await Promise.all(Array.from({ length: 10 }, () => send(jwt)))
        expect(answers.map(({ status }) => status).sort()).toEqual([
          200,
          ...Array.from({ length: 9 }, () => 401),
        ])
      })

      test('and not again with the other right signature of the same words', async () => {
        const [one, two] = [await right(), await right()]
        expect((await send(mirrored(one))).status).toBe(200)
        await expectRefused(one)
        expect((await send(two)).status).toBe(200)
        await expectRefused(mirrored(two))
      })

      test('nor in other words with the same identifier', async () => {
        const jti = randomUUID()
        expect((await send(await right({ jti }))).status).toBe(200)
        await expectRefused(await right({ jti, aud: `${target().issuer}/token`, exp: now() + 300 }, {}, rsa))
      })

      test('and is not used up by an assertion with a wrong signature', async () => {
        const jti = randomUUID()
        await expectRefused(await assertion('signer', stranger, { aud: target().issuer, jti }))
        expect((await send(await right({ jti }))).status).toBe(200)
      })
    })

    test.each<[string, (jwt: string) => string, number?]>([
      ['two parts', (jwt) => jwt.split('.').slice(0, 2).join('.')],
      ['lists within lists', () => `e30.${base64url.encode('['.repeat(3000))}.AA`],
      ['null', () => `e30.${base64url.encode('null')}.AA`],
      [
        'an encrypted JWT with two billion rounds (CVE-2022-36083)',
        () =>
          `${base64url.encode('{"alg":"PBES2-HS256+A128KW","enc":"A128CBC-HS256","p2c":2147483647,"p2s":"AAAA"}')}.AA.AA.AA.AA`,
      ],
      ['more than 8 kB (CVE-2025-61920)', (jwt) => jwt.padEnd(8193, 'A'), 400],
      ['a NUL', (jwt) => `${jwt}\0`, 400],
    ])('that is no JWT: %s', async (_, change, status = 401) => {
      const jwt = await right()
      const refused = await changesNothing(target(), () => send(change(jwt)))
      expectRefusal(refused, status, status === 400 ? 'invalid_request' : 'invalid_client')
    })

    test.each<[string, Asked, number]>([
      ['without its type', { client_assertion_type: undefined }, 400],
      [
        'of another type',
        { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' },
        401,
      ],
      [
        'of its type in capitals',
        { client_assertion_type: asserted('').client_assertion_type.toUpperCase() },
        401,
      ],
      ['missing', { client_assertion: undefined }, 400],
      ['beside a secret', { client_id: 'signer', client_secret: secret }, 400],
    ])('%s (RFC 7521 §4.2)', async (_, fields, status) => {
      const jwt = await right()
      const refused = await changesNothing(target(), () => send(jwt, fields))
      expectRefusal(refused, status, status === 400 ? 'invalid_request' : 'invalid_client')
      expect((await send(jwt)).status).toBe(200)
    })

    test('is no token, no code and no hint (RFC 8725 §3.12)', async () => {
      const jwt = await right()
      expectRefusal(await userinfo(jwt), 401, 'invalid_token')
      for (const answer of [await redeem(jwt), await refresh(jwt)])
        expectRefusal(answer, 400, 'invalid_request')
      expect(jsonOf(await introspect(jwt))).toEqual({ active: false })
      const page = await target().get(`${target().base}/logout?id_token_hint=${jwt}`)
      expect({ status: page.status, location: page.location }).toEqual({ status: 400, location: undefined })
      expect((await send(jwt)).status).toBe(200)
    })
  },
  () => ({
    clients: [...rivals, signing('signer', ec, rsa), signing('mallory', stranger)],
    options: { outbound: { allow: [thief.origin] } },
  }),
)
