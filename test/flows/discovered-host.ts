import { text } from 'node:stream/consumers'
import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import supertest from 'supertest'
import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { openServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, issuer, secret, startHost } from '../support/host.ts'
import { createInbox, type Inbox } from '../support/logout-receiver.ts'
import { grace, onePerson } from '../support/person.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import type { TokenAnswer } from '../support/tokens.ts'

type Fields = Readonly<Record<string, string>>

/** By what a client of each method proves who it is; one that is not here is advertised without a probe. */
export const authMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const

export const assertionAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const
/** Algorithms of assertions that discovery does not name. */
export const otherAlgorithms = ['RS512', 'PS384']
export const signingAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
export const frontChannel = [
  'token',
  'id_token',
  'id_token token',
  'code id_token',
  'code token',
  'code id_token token',
]
export const everyScope = 'openid profile email address phone offline_access roles'
export const loggedOut = 'https://client.example.com/signed-out'

/** Where the clients of these hosts listen, and their keys. */
export interface ClientSite {
  readonly origin: string
  readonly keys: Readonly<Record<string, ClientKey>>
  /** Logout tokens that arrived. */
  readonly logoutTokens: Inbox<string>
  /** What is at `/object`. */
  requestObject: string
  /** How often something was read, other than a metadata document. */
  reads: number
  /** A request object without claims, signed by this algorithm. */
  objectBy(alg: string): Promise<string>
  close(): Promise<void>
}

export const openClientSite = async (): Promise<ClientSite> => {
  const made = async (alg: string) => [alg, await createClientKey(alg === 'Ed25519' ? 'EdDSA' : alg)]
  const keys = Object.fromEntries(await Promise.all([...assertionAlgorithms, ...otherAlgorithms].map(made)))
  const server = await openServer()
  const { origin } = server
  const logoutTokens = createInbox<string>()
  const objectBy = async (alg: string): Promise<string> => {
    if (alg === 'none') return `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`
    return new SignJWT({}).setProtectedHeader({ alg }).sign(keys[alg].privateKey)
  }
  const site: ClientSite = {
    origin,
    keys,
    logoutTokens,
    requestObject: '',
    reads: 0,
    objectBy,
    close: server.close,
  }
  server.serve(async (req, res) => {
    if (req.url === '/client.json') {
      const client_id = `${origin}/client.json`
      const document = { client_id, client_name: 'Document', redirect_uris: [callback] }
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    }
    if (req.method === 'GET') {
      site.reads += 1
      return void res.end(site.requestObject)
    }
    logoutTokens.add(new URLSearchParams(await text(req)).get('logout_token') ?? '')
    res.writeHead(200).end()
  })
  return site
}

const redirectUris = { redirect_uris: [callback], scope: everyScope }
const confidential = { ...redirectUris, client_secret: secret }

/** A client for each value that discovery may name. */
const seedsAt = ({ origin, keys }: ClientSite, implicit: boolean): ClientSeed[] => {
  const withKey = (alg: string) => ({
    ...redirectUris,
    token_endpoint_auth_method: 'private_key_jwt' as const,
    jwks: { keys: [keys[alg]!.publicJwk] } as ClientSeed['jwks'],
  })
  return [
    {
      ...confidential,
      client_id: 'web',
      request_uris: [`${origin}/object`],
      grant_types: ['authorization_code', 'refresh_token', ...(implicit ? (['implicit'] as const) : [])],
      response_types: ['code', ...(implicit ? frontChannel : [])] as ClientSeed['response_types'],
      post_logout_redirect_uris: [loggedOut],
      backchannel_logout_uri: `${origin}/logged-out`,
      frontchannel_logout_uri: `${callback}/out`,
    },
    { ...confidential, client_id: 'pairwise', subject_type: 'pairwise' },
    { ...confidential, client_id: 'bound', tls_client_certificate_bound_access_tokens: true },
    { client_id: 'machine', client_secret: secret, grant_types: ['client_credentials'], scope: 'roles' },
    ...(['client_secret_basic', 'client_secret_post'] as const).map((method) => ({
      ...confidential,
      client_id: method,
      token_endpoint_auth_method: method,
    })),
    { ...redirectUris, client_id: 'none', token_endpoint_auth_method: 'none' },
    { ...withKey('ES256'), client_id: 'private_key_jwt' },
    ...otherAlgorithms.map((alg) => ({ ...withKey(alg), client_id: alg })),
    ...assertionAlgorithms.map((alg) => ({
      ...withKey(alg),
      client_id: `assertion-${alg}`,
      request_uris: [`${origin}/object`],
      token_endpoint_auth_signing_alg: alg,
      request_object_signing_alg: alg,
    })),
    ...signingAlgorithms.map((alg) => ({
      ...confidential,
      client_id: `signed-${alg}`,
      id_token_signed_response_alg: alg,
      userinfo_signed_response_alg: alg,
      authorization_signed_response_alg: alg,
    })),
  ]
}

export const tokensOf = ({ status, body, text }: supertest.Response): TokenAnswer => {
  if (status !== 200) throw new Error(`expected tokens: ${status} ${text}`)
  return body
}

/** A host whose endpoints are all found through its metadata. */
export const startDiscoveredHost = async (
  site: ClientSite,
  { protocol, features }: Partial<Pick<AuthRouterOptions, 'protocol' | 'features'>>,
) => {
  const host: Host = await startHost({
    clients: seedsAt(site, protocol?.implicit === true),
    options: {
      users: onePerson(),
      ...(protocol && { protocol }),
      ...(features && { features }),
      outbound: { allow: [site.origin], allowSelfDescribed: [site.origin] },
      scopes: { roles: { description: 'Know your roles', claims: ['roles', 'rank'] } },
    },
  })
  const { app } = host
  app.set('trust proxy', 'loopback')
  const browser = new RawBrowser(app)
  const { body } = await supertest(app).get('/oauth/.well-known/openid-configuration')
  const metadata: Readonly<Record<string, unknown>> = body
  const listed = (name: string): readonly string[] => metadata[name] as string[]
  /** The path of an endpoint, as discovery names it. */
  const pathOf = (name: string, query?: Fields): string =>
    String(metadata[name]).replace('http://localhost:3000', '') +
    (query === undefined ? '' : `?${new URLSearchParams(query)}`)
  const asked = (parameters: Fields): string => {
    const url = authorizeUrl({ client_id: 'web', scope: everyScope, nonce: 'n', ...parameters })
    return url.replace('/oauth/authorize', pathOf('authorization_endpoint'))
  }
  const grant = (parameters: Fields = {}, agent = browser): Promise<Answer> =>
    agent.grant(asked(parameters), grace.email, grace.password)
  const granted = async (parameters: Fields = {}, agent = browser) =>
    clientAnswer(await grant(parameters, agent)).fields

  /** A POST to an endpoint by a client that proves itself by this method. */
  const send = async (
    name: string,
    fields: Fields,
    client_id = 'web',
    method = 'client_secret_post',
    key = site.keys.ES256!,
  ): Promise<supertest.Response> => {
    const proofs: Record<string, () => Promise<Fields>> = {
      client_secret_basic: async () => ({}),
      client_secret_post: async () => ({ client_id, client_secret: secret }),
      private_key_jwt: async () => ({ client_id, ...asserted(await assertion(client_id, key)) }),
      none: async () => ({ client_id }),
    }
    const request = supertest(app).post(pathOf(name)).type('form')
    if (method === 'client_secret_basic') request.auth(client_id, secret)
    return request.send(new URLSearchParams({ ...fields, ...(await proofs[method]?.()) }).toString())
  }
  const redeem = ({ code = '' }: Fields, client_id?: string, more: Fields = {}) => {
    const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, ...more }
    return send('token_endpoint', fields, client_id)
  }
  return {
    app,
    browser,
    metadata,
    listed,
    pathOf,
    asked,
    grant,
    granted,
    send,
    redeem,
    close: host.close,
    tokensFor: async (parameters: Fields = {}, agent = browser): Promise<TokenAnswer> =>
      tokensOf(await redeem(await granted(parameters, agent), parameters.client_id)),
    verify: async (jwt: string, audience: string, alg = 'RS256'): Promise<JWTPayload> => {
      expect(decodeProtectedHeader(jwt).alg).toBe(alg)
      const { body: jwks } = await supertest(app).get(pathOf('jwks_uri'))
      return (await jwtVerify(jwt, createLocalJWKSet(jwks), { issuer, audience })).payload
    },
    userinfoOf: (token: string) =>
      supertest(app).get(pathOf('userinfo_endpoint')).set('Authorization', `Bearer ${token}`),
    /** The error of a request in a browser without a login, in silence. */
    errorOf: async (parameters: Fields): Promise<string | undefined> => {
      const url = asked({ scope: 'openid', prompt: 'none', ...parameters })
      return clientAnswer(await new RawBrowser(app).get(url)).fields.error
    },
  }
}
