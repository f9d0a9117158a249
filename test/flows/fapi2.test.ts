import { decodeProtectedHeader, SignJWT } from 'jose'
import supertest from 'supertest'
import { pushedRequests, registration } from '../../lib/features/index.ts'
import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { stopClock } from '../support/clock.ts'
import { createDpopKey, type DpopKey, dpopProof } from '../support/dpop-client.ts'
import { authorizeUrl, callback, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  asserted,
  assertion,
  type Claims,
  type ClientKey,
  createClientKey,
} from '../support/signing-client.ts'

// What the FAPI 2.0 Security Profile requires at runtime. Its rules for metadata are in test/protocol.

const audience = 'https://api.example.com/accounts'
const strict = { protocol: { dpop: true, requestObjects: true }, features: [pushedRequests()] }
const { verifier, challenge } = pkce()
const asked = {
  response_type: 'code',
  redirect_uri: callback,
  scope: 'openid notes:read',
  state: 's',
  code_challenge: challenge,
  code_challenge_method: 'S256',
  resource: audience,
}
type Fields = Readonly<Record<string, string>>

let host: Host
let keys: Record<'PS256' | 'RS256', ClientKey>
let proof: DpopKey
/** Ada's browser. */
let agent: RawBrowser
const start = (options: Partial<AuthRouterOptions>, clients: ClientSeed[]) =>
  startHost({
    clients,
    options: {
      // Longer than the profile allows.
      lifetimes: { code: 300, pushedRequest: 600 },
      resources: { [audience]: { scopes: ['notes:read'], accessToken: 'jwt' } },
      ...options,
    },
  })
const seed = (): ClientSeed => ({
  client_id: 'bank',
  security_profile: 'fapi2',
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: Object.values(keys).map(({ publicJwk }) => publicJwk) } as ClientSeed['jwks'],
  dpop_bound_access_tokens: true,
  redirect_uris: [callback],
  scope: 'openid profile notes:read',
})

beforeAll(async () => {
  keys = { PS256: await createClientKey('PS256', 'PS256'), RS256: await createClientKey('RS256', 'RS256') }
  proof = await createDpopKey()
  host = await start(strict, [seed()])
  agent = new RawBrowser(host.app)
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const post = async (
  path: string,
  fields: Fields,
  {
    key = keys.PS256,
    claims = {},
    by = proof,
  }: { key?: ClientKey; claims?: Claims; by?: DpopKey | null } = {},
) => {
  const credentials = asserted(await assertion('bank', key, claims))
  const request = supertest(host.app).post(`/oauth${path}`).type('form')
  if (by) request.set('DPoP', await dpopProof(by, 'POST', `${issuer}${path}`))
  return request.send(new URLSearchParams({ ...fields, ...credentials }).toString())
}
const push = async (fields: Fields = {}) => post('/par', { ...asked, ...fields }, { by: null })
const codeAfter = async (): Promise<string> => {
  const { body } = await push()
  const query = new URLSearchParams({ client_id: 'bank', request_uri: body.request_uri })
  return codeOf(await agent.grant(`/oauth/authorize?${query}`))
}
const redeem = (code: string, more: Parameters<typeof post>[2] = {}) =>
  post(
    '/token',
    { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier },
    more,
  )

describe('the authorization endpoint', () => {
  test('refuses a request that was not pushed', async () => {
    const answer = await new RawBrowser(host.app).get(authorizeUrl({ ...asked, client_id: 'bank' }))
    expectErrorRedirect(answer, 'invalid_request', { state: 's' })
  })

  test('keeps a pushed request for less than 600 seconds', async () => {
    expect((await push()).body.expires_in).toBe(599)
  })

  test.each<[string, Fields, string]>([
    ['plain PKCE', { code_challenge: verifier, code_challenge_method: 'plain' }, 'invalid_request'],
    ['no PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['no redirect URI', { redirect_uri: '' }, 'invalid_request'],
    ['another response type', { response_type: 'code id_token', nonce: 'n' }, 'unsupported_response_type'],
  ])('refuses a pushed request with %s', async (_what, fields, error) => {
    const { status, body } = await push(fields)
    expect({ status, error: body.error }).toEqual({ status: 400, error })
  })
})

test('request objects are signed with PS256, and not with RS256', async () => {
  const pushed = async (key: ClientKey) => {
    const claims = { ...asked, client_id: 'bank', aud: issuer }
    const object = new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.alg })
    const { body } = await post('/par', { request: await object.sign(key.privateKey) }, { by: null })
    return body.error
  }
  expect([await pushed(keys.PS256), await pushed(keys.RS256)]).toEqual([undefined, 'invalid_request_object'])
})

describe('a client authenticates', () => {
  const statusOf = async (claims: Claims, key = keys.PS256) =>
    (await post('/par', asked, { claims, key, by: null })).status
  const now = () => Math.floor(Date.now() / 1000)

  test('with PS256, and not with RS256', async () => {
    expect([await statusOf({}), await statusOf({}, keys.RS256)]).toEqual([201, 401])
  })

  test('for the issuer alone, as a string', async () => {
    for (const aud of [[issuer], `${issuer}/token`, `${issuer}/par`])
      expect(await statusOf({ aud })).toBe(401)
  })

  test.each(['iat', 'nbf'])('with %s up to ten seconds ahead, and not by more than sixty', async (name) => {
    expect(await statusOf({ [name]: now() + 10 })).toBe(201)
    expect(await statusOf({ [name]: now() + 61, exp: now() + 120 })).toBe(401)
  })

  test('always: a pushed request without it is refused', async () => {
    const form = new URLSearchParams({ ...asked, client_id: 'bank' }).toString()
    expect((await supertest(host.app).post('/oauth/par').type('form').send(form)).status).toBe(401)
  })
})

describe('the token endpoint', () => {
  test('issues tokens that are bound to the key, signed with PS256', async () => {
    const { status, body } = await redeem(await codeAfter())
    expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'DPoP' })
    for (const jwt of [body.access_token, body.id_token]) expect(decodeProtectedHeader(jwt).alg).toBe('PS256')
  })

  test('refuses a code after 60 seconds', async () => {
    const clock = stopClock()
    const [early, late] = [await codeAfter(), await codeAfter()]
    clock.travel(59)
    expect((await redeem(early)).status).toBe(200)
    clock.travel(1)
    expect((await redeem(late)).body).toMatchObject({ error: 'invalid_grant' })
  })

  test('refuses a request without a proof, and a proof by another algorithm', async () => {
    for (const by of [null, await createDpopKey('RS256')]) {
      const { body } = await redeem(await codeAfter(), { by })
      expect(body.error).toBe('invalid_dpop_proof')
    }
  })

  test('does not rotate refresh tokens', async () => {
    const { body } = await redeem(await codeAfter())
    for (let round = 0; round < 2; round++) {
      const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
      const again = await post('/token', fields)
      expect(again.body.refresh_token ?? body.refresh_token).toBe(body.refresh_token)
      expect(again.status).toBe(200)
    }
  })
})

describe('protocol.fapi2', () => {
  const protocol = { ...strict.protocol, fapi2: true }
  const options = { protocol, features: [pushedRequests({ required: true }), registration()] }
  let held: Host
  beforeAll(async () => {
    const { security_profile: _, ...unsaid } = seed()
    held = await start(options, [
      { ...unsaid, client_id: 'default' },
      { client_id: 'api', client_secret: secret, grant_types: [], redirect_uris: [], may_introspect: true },
    ])
  })
  afterAll(() => held.close())

  test('is the profile of clients that name none, except of APIs that get no tokens', async () => {
    expect((await held.oauth.clients.get('default'))?.security_profile).toBe('fapi2')
    expect(await held.oauth.clients.get('api')).not.toHaveProperty('security_profile')
  })

  test('refuses clients that it forbids, however they are registered', async () => {
    const client = { redirect_uris: [callback], token_endpoint_auth_method: 'none' as const }
    await expect(held.oauth.clients.create(client)).rejects.toThrow('§5.3.2.1')
    const { status, body } = await supertest(held.app).post('/oauth/register').send(client)
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_client_metadata' })
    expect(body.error_description).toContain('§5.3.2.1')
  })

  test('does not serve a client that was registered before it', async () => {
    const before = await startHost({ options: strict })
    const after = await startHost({ options, clients: [], database: before.database })
    const form = { grant_type: 'client_credentials', client_id: 'web', client_secret: secret }
    const ask = ({ app }: Host) => supertest(app).post('/oauth/token').type('form').send(form)
    expect([(await ask(before)).status, (await ask(after)).status]).toEqual([200, 401])
    const page = await new RawBrowser(after.app).get(authorizeUrl({ ...asked, client_id: 'web' }))
    expect(page.status).toBe(400)
    await after.oauth.close()
    await before.close()
  })

  test('shows in the metadata', async () => {
    const { body } = await supertest(held.app).get('/oauth/.well-known/openid-configuration')
    const algorithms = ['PS256', 'ES256', 'EdDSA']
    expect(body).toMatchObject({
      require_pushed_authorization_requests: true,
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: [...algorithms, 'Ed25519'],
      id_token_signing_alg_values_supported: algorithms,
      code_challenge_methods_supported: ['S256'],
      dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
    })
  })

  test.each<[string, Partial<AuthRouterOptions>]>([
    ['pushed requests are not required', { features: [pushedRequests()] }],
    ['nothing binds tokens', { protocol: { ...protocol, dpop: false } }],
    ['the implicit grant is on', { protocol: { ...protocol, implicit: true } }],
    ['plain PKCE is on', { codeChallengeMethods: ['S256', 'plain'] }],
  ])('is refused if %s', (_what, changed) => {
    const database = { client: 'better-sqlite3', connection: ':memory:' }
    const given = { database, secrets: ['a secret of 32 bytes, for a test'], ...options, ...changed }
    expect(() => resolveOptions(given)).toThrow('protocol.fapi2')
  })
})
