import { createHash } from 'node:crypto'
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose'
import supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { type ClientAnswer, clientAnswer } from '../support/client-answer.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { everyClaim, grace, onePerson } from '../support/person.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, expectError, type Fields, redeem, refresh, userinfo } from '../support/tokens.ts'

const implicitTypes = ['token', 'id_token', 'id_token token'] as const
const hybridTypes = ['code id_token', 'code token', 'code id_token token'] as const
const types = [...implicitTypes, ...hybridTypes]

const frontChannel = {
  redirect_uris: [callback, 'http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token', 'implicit'],
  response_types: ['code', ...types],
  scope: 'openid profile email offline_access',
} satisfies Partial<ClientSeed>

const clients: ClientSeed[] = [
  { client_id: 'spa', token_endpoint_auth_method: 'none', ...frontChannel },
  { client_id: 'web', client_secret: secret, ...frontChannel, id_token_scope_claims: false },
  { client_id: 'eddsa', client_secret: secret, ...frontChannel, id_token_signed_response_alg: 'EdDSA' },
  { client_id: 'ours', client_secret: secret, ...frontChannel, first_party: true },
  { client_id: 'code-only', client_secret: secret, redirect_uris: [callback] },
  {
    ...{ client_id: 'token-only', token_endpoint_auth_method: 'none', redirect_uris: [callback] },
    ...{ grant_types: ['implicit'], response_types: ['token'] },
  },
]

let on: Host
let off: Host
beforeAll(async () => {
  const options = { users: onePerson() }
  on = await startHost({ clients, options: { ...options, features: { implicit: true } } })
  off = await startHost({ clients, options })
})
afterAll(async () => {
  await on.close()
  await off.close()
})
afterEach(() => jest.restoreAllMocks())

const web = { client_id: 'web', scope: 'openid profile', nonce: 'n', state: 's' }
const accessToken = expect.stringMatching(/^lk_at_[\w-]{43}$/)
const code = expect.stringMatching(/^lk_ac_[\w-]{43}$/)
const idToken = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)

const grantedTo = async (
  parameters: Record<string, string>,
  agent = new RawBrowser(on.app),
): Promise<ClientAnswer> =>
  clientAnswer(await agent.grant(authorizeUrl({ ...web, ...parameters }), grace.email, grace.password))

const refusedTo = async (parameters: Record<string, string>, host = on): Promise<ClientAnswer> =>
  clientAnswer(await new RawBrowser(host.app).get(authorizeUrl({ ...web, ...parameters })))

const failure = (error: string) => ({ error, error_description: expect.any(String), state: 's', iss: issuer })

const verified = async (jwt: string | undefined, audience = 'web'): Promise<JWTPayload> => {
  const { body } = await supertest(on.app).get('/oauth/jwks')
  const { payload } = await jwtVerify(String(jwt), createLocalJWKSet(body), {
    issuer,
    audience,
    typ: 'JWT',
    requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce'],
  })
  return payload
}

const halfHash = (value: unknown, algorithm = 'sha256'): string => {
  const digest = createHash(algorithm).update(String(value)).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

describe('off, as by default', () => {
  test.each(types)(
    '%s is an unsupported_response_type, in the fragment or where response_mode says, for every client',
    async (response_type) => {
      for (const client_id of ['web', 'code-only']) {
        const fields = failure('unsupported_response_type')
        const asked = { client_id, response_type }
        expect(await refusedTo(asked, off)).toEqual({ mode: 'fragment', fields })
        const byForm = await refusedTo({ ...asked, response_mode: 'form_post' }, off)
        expect(byForm).toEqual({ mode: 'form_post', fields })
      }
    },
  )
})

describe('on', () => {
  test.each(types)('%s is for clients that are registered for it', async (response_type) => {
    expect(await refusedTo({ client_id: 'code-only', response_type })).toEqual({
      mode: 'fragment',
      fields: failure('unauthorized_client'),
    })
    if (response_type === 'token') return
    const { fields } = await refusedTo({ client_id: 'token-only', response_type })
    expect(fields).toEqual(failure('unauthorized_client'))
  })
})

describe.each(types)('%s', (type) => {
  const words = type.split(' ')
  const holds = (word: string) => words.includes(word)
  const expected = {
    ...(holds('code') && { code }),
    ...(holds('id_token') && { id_token: idToken }),
    ...(holds('token') && { access_token: accessToken, token_type: 'Bearer' }),
    ...(holds('token') && { expires_in: '3600', scope: 'openid profile' }),
    state: 's',
    iss: issuer,
  }

  test('gives all of it in the fragment, and nothing else', async () => {
    expect(await grantedTo({ response_type: type })).toEqual({ mode: 'fragment', fields: expected })
  })

  test('may be asked for by form_post', async () => {
    const asked = { response_type: type, response_mode: 'form_post' }
    expect(await grantedTo(asked)).toEqual({ mode: 'form_post', fields: expected })
  })

  test('has its errors in the fragment', async () => {
    const asked = { response_type: type }
    const silent = await refusedTo({ ...asked, prompt: 'none' })
    expect(silent).toEqual({ mode: 'fragment', fields: failure('login_required') })
    const agent = new RawBrowser(on.app)
    const login = await agent.open(authorizeUrl({ ...web, ...asked, prompt: 'consent' }))
    const consent = await agent.signIn(login, grace.email, grace.password)
    const denied = clientAnswer(await agent.decide(consent, 'deny'))
    expect(denied).toEqual({ mode: 'fragment', fields: failure('access_denied') })
  })

  if (holds('id_token')) {
    test('needs a nonce and the scope openid', async () => {
      const { nonce: _, ...without } = { ...web, response_type: type }
      const answer = clientAnswer(await new RawBrowser(on.app).get(authorizeUrl(without)))
      expect(answer).toEqual({ mode: 'fragment', fields: failure('invalid_request') })
      const { fields } = await refusedTo({ response_type: type, scope: 'profile' })
      expect(fields).toEqual(failure('invalid_scope'))
    })

    test('binds the ID token to the code and token beside it', async () => {
      for (const [client_id, algorithm] of [
        ['web', 'sha256'],
        ['eddsa', 'sha512'],
      ] as const) {
        const { fields } = await grantedTo({ client_id, response_type: type, nonce: 'a nonce' })
        const claims = await verified(fields.id_token, client_id)
        expect(claims).toMatchObject({ sub: 'grace-1', nonce: 'a nonce', amr: ['pwd'] })
        expect({ at: claims.at_hash, c: claims.c_hash }).toEqual({
          at: holds('token') ? halfHash(fields.access_token, algorithm) : undefined,
          c: holds('code') ? halfHash(fields.code, algorithm) : undefined,
        })
      }
    })

    test('has the user’s claims in the ID token if there is no access token', async () => {
      const { fields } = await grantedTo({ response_type: type })
      const claims = await verified(fields.id_token)
      expect(claims.name).toBe(type === 'id_token' ? everyClaim.name : undefined)
    })
  } else {
    test('needs neither nonce nor openid', async () => {
      const { nonce: _, ...without } = { ...web, response_type: type, scope: 'profile' }
      const done = await new RawBrowser(on.app).grant(authorizeUrl(without), grace.email, grace.password)
      expect(clientAnswer(done).fields).toEqual({ ...expected, scope: 'profile' })
    })
  }

  if (holds('token')) {
    test('gives an access token that opens UserInfo and ends with the login', async () => {
      const agent = new RawBrowser(on.app)
      const { fields } = await grantedTo({ response_type: type }, agent)
      const told = await userinfo(on, String(fields.access_token))
      expect(told.body).toMatchObject({ sub: 'grace-1', name: everyClaim.name })
      await agent.submit(await agent.open('/oauth/logout'), 'name="csrf_token"')
      expectError(await userinfo(on, String(fields.access_token)), 401, 'invalid_token')
    })
  }

  if (holds('code')) {
    const isSpa = { client_id: 'spa', client_secret: undefined }
    const redeemed = (fields: ClientAnswer['fields'], more: Fields = {}) =>
      redeem(on, fields.code ?? '', more)

    test('its code is redeemed as any other, once', async () => {
      const { fields } = await grantedTo({ response_type: type })
      const tokens = await answerOf(redeemed(fields))
      expect(tokens).toMatchObject({ access_token: accessToken, refresh_token: expect.any(String) })
      const claims = await verified(tokens.id_token)
      expect(claims.at_hash).toBe(halfHash(tokens.access_token))
      if (fields.id_token) {
        const { iss, sub } = await verified(fields.id_token)
        expect({ iss: claims.iss, sub: claims.sub }).toEqual({ iss, sub })
      }
      expectError(await redeemed(fields), 400, 'invalid_grant')
      expectError(await userinfo(on, tokens.access_token), 401, 'invalid_token')
      // The replay tells that the code was stolen, and the front-channel token is of the same family.
      if (fields.access_token) expectError(await userinfo(on, fields.access_token), 401, 'invalid_token')
    })

    test('its code has the rules of PKCE', async () => {
      const spa = { client_id: 'spa', response_type: type }
      expect((await refusedTo(spa)).fields).toEqual(failure('invalid_request'))
      const { verifier, challenge } = pkce()
      const asked = { ...spa, code_challenge: challenge, code_challenge_method: 'S256' }
      const { fields } = await grantedTo(asked)
      const redeem = (code_verifier: string) => redeemed(fields, { ...isSpa, code_verifier })
      expectError(await redeem('w'.repeat(43)), 400, 'invalid_grant')
      expect((await redeem(verifier)).status).toBe(200)
    })

    test('offline_access is for the code’s tokens', async () => {
      const agent = new RawBrowser(on.app)
      const asked = { response_type: type, scope: 'openid offline_access', prompt: 'consent' }
      const { fields } = await grantedTo(asked, agent)
      expect(fields).not.toHaveProperty('refresh_token')
      const tokens = await answerOf(redeemed(fields))
      await agent.submit(await agent.open('/oauth/logout'), 'name="csrf_token"')
      expect((await refresh(on, tokens.refresh_token)).status).toBe(200)
    })
  } else {
    test('issues no refresh token, and ignores offline_access', async () => {
      const agent = new RawBrowser(on.app)
      const asked = { response_type: type, scope: 'openid offline_access', prompt: 'consent' }
      const login = await agent.open(authorizeUrl({ ...web, ...asked }))
      const consent = await agent.signIn(login, grace.email, grace.password)
      expect(consent.html).not.toContain('Keep access')
      const { fields } = clientAnswer(await agent.decide(consent, 'allow'))
      expect(fields).toEqual({ ...expected, ...(holds('token') && { scope: 'openid' }) })
      const stored = on.database.knex(`${on.database.tablePrefix}authorizations`)
      const [latest] = await stored.where({ client_id: 'web' }).orderBy('created_at', 'desc').limit(1)
      expect(Boolean(latest.offline)).toBe(false)
      const alone = await refusedTo({ response_type: type, scope: 'offline_access' })
      expect(alone.fields).toEqual(failure('invalid_scope'))
    })

    test('needs no PKCE of a public client', async () => {
      expect((await grantedTo({ client_id: 'spa', response_type: type })).fields).toEqual(expected)
    })
  }

  test('is issued without a page only to https redirect URIs', async () => {
    const agent = new RawBrowser(on.app)
    for (const client_id of ['web', 'ours']) {
      const asked = { ...web, client_id, response_type: type }
      await agent.grant(authorizeUrl({ ...asked, prompt: 'consent' }), grace.email, grace.password)
      const silent = await agent.get(authorizeUrl({ ...asked, prompt: 'none' }))
      expect(clientAnswer(silent).fields).toEqual(expected)
      const redirect_uri = 'http://127.0.0.1:51004/callback'
      const listening = await agent.get(authorizeUrl({ ...asked, prompt: 'none', redirect_uri }))
      const refused = { mode: 'fragment', fields: failure('consent_required') }
      expect(clientAnswer(listening, redirect_uri)).toEqual(refused)
    }
  })
})

test('a login that is too old cannot give tokens by a replayed URL', async () => {
  const clock = stopClock()
  const agent = new RawBrowser(on.app)
  await grantedTo({ response_type: 'id_token' }, agent)
  clock.travel(100)
  const page = await agent.open(authorizeUrl({ ...web, response_type: 'id_token', max_age: '50' }))
  expect(page.url.pathname).toBe('/oauth/login')
  const id = page.url.searchParams.get('authorization_request') ?? ''
  const again = await agent.open(`/oauth/authorize?authorization_request=${id}`)
  expect(again.url.pathname).toBe('/oauth/login')
})
