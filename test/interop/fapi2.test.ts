import type { RequestListener } from 'node:http'
import { decodeProtectedHeader } from 'jose'
import * as openid from 'openid-client'
import { pushedRequests } from '../../lib/features/index.ts'
import type { ClientSeed } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { callback, type Host, startHost } from '../support/host.ts'
import { createAuthority, fetchWith, openMutualTls } from '../support/mutual-tls.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { type ClientKey, createClientKey } from '../support/signing-client.ts'
import { answer } from '../support/stock-client.ts'

// The FAPI 2.0 Security Profile by a stock client, on a server that holds every client to it.

const authority = createAuthority('/CN=Test CA')
const own = authority.issue({ subject: '/CN=localhost', extensions: 'subjectAltName=DNS:localhost' })
const certificate = authority.issue({ subject: '/O=Example/CN=bank' })
const scope = 'openid profile notes:read'

let host: Host
let browsers: TestServer
let clients: Awaited<ReturnType<typeof openMutualTls>>
let key: ClientKey

beforeAll(async () => {
  let app: RequestListener | undefined
  browsers = await openServer()
  clients = await openMutualTls(own, authority.cert, (req, res) => app?.(req, res))
  key = await createClientKey('PS256', 'one')
  const jwks = { keys: [key.publicJwk] } as ClientSeed['jwks']
  const common = { redirect_uris: [callback], scope }
  host = await startHost({
    options: {
      issuer: `${browsers.origin}/oauth`,
      protocol: { dpop: { nonces: 'required' }, mutualTls: { url: `${clients.origin}/oauth` }, fapi2: true },
      features: [pushedRequests({ required: true })],
    },
    clients: [
      {
        ...common,
        client_id: 'keys',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks,
        dpop_bound_access_tokens: true,
      },
      {
        ...common,
        client_id: 'certificates',
        token_endpoint_auth_method: 'tls_client_auth',
        tls_client_auth_subject_dn: 'CN=bank,O=Example',
        tls_client_certificate_bound_access_tokens: true,
      },
    ],
  })
  app = host.app
  browsers.serve(app)
})
afterAll(async () => {
  await clients.close()
  await browsers.close()
  await host.close()
})

const execute = [openid.allowInsecureRequests]
const discovered = {
  'private_key_jwt and DPoP': async () =>
    openid.discovery(
      ...([new URL(`${browsers.origin}/oauth`), 'keys', undefined] as const),
      openid.PrivateKeyJwt({ key: key.privateKey, kid: 'one' }),
      { execute },
    ),
  'mutual TLS': async () =>
    openid.discovery(
      ...([
        new URL(`${browsers.origin}/oauth`),
        'certificates',
        { use_mtls_endpoint_aliases: true },
      ] as const),
      openid.TlsClientAuth(),
      { execute, [openid.customFetch]: fetchWith(certificate, authority) },
    ),
}

test.each(['private_key_jwt and DPoP', 'mutual TLS'] as const)(
  'openid-client signs in with %s, reads UserInfo, calls the API and refreshes',
  async (name) => {
    const config = await discovered[name]()
    const isDpop = name !== 'mutual TLS'
    const DPoP = isDpop ? openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256')) : undefined
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const request = {
      redirect_uri: callback,
      scope,
      code_challenge_method: 'S256',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    }
    const url = await openid.buildAuthorizationUrlWithPAR(config, request, { DPoP })
    expect([...url.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri'])
    const back = await answer(new RawBrowser(browsers.origin, browsers.origin), url)
    expect(back.searchParams.get('iss')).toBe(`${browsers.origin}/oauth`)
    const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier }, undefined, {
      DPoP,
    })
    expect(tokens.token_type).toBe(isDpop ? 'dpop' : 'bearer')
    expect(decodeProtectedHeader(tokens.id_token ?? '').alg).toBe('PS256')
    const userInfo = (token: string) => openid.fetchUserInfo(config, token, '1', { DPoP })
    expect(await userInfo(tokens.access_token)).toMatchObject({ sub: '1' })

    const api = new URL('/api/notes', isDpop ? browsers.origin : clients.origin)
    const call = openid.fetchProtectedResource(config, tokens.access_token, api, 'GET', null, undefined, {
      DPoP,
    })
    expect((await call).status).toBe(200)
    const stolen = await fetch(new URL('/api/notes', browsers.origin), {
      headers: { authorization: `${isDpop ? 'DPoP' : 'Bearer'} ${tokens.access_token}` },
    })
    expect(stolen.status).toBe(401)

    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP })
    // Without rotation.
    expect(refreshed.refresh_token ?? tokens.refresh_token).toBe(tokens.refresh_token)
    expect(await userInfo(refreshed.access_token)).toMatchObject({ sub: '1' })
  },
)
