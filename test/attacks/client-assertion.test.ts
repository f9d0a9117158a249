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

    test('without a signature (RFC 8725 §3.2, CVE-2026-28802, ASVS 9.1.2)', async () => {
      for (const alg of ['none', 'nOnE', '', 'HS256', 'ES256']) {
        const input = unsigned({ alg, kid: 'ec' }, usual(target()))
        for (const jwt of [input, `${input}.`, `${input}.AA`]) await expectRefused(jwt)
      }
    })

    test('with an HMAC whose key is what everybody knows (RFC 8725 §2.1, CVE-2024-37568, CVE-2026-11800)', async () => {
      for (const key of [ec, rsa]) {
        const spki = pem(key).export({ type: 'spki', format: 'pem' }).toString()
        const der = pem(key).export({ type: 'spki', format: 'der' })
        for (const known of [spki, spki.trim(), der, JSON.stringify(key.publicJwk), '', 'signer']) {
          const input = unsigned({ alg: 'HS256', kid: key.publicJwk.kid }, usual(target()))
          await expectRefused(hmac('sha256', known, input))
        }
      }
    })

    test.each([
      ['RS1', 'sha1'],
      ['RS384', 'sha384'],
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

    test('signed by a stranger, whatever the header says of the key (RFC 8725 §3.10, ASVS 9.1.3, CVE-2026-27962)', async () => {
      const jku = `${thief.origin}/jku`
      const kids = ['../../../../../../dev/null', '__proto__', ['ec']].map((kid) => ({ kid }))
      for (const header of [{ jwk: stranger.publicJwk }, { jku }, ...kids] as object[])
        await expectRefused(await assertion('signer', stranger, { aud: target().issuer }, header))
    })

    test('signed by its client, of another type or with an extension that is critical (RFC 7515 §4.1.11, CVE-2025-59420)', async () => {
      for (const header of [
        { crit: ['x'], x: 1 },
        { crit: ['exp'], exp: 1 },
        { typ: 'at+jwt' },
        { typ: ['JWT'] },
      ]) {
        // By hand: a library would not sign what it does not understand.
        const input = unsigned({ alg: 'ES256', kid: 'ec', ...header }, usual(target()))
        const key = KeyObject.from(ec.privateKey)
        const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
        await expectRefused(`${input}.${signature.toString('base64url')}`)
      }
    })

    // RFC 7523 §3, OIDC Core §9, ASVS 9.2.1; CVE-2020-15222, CVE-2025-27370, CVE-2025-27371.
    test.each<[string, (issuer: string) => Claims]>([
      ['for another server', () => ({ aud: 'https://as.example.net' })],
      ['for this server and another', (issuer) => ({ aud: [issuer, 'https://as.example.net/token'] })],
      ['for an endpoint that authenticates no client', (issuer) => ({ aud: `${issuer}/userinfo` })],
      ['without an audience', () => ({ aud: undefined })],
      ['with no end', () => ({ exp: undefined })],
      ['with an end that is past', () => ({ exp: now() - 31 })],
      ['with an end in ten years', () => ({ exp: now() + 315_360_000 })],
      ['with a beginning in the future', () => ({ nbf: now() + 120 })],
      ['with an issue in the future', () => ({ iat: now() + 120 })],
      ['with no identifier', () => ({ jti: undefined })],
      ['with another issuer than its subject', () => ({ iss: 'mallory' })],
      ['with another subject than its issuer', () => ({ sub: 'mallory' })],
      ['with a NUL behind the issuer', () => ({ iss: 'signer\0', sub: 'signer\0' })],
    ])('%s', async (_, claims) => expectRefused(await right(claims(target().issuer))))

    test('with an end that is no time (ASVS 9.2.1)', async () => {
      for (const exp of ['1e999', '-1', 'true', '{}']) {
        const claims = JSON.stringify({ ...usual(target()), exp: '$' })
        await expectRefused(await signed(claims.replace('"$"', exp), ec))
      }
    })

    describe('in the name of another (RFC 7523 §3, RFC 6819 §4.1.1)', () => {
      test('a client of another key, of a secret, a public one, and none', async () => {
        for (const clientId of ['signer', 'web', 'native', 'unregistered'])
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

    test('that is no JWT (CVE-2022-36083, CVE-2025-61920)', async () => {
      const jwt = await right()
      const rounds = '{"alg":"PBES2-HS256+A128KW","enc":"A128CBC-HS256","p2c":2147483647,"p2s":"AAAA"}'
      const others = [
        ...[jwt.split('.').slice(0, 2).join('.'), `e30.${base64url.encode('['.repeat(3000))}.AA`],
        ...[`e30.${base64url.encode('null')}.AA`, `${base64url.encode(rounds)}.AA.AA.AA.AA`],
      ]
      for (const other of others) await expectRefused(other)
      for (const other of [jwt.padEnd(8193, 'A'), `${jwt}\0`])
        expectRefusal(await changesNothing(target(), () => send(other)), 400, 'invalid_request')
    })

    test.each<[string, Asked, number]>([
      ['without its type', { client_assertion_type: undefined }, 400],
      [
        'of another type',
        { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' },
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
      expect({ status: page.status, location: page.location }).toEqual({ status: 400 })
      expect((await send(jwt)).status).toBe(200)
    })
  },
  () => ({
    clients: [...rivals, signing('signer', ec, rsa), signing('mallory', stranger)],
    options: { outbound: { allow: [thief.origin] } },
  }),
)
