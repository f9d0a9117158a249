import { createHash, createHmac, createPublicKey, type JsonWebKey } from 'node:crypto'
import { base64url, createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose'
import type { ClientSeed } from '../../lib/index.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { callback, secret } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { grace, onePerson } from '../support/person.ts'
import { assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { bob, type TokenAnswer } from '../support/tokens.ts'
import {
  alive,
  apiSide,
  expectRefusal,
  jsonOf,
  native,
  other,
  rivals,
  s256,
  signedByServer,
  tokensOf,
  verifier,
} from './api-side.ts'
import { plainMount, type Target, targetIn, writesNothing } from './target.ts'

/** What a thief's server would be asked for, if the server under attack followed a header. */
let thief: TestServer
let visits: string[]
let forger: ClientKey

beforeAll(async () => {
  thief = await openServer()
  thief.serve((req, res) => {
    visits.push(String(req.url))
    res.end(JSON.stringify({ keys: [forger.publicJwk] }))
  })
  forger = await createClientKey('RS256')
})
afterAll(() => thief.close())
beforeEach(() => {
  visits = []
})
afterEach(() => jest.restoreAllMocks())

const halfHash = (value: string, algorithm = 'sha256'): string => {
  const digest = createHash(algorithm).update(value).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

/** A JWT with other words in header or claims, and whatever signature it had. */
const changed = (jwt: string, { header = {}, claims = {} }: { header?: object; claims?: object }): string => {
  const [, , signature] = jwt.split('.')
  const parts = [
    { ...decodeProtectedHeader(jwt), ...header },
    { ...claimsOf(jwt), ...claims },
  ]
  return `${parts.map((part) => base64url.encode(JSON.stringify(part))).join('.')}.${signature}`
}
const input = (jwt: string): string => jwt.slice(0, jwt.lastIndexOf('.'))
const keysOf = async (target: Target): Promise<{ keys: JsonWebKey[] & Record<string, unknown>[] }> =>
  JSON.parse((await target.get(`${target.base}/jwks`)).html)
const keyOf = async (target: Target, alg: string): Promise<JsonWebKey & { kid?: string }> =>
  (await keysOf(target)).keys.find((key) => key.alg === alg) as JsonWebKey

interface Material {
  readonly target: Target
  readonly tokens: TokenAnswer
}
const hmacWith = (key: string, jwt: string): string => {
  const text = input(changed(jwt, { header: { alg: 'HS256' } }))
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
const forged = ({ target, tokens }: Material, header: object): Promise<string> => {
  const claims = { ...claimsOf(tokens.id_token), aud: 'web', iss: target.issuer }
  return assertion('x', forger, claims, { typ: 'JWT', ...header })
}

/** Signed by this very server, yet no ID token of its own. */
const ours =
  (header: object, claims: object = {}) =>
  ({ target, tokens }: Material): Promise<string> =>
    signedByServer(target, { typ: 'JWT', ...header }, { ...claimsOf(tokens.id_token), ...claims })

/** Hints that are no ID token of this server (RFC 8725 §2.1, §3.1, §3.2, §3.8 and §3.11). */
const forgeries: Record<string, (material: Material) => string | Promise<string>> = {
  'unsigned (CVE-2026-28802)': ({ tokens }) =>
    `${input(changed(tokens.id_token, { header: { alg: 'none' } }))}.`,
  'unsigned, in other letters': ({ tokens }) =>
    `${input(changed(tokens.id_token, { header: { alg: 'nOnE' } }))}.`,
  'with its signature cut off': ({ tokens }) => `${input(tokens.id_token)}.`,
  'HMAC with our public key in PEM (CVE-2024-37568)': async ({ target, tokens }) => {
    const key = createPublicKey({ key: await keyOf(target, 'RS256'), format: 'jwk' })
    return hmacWith(String(key.export({ type: 'spki', format: 'pem' })), tokens.id_token)
  },
  'HMAC with the secret of the client': ({ tokens }) => hmacWith(secret, tokens.id_token),
  'about another user': ({ tokens }) => changed(tokens.id_token, { claims: { sub: '2' } }),
  'of a stranger under our key’s name': async (has) =>
    forged(has, { kid: (await keyOf(has.target, 'RS256')).kid }),
  'of a stranger who brings the key (CVE-2026-27962, ASVS 9.1.3)': (has) =>
    forged(has, { jwk: forger.publicJwk }),
  'of a stranger who says where the key is': (has) => forged(has, { jku: `${thief.origin}/jku`, kid: 'x' }),
  'with a signature of zeros (CVE-2022-21449)': async ({ target, tokens }) => {
    const { kid } = await keyOf(target, 'ES256')
    return `${input(changed(tokens.id_token, { header: { alg: 'ES256', kid } }))}.${'A'.repeat(86)}`
  },
  'with a critical extension (RFC 7515 §4.1.11, CVE-2025-59420)': ({ tokens }) =>
    changed(tokens.id_token, { header: { crit: ['x'], x: 1 } }),
  'by our own key, for a logout (Back-Channel Logout §2.4, CVE-2023-0657)': ours({ typ: 'logout+jwt' }),
  'by our own key, for an API (RFC 9068 §4)': ours({ typ: 'at+jwt' }),
  'by our own key, without a type': ours({ typ: undefined }),
  'by our own key, of another issuer': ours({}, { iss: 'https://evil.example' }),
  'by our own key, without an end, as UserInfo is (OIDC Core §5.3.2)': ours({}, { exp: undefined }),
  'by our own key, for several clients (OIDC Core §2)': ours({}, { aud: ['web', 'other'] }),
  'by our own key, without a subject': ours({}, { sub: undefined }),
  'by our own key, said to be another algorithm': ours({ alg: 'PS256' }),
  'that is an access token': ({ tokens }) => tokens.access_token,
  'that is a client assertion': ({ target }) => assertion('web', forger, { aud: target.issuer }),
  'with a signature of more than 8 kB (CVE-2025-61920)': ({ tokens }) => tokens.id_token.padEnd(8193, 'A'),
}

const front = ['code id_token', 'code id_token token', 'id_token token'] as const
const hybrid: ClientSeed = {
  client_id: 'hybrid',
  client_secret: secret,
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token', 'implicit'],
  response_types: ['code', ...front],
}

describe('an ID token', () => {
  const target = targetIn(plainMount, () => ({
    clients: [...rivals, hybrid],
    options: { protocol: { implicit: true } },
  }))
  const side = apiSide(target)
  const { ask, authorizeUrl, browserOf, codeFor, introspect } = side
  const { redeem, refresh, revoke, standing, tokensFor, userinfo } = side

  const silently = (more: Record<string, string> = {}, browser = browserOf()) =>
    browser.get(authorizeUrl({ prompt: 'none', ...more }))
  const verified = async (jwt: string, audience = 'web'): Promise<JWTPayload> => {
    const keySet = createLocalJWKSet((await keysOf(target())) as never)
    const { payload } = await jwtVerify(jwt, keySet, { issuer: target().issuer, audience, typ: 'JWT' })
    return payload
  }

  describe('as a hint is taken from us alone', () => {
    let tokens: TokenAnswer | undefined
    test.each(Object.entries(forgeries))('not one %s', async (_, make) => {
      tokens ??= await tokensFor()
      const id_token_hint = await make({ target: target(), tokens })
      const answer = await writesNothing(target(), () => silently({ id_token_hint }))
      const { error, code } = Object.fromEntries(answer.location?.searchParams ?? [])
      expect({ status: answer.status, error, code }).toEqual({ status: 303, error: 'login_required' })
      const place: object[] = [{}, { post_logout_redirect_uri: 'https://client.example.com/bye' }]
      for (const more of place) {
        const query = new URLSearchParams({ id_token_hint, ...more })
        for (const who of [browserOf(), target().browser()]) {
          const page = await writesNothing(target(), () => who.get(`${target().base}/logout?${query}`))
          expect({ status: page.status, location: page.location }).toEqual({ status: 200 })
          expect(page.html).not.toContain('client.example.com')
        }
      }
      // It signed nobody out.
      codeOf(await silently(), { iss: target().issuer })
      expect(visits).toEqual([])
    })
  })

  describe('that is right, as a hint,', () => {
    test('of another user gives nothing for the one who is signed in (OIDC Core §3.1.2.1)', async () => {
      const [mine, theirs] = [await tokensFor(), await tokensFor({}, {}, bob)]
      const answer = await silently({ id_token_hint: theirs.id_token })
      expect(answer.location?.searchParams.get('error')).toBe('login_required')
      codeOf(await silently({ id_token_hint: mine.id_token }), { iss: target().issuer })
    })

    test('of another user does not sign out without a question (RP-Initiated Logout §2)', async () => {
      const [, { id_token: id_token_hint }] = [await tokensFor(), await tokensFor({}, {}, bob)]
      const query = new URLSearchParams({ id_token_hint })
      const page = await browserOf().get(`${target().base}/logout?${query}`)
      expect(page.status).toBe(200)
      expect(page.html).toContain('name="csrf_token"')
      codeOf(await silently(), { iss: target().issuer })
    })

    test('that is old opens no more than a new one (OIDC Core §3.1.2.1)', async () => {
      const clock = stopClock()
      const { id_token } = await tokensFor()
      clock.travel(4000)
      expectRefusal(await userinfo(id_token), 'invalid_token')
      const answer = await silently({ id_token_hint: id_token }, target().browser())
      expect(answer.location?.searchParams.get('error')).toBe('login_required')
    })
  })

  test('opens nothing else: no API, no grant, no endpoint (RFC 8725 §3.12, ASVS 9.2.2)', async () => {
    const tokens = await tokensFor()
    const { id_token } = tokens
    expectRefusal(await userinfo(id_token), 'invalid_token')
    expectRefusal(await ask('/userinfo', { access_token: id_token.slice(0, 2048) }), 'invalid_token')
    expect(jsonOf(await introspect(id_token))).toEqual({ active: false })
    expect((await revoke(id_token)).status).toBe(200)
    expectRefusal(await redeem(id_token), 'invalid_request')
    expectRefusal(await refresh(id_token), 'invalid_grant')
    expect(await standing(tokens)).toEqual(alive)
  })

  describe('is bound', () => {
    test('to the request it answers, by the nonce of that request alone', async () => {
      const nonces = ['one', 'two', undefined]
      const codes = [await codeFor({ nonce: 'one' }), await codeFor({ nonce: 'two' }), await codeFor()]
      for (const [index, code] of codes.entries()) {
        const { id_token, refresh_token } = tokensOf(await redeem(code, { nonce: 'another' }))
        expect((await verified(id_token)).nonce).toBe(nonces[index])
        const next = tokensOf(await refresh(refresh_token, { nonce: 'another' }))
        expect(await verified(next.id_token)).not.toHaveProperty('nonce')
      }
    })

    test('to one client, and to no other (OIDC Core §2, RFC 9700 §4.6)', async () => {
      const asked = { client_id: 'native', ...s256 }
      const clients = [
        ['web', await tokensFor()],
        ['other', await tokensFor({ client_id: 'other' }, other)],
        ['native', await tokensFor(asked, { ...native, code_verifier: verifier })],
      ] as const
      for (const [client, { id_token }] of clients) {
        expect(await verified(id_token, client)).toMatchObject({ aud: client, iss: target().issuer })
        expect(claimsOf(id_token)).not.toHaveProperty('azp')
      }
    })

    test('to the access token beside it (OIDC Core §3.1.3.6, RFC 9700 §4.6, CVE-2026-28498)', async () => {
      const [one, two] = [await tokensFor(), await tokensFor()]
      expect((await verified(one.id_token)).at_hash).toBe(halfHash(one.access_token))
      expect((await verified(two.id_token)).at_hash).not.toBe(halfHash(one.access_token))
      const next = tokensOf(await refresh(one.refresh_token))
      expect((await verified(next.id_token)).at_hash).toBe(halfHash(next.access_token))
    })

    test.each(front)(
      'to what stands beside it in %s (OIDC Core §3.3.2.10, RFC 9700 §4.5)',
      async (response_type) => {
        const asked = { client_id: 'hybrid', response_type, nonce: 'n' }
        const one = clientAnswer(await browserOf().grant(authorizeUrl(asked))).fields
        const two = clientAnswer(await browserOf().grant(authorizeUrl(asked))).fields
        const claims = await verified(String(one.id_token), 'hybrid')
        expect(claims).toMatchObject({ nonce: 'n', aud: 'hybrid' })
        const words = response_type.split(' ')
        expect(claims.c_hash).toBe(words.includes('code') ? halfHash(String(one.code)) : undefined)
        expect(claims.at_hash).toBe(words.includes('token') ? halfHash(String(one.access_token)) : undefined)
        if (words.includes('code')) expect(claims.c_hash).not.toBe(halfHash(String(two.code)))
        if (words.includes('token')) expect(claims.at_hash).not.toBe(halfHash(String(two.access_token)))
      },
    )
  })

  test('says of its key a name, and nothing that could be followed (RFC 7515 §4.1, ASVS 9.1.3)', async () => {
    const { id_token } = await tokensFor()
    const { kid } = await keyOf(target(), 'RS256')
    expect(decodeProtectedHeader(id_token)).toEqual({ alg: 'RS256', typ: 'JWT', kid })
  })

  test('says what it is, whatever the claims parameter asks (OIDC Core §5.5)', async () => {
    const members = {
      aud: { essential: true, values: ['other', 'web'] },
      iss: { value: 'https://evil.example' },
      nonce: { value: 'another' },
      at_hash: { value: 'x' },
    }
    const claims = JSON.stringify({ id_token: members, userinfo: members })
    const tokens = tokensOf(await redeem(await codeFor({ claims, nonce: 'n' })))
    const payload = await verified(tokens.id_token)
    const at_hash = halfHash(tokens.access_token)
    expect(payload).toMatchObject({ aud: 'web', iss: target().issuer, nonce: 'n', at_hash })
    expect(Number(payload.exp) - Number(payload.iat)).toBe(3600)
    expect(Object.keys(jsonOf(await userinfo(tokens.access_token)))).toEqual(['sub'])
  })

  test('is not about another user whom the claims parameter requests (OIDC Core §5.5.1)', async () => {
    await tokensFor()
    const claims = JSON.stringify({ id_token: { sub: { value: '2' } } })
    const answer = await silently({ claims })
    expect(answer.location?.searchParams.get('error')).toBe('login_required')
    expect(answer.location?.searchParams.has('code')).toBe(false)
  })
})

/** What a user table could hold, were a user allowed to fill in columns that a careless mapping reveals. */
const poison = {
  iss: 'https://evil.example',
  sub: 'root',
  aud: 'other',
  exp: 9_999_999_999,
  iat: 1,
  nbf: 1,
  jti: 'x',
  nonce: 'poison',
  azp: 'other',
  at_hash: 'x',
  c_hash: 'x',
  auth_time: 1,
  acr: 'high',
  amr: ['hwk'],
  sid: 'x',
  events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  client_id: 'other',
  scope: 'root',
  cnf: {},
}

describe('an ID token for a user whose data carries names of the protocol', () => {
  const target = targetIn(plainMount, () => ({
    clients: [
      { client_id: 'web', client_secret: secret, redirect_uris: [callback], scope: 'openid poisoned' },
    ],
    options: {
      users: onePerson(poison),
      scopes: { poisoned: { description: 'Everything', claims: Object.keys(poison) } },
    },
  }))
  const { codeFor, redeem, refresh, userinfo } = apiSide(target)
  const scope = 'openid poisoned'

  test('says what the protocol says, in UserInfo too (OIDC Core §2, RFC 7519 §4.1, ASVS 10.3.3)', async () => {
    const code = await codeFor({ scope }, grace as never)
    const tokens = tokensOf(await redeem(code))
    for (const { id_token, access_token } of [tokens, tokensOf(await refresh(tokens.refresh_token))]) {
      const claims = claimsOf(id_token)
      expect(claims).toMatchObject({ iss: target().issuer, sub: 'grace-1', aud: 'web', amr: ['pwd'] })
      expect(claims.at_hash).toBe(halfHash(access_token))
      expect(Number(claims.exp) - Number(claims.iat)).toBe(3600)
      expect(Number(claims.auth_time)).toBeGreaterThan(1_700_000_000)
      const strays = ['nonce', 'azp', 'nbf', 'jti', 'acr', 'events', 'client_id', 'scope', 'cnf', 'c_hash']
      expect(Object.keys(claims).filter((name) => strays.includes(name))).toEqual([])
      expect(jsonOf(await userinfo(access_token))).toEqual({ sub: 'grace-1' })
    }
  })
})
