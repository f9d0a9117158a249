import type { RequestListener } from 'node:http'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import type { ClientSeed } from '../../lib/index.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { callback, type Host, startHost } from '../support/host.ts'
import { createAuthority, fetchWith, openMutualTls, publicJwk, selfSigned } from '../support/mutual-tls.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answer } from '../support/stock-client.ts'

// Browsers use one host, and clients another, which requests their certificates (RFC 8705 §5).

const authority = createAuthority('/CN=Test CA')
const own = authority.issue({ subject: '/CN=localhost', extensions: 'subjectAltName=DNS:localhost' })
const shop = authority.issue({ subject: '/O=Example/CN=shop' })
const selfMade = selfSigned({ subject: '/CN=self-made' })
const scope = 'openid profile notes:read'

let host: Host
let browsers: TestServer
let clients: Awaited<ReturnType<typeof openMutualTls>>

beforeAll(async () => {
  let app: RequestListener | undefined
  browsers = await openServer()
  clients = await openMutualTls(own, authority.cert, (req, res) => app?.(req, res))
  const common = { redirect_uris: [callback], scope, tls_client_certificate_bound_access_tokens: true }
  const jwks = { keys: [await publicJwk(selfMade)] } as ClientSeed['jwks']
  const subject = { tls_client_auth_subject_dn: 'CN=shop,O=Example' }
  host = await startHost({
    options: {
      issuer: `${browsers.origin}/oauth`,
      protocol: { mutualTls: { url: `${clients.origin}/oauth` } },
    },
    clients: [
      { ...common, ...subject, client_id: 'shop', token_endpoint_auth_method: 'tls_client_auth' },
      { ...common, client_id: 'self-made', token_endpoint_auth_method: 'self_signed_tls_client_auth', jwks },
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

test.each([
  ['shop', shop],
  ['self-made', selfMade],
])('openid-client signs in as %s, reads UserInfo, calls the API and refreshes', async (id, certificate) => {
  const metadata = { use_mtls_endpoint_aliases: true }
  const config = await openid.discovery(
    new URL(`${browsers.origin}/oauth`),
    id,
    metadata,
    openid.TlsClientAuth(),
    {
      execute: [openid.allowInsecureRequests],
      [openid.customFetch]: fetchWith(certificate, authority),
    },
  )
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope,
    code_challenge_method: 'S256',
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
  })
  const back = await answer(new RawBrowser(browsers.origin, browsers.origin), url)
  const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier })
  expect(await openid.fetchUserInfo(config, tokens.access_token, '1')).toMatchObject({ sub: '1' })
  const api = (origin: string) =>
    openid.fetchProtectedResource(config, tokens.access_token, new URL('/api/notes', origin), 'GET')
  expect((await api(clients.origin)).status).toBe(200)
  // The same token without the certificate.
  await expect(api(browsers.origin)).rejects.toMatchObject({ status: 401 })
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
  expect(await openid.fetchUserInfo(config, refreshed.access_token, '1')).toMatchObject({ sub: '1' })
})

test('oauth4webapi introspects its token, which names the certificate, and revokes it', async () => {
  const options = { [oauth.customFetch]: fetchWith(shop, authority), [oauth.allowInsecureRequests]: true }
  const client = { client_id: 'shop', use_mtls_endpoint_aliases: true }
  const issuer = new URL(`${browsers.origin}/oauth`)
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
  const verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(as.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    client_id: 'shop',
    response_type: 'code',
    redirect_uri: callback,
    scope,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const back = await answer(new RawBrowser(browsers.origin, browsers.origin), url)
  const parameters = oauth.validateAuthResponse(as, client, back)
  const auth = oauth.TlsClientAuth()
  const response = await oauth.authorizationCodeGrantRequest(
    ...([as, client, auth, parameters, callback, verifier, options] as const),
  )
  const { access_token } = await oauth.processAuthorizationCodeResponse(as, client, response)
  const introspect = async () => {
    const asked = await oauth.introspectionRequest(as, client, auth, access_token, options)
    return oauth.processIntrospectionResponse(as, client, asked)
  }
  const cnf = { 'x5t#S256': expect.stringMatching(/^[\w-]{43}$/) }
  expect(await introspect()).toMatchObject({ active: true, cnf })
  const revoked = await oauth.revocationRequest(as, client, auth, access_token, options)
  expect(await oauth.processRevocationResponse(revoked)).toBeUndefined()
  expect(await introspect()).toEqual({ active: false })
})
