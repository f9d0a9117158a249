import supertest from 'supertest'
import { callback, clients, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { authorize, codeFor, expectError, post, redeem, tokensFor } from '../support/tokens.ts'

let host: Host
const oddSecret = 'p%ss+w:rd & ümlaut of enough characters'

beforeAll(async () => {
  host = await startHost({
    clients: [...clients, { client_id: 'odd:id', client_secret: oddSecret, redirect_uris: [callback] }],
  })
})
afterAll(() => host.close())

const encodedCallback = encodeURIComponent(callback)

/** A body as the specification's table of form fields writes it. */
const exchange = (code: string, rest: string): string =>
  `grant_type=authorization_code&code=${code}&redirect_uri=${encodedCallback}&${rest}`

const s256 = (verifier: string): Record<string, string> => ({
  code_challenge: pkce(verifier).challenge,
  code_challenge_method: 'S256',
})

describe('the authorization request', () => {
  test('leads back to the redirect URI with code, state and the issuer, and nothing else', async () => {
    const location = await authorize(host, { scope: 'openid profile email', state: 'af0ifjsldkj' })
    expect(location.href.startsWith(`${callback}?`)).toBe(true)
    expect(Object.fromEntries(location.searchParams)).toEqual({
      code: expect.stringMatching(/^lk_ac_[A-Za-z0-9_-]{43}$/),
      state: 'af0ifjsldkj',
      iss: issuer,
    })
  })

  test('without a state answers without one', async () => {
    const location = await authorize(host, { scope: 'openid' })
    expect([...location.searchParams.keys()].sort()).toEqual(['code', 'iss'])
  })
})

describe('the authorization code exchange', () => {
  test('takes the secret in the form body and answers with the three tokens', async () => {
    const res = await post(
      host,
      exchange(await codeFor(host), `client_id=web&client_secret=${encodeURIComponent(secret)}`),
    )
    expect(res.status).toBe(200)
    expect(res.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      pragma: 'no-cache',
    })
    expect(res.body).toEqual({
      access_token: expect.stringMatching(/^lk_at_[A-Za-z0-9_-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'openid profile email',
      refresh_token: expect.stringMatching(/^lk_rt_[A-Za-z0-9_-]{43}$/),
      id_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    })
  })

  test('takes the secret by HTTP Basic', async () => {
    const code = await codeFor(host)
    const res = await post(host, exchange(code, 'client_id=web')).auth('web', secret)
    expect(res.status).toBe(200)
    expect(Object.keys(res.body).sort()).toEqual(
      ['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'].sort(),
    )
  })

  test('takes the scheme of HTTP Basic in any letter case', async () => {
    const credentials = Buffer.from(`web:${secret}`).toString('base64')
    const res = await redeem(host, await codeFor(host), { client_secret: undefined }).set(
      'Authorization',
      `bAsIc ${credentials}`,
    )
    expect(res.status).toBe(200)
  })

  test('decodes what RFC 6749 §2.3.1 makes clients encode in HTTP Basic', async () => {
    const code = await codeFor(host, { client_id: 'odd:id' })
    const [id, password] = ['odd:id', oddSecret].map((text) =>
      new URLSearchParams({ '': text }).toString().slice(1),
    )
    const res = await post(host, exchange(code, '')).auth(id!, password!)
    expect(res.status).toBe(200)
  })

  test('gives a confidential client its tokens without PKCE', async () => {
    expect((await redeem(host, await codeFor(host))).status).toBe(200)
  })

  test('checks the verifier of a confidential client that chose PKCE', async () => {
    const { verifier, challenge } = pkce()
    const code = await codeFor(host, { code_challenge: challenge, code_challenge_method: 'S256' })
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expect((await redeem(host, code, { code_verifier: verifier })).status).toBe(200)
  })

  test('gives a public client its tokens by PKCE with S256, without a secret', async () => {
    const { verifier } = pkce()
    const code = await codeFor(host, { client_id: 'native', ...s256(verifier) })
    const res = await post(host, exchange(code, `client_id=native&code_verifier=${verifier}`))
    expect(res.status).toBe(200)
    expect(res.body).toMatchObject({ token_type: 'Bearer', scope: 'openid profile email' })
  })

  test('gives a public client its tokens by PKCE with plain', async () => {
    const { verifier } = pkce()
    const code = await codeFor(host, {
      client_id: 'native',
      code_challenge: verifier,
      code_challenge_method: 'plain',
    })
    const res = await post(host, exchange(code, `client_id=native&code_verifier=${verifier}`))
    expect(res.status).toBe(200)
  })

  test.each([
    ['another verifier', `&code_verifier=${'w'.repeat(43)}`],
    ['the challenge in place of the verifier', `&code_verifier=${pkce('v'.repeat(43)).challenge}`],
    ['no verifier', ''],
    ['a verifier with characters outside the alphabet', `&code_verifier=${'v'.repeat(42)}%2B`],
  ])('issues nothing for %s', async (_, field) => {
    const code = await codeFor(host, { client_id: 'native', ...s256('v'.repeat(43)) })
    expectError(await post(host, exchange(code, `client_id=native${field}`)), 400, 'invalid_grant')
  })

  test('without openid gives no ID token', async () => {
    const res = await redeem(host, await codeFor(host, { scope: 'profile email' }))
    expect(res.status).toBe(200)
    expect(res.body.scope).toBe('profile email')
    expect(res.body).not.toHaveProperty('id_token')
  })

  test('without any scope gives an access token that opens nothing', async () => {
    const tokens = await tokensFor(host, { scope: undefined })
    expect(tokens).not.toHaveProperty('scope')
    expect(tokens).not.toHaveProperty('id_token')
    const res = await supertest(host.app)
      .get('/api/notes')
      .set('Authorization', `Bearer ${tokens.access_token}`)
    expectError(res, 403, 'insufficient_scope')
  })

  test('returns the granted scope if it differs from the requested one', async () => {
    const tokens = await tokensFor(host, { scope: 'openid unheard_of notes:read' })
    expect(tokens.scope).toBe('openid notes:read')
  })
})
