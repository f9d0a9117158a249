import type { IncomingMessage } from 'node:http'
import { SignJWT } from 'jose'
import { Webhook } from 'standardwebhooks'
import { clientMetadataDocuments, webhooks } from '../../lib/features/index.ts'
import { resourceServer } from '../../lib/guard/index.ts'
import type { TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, pkce, secret, startHost } from '../support/host.ts'
import { createInbox } from '../support/logout-receiver.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { openProxy, openPublicServer, type TestProxy } from '../support/proxy.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { codeFor, post } from '../support/tokens.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

// A server in a closed network: whatever it asks of others goes through the proxy.

let there: TestServer & { readonly port: number }
let proxy: TestProxy
let host: Host
let key: ClientKey
let asked: ReturnType<typeof createInbox<{ path: string; headers: IncomingMessage['headers']; body: string }>>

beforeAll(async () => {
  key = await createClientKey('ES256', 'k')
  there = await openPublicServer()
  proxy = await openProxy(() => there.port)
  host = await startHost({
    options: {
      outbound: { proxy: proxy.url.replace('://', '://ada:secret@') },
      storedEvents: true,
      features: [
        clientMetadataDocuments(),
        webhooks({
          endpoints: {
            receiver: {
              url: `${there.origin}/hook`,
              secrets: [webhookSecret],
              events: ['user.revoked'],
            },
          },
        }),
      ],
    },
    clients: [
      {
        client_id: 'web',
        client_secret: secret,
        redirect_uris: [callback],
        scope: 'openid profile email notes:read',
        backchannel_logout_uri: `${there.origin}/logout`,
      },
      {
        client_id: 'signing',
        token_endpoint_auth_method: 'private_key_jwt',
        grant_types: ['client_credentials'],
        jwks_uri: `${there.origin}/jwks`,
        scope: 'notes:read',
      },
    ],
  })
})
beforeEach(() => {
  asked = createInbox()
  there.serve((req, res) => {
    const path = String(req.url)
    let body = ''
    req.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    req.on('end', () => {
      asked.add({ path, headers: req.headers, body })
      res.setHeader('content-type', 'application/json')
      if (path === '/jwks') res.end(JSON.stringify({ keys: [{ ...key.publicJwk, alg: 'ES256' }] }))
      else if (path === '/.well-known/openid-configuration')
        res.end(JSON.stringify({ issuer: there.origin, jwks_uri: `${there.origin}/jwks` }))
      else if (path.endsWith('.json')) res.end(JSON.stringify(documentOf(path)))
      else res.writeHead(204).end()
    })
  })
})
afterEach(() => expect(new Set(proxy.asked.splice(0))).toEqual(new Set(['client.test:443'])))
afterAll(async () => {
  await host.close()
  await proxy.close()
  await there.close()
})

const documentOf = (path: string) => ({
  client_id: `${there.origin}${path}`,
  client_name: 'Assistant',
  redirect_uris: [callback],
  token_endpoint_auth_method: 'none',
})

const { challenge } = pkce()
const visit = (client_id: string) =>
  new RawBrowser(host.app).grant(
    authorizeUrl({ client_id, code_challenge: challenge, code_challenge_method: 'S256', scope: 'openid' }),
  )

test('a client signs a user in whose metadata document is read through the proxy', async () => {
  codeOf(await visit(`${there.origin}/client.json`))
  expect(asked.items.map(({ path }) => path)).toEqual(['/client.json'])
})

test('a client authenticates with keys that are read through the proxy', async () => {
  const jwt = await assertion('signing', key)
  const { status } = await post(host, { grant_type: 'client_credentials', ...asserted(jwt) })
  expect(status).toBe(200)
  expect(asked.items.map(({ path }) => path)).toEqual(['/jwks'])
})

test('a client learns of a logout through the proxy', async () => {
  const agent = new RawBrowser(host.app)
  await codeFor(host, {}, { agent })
  const page = await agent.open('/oauth/logout')
  await agent.submit(page, 'name="csrf_token"')
  const [notice] = await asked.until(1)
  expect(notice).toMatchObject({ path: '/logout', body: expect.stringMatching(/^logout_token=ey/) })
})

test('a webhook arrives through the proxy, signed', async () => {
  await host.oauth.users.revokeAll(1)
  const [hook] = await asked.until(1)
  const { path, body, headers } = hook!
  expect(path).toBe('/hook')
  expect(new Webhook(webhookSecret).verify(body, headers as Record<string, string>)).toMatchObject({
    type: 'user.revoked',
  })
})

test('a guard in another process reads the keys of the issuer through the proxy', async () => {
  const audience = 'https://api.example.com'
  const token = await new SignJWT({ client_id: 'web', scope: 'notes:read', sub: '1', auth_time: 1 })
    .setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })
    .setIssuer(there.origin)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('1m')
    .setJti('one')
    .sign(key.privateKey)
  const { tokenVerifier } = resourceServer({ issuer: there.origin, audience, proxy: proxy.url })
  await expect(tokenVerifier().verifyAccessToken(token)).resolves.toMatchObject({ clientId: 'web' })
  expect(asked.items.map(({ path }) => path)).toEqual(['/.well-known/openid-configuration', '/jwks'])
})

test('what the proxy says is neither shown nor told', async () => {
  proxy.answer((socket) =>
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nX-Squid: squid.inner\r\n\r\n'),
  )
  const page = await visit(`${there.origin}/unread.json`)
  proxy.answer(undefined)
  expectErrorPage(page, 400, 'the proxy wants other credentials')
  expect(page.html).not.toMatch(/squid|secret|127\.0\.0\.1/)
  expect(asked.items).toEqual([])
})
