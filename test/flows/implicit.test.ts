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
    client_id: 'token-only',
    token_endpoint_auth_method: 'none',
    redirect_uris: [callback],
    grant_types: ['implicit'],
    response_types: ['token'],
  },
]

let on: Host
let off: Host
beforeAll(async () => {
  const options = { users: onePerson() }
  on = await startHost({ clients, options: { ...options, protocol: { implicit: true } } })
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

const signOut = async (agent: RawBrowser) =>
  void (await agent.submit(await agent.open('/oauth/logout'), 'name="csrf_token"'))
const redeemed = (fields: ClientAnswer['fields'], more: Fields = {}) => redeem(on, fields.code ?? '', more)

const halfHash = (value: unknown, algorithm = 'sha256'): string => {
  const digest = createHash(algorithm).update(String(value)).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

test('these types are unsupported by default, in the fragment or where response_mode says', async () => {
  const fields = failure('unsupported_response_type')
  const asked = { client_id: 'code-only', response_type: 'code token' }
  expect(await refusedTo(asked, off)).toEqual({ mode: 'fragment', fields })
  const byForm = await refusedTo({ ...asked, response_mode: 'form_post' }, off)
  expect(byForm).toEqual({ mode: 'form_post', fields })
})

describe.each(types)('%s', (type) => {
  const words = type.split(' ')
  const holds = (word: string) => words.includes(word)
  const asked = { response_type: type }
  const expected = {
    ...(holds('code') && { code }),
    ...(holds('id_token') && { id_token: idToken }),
    ...(holds('token') && { access_token: accessToken, token_type: 'Bearer' }),
    ...(holds('token') && { expires_in: '3600', scope: 'openid profile' }),
    state: 's',
    iss: issuer,
  }

  test('gives all of it in the fragment or by form_post, and nothing else', async () => {
    const agent = new RawBrowser(on.app)
    const byForm = await grantedTo({ ...asked, response_mode: 'form_post' }, agent)
    expect(byForm).toEqual({ mode: 'form_post', fields: expected })
    const { mode, fields } = await grantedTo(asked, agent)
    expect({ mode, fields }).toEqual({ mode: 'fragment', fields: expected })
    if (holds('id_token')) {
      const claims = await verified(fields.id_token)
      // The user's claims are in the ID token if there is no access token.
      const name = type === 'id_token' ? everyClaim.name : undefined
      expect({ ...claims, name: claims.name }).toMatchObject({
        sub: 'grace-1',
        nonce: 'n',
        amr: ['pwd'],
        name,
      })
      expect({ at: claims.at_hash, c: claims.c_hash }).toEqual({
        at: holds('token') ? halfHash(fields.access_token) : undefined,
        c: holds('code') ? halfHash(fields.code) : undefined,
      })
    }
    if (holds('token')) {
      const told = await userinfo(on, String(fields.access_token))
      expect(told.body).toMatchObject({ sub: 'grace-1', name: everyClaim.name })
      await signOut(agent)
      expectError(await userinfo(on, String(fields.access_token)), 401, 'invalid_token')
    }
  })

  if (holds('code')) {
    test('gives a code that is redeemed like any other, once', async () => {
      const { fields } = await grantedTo(asked)
      const tokens = await answerOf(redeemed(fields))
      expect(tokens).toMatchObject({ access_token: accessToken, refresh_token: expect.any(String) })
      const claims = await verified(tokens.id_token)
      expect(claims).toMatchObject({ sub: 'grace-1', at_hash: halfHash(tokens.access_token) })
      expectError(await redeemed(fields), 400, 'invalid_grant')
      expectError(await userinfo(on, tokens.access_token), 401, 'invalid_token')
      // The replay shows that the code was stolen, and the front-channel token is of the same family.
      if (fields.access_token) expectError(await userinfo(on, fields.access_token), 401, 'invalid_token')
    })
  }

  test('is issued without a page only to https redirect URIs', async () => {
    const agent = new RawBrowser(on.app)
    for (const client_id of ['web', 'ours']) {
      await grantedTo({ ...asked, client_id }, agent)
      const silently = { ...web, ...asked, client_id, prompt: 'none' }
      expect(clientAnswer(await agent.get(authorizeUrl(silently))).fields).toEqual(expected)
      const redirect_uri = 'http://127.0.0.1:51004/callback'
      const listening = await agent.get(authorizeUrl({ ...silently, redirect_uri }))
      const refused = { mode: 'fragment', fields: failure('consent_required') }
      expect(clientAnswer(listening, redirect_uri)).toEqual(refused)
    }
  })
})

test('is for clients that are registered for the response type', async () => {
  const fields = failure('unauthorized_client')
  for (const client_id of ['code-only', 'token-only'])
    expect(await refusedTo({ client_id, response_type: 'id_token token' })).toEqual({
      mode: 'fragment',
      fields,
    })
})

test('errors are in the fragment', async () => {
  const asked = { response_type: 'id_token' }
  const silent = await refusedTo({ ...asked, prompt: 'none' })
  expect(silent).toEqual({ mode: 'fragment', fields: failure('login_required') })
  const agent = new RawBrowser(on.app)
  const login = await agent.open(authorizeUrl({ ...web, ...asked, prompt: 'consent' }))
  const consent = await agent.signIn(login, grace.email, grace.password)
  const denied = clientAnswer(await agent.decide(consent, 'deny'))
  expect(denied).toEqual({ mode: 'fragment', fields: failure('access_denied') })
})

test('an ID token needs a nonce and the scope openid', async () => {
  const asked = { response_type: 'code id_token' }
  const { nonce: _, ...without } = { ...web, ...asked }
  const answer = clientAnswer(await new RawBrowser(on.app).get(authorizeUrl(without)))
  expect(answer).toEqual({ mode: 'fragment', fields: failure('invalid_request') })
  const { fields } = await refusedTo({ ...asked, scope: 'profile' })
  expect(fields).toEqual(failure('invalid_scope'))
})

test('a token needs neither nonce nor openid, and no PKCE of a public client', async () => {
  const { nonce: _, ...without } = { ...web, client_id: 'spa', response_type: 'token', scope: 'profile' }
  const done = await new RawBrowser(on.app).grant(authorizeUrl(without), grace.email, grace.password)
  expect(clientAnswer(done).fields).toMatchObject({ access_token: accessToken, scope: 'profile' })
})

test('a code beside an ID token has the rules of PKCE', async () => {
  const spa = { response_type: 'code id_token', client_id: 'spa' }
  expect((await refusedTo(spa)).fields).toEqual(failure('invalid_request'))
  const { verifier, challenge } = pkce()
  const challenged = { ...spa, code_challenge: challenge, code_challenge_method: 'S256' }
  const { fields } = await grantedTo(challenged)
  const by = (code_verifier: string) =>
    redeemed(fields, { client_id: 'spa', client_secret: undefined, code_verifier })
  expectError(await by('w'.repeat(43)), 400, 'invalid_grant')
  expect((await by(verifier)).status).toBe(200)
})

test('offline_access gives a refresh token for the code, and none in the fragment', async () => {
  const agent = new RawBrowser(on.app)
  const offline = { response_type: 'code token', scope: 'openid offline_access', prompt: 'consent' }
  const { fields } = await grantedTo(offline, agent)
  expect(fields).not.toHaveProperty('refresh_token')
  const tokens = await answerOf(redeemed(fields))
  await signOut(agent)
  expect((await refresh(on, tokens.refresh_token)).status).toBe(200)
})

test('without a code offline_access is ignored, and there is no refresh token', async () => {
  const stored = () => on.table('authorizations')
  await stored().delete()
  const asked = { response_type: 'id_token token' }
  const agent = new RawBrowser(on.app)
  const offline = { ...asked, scope: 'openid offline_access', prompt: 'consent' }
  const login = await agent.open(authorizeUrl({ ...web, ...offline }))
  const consent = await agent.signIn(login, grace.email, grace.password)
  expect(consent.html).not.toContain('Keep access')
  const { fields } = clientAnswer(await agent.decide(consent, 'allow'))
  expect(fields).toMatchObject({ access_token: accessToken, scope: 'openid' })
  expect(fields).not.toHaveProperty('refresh_token')
  expect((await stored().pluck('offline')).map(Boolean)).toEqual([false])
  const alone = await refusedTo({ ...asked, scope: 'offline_access' })
  expect(alone.fields).toEqual(failure('invalid_scope'))
})

test('an ID token by EdDSA has the first half of SHA-512 for its hashes', async () => {
  const { fields } = await grantedTo({ client_id: 'eddsa', response_type: 'code id_token token' })
  const claims = await verified(fields.id_token, 'eddsa')
  expect({ at: claims.at_hash, c: claims.c_hash }).toEqual({
    at: halfHash(fields.access_token, 'sha512'),
    c: halfHash(fields.code, 'sha512'),
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
