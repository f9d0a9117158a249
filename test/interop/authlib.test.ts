// Authlib, a Python client: PKCE, ID tokens that it verifies itself, refresh and revocation, with each way to authenticate.

import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { callback, secret } from '../support/host.ts'
import { describeWith, services } from '../support/services.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'
import { type StockProgram, startProgram } from './stock-program.ts'

const key = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const jwk = { ...key.publicKey.export({ format: 'jwk' }), kid: randomUUID() }
const common = { redirect_uris: [callback], scope: 'openid profile email offline_access' }

describeWith('authlib', 'Authlib', () => {
  let provider: Provider
  let program: StockProgram | undefined
  beforeAll(async () => {
    provider = await startProvider({
      clients: [
        { ...common, client_id: 'secret', client_secret: secret },
        {
          ...common,
          client_id: 'key',
          token_endpoint_auth_method: 'private_key_jwt' as const,
          // Authlib sends the token endpoint as the audience.
          require_issuer_audience: false,
          jwks: { keys: [jwk] } as never,
        },
        { ...common, client_id: 'public', token_endpoint_auth_method: 'none' },
      ],
    })
  })
  afterEach(() => program?.stop())
  afterAll(() => provider?.close())

  test.each([
    ['client_secret_basic', 'secret', secret],
    ['client_secret_post', 'secret', secret],
    ['private_key_jwt', 'key', pem],
    ['none', 'public', ''],
  ])('signs a user in, refreshes and revokes with %s', async (method, client_id, client_secret) => {
    program = startProgram(services.authlib, [join(__dirname, 'authlib-client.py')])
    const { issuer } = provider
    const url = await program.say({ issuer, method, client_id, client_secret, redirect_uri: callback })
    const back = await answer(provider.browser(), String(url))
    expect(await program.say(back.href)).toEqual({
      subject: '1',
      userinfo: expect.objectContaining({ sub: '1', name: ada.full_name, email: ada.email }),
      details: [null, null],
      revoked: 200,
      after: 401,
    })
  })
})
