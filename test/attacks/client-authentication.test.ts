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
import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  apiSide,
  changesNothing,
  comparable,
  expectRefusal,
  jsonOf,
  native,
  otherSecret,
  rivals,
  web,
} from '../support/api-side.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { callback, secret } from '../support/host.ts'
import type { Answer } from '../support/raw-browser.ts'
import {
  asserted,
  assertion,
  type Claims,
  type ClientKey,
  createClientKey,
} from '../support/signing-client.ts'
import { type Fields, type Target, underAttack } from '../support/target.ts'

afterEach(() => jest.restoreAllMocks())

const confidential = {
  client_secret: secret,
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] as ClientSeed['grant_types'],
  scope: 'openid notes:read',
}
const basic = (credentials: string | Buffer): Fields => ({
  Authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
})
const nobody = { client_id: undefined, client_secret: undefined }

/** The endpoints at which clients say who they are, each with a request that would be served. */
const endpoints: readonly [string, Asked][] = [
  ['/token', { grant_type: 'client_credentials' }],
  ['/introspect', { token: `lk_at_${'A'.repeat(43)}` }],
  ['/revoke', { token: `lk_rt_${'A'.repeat(43)}` }],
]

underAttack(
  'client authentication',
  (target, { test, everyMount }) => {
    const { ask, codeFor, introspect, own, table, tokensFor } = apiSide(target)

    beforeAll(async () => {
      await table('clients').where({ client_id: 'off' }).update({ disabled_at: 1 })
      await table('clients').where({ client_id: 'blank' }).update({ secret_hash: null })
      await table('clients')
        .where({ client_id: 'hollow' })
        .update({ secret_hash: hashSecret('') })
    })
    afterEach(async () => {
      expect((await own()).status).toBe(200)
    })

    /** Sends the same credentials to every endpoint; nothing is written by it. */
    const everywhere = async (fields: Asked, headers?: Fields): Promise<Answer[]> => {
      const answers: Answer[] = []
      await changesNothing(target(), async () => {
        for (const [path, form] of endpoints) answers.push(await ask(path, { ...form, ...fields }, headers))
      })
      return answers
    }

    test.each<[string, Asked]>([
      ['an unknown client (RFC 6749 §5.2)', { client_id: 'nobody', client_secret: secret }],
      ['no secret, by a client that has one (ASVS 10.4.10)', { client_id: 'web' }],
      ['an empty secret (RFC 6749 §2.3.1, CVE-2026-44476)', { client_id: 'web', client_secret: '' }],
      ['the secret of another client (RFC 6819 §4.1.1)', { client_id: 'web', client_secret: otherSecret }],
      ['the hash of the secret (RFC 6819 §4.3.4)', { client_id: 'web', client_secret: hashSecret(secret) }],
      [
        'the beginning of the secret (RFC 6819 §4.3.5)',
        { client_id: 'web', client_secret: secret.slice(0, -1) },
      ],
      ['the secret in other letters', { client_id: 'web', client_secret: secret.toUpperCase() }],
      ['the secret and a space', { client_id: 'web', client_secret: `${secret} ` }],
      ['the client_id in capitals, as MariaDB may compare it', { client_id: 'WEB', client_secret: secret }],
      ['a space behind the client_id, which MariaDB pads away', { client_id: 'web ', client_secret: secret }],
      ['an accent in the client_id, as MariaDB may compare it', { client_id: 'wéb', client_secret: secret }],
      ['a secret for a public client (RFC 6749 §2.1)', { client_id: 'native', client_secret: secret }],
      ['a client that is switched off (CVE-2024-47000)', { client_id: 'off', client_secret: secret }],
      ['the form body, by a client of Basic (RFC 7591 §2)', { client_id: 'basic', client_secret: secret }],
      ['“null”, for a client that has none left', { client_id: 'blank', client_secret: 'null' }],
      ['an empty secret, for a client that has none left', { client_id: 'blank', client_secret: '' }],
      ['an empty secret, for a client whose secret is empty', { client_id: 'hollow', client_secret: '' }],
    ])('%s: refused at every endpoint, without a challenge', async (_, fields) => {
      for (const answer of await everywhere(fields)) {
        expectRefusal(answer, 401, 'invalid_client')
        expect(answer.headers).not.toHaveProperty('www-authenticate')
      }
    })

    test.each<[string, Fields]>([
      ['an unknown client', basic(`nobody:${secret}`)],
      ['the secret of another client', basic(`web:${otherSecret}`)],
      ['an empty secret', basic('web:')],
      ['no colon', basic('web')],
      ['an encoded NUL behind the client_id, at which PostgreSQL throws', basic(`web%00:${secret}`)],
      ['another scheme', { Authorization: `Bearer ${btoa(`web:${secret}`)}` }],
      ['a public client with a secret', basic('native:x')],
      ['a client that is switched off', basic(`off:${secret}`)],
      ['a client of the form body', basic(`post:${secret}`)],
      ['an empty secret, for a client whose secret is empty', basic('hollow:')],
    ])(
      '%s in the header: refused at every endpoint, with a challenge (RFC 6749 §2.3.1 and §5.2)',
      async (_, headers) => {
        for (const answer of await everywhere({}, headers)) {
          expectRefusal(answer, 401, 'invalid_client')
          expect(answer.headers['www-authenticate']).toBe('Basic realm="token", charset="UTF-8"')
        }
      },
    )

    everyMount(() => {
      test.each<[string, Asked, Fields?]>([
        ['the secret in header and body', { ...web }, basic(`web:${secret}`)],
        ['the secrets of two clients', { ...web }, basic(`other:${otherSecret}`)],
        ['another client_id in the body', { client_id: 'other' }, basic(`web:${secret}`)],
        ['a bearer token beside the secret', { ...web }, { Authorization: 'Bearer x' }],
        ['an assertion beside the secret', { ...web, ...asserted('a.b.c') }],
        ['an assertion beside the header', { ...asserted('a.b.c') }, basic(`web:${secret}`)],
        ['the type of an assertion beside the secret', { ...web, client_assertion_type: 'x' }],
        ['none, and no name', {}],
        [
          'a NUL behind the client_id, at which PostgreSQL throws',
          { client_id: 'web\0', client_secret: secret },
        ],
        ['a NUL behind the secret', { client_id: 'web', client_secret: `${secret}\0` }],
        ['a client_id of 256 characters', { client_id: 'x'.repeat(256), client_secret: secret }],
        ['a secret of 2,049 characters', { client_id: 'web', client_secret: 'x'.repeat(2049) }],
      ])('%s: refused as no request at every endpoint (RFC 6749 §2.3)', async (_, fields, headers = {}) => {
        for (const answer of await everywhere(fields, headers)) expectRefusal(answer, 400, 'invalid_request')
      })
    })

    test('refusals do not show which clients are registered, for what, or disabled (ASVS 6.3.8, RFC 6749 §5.2)', async () => {
      const wrong = 'w'.repeat(40)
      const inForm = [
        { client_id: 'nobody', client_secret: wrong },
        { client_id: 'web', client_secret: wrong },
        { client_id: 'off', client_secret: secret },
        { client_id: 'basic', client_secret: secret },
        { client_id: 'native', client_secret: wrong },
        { client_id: 'blank', client_secret: wrong },
        { client_id: 'WEB', client_secret: secret },
      ]
      const inHeader = [
        `nobody:${wrong}`,
        `web:${wrong}`,
        `off:${secret}`,
        `post:${secret}`,
        `native:${wrong}`,
        '%:%',
      ]
      for (const [path, form] of endpoints) {
        const [first, ...others] = [
          ...(await Promise.all(inForm.map((fields) => ask(path, { ...form, ...fields })))),
        ]
        for (const answer of others) expect(comparable(answer)).toEqual(comparable(first!))
        const [header, ...headers] = await Promise.all(inHeader.map((text) => ask(path, form, basic(text))))
        for (const answer of headers) expect(comparable(answer)).toEqual(comparable(header!))
        expect(header!.html).toBe(first!.html)
      }
    })

    test('an unauthenticated stranger learns nothing of a grant: that comes first (RFC 6749 §3.2.1)', async () => {
      const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
      const fields = { client_id: 'web', client_secret: 'wrong', redirect_uri: callback }
      const grants = [
        { grant_type: 'authorization_code', code },
        { grant_type: 'authorization_code', code: `lk_ac_${'A'.repeat(43)}` },
        { grant_type: 'refresh_token', refresh_token },
        { grant_type: 'refresh_token', refresh_token: 'x' },
        { grant_type: 'password' },
        {},
      ]
      const answers = await Promise.all(grants.map((grant) => ask('/token', { ...grant, ...fields })))
      for (const answer of answers) expect(comparable(answer)).toEqual(comparable(answers[0]!))
      expectRefusal(answers[0]!, 401, 'invalid_client')
    })

    everyMount(() => {
      test('credentials in the URL are ignored, and would be in logs (RFC 6749 §2.3.1)', async () => {
        for (const [path, form] of endpoints) {
          const query = new URLSearchParams(web)
          expectRefusal(await ask(`${path}?${query}`, form), 400, 'invalid_request')
          expectRefusal(
            await ask(`${path}?client_secret=${secret}`, { ...form, client_id: 'web' }),
            401,
            'invalid_client',
          )
        }
      })

      test('credentials as JSON are not looked at (RFC 6749 §2.3.1)', async () => {
        for (const [path, form] of endpoints) {
          const body = JSON.stringify({ ...form, ...web })
          expectRefusal(await ask(path, body, { 'Content-Type': 'application/json' }), 415, 'invalid_request')
        }
      })
    })

    test('a secret that was replaced works until it ends, to the second (ASVS 13.3.4)', async () => {
      const clock = stopClock()
      const old = 'the-secret-before-of-more-than-32-characters'
      const row = { previous_secret_hash: hashSecret(old), previous_secret_expires_at: clock.now() + 100 }
      await table('clients').where({ client_id: 'web' }).update(row)
      clock.travel(99)
      expect((await own({ client_secret: old })).status).toBe(200)
      expectRefusal(await own({ client_id: 'other', client_secret: old }), 401, 'invalid_client')
      clock.travel(1)
      expectRefusal(await own({ client_secret: old }), 401, 'invalid_client')
    })

    test('a public client cannot pass where a secret is asked for (RFC 7662 §2.1, RFC 6749 §4.4)', async () => {
      expectRefusal(await introspect(`lk_at_${'A'.repeat(43)}`, native), 401, 'invalid_client')
      expectRefusal(await own(native), 400, 'unauthorized_client')
    })
  },
  () => ({
    clients: [
      ...rivals,
      { ...confidential, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' },
      { ...confidential, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
      { ...confidential, client_id: 'off' },
      { ...confidential, client_id: 'blank' },
      { ...confidential, client_id: 'hollow' },
    ],
  }),
)

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
        const told = await introspect(String(access_token), { ...nobody, ...asking })
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
        const again = { ...nobody, ...asserted(jwt) }
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
