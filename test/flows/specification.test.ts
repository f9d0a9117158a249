import { callback, clients, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { authorize, codeFor, expectError, guarded, post, redeem, tokensFor } from '../support/tokens.ts'

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
    const rest = `client_id=web&client_secret=${encodeURIComponent(secret)}`
    const res = await post(host, exchange(await codeFor(host), rest))
    expect(res.status).toBe(200)
    const json = { 'content-type': 'application/json', 'cache-control': 'no-store', pragma: 'no-cache' }
    expect(res.headers).toMatchObject(json)
    expect(res.body).toEqual({
      access_token: expect.stringMatching(/^lk_at_[A-Za-z0-9_-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'openid profile email',
      refresh_token: expect.stringMatching(/^lk_rt_[A-Za-z0-9_-]{43}$/),
      id_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    })
  })

  test('takes the scheme of HTTP Basic in any letter case', async () => {
    const credentials = Buffer.from(`web:${secret}`).toString('base64')
    const sent = redeem(host, await codeFor(host), { client_secret: undefined })
    const res = await sent.set('Authorization', `bAsIc ${credentials}`)
    expect(res.status).toBe(200)
  })

  test('decodes what RFC 6749 §2.3.1 makes clients encode in HTTP Basic', async () => {
    const code = await codeFor(host, { client_id: 'odd:id' })
    const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
    const [id, password] = ['odd:id', oddSecret].map(encoded)
    const res = await post(host, exchange(code, '')).auth(id!, password!)
    expect(res.status).toBe(200)
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
    const asked = { client_id: 'native', code_challenge: verifier, code_challenge_method: 'plain' }
    const code = await codeFor(host, asked)
    const res = await post(host, exchange(code, `client_id=native&code_verifier=${verifier}`))
    expect(res.status).toBe(200)
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
    expectError(await guarded(host, tokens.access_token), 403, 'insufficient_scope')
  })
})
