import { X509Certificate } from 'node:crypto'
import { request as httpRequest, type RequestListener } from 'node:http'
import type { TLSSocket } from 'node:tls'
import express from 'express'
import { resourceServer } from '../../lib/guard/index.ts'
import type { ClientSeed } from '../../lib/index.ts'
import { listen, openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { callback, type Host, pkce, secret, startHost } from '../support/host.ts'
import {
  type Authority,
  type Certificate,
  createAuthority,
  openMutualTls,
  publicJwk,
  selfSigned,
  send,
} from '../support/mutual-tls.ts'
import { codeFor, type Fields } from '../support/tokens.ts'

// Certificates of a private authority, over TLS connections that end in the app or at a proxy.

/** What a proxy sends for a certificate, or the empty string. */
type HeaderFormat = (certificate: X509Certificate | undefined) => string

/** The formats that proxies use. */
const headerFormats = {
  'RFC 9440': (certificate) => (certificate ? `:${certificate.raw.toString('base64')}:` : ''),
  nginx: (certificate) => encodeURIComponent(certificate?.toString() ?? ''),
  AWS: (certificate) =>
    encodeURIComponent(certificate?.toString() ?? '').replace(/%(2B|3D|2F)/g, decodeURIComponent),
  HAProxy: (certificate) => certificate?.raw.toString('base64') ?? '',
  Apache: (certificate) => certificate?.toString().trim().replaceAll('\n', ' ') ?? '(null)',
} satisfies Readonly<Record<string, HeaderFormat>>

/** Forwards requests to an app, with the certificate in a header that replaces any which the client sent. */
const forwardTo =
  (origin: string, { header, format }: { header: string; format: HeaderFormat }): RequestListener =>
  (req, res) => {
    const headers = {
      ...req.headers,
      [header]: format((req.socket as TLSSocket).getPeerX509Certificate()),
      'x-forwarded-proto': 'https',
    }
    const { method, url } = req
    const forwarded = httpRequest(origin + url, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    req.pipe(forwarded)
  }

const scope = 'openid notes:read'
const subject = '/C=DE/O=Müller, Söhne/CN=Shop One'
const names = `subjectAltName=DNS:shop.example.com,URI:https://shop.example.com/,IP:10.0.0.1,IP:fd00::1,email:Shop@example.com
extendedKeyUsage=clientAuth`
/** Of an authority that takes the name of another. */
const forged = `${names}\nauthorityKeyIdentifier=none`
const audience = 'https://api.example.com/notes'

/** How a client may name the subject, with values that mean the same and values that do not. */
const subjects: readonly [keyof ClientSeed, string, string][] = [
  [
    'tls_client_auth_subject_dn',
    'CN=shop one,o=M\\C3\\BCller\\, Söhne,C=DE',
    'C=DE,O=Müller\\, Söhne,CN=Shop One',
  ],
  ['tls_client_auth_san_dns', 'SHOP.example.com', 'shop.example.org'],
  ['tls_client_auth_san_uri', 'https://shop.example.com/', 'https://shop.example.com'],
  ['tls_client_auth_san_ip', 'fd00:0::1', '10.0.0.2'],
  ['tls_client_auth_san_email', 'Shop@EXAMPLE.com', 'shop@example.com'],
]

const machine: Omit<ClientSeed, 'client_id'> = {
  redirect_uris: [],
  grant_types: ['client_credentials'],
  scope: 'notes:read',
}
const pki = { ...machine, token_endpoint_auth_method: 'tls_client_auth' } as const

let authority: Authority
let own: Certificate
let certificates: Record<'good' | 'renewed' | 'selfSigned' | 'selfSignedRenewed', Certificate>
/** Certificates that the server must refuse, by their defect. */
let wrong: Record<'expired' | 'of another authority' | 'for servers', Certificate>
let host: Host
/** A plain http server with the app, and https servers that request certificates: the app's own, and a proxy. */
let plain: TestServer
let native: Awaited<ReturnType<typeof openMutualTls>>

const seeds = async (): Promise<ClientSeed[]> => {
  const jwks = { keys: [await publicJwk(certificates.selfSigned)] } as ClientSeed['jwks']
  const bound = {
    tls_client_certificate_bound_access_tokens: true,
    redirect_uris: [callback],
    scope,
    first_party: true,
  }
  return [
    ...subjects.flatMap(([name, right, wrong]) => [
      { ...pki, client_id: `${name} right`, [name]: right },
      { ...pki, client_id: `${name} wrong`, [name]: wrong },
    ]),
    { ...machine, client_id: 'self-signed', token_endpoint_auth_method: 'self_signed_tls_client_auth', jwks },
    { ...machine, client_id: 'secret', client_secret: secret },
    { ...bound, client_id: 'public', token_endpoint_auth_method: 'none' },
    {
      ...bound,
      client_id: 'later',
      token_endpoint_auth_method: 'none',
      tls_client_certificate_bound_access_tokens: false,
    },
    {
      ...bound,
      client_id: 'bound',
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_san_dns: 'shop.example.com',
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      may_introspect: true,
    },
  ]
}

const hosts: Host[] = []
const startWith = async (mutualTls: object | boolean, issuer?: string): Promise<Host> => {
  const started = await startHost({
    clients: await seeds(),
    options: {
      ...(issuer !== undefined && { issuer }),
      protocol: { mutualTls },
      resources: {
        [audience]: { scopes: ['notes:read'], accessToken: 'jwt' },
        [`${audience}/opaque`]: { scopes: ['notes:read'], introspection: ['secret'] },
      },
    },
  })
  hosts.push(started)
  return started
}

beforeAll(async () => {
  authority = createAuthority('/CN=Test CA')
  own = authority.issue({ subject: '/CN=localhost', extensions: 'subjectAltName=DNS:localhost' })
  const good = authority.issue({ subject, extensions: names })
  // It says the same as the good one, but no authority signed it.
  const self = selfSigned({ subject, extensions: names })
  certificates = {
    good,
    renewed: authority.issue({ subject, extensions: names }),
    selfSigned: self,
    selfSignedRenewed: selfSigned({ subject: '/CN=something else', key: self.key }),
  }
  wrong = {
    expired: authority.issue({ subject, extensions: names, days: -1 }),
    'of another authority': createAuthority('/CN=Test CA').issue({ subject, extensions: forged }),
    'for servers': authority.issue({ subject, extensions: names.replace('client', 'server') }),
  }
  plain = await openServer()
  host = await startWith({ url: 'https://mtls.example.com/oauth' }, `${plain.origin}/oauth`)
  plain.serve(host.app)
  native = await openMutualTls(own, authority.cert, host.app)
})
afterAll(async () => {
  await native.close()
  await plain.close()
  for (const started of hosts) await started.close()
})
afterEach(() => jest.restoreAllMocks())

/** A token request of a client for itself. */
const ask = (client_id: string, certificate?: Certificate, at = native.origin, more: Fields = {}) =>
  send(`${at}/oauth/token`, {
    ca: authority.cert,
    certificate,
    form: { grant_type: 'client_credentials', client_id, scope: 'notes:read', ...more },
  })

const refused = { status: 401, body: { error: 'invalid_client', error_description: expect.any(String) } }
const client = 'tls_client_auth_san_dns right'
const faults = ['expired', 'of another authority', 'for servers'] as const

describe('tls_client_auth', () => {
  test.each(subjects)('accepts a certificate by %s', async (name) => {
    expect(await ask(`${name} right`, certificates.good)).toMatchObject({ status: 200 })
    expect(await ask(`${name} wrong`, certificates.good)).toEqual(refused)
  })

  test.each<[string, () => Certificate | undefined]>([
    ['none', () => undefined],
    ...faults.map((what): [string, () => Certificate] => [`one ${what}`, () => wrong[what]]),
    ['a self-signed one', () => certificates.selfSigned],
    [
      'one with a wildcard',
      () => authority.issue({ subject, extensions: 'subjectAltName=DNS:*.example.com' }),
    ],
    ['one with the name as common name', () => authority.issue({ subject: '/CN=shop.example.com' })],
  ])('accepts no other certificate: %s', async (_what, certificate) => {
    expect(await ask(client, certificate())).toEqual(refused)
  })

  test('accepts a certificate until it expires by the clock of the server', async () => {
    stopClock().travel(2 * 86_400)
    expect(await ask(client, certificates.good)).toEqual(refused)
  })

  test('is not accepted from a client with a secret, and its clients cannot use a secret', async () => {
    expect(await ask('secret', certificates.good)).toEqual(refused)
    const both = await ask('secret', certificates.good, undefined, { client_secret: secret })
    expect(both.status).toBe(200)
    expect(await ask(client, certificates.good, undefined, { client_secret: secret })).toEqual(refused)
  })
})

test('self_signed_tls_client_auth accepts every certificate of the registered key and no other', async () => {
  for (const name of ['selfSigned', 'selfSignedRenewed'] as const)
    expect((await ask('self-signed', certificates[name])).status).toBe(200)
  for (const other of [undefined, certificates.good]) expect(await ask('self-signed', other)).toEqual(refused)
})

describe('behind a proxy', () => {
  const header = 'X-SSL-Client-Cert'
  let behind: Host
  let backend: TestServer
  let proxy: Awaited<ReturnType<typeof openMutualTls>>
  let format: keyof typeof headerFormats = 'nginx'
  beforeAll(async () => {
    behind = await startWith({ header, ca: authority.cert })
    backend = await listen(behind.app)
    const forward = { header, format: (found?: X509Certificate) => headerFormats[format](found) }
    proxy = await openMutualTls(own, authority.cert, forwardTo(backend.origin, forward))
  })
  beforeEach(() => behind.app.set('trust proxy', 'loopback'))
  afterAll(async () => {
    await proxy.close()
    await backend.close()
  })

  test.each(Object.keys(headerFormats) as (typeof format)[])('of %s', async (name) => {
    format = name
    expect(await ask(client, certificates.good, proxy.origin)).toMatchObject({ status: 200 })
    expect(await ask(client, undefined, proxy.origin)).toEqual(refused)
  })

  test.each(faults)('a certificate that is %s is refused', async (what) => {
    expect(await ask(client, wrong[what], proxy.origin)).toEqual(refused)
  })

  test('a self-signed certificate authenticates only the client that registered its key', async () => {
    expect(await ask('self-signed', certificates.selfSigned, proxy.origin)).toMatchObject({ status: 200 })
    expect(await ask(client, certificates.selfSigned, proxy.origin)).toEqual(refused)
  })

  const headerOf = (value: string) => ({ headers: { [header]: value } })
  const form = { grant_type: 'client_credentials', client_id: client }
  const good = () => headerFormats.nginx(new X509Certificate(certificates.good.cert))

  test('the header counts only from a proxy that the app trusts', async () => {
    const direct = () => send(`${backend.origin}/oauth/token`, { form, ...headerOf(good()) })
    expect((await direct()).status).toBe(200)
    for (const trusted of [false, '203.0.113.7']) {
      behind.app.set('trust proxy', trusted)
      expect(await direct()).toEqual(refused)
    }
  })

  test('a client can send neither the header through the proxy, nor a certificate past it', async () => {
    const sent = { form, ca: authority.cert, ...headerOf(good()) }
    expect(await send(`${proxy.origin}/oauth/token`, sent)).toEqual(refused)
    const direct = await openMutualTls(own, authority.cert, behind.app)
    expect(await ask(client, certificates.good, direct.origin)).toEqual(refused)
    await direct.close()
  })

  test.each<[string, () => string]>([
    ['of no certificate', () => 'certificate'],
    ['that is not percent-encoded as it should be', () => '%E0%A4%A'],
    ['of a certificate that is cut off', () => good().slice(0, 200)],
    ['of two certificates', () => good() + good()],
    [
      'of a certificate with more behind it',
      () =>
        `:${Buffer.concat([new X509Certificate(certificates.good.cert).raw, Buffer.alloc(3)]).toString('base64')}:`,
    ],
  ])('a header %s is answered with 400', async (_what, value) => {
    const { status, body } = await send(`${backend.origin}/oauth/token`, { form, ...headerOf(value()) })
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_request' })
  })

  test('without authorities of the option, no certificate is trusted for its subject', async () => {
    const unverified = await startWith({ header })
    unverified.app.set('trust proxy', 'loopback')
    const server = await listen(unverified.app)
    expect(await send(`${server.origin}/oauth/token`, { form, ...headerOf(good()) })).toEqual(refused)
    await server.close()
  })
})

describe('a token that is bound to a certificate', () => {
  let api: TestServer
  let tls: Awaited<ReturnType<typeof openMutualTls>>
  const introspection = { clientId: 'secret', clientSecret: secret }
  /** Tokens of the client `bound` by their resource. */
  const tokens = new Map<string | undefined, Record<string, string>>()
  beforeAll(async () => {
    host.app.get('/api/bound', host.oauth.requireToken('notes:read'), (_req, res) => void res.end('{}'))
    const remote = express()
    const options = { issuer: `${plain.origin}/oauth`, mutualTls: true }
    const guards = {
      jwt: resourceServer({ ...options, audience }),
      opaque: resourceServer({ ...options, audience: `${audience}/opaque`, introspection }),
      unaware: resourceServer({ issuer: options.issuer, audience }),
    }
    for (const [path, { requireToken }] of Object.entries(guards))
      remote.get(`/${path}`, requireToken('notes:read'), (_req, res) => void res.end('{}'))
    api = await listen(remote)
    tls = await openMutualTls(own, authority.cert, remote)
    for (const resource of [undefined, audience, `${audience}/opaque`])
      tokens.set(resource, await tokensOf('bound', resource))
  })
  afterAll(async () => {
    await api.close()
    await tls.close()
  })

  const sendWith = (certificate: Certificate | undefined, url: string, more: object) =>
    send(url, { ca: authority.cert, certificate, ...more })
  const tokensOf = async (client_id: string, resource?: string) => {
    const { verifier, challenge } = pkce()
    const asked = { client_id, scope, resource, code_challenge: challenge, code_challenge_method: 'S256' }
    const code = await codeFor(host, asked)
    const redemption = { grant_type: 'authorization_code', redirect_uri: callback, code_verifier: verifier }
    const form = { ...redemption, client_id, code }
    const { status, body } = await sendWith(certificates.good, `${native.origin}/oauth/token`, { form })
    expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'Bearer' })
    return body as Record<string, string>
  }

  test.each<[string, () => string, string | undefined]>([
    ['UserInfo', () => `${native.origin}/oauth/userinfo`, undefined],
    ['a guard in this process', () => `${native.origin}/api/bound`, undefined],
    ['a guard elsewhere, as a JWT', () => `${tls.origin}/jwt`, audience],
    ['a guard elsewhere, by introspection', () => `${tls.origin}/opaque`, `${audience}/opaque`],
  ])('works at %s with that certificate alone', async (_what, url, resource) => {
    const token = tokens.get(resource)?.access_token
    const statusWith = async (certificate?: Certificate) =>
      (await sendWith(certificate, url(), { token })).status
    expect(await statusWith(certificates.good)).toBe(200)
    // The same subject and authority, another certificate.
    expect(await statusWith(certificates.renewed)).toBe(401)
    expect(await statusWith()).toBe(401)
  })

  test('is refused by an API that reads no certificates', async () => {
    const token = tokens.get(audience)?.access_token
    expect((await sendWith(certificates.good, `${tls.origin}/unaware`, { token })).status).toBe(401)
  })

  test('shows its certificate to introspection', async () => {
    const form = { token: tokens.get(undefined)?.access_token, client_id: 'bound' }
    const { body } = await sendWith(certificates.good, `${native.origin}/oauth/introspect`, { form })
    const { fingerprint256 } = new X509Certificate(certificates.good.cert)
    const thumbprint = Buffer.from(fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')
    const expected = { active: true, token_type: 'Bearer', cnf: { 'x5t#S256': thumbprint } }
    expect(body).toMatchObject(expected)
  })

  test('is not issued without a certificate', async () => {
    const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
    const { status, body } = await ask('public', undefined, native.origin, fields)
    const error_description = expect.stringContaining('a client certificate is required')
    expect({ status, body }).toEqual({ status: 400, body: { error: 'invalid_request', error_description } })
  })

  test('binds the refresh tokens that a public client got before its tokens were bound (M8)', async () => {
    const client_id = 'later'
    const first = await tokensOf(client_id)
    await host.oauth.clients.update(client_id, { tls_client_certificate_bound_access_tokens: true })
    const by = (certificate: Certificate, refresh_token: unknown) =>
      ask(client_id, certificate, native.origin, {
        grant_type: 'refresh_token',
        refresh_token: String(refresh_token),
      })
    const next = (await by(certificates.good, first.refresh_token)).body
    expect((await by(certificates.renewed, next.refresh_token)).status).toBe(400)
    expect((await by(certificates.good, next.refresh_token)).status).toBe(200)
  })

  test.each([
    ['public', 400],
    ['bound', 200],
  ])(
    'a refresh token of the client %s with another certificate is answered with %d',
    async (clientId, status) => {
      const { refresh_token } = await tokensOf(clientId)
      const by = (certificate: Certificate) =>
        ask(clientId, certificate, native.origin, { grant_type: 'refresh_token', refresh_token })
      expect((await by(certificates.renewed)).status).toBe(status)
      expect((await by(certificates.good)).status).toBe(200)
    },
  )
})

test('discovery names the methods, the binding and the endpoints of the other host', async () => {
  const { body } = await send(`${plain.origin}/oauth/.well-known/openid-configuration`)
  const at = (path: string) => `https://mtls.example.com/oauth${path}`
  expect(body).toMatchObject({
    token_endpoint_auth_methods_supported: expect.arrayContaining([
      'tls_client_auth',
      'self_signed_tls_client_auth',
    ]),
    tls_client_certificate_bound_access_tokens: true,
    mtls_endpoint_aliases: {
      token_endpoint: at('/token'),
      userinfo_endpoint: at('/userinfo'),
      introspection_endpoint: at('/introspect'),
      revocation_endpoint: at('/revoke'),
    },
  })
})
