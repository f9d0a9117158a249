import { createHash } from 'node:crypto'
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose'
import supertest from 'supertest'
import { type ClientSeed, seedClients } from '../../lib/index.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { everyClaim, grace, onePerson } from '../support/person.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { sampleOf } from '../support/sample.ts'
import { answerOf, expectError, refresh, type TokenAnswer, userinfo } from '../support/tokens.ts'

// What the Basic and the Form Post profile of an OpenID provider require: test/CONFORMANCE.md.

const scope = 'openid profile email address phone offline_access'
const client = { client_secret: secret, redirect_uris: [callback], scope, id_token_scope_claims: false }
const byBasic = { token_endpoint_auth_method: 'client_secret_basic' } as const
const clients: ClientSeed[] = [
  { ...client, ...byBasic, client_id: 'basic' },
  { ...client, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
  { ...client, ...byBasic, client_id: 'second' },
  { ...client, client_id: 'claims', id_token_scope_claims: true, id_token_lifetime: 120 },
]

/** Claims that a test changes. */
const changed: { name: string } = { name: everyClaim.name }

let host: Host
let clock: Clock
beforeAll(async () => {
  host = await startHost({ clients, options: { users: onePerson(changed) } })
})
afterAll(() => host.close())
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => jest.restoreAllMocks())

const { roles: _roles, rank: _rank, ...standardClaims } = everyClaim
const { email, email_verified, address, phone_number, phone_number_verified, ...profile } = standardClaims
const sub = 'grace-1'
const halfHash = (value: string): string =>
  createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url')

const profiles: [string, string, Record<string, string>][] = [
  ['Basic', 'query', {}],
  ['Form Post', 'form_post', { response_mode: 'form_post' }],
]
describe.each(sampleOf(profiles, 1))('%s', (_, mode, modeParameters) => {
  const usual = { client_id: 'basic', scope: 'openid', state: 'the state', nonce: 'the nonce' }
  const urlOf = (parameters: Readonly<Record<string, string>> = {}): string =>
    authorizeUrl({ ...usual, ...modeParameters, ...parameters })

  const grant = (
    parameters: Record<string, string> = {},
    agent = new RawBrowser(host.app),
  ): Promise<Answer> => agent.grant(urlOf(parameters), grace.email, grace.password)

  /** What came to the client, in the mode that it asked for. */
  const fieldsIn = (answer: Answer): Readonly<Record<string, string>> => {
    const { mode: way, fields } = clientAnswer(answer)
    expect(way).toBe(mode)
    expect({ state: fields.state, iss: fields.iss }).toEqual({ state: 'the state', iss: issuer })
    return fields
  }

  const grantOf = (answer: Answer) => ({
    grant_type: 'authorization_code',
    code: fieldsIn(answer).code ?? '',
    redirect_uri: callback,
  })
  const redeem = (answer: Answer, fields: Record<string, string> = {}): supertest.Test =>
    supertest(host.app)
      .post('/oauth/token')
      .auth('basic', secret)
      .type('form')
      .send({ ...grantOf(answer), ...fields })

  const tokensOf = (answer: Answer): Promise<TokenAnswer> => answerOf(redeem(answer))

  const verify = async (jwt: string, audience = 'basic'): Promise<JWTPayload> => {
    const { body } = await supertest(host.app).get('/oauth/jwks')
    const { payload } = await jwtVerify(jwt, createLocalJWKSet(body), {
      issuer,
      audience,
      algorithms: ['RS256'],
      requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time'],
      currentDate: new Date(clock.now() * 1000),
    })
    return payload
  }

  const idTokenOf = async (answer: Answer): Promise<JWTPayload> => verify((await tokensOf(answer)).id_token)

  const errorOf = (answer: Answer): string | undefined => {
    const { code, error } = fieldsIn(answer)
    expect(code).toBeUndefined()
    return error
  }

  /** A browser in which the user has signed in for this client, a while ago. */
  const visited = async () => {
    const agent = new RawBrowser(host.app)
    const tokens = await tokensOf(await grant({}, agent))
    clock.travel(20)
    return { agent, tokens, first: await verify(tokens.id_token) }
  }

  test('a login gives a code, tokens, a verified ID token and UserInfo about the same user', async () => {
    const tokens = await tokensOf(await grant())
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'openid' })
    expect(await verify(tokens.id_token)).toEqual({
      iss: issuer,
      sub,
      aud: 'basic',
      nonce: 'the nonce',
      iat: clock.now(),
      auth_time: clock.now(),
      exp: clock.now() + 3600,
      amr: ['pwd'],
      sid: expect.stringMatching(/^[\w-]{22}$/),
      at_hash: halfHash(tokens.access_token),
    })
    expect((await userinfo(host, tokens.access_token)).body).toEqual({ sub })
  })

  test('a missing response_type is an error for the client', async () => {
    const request = urlOf().replace('response_type=code&', '')
    expect(request).not.toContain('response_type')
    expect(errorOf(await new RawBrowser(host.app).get(request))).toBe('invalid_request')
  })

  test('an unsigned ID token cannot be registered for', async () => {
    const { knex, tablePrefix } = host.database
    const unsigned = { ...client, client_id: 'unsigned', id_token_signed_response_alg: 'none' } as unknown
    const seeding = seedClients(knex, [unsigned as ClientSeed], { database: { tablePrefix } })
    await expect(seeding).rejects.toMatchObject({ code: 'invalid_client_metadata' })
  })

  test('UserInfo answers GET, POST with a header, and POST with a body alike', async () => {
    const { access_token } = await tokensOf(await grant({ scope: 'openid email' }))
    const at = supertest(host.app)
    const answers = [
      await at.get('/oauth/userinfo').set('Authorization', `Bearer ${access_token}`),
      await at.post('/oauth/userinfo').set('Authorization', `Bearer ${access_token}`),
      await at.post('/oauth/userinfo').type('form').send({ access_token }),
    ]
    for (const { status, body } of answers) {
      expect({ status, body }).toEqual({ status: 200, body: { sub, email, email_verified } })
    }
  })

  test('without a nonce the code flow works, and the ID token has none', async () => {
    const first = await idTokenOf(await grant())
    const claims = await idTokenOf(await grant({ nonce: '' }))
    expect(claims).not.toHaveProperty('nonce')
    // Another login.
    expect(claims.sid).not.toBe(first.sid)
  })

  test('each scope gives its claims in UserInfo', async () => {
    const agent = new RawBrowser(host.app)
    for (const [asked, claims] of [
      ['openid profile', profile],
      ['openid email', { email, email_verified }],
      ['openid address', { address }],
      ['openid phone', { phone_number, phone_number_verified }],
      ['openid profile email address phone', standardClaims],
    ] as const) {
      const tokens = await tokensOf(await grant({ scope: asked }, agent))
      expect((await userinfo(host, tokens.access_token)).body).toEqual({ sub, ...claims })
    }
  })

  test('the order of scopes and parameters does not matter', async () => {
    const [path, query] = urlOf({ scope: 'email openid' }).split('?')
    const reversed = `${path}?${query?.split('&').reverse().join('&')}`
    const answer = await new RawBrowser(host.app).grant(reversed, grace.email, grace.password)
    const tokens = await tokensOf(answer)
    expect((await userinfo(host, tokens.access_token)).body).toEqual({ sub, email, email_verified })
  })

  test('unknown parameters, and those that may be ignored, are accepted', async () => {
    const locales = { ui_locales: 'se', claims_locales: 'se' }
    const ignored = { display: 'popup', extra: 'foobar', acr_values: '1 2', ...locales }
    expect(await idTokenOf(await grant(ignored))).toMatchObject({ sub, nonce: 'the nonce' })
    expect(await idTokenOf(await grant({ display: 'page' }))).toMatchObject({ sub, nonce: 'the nonce' })
  })

  test('prompt=none with a login gives a code with the same sub and auth_time', async () => {
    const { agent, first } = await visited()
    const again = await idTokenOf(await agent.get(urlOf({ prompt: 'none' })))
    expect(again).toMatchObject({
      sub,
      auth_time: first.auth_time,
      iat: Number(first.iat) + 20,
      sid: first.sid,
    })
  })

  test('a code works once; reuse within or after 30 seconds revokes its tokens', async () => {
    for (const seconds of [0, 31]) {
      const answer = await grant()
      const { access_token } = await tokensOf(answer)
      clock.travel(seconds)
      expectError(await redeem(answer), 400, 'invalid_grant')
      expectError(await userinfo(host, access_token), 401, 'invalid_token')
    }
  })

  test('an unregistered redirect URI gets an error page and no redirect', async () => {
    const answer = await new RawBrowser(host.app).get(urlOf({ redirect_uri: `${callback}/other` }))
    expect({ status: answer.status, location: answer.location }).toEqual({ status: 400, location: undefined })
    expect(answer.html).not.toContain('form-post')
  })

  test('an authorization request by POST is served', async () => {
    const agent = new RawBrowser(host.app)
    const query = new URLSearchParams(urlOf().split('?')[1])
    const sent = await agent.post('/oauth/authorize', Object.fromEntries(query))
    const login = await agent.submit(sent, 'id="form-post"')
    const signedIn = await agent.signIn(login, grace.email, grace.password)
    const done = signedIn.url.pathname === '/oauth/consent' ? await agent.decide(signedIn, 'allow') : signedIn
    expect(await idTokenOf(done)).toMatchObject({ sub, nonce: 'the nonce' })
  })

  test('a client with client_secret_post gets its tokens by its secret in the form', async () => {
    const answer = await grant({ client_id: 'post' })
    const fields = grantOf(answer)
    const ask = () => supertest(host.app).post('/oauth/token').type('form')
    expectError(await ask().auth('post', secret).send(fields), 401, 'invalid_client')
    const tokens = await answerOf(ask().send({ ...fields, client_id: 'post', client_secret: secret }))
    expect(await verify(tokens.id_token, 'post')).toMatchObject({ sub })
  })

  test('a request object is refused as not supported, by value and by reference', async () => {
    const agent = new RawBrowser(host.app)
    const unsigned = [{ alg: 'none' }, { redirect_uri: 'https://evil.example/', ...modeParameters }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
      .concat('.')
    // The object names the mode, not the query beside it.
    const byValue = await agent.get(urlOf({ request: unsigned, response_mode: '' }))
    expect(errorOf(byValue)).toBe('request_not_supported')
    const byReference = await agent.get(urlOf({ request_uri: 'https://client.example.com/request.jwt' }))
    expect(errorOf(byReference)).toBe('request_uri_not_supported')
  })

  test('an essential claim that is requested in UserInfo is returned', async () => {
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } })
    const tokens = await tokensOf(await grant({ claims }))
    expect((await userinfo(host, tokens.access_token)).body).toEqual({ sub, name: everyClaim.name })
  })

  test('a refresh token gives a new ID token of the same login, to its own client alone', async () => {
    const tokens = await tokensOf(await grant({ scope: 'openid offline_access', prompt: 'consent' }))
    const first = await verify(tokens.id_token)
    clock.travel(20)
    const none = { client_id: undefined, client_secret: undefined }
    expectError(await refresh(host, tokens.refresh_token, none).auth('second', secret), 400, 'invalid_grant')
    const refreshed = await answerOf(refresh(host, tokens.refresh_token, none).auth('basic', secret))
    const { nonce: _nonce, ...kept } = first
    const times = { iat: Number(first.iat) + 20, exp: Number(first.exp) + 20 }
    const at_hash = halfHash(refreshed.access_token)
    expect(await verify(refreshed.id_token)).toEqual({ ...kept, ...times, at_hash })
    expect((await userinfo(host, refreshed.access_token)).body).toEqual({ sub })
  })

  test('a client with a secret may use PKCE, and must then complete it', async () => {
    const { verifier, challenge } = pkce()
    const asked = { code_challenge: challenge, code_challenge_method: 'S256' }
    expectError(await redeem(await grant(asked)), 400, 'invalid_grant')
    const tokens = await answerOf(redeem(await grant(asked), { code_verifier: verifier }))
    expect(await verify(tokens.id_token)).toMatchObject({ sub })
  })
})

test('an ID token may have the user’s claims, as scopes allow, and a lifetime of its client', async () => {
  const asked = { client_id: 'claims', scope: 'openid profile email' }
  const url = authorizeUrl(asked)
  const code = clientAnswer(await new RawBrowser(host.app).grant(url, grace.email, grace.password)).fields
    .code
  const credentials = { client_id: 'claims', client_secret: secret }
  const form = { grant_type: 'authorization_code', code, redirect_uri: callback, ...credentials }
  let tokens = await answerOf(supertest(host.app).post('/oauth/token').type('form').send(form))
  expect(claimsOf(tokens.id_token)).toMatchObject({ ...profile, email, exp: clock.now() + 120 })
  const refreshed = async (scope?: string) => {
    tokens = await answerOf(refresh(host, tokens.refresh_token, { ...credentials, scope }))
    return tokens.id_token
  }
  changed.name = 'Grace Murray'
  expect(claimsOf(await refreshed())).toMatchObject({ name: 'Grace Murray', email })
  changed.name = everyClaim.name
  const narrowed = claimsOf(await refreshed('openid email'))
  expect(narrowed).toMatchObject({ email })
  expect(narrowed).not.toHaveProperty('name')
  expect(await refreshed('email')).toBeUndefined()
})

describe('Config', () => {
  test('with an https issuer every endpoint is https, and what the profile requires is there', async () => {
    const secure = await startHost({ clients: [], options: { issuer: 'https://op.example.com/oauth' } })
    try {
      secure.app.set('trust proxy', true)
      const get = (path: string) => supertest(secure.app).get(path).set('X-Forwarded-Proto', 'https')
      const { status, body } = await get('/oauth/.well-known/openid-configuration')
      expect({ status, issuer: body.issuer }).toEqual({ status: 200, issuer: 'https://op.example.com/oauth' })
      const addresses = Object.entries(body).filter(([name]) => /_endpoint$|_uri$/.test(name))
      expect(addresses.length).toBeGreaterThan(5)
      for (const [, address] of addresses) expect(address).toMatch(/^https:\/\/op\.example\.com\/oauth\//)
      expect(body).toMatchObject({
        response_types_supported: expect.arrayContaining(['code']),
        subject_types_supported: expect.arrayContaining(['public']),
        id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']),
        scopes_supported: expect.arrayContaining(['openid']),
        claims_supported: expect.arrayContaining(['sub', 'iss', 'email']),
      })
      const { body: jwks } = await get('/oauth/jwks')
      expect(jwks.keys.length).toBeGreaterThan(0)
      for (const key of jwks.keys) {
        expect(key).toMatchObject({ kid: expect.any(String), use: 'sig', alg: expect.any(String) })
        for (const secretMember of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'])
          expect(key).not.toHaveProperty(secretMember)
      }
    } finally {
      await secure.close()
    }
  })
})
