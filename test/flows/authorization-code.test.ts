import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { codeFor, tokensFor, userinfo } from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'other', client_secret: secret, redirect_uris: [callback] },
      {
        client_id: 'two',
        client_secret: secret,
        redirect_uris: [callback, `${callback}/two`, `${callback}?organization=a%20b`],
      },
      { client_id: 'strict', client_secret: secret, redirect_uris: [callback], require_pkce: true },
      {
        client_id: 'once',
        client_secret: secret,
        redirect_uris: [callback],
        grant_types: ['authorization_code'],
      },
      { client_id: 'switched', client_secret: secret, redirect_uris: [callback] },
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

describe('login and consent', () => {
  test('a client with require_pkce must send a challenge', async () => {
    const location = locationOf(
      await new RawBrowser(host.app).open(authorizeUrl({ client_id: 'strict', scope: 'openid' })),
    )
    expect(location.searchParams.get('error')).toBe('invalid_request')
  })
})

describe('a code', () => {
  test('is another one each time', async () => {
    const agent = new RawBrowser(host.app)
    const codes = [await codeFor(host, {}, { agent }), await codeFor(host, {}, { agent })]
    expect(new Set(codes).size).toBe(2)
  })

  test('gives no refresh token to a client that may not refresh', async () => {
    const tokens = await tokensFor(host, { client_id: 'once' }, { client_id: 'once' })
    expect(tokens).not.toHaveProperty('refresh_token')
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
  })
})
