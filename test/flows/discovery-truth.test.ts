import { text } from 'node:stream/consumers'
import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import supertest from 'supertest'
import { type AuthRouterOptions, type ClientSeed, seedClients } from '../../lib/index.ts'
import { certificate } from '../support/certificate.ts'
import { type ClientAnswer, clientAnswer } from '../support/client-answer.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { grace, onePerson } from '../support/person.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import type { TokenAnswer } from '../support/tokens.ts'

type Fields = Readonly<Record<string, string | undefined>>

/** By what a client of each method proves who it is; one that is not here is advertised without a probe. */
const authMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const
type AuthMethod = (typeof authMethods)[number]

const assertionAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const
const signingAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
const [withCode, without] = [
  ['code id_token', 'code token', 'code id_token token'],
  ['token', 'id_token', 'id_token token'],
] as const
const frontChannel = [...without, ...withCode]
const everyScope = 'openid profile email address phone offline_access roles'
const loggedOut = 'https://client.example.com/signed-out'

let keys: Record<string, ClientKey>
let client: TestServer
/** Logout tokens that reached the client. */
const logoutTokens: string[] = []
let heard: (() => void) | undefined
/** What is at the client's `request_uri`. */
let requestObject = ''

beforeAll(async () => {
  const made = async (alg: string) => [alg, await createClientKey(alg === 'Ed25519' ? 'EdDSA' : alg)]
  keys = Object.fromEntries(await Promise.all(assertionAlgorithms.map(made)))
  client = await openServer()
  client.serve(async (req, res) => {
    if (req.url === '/client.json') {
      const client_id = `${client.origin}/client.json`
      const document = { client_id, client_name: 'Document', redirect_uris: [callback] }
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    }
    if (req.url === '/object') return void res.end(requestObject)
    logoutTokens.push(new URLSearchParams(await text(req)).get('logout_token') ?? '')
    res.writeHead(200).end()
    heard?.()
  })
})
afterAll(() => client.close())

const jwksOf = ({ publicJwk }: ClientKey): ClientSeed['jwks'] => ({ keys: [publicJwk] }) as ClientSeed['jwks']

const objectBy = async (alg: string): Promise<string> => {
  if (alg === 'none') return `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`
  const { privateKey } = keys[alg]!
  return new SignJWT({}).setProtectedHeader({ alg }).sign(privateKey)
}

const confidential = { client_secret: secret, redirect_uris: [callback], scope: everyScope }
const seeds = (implicit: boolean): ClientSeed[] => [
  {
    ...confidential,
    client_id: 'web',
    request_uris: [`${client.origin}/object`],
    grant_types: ['authorization_code', 'refresh_token', ...(implicit ? (['implicit'] as const) : [])],
    response_types: ['code', ...(implicit ? frontChannel : [])],
    post_logout_redirect_uris: [loggedOut],
    backchannel_logout_uri: `${client.origin}/logged-out`,
    frontchannel_logout_uri: `${callback}/out`,
  },
  { ...confidential, client_id: 'pairwise', subject_type: 'pairwise' },
  { ...confidential, client_id: 'bound', tls_client_certificate_bound_access_tokens: true },
  { client_id: 'machine', client_secret: secret, grant_types: ['client_credentials'], scope: 'roles' },
  ...authMethods.map((method) => ({
    client_id: method,
    token_endpoint_auth_method: method,
    redirect_uris: [callback],
    scope: everyScope,
    ...(method.startsWith('client_secret') && { client_secret: secret }),
    ...(method === 'private_key_jwt' && { jwks: jwksOf(keys.ES256!) }),
  })),
  ...assertionAlgorithms.map((alg) => ({
    client_id: `assertion-${alg}`,
    token_endpoint_auth_method: 'private_key_jwt' as const,
    token_endpoint_auth_signing_alg: alg,
    request_object_signing_alg: alg,
    request_uris: [`${client.origin}/object`],
    redirect_uris: [callback],
    scope: everyScope,
    jwks: jwksOf(keys[alg]!),
  })),
  ...signingAlgorithms.flatMap((alg) => [
    { ...confidential, client_id: `id-token-${alg}`, id_token_signed_response_alg: alg },
    { ...confidential, client_id: `userinfo-${alg}`, userinfo_signed_response_alg: alg },
    { ...confidential, client_id: `response-${alg}`, authorization_signed_response_alg: alg },
  ]),
]

describe.each([
  ['by default', {}],
  ['with features.implicit', { implicit: true }],
  [
    'with clients that describe themselves and request objects',
    {
      registration: true,
      clientMetadataDocuments: true,
      requestObjects: true,
      pushedRequests: true as const,
      mutualTls: { header: 'Client-Cert', ca: certificate.cert, url: 'https://mtls.example.com/oauth' },
      frontChannelLogout: true,
    },
  ],
])('%s', (_, features) => {
  const implicit = 'implicit' in features
  let host: Host
  /** What discovery says. */
  let said: Readonly<Record<string, unknown>>
  beforeAll(async () => {
    const options: Partial<AuthRouterOptions> = {
      users: onePerson(),
      features,
      scopes: { roles: { description: 'Know your roles', claims: ['roles', 'rank'] } },
      outbound: { allow: [client.origin] },
    }
    host = await startHost({ clients: seeds(implicit), options })
    host.app.set('trust proxy', 'loopback')
    said = (await supertest(host.app).get('/oauth/.well-known/openid-configuration')).body
  })
  afterAll(() => host.close())

  /** A list in it. */
  const listed = (name: string): readonly string[] => said[name] as string[]

  /** The path of an endpoint, as discovery names it. */
  const pathOf = (name: string): string => String(said[name]).replace('http://localhost:3000', '')

  const authorizeAt = (parameters: Record<string, string>): string =>
    authorizeUrl(parameters).replace('/oauth/authorize', pathOf('authorization_endpoint'))

  const grant = (parameters: Fields, agent = new RawBrowser(host.app)): Promise<Answer> => {
    const given = Object.entries({ client_id: 'web', scope: everyScope, nonce: 'n', ...parameters })
    const fields = given.filter((entry): entry is [string, string] => entry[1] !== undefined)
    return agent.grant(authorizeAt(Object.fromEntries(fields)), grace.email, grace.password)
  }

  /** A POST to an endpoint by a client that proves itself by this method. */
  const send = async (
    name: string,
    fields: Fields,
    method: AuthMethod = 'client_secret_post',
    client_id = 'web',
    key = keys.ES256!,
  ): Promise<supertest.Response> => {
    const proofs: Record<AuthMethod, () => Promise<Fields>> = {
      client_secret_basic: async () => ({}),
      client_secret_post: async () => ({ client_id, client_secret: secret }),
      private_key_jwt: async () => ({ client_id, ...asserted(await assertion(client_id, key)) }),
      none: async () => ({ client_id }),
    }
    const pairs = Object.entries({ ...fields, ...(await proofs[method]()) })
    const body = new URLSearchParams(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined))
    const request = supertest(host.app).post(pathOf(name)).type('form')
    if (method === 'client_secret_basic') request.auth(client_id, secret)
    return request.send(body.toString())
  }

  type By = { method?: AuthMethod; client_id?: string; more?: Fields; key?: ClientKey }
  const redeem = (answer: Answer, { method, client_id, more, key }: By = {}) => {
    const { code } = clientAnswer(answer).fields
    const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, ...more }
    return send('token_endpoint', fields, method, client_id, key)
  }

  const tokensOf = async (response: supertest.Response): Promise<TokenAnswer> => {
    if (response.status !== 200) throw new Error(`expected tokens: ${response.status} ${response.text}`)
    return response.body
  }
  /** Tokens of the client `web`, or of another that sends its secret in the form. */
  const tokensFor = async (parameters: Fields = {}, agent?: RawBrowser): Promise<TokenAnswer> =>
    tokensOf(await redeem(await grant(parameters, agent), { client_id: parameters.client_id }))

  /** Tokens of a client by its method; public ones with PKCE. */
  const tokensBy = async (method: AuthMethod, client_id: string, key?: ClientKey): Promise<TokenAnswer> => {
    const { verifier, challenge } = pkce()
    const isPublic = method === 'none'
    const asked = isPublic ? { code_challenge: challenge, code_challenge_method: 'S256' } : {}
    const more = isPublic ? { code_verifier: verifier } : {}
    return tokensOf(await redeem(await grant({ client_id, ...asked }), { method, client_id, more, key }))
  }

  const verify = async (jwt: string, audience: string, alg = 'RS256'): Promise<JWTPayload> => {
    expect(decodeProtectedHeader(jwt).alg).toBe(alg)
    const { body } = await supertest(host.app).get(pathOf('jwks_uri'))
    return (await jwtVerify(jwt, createLocalJWKSet(body), { issuer, audience })).payload
  }

  const userinfoOf = (token: string) =>
    supertest(host.app).get(pathOf('userinfo_endpoint')).set('Authorization', `Bearer ${token}`)

  const isActive = async (token: string): Promise<boolean> =>
    (await send('introspection_endpoint', { token })).body.active

  /** All claims of a user that any response contains. */
  const allClaims = async (): Promise<Set<string>> => {
    const types = listed('response_types_supported')
    const idTokens: string[] = []
    const names: string[] = []
    for (const response_type of types) {
      const answer = await grant({ response_type })
      const { fields } = clientAnswer(answer)
      if (fields.id_token) idTokens.push(fields.id_token)
      if (!fields.code) continue
      const tokens = await tokensOf(await redeem(answer))
      idTokens.push(tokens.id_token)
      names.push(...Object.keys((await userinfoOf(tokens.access_token)).body))
    }
    for (const idToken of idTokens) names.push(...Object.keys(await verify(idToken, 'web')))
    return new Set(names)
  }

  type Probes = Readonly<Record<string, () => Promise<unknown>>>
  const each = async (name: string, ...some: readonly Probes[]): Promise<void> => {
    const probes: Probes = Object.assign({}, ...some)
    expect(new Set(listed(name)).size).toBe(listed(name).length)
    for (const value of listed(name)) {
      const probe = Object.hasOwn(probes, value) ? probes[value] : undefined
      if (probe === undefined) throw new Error(`${name} holds ${value}, for which there is no probe`)
      await probe()
    }
  }

  const probesOf = (
    values: readonly string[],
    probe: (value: string) => Promise<unknown>,
  ): Record<string, () => Promise<unknown>> =>
    Object.fromEntries(values.map((value) => [value, () => probe(value)]))

  /** Each method and algorithm at one endpoint. */
  const authenticates = async (
    endpoint: string,
    fields: (client_id: string, tokens: TokenAnswer) => Fields,
    works: (response: supertest.Response) => void,
  ): Promise<void> => {
    await each(
      `${endpoint}_auth_methods_supported`,
      probesOf(authMethods, async (name) => {
        const method = name as AuthMethod
        const tokens = await tokensBy(method, name)
        works(await send(endpoint, fields(name, tokens), method, name))
      }),
    )
    await each(
      `${endpoint}_auth_signing_alg_values_supported`,
      probesOf(assertionAlgorithms, async (alg) => {
        const client_id = `assertion-${alg}`
        const key = { ...keys[alg]!, alg }
        const tokens = await tokensBy('private_key_jwt', client_id, key)
        works(await send(endpoint, fields(client_id, tokens), 'private_key_jwt', client_id, key))
      }),
    )
  }

  const errorOf = async (parameters: Fields): Promise<string | undefined> => {
    const given = { client_id: 'web', scope: 'openid', nonce: 'n', prompt: 'none', ...parameters }
    const answer = await new RawBrowser(host.app).get(authorizeAt(given as Record<string, string>))
    return clientAnswer(answer).fields.error
  }

  /** Every name that discovery may publish, with the proof that it is so. */
  const probes: Readonly<Record<string, () => Promise<void>>> = {
    issuer: async () => {
      expect(said.issuer).toBe(issuer)
      expect((await supertest(host.app).get('/oauth/.well-known/openid-configuration')).body).toEqual(said)
    },
    authorization_endpoint: async () => {
      expect(clientAnswer(await grant({})).fields.code).toMatch(/^lk_ac_/)
      const agent = new RawBrowser(host.app)
      const asked = { response_type: 'code', client_id: 'web', redirect_uri: callback, prompt: 'none' }
      const posted = await agent.post(pathOf('authorization_endpoint'), { ...asked, scope: 'openid' })
      expect(clientAnswer(await agent.follow(posted)).fields.error).toBe('login_required')
    },
    token_endpoint: async () => {
      expect(await tokensFor()).toMatchObject({ token_type: 'Bearer' })
    },
    userinfo_endpoint: async () => {
      const { access_token } = await tokensFor()
      expect((await userinfoOf(access_token)).body).toMatchObject({ sub: 'grace-1' })
      const posting = supertest(host.app).post(pathOf('userinfo_endpoint'))
      const posted = await posting.type('form').send({ access_token })
      expect(posted.body).toMatchObject({ sub: 'grace-1' })
    },
    jwks_uri: async () => {
      const { id_token } = await tokensFor()
      expect(await verify(id_token, 'web')).toMatchObject({ sub: 'grace-1' })
    },
    end_session_endpoint: async () => {
      const agent = new RawBrowser(host.app)
      const { id_token } = await tokensFor({}, agent)
      const hint = { id_token_hint: id_token, post_logout_redirect_uri: loggedOut }
      const query = new URLSearchParams({ ...hint, state: 's' })
      const done = await agent.get(`${pathOf('end_session_endpoint')}?${query}`)
      expect(done.headers.location).toBe(`${loggedOut}?state=s`)
      const silent = await agent.get(authorizeAt({ client_id: 'web', scope: 'openid', prompt: 'none' }))
      expect(clientAnswer(silent).fields.error).toBe('login_required')
    },
    revocation_endpoint: async () => {
      const { access_token, refresh_token } = await tokensFor()
      expect((await send('revocation_endpoint', { token: refresh_token })).status).toBe(200)
      expect((await userinfoOf(access_token)).status).toBe(401)
    },
    introspection_endpoint: async () => {
      const { access_token } = await tokensFor()
      expect(await isActive(access_token)).toBe(true)
      expect(await isActive(`lk_at_${'A'.repeat(43)}`)).toBe(false)
    },
    scopes_supported: async () => {
      expect([...listed('scopes_supported')].sort()).toEqual(everyScope.split(' ').sort())
      await each(
        'scopes_supported',
        probesOf(everyScope.split(' '), async (scope) => {
          expect((await tokensFor({ scope })).scope).toBe(scope)
        }),
      )
    },
    response_types_supported: async () => {
      await each(
        'response_types_supported',
        probesOf(['code', ...frontChannel], async (response_type) => {
          const { fields } = clientAnswer(await grant({ response_type }))
          const names: Record<string, string> = { token: 'access_token' }
          const wanted = response_type.split(' ').map((word) => names[word] ?? word)
          const given = Object.keys(fields).filter((name) => /^(code|access_token|id_token)$/.test(name))
          expect(given.sort()).toEqual(wanted.sort())
        }),
      )
    },
    response_modes_supported: async () => {
      await each(
        'response_modes_supported',
        probesOf(['query', 'fragment', 'form_post'], async (response_mode) => {
          const answer: ClientAnswer = clientAnswer(await grant({ response_mode }))
          expect(answer).toMatchObject({ mode: response_mode, fields: { code: expect.any(String) } })
        }),
        probesOf(['jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'], async (response_mode) => {
          const client_id = 'response-ES256'
          const { mode, fields } = clientAnswer(await grant({ client_id, response_mode }))
          expect(mode).toBe(response_mode === 'jwt' ? 'query' : response_mode.replace('.jwt', ''))
          expect(await verify(fields.response!, client_id, 'ES256')).toHaveProperty('code')
        }),
      )
    },
    authorization_signing_alg_values_supported: () =>
      each(
        'authorization_signing_alg_values_supported',
        probesOf(signingAlgorithms, async (alg) => {
          const client_id = `response-${alg}`
          const { fields } = clientAnswer(await grant({ client_id, response_mode: 'jwt' }))
          expect(await verify(fields.response!, client_id, alg)).toHaveProperty('code')
        }),
      ),
    grant_types_supported: async () => {
      await each('grant_types_supported', {
        authorization_code: () => tokensFor(),
        refresh_token: async () => {
          const { refresh_token } = await tokensFor()
          await tokensOf(await send('token_endpoint', { grant_type: 'refresh_token', refresh_token }))
        },
        client_credentials: async () => {
          const fields = { grant_type: 'client_credentials' }
          await tokensOf(await send('token_endpoint', fields, 'client_secret_post', 'machine'))
        },
        implicit: async () => {
          const { fields } = clientAnswer(await grant({ response_type: 'token' }))
          expect((await userinfoOf(String(fields.access_token))).status).toBe(200)
        },
      })
      expect(listed('grant_types_supported').includes('implicit')).toBe(implicit)
    },
    token_endpoint_auth_methods_supported: () =>
      authenticates(
        'token_endpoint',
        (_client, { refresh_token }) => ({ grant_type: 'refresh_token', refresh_token }),
        ({ status, body }) =>
          expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'Bearer' }),
      ),
    revocation_endpoint_auth_methods_supported: async () => {
      const revoked: string[] = []
      await authenticates(
        'revocation_endpoint',
        (_client, { refresh_token, access_token }) => {
          revoked.push(access_token)
          return { token: refresh_token }
        },
        ({ status }) => expect(status).toBe(200),
      )
      for (const token of revoked) expect((await userinfoOf(token)).status).toBe(401)
    },
    introspection_endpoint_auth_methods_supported: () =>
      authenticates(
        'introspection_endpoint',
        (_client, { access_token }) => ({ token: access_token }),
        ({ status, body }) => expect({ status, active: body.active }).toEqual({ status: 200, active: true }),
      ),
    code_challenge_methods_supported: () =>
      each(
        'code_challenge_methods_supported',
        probesOf(['S256', 'plain'], async (method) => {
          const { verifier, challenge } = pkce()
          const code_challenge = method === 'plain' ? verifier : challenge
          const asked = { code_challenge, code_challenge_method: method }
          const by = async (code_verifier: string) => redeem(await grant(asked), { more: { code_verifier } })
          expect((await by('w'.repeat(43))).body.error).toBe('invalid_grant')
          await tokensOf(await by(verifier))
        }),
      ),
    subject_types_supported: () =>
      each('subject_types_supported', {
        public: async () => {
          const { id_token } = await tokensFor()
          expect((await verify(id_token, 'web')).sub).toBe('grace-1')
        },
        pairwise: async () => {
          const tokens = await tokensFor({ client_id: 'pairwise' })
          const { sub } = await verify(tokens.id_token, 'pairwise')
          expect(sub).toMatch(/^[\w-]{43}$/)
          expect((await userinfoOf(tokens.access_token)).body.sub).toBe(sub)
        },
      }),
    id_token_signing_alg_values_supported: () =>
      each(
        'id_token_signing_alg_values_supported',
        probesOf(signingAlgorithms, async (alg) => {
          const client_id = `id-token-${alg}`
          const tokens = await tokensFor({ client_id })
          expect(await verify(tokens.id_token, client_id, alg)).toMatchObject({ sub: 'grace-1' })
        }),
      ),
    userinfo_signing_alg_values_supported: () =>
      each(
        'userinfo_signing_alg_values_supported',
        probesOf(signingAlgorithms, async (alg) => {
          const client_id = `userinfo-${alg}`
          const tokens = await tokensFor({ client_id })
          const response = await userinfoOf(tokens.access_token)
          expect(response.headers['content-type']).toBe('application/jwt')
          const jwt = response.text ?? response.body.toString()
          expect(await verify(jwt, client_id, alg)).toMatchObject({ sub: 'grace-1' })
        }),
      ),
    claim_types_supported: async () => {
      expect(said.claim_types_supported).toEqual(['normal'])
    },
    claims_supported: async () => {
      const told = await allClaims()
      expect([...told].sort()).toEqual([...listed('claims_supported')].sort())
    },
    prompt_values_supported: async () => {
      const agent = new RawBrowser(host.app)
      const asked = { client_id: 'web', scope: 'openid' }
      await agent.grant(authorizeAt(asked), grace.email, grace.password)
      const where = async (prompt: string): Promise<string> => {
        const answer = await agent.open(authorizeAt({ ...asked, prompt }))
        return answer.location === undefined ? answer.url.pathname : 'the client'
      }
      await each('prompt_values_supported', {
        none: async () => expect(await where('none')).toBe('the client'),
        login: async () => expect(await where('login')).toBe('/oauth/login'),
        select_account: async () => expect(await where('select_account')).toBe('/oauth/select-account'),
        consent: async () => expect(await where('consent')).toBe('/oauth/consent'),
      })
    },
    ui_locales_supported: async () => {
      const answeredIn = async (ui_locales: string): Promise<string | undefined> => {
        const page = await new RawBrowser(host.app).open(authorizeAt({ client_id: 'web', ui_locales }))
        return /<html lang="([^"]*)"/.exec(page.html)?.[1]
      }
      const languages = ['ar', 'de', 'en', 'es', 'fr', 'ja']
      const probe = async (tag: string) => expect(await answeredIn(tag)).toBe(tag)
      await each('ui_locales_supported', probesOf(languages, probe))
      expect(await answeredIn('nl')).toBe('en')
    },
    authorization_response_iss_parameter_supported: async () => {
      expect(said.authorization_response_iss_parameter_supported).toBe(true)
      expect(clientAnswer(await grant({})).fields.iss).toBe(issuer)
      const agent = new RawBrowser(host.app)
      const silent = await agent.get(authorizeAt({ client_id: 'web', scope: 'openid', prompt: 'none' }))
      expect(clientAnswer(silent).fields).toMatchObject({ error: 'login_required', iss: issuer })
    },
    backchannel_logout_supported: async () => {
      const { backchannel_logout_supported, backchannel_logout_session_supported } = said
      expect([backchannel_logout_supported, backchannel_logout_session_supported]).toEqual([true, true])
      const agent = new RawBrowser(host.app)
      const { id_token } = await tokensFor({}, agent)
      const { sid, sub } = await verify(id_token, 'web')
      logoutTokens.length = 0
      const lookup = new Promise<void>((resolve) => {
        heard = resolve
      })
      await agent.get(`${pathOf('end_session_endpoint')}?${new URLSearchParams({ id_token_hint: id_token })}`)
      await lookup
      expect(await verify(String(logoutTokens[0]), 'web')).toMatchObject({
        sid,
        sub,
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      })
    },
    claims_parameter_supported: async () => {
      expect(said.claims_parameter_supported).toBe(true)
      const claims = JSON.stringify({ userinfo: { nickname: null }, id_token: { gender: null } })
      const tokens = await tokensFor({ scope: 'openid', claims })
      expect((await userinfoOf(tokens.access_token)).body).toHaveProperty('nickname')
      expect(await verify(tokens.id_token, 'web')).toHaveProperty('gender')
    },
    request_parameter_supported: async () => {
      expect(said.request_parameter_supported).toBe(false)
      expect(await errorOf({ request: 'eyJhbGciOiJub25lIn0.e30.' })).toBe('request_not_supported')
    },
    request_uri_parameter_supported: async () => {
      expect(said.request_uri_parameter_supported).toBe(false)
      expect(said.require_request_uri_registration).toBe(false)
      const asked = logoutTokens.length
      expect(await errorOf({ request_uri: `${client.origin}/request` })).toBe('request_uri_not_supported')
      // Nothing was fetched.
      expect(logoutTokens).toHaveLength(asked)
    },
  }

  const ofSelfDescription: Readonly<Record<string, () => Promise<void>>> = {
    registration_endpoint: async () => {
      const members = { redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_post' }
      const { body } = await supertest(host.app).post(pathOf('registration_endpoint')).send(members)
      const { client_id, client_secret } = body
      const code = clientAnswer(await grant({ client_id, scope: 'openid' })).fields.code!
      const fields = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: callback,
        client_id,
        client_secret,
      }
      await tokensOf(await send('token_endpoint', fields, 'none', client_id))
    },
    request_parameter_supported: async () => {
      expect(said.request_parameter_supported).toBe(true)
      for (const alg of assertionAlgorithms)
        expect(await errorOf({ client_id: `assertion-${alg}`, request: await objectBy(alg) })).toBe(
          'login_required',
        )
    },
    request_uri_parameter_supported: async () => {
      expect(said.request_uri_parameter_supported).toBe(true)
      expect(said.require_request_uri_registration).toBe(true)
      expect(await errorOf({ request_uri: `${client.origin}/unregistered` })).toBe('invalid_request_uri')
      const algorithms = ['none', ...assertionAlgorithms]
      const probe = async (alg: string) => {
        requestObject = await objectBy(alg)
        const client_id = alg === 'none' ? 'web' : `assertion-${alg}`
        expect(await errorOf({ client_id, request_uri: `${client.origin}/object` })).toBe('login_required')
      }
      await each('request_object_signing_alg_values_supported', probesOf(algorithms, probe))
    },
    frontchannel_logout_supported: async () => {
      const { frontchannel_logout_supported, frontchannel_logout_session_supported } = said
      expect([frontchannel_logout_supported, frontchannel_logout_session_supported]).toEqual([true, true])
      const agent = new RawBrowser(host.app)
      const { id_token } = await tokensFor({}, agent)
      const { sid } = await verify(id_token, 'web')
      const hint = new URLSearchParams({ id_token_hint: id_token })
      const { html } = await agent.get(`${pathOf('end_session_endpoint')}?${hint}`)
      const query = new URLSearchParams({ iss: issuer, sid: String(sid) })
      expect(html.replaceAll('&amp;', '&')).toContain(`<iframe src="${callback}/out?${query}"`)
    },
    pushed_authorization_request_endpoint: async () => {
      const fields = { response_type: 'code', redirect_uri: callback, scope: 'openid' }
      const { body } = await send('pushed_authorization_request_endpoint', fields)
      const query = new URLSearchParams({ client_id: 'web', request_uri: body.request_uri })
      const answer = await new RawBrowser(host.app).grant(
        `${pathOf('authorization_endpoint')}?${query}`,
        ...([grace.email, grace.password] as const),
      )
      expect(clientAnswer(answer).fields.code).toMatch(/^lk_ac_/)
    },
    tls_client_certificate_bound_access_tokens: async () => {
      const { code } = clientAnswer(await grant({ client_id: 'bound', scope: 'openid' })).fields
      const fields = { grant_type: 'authorization_code', code, redirect_uri: callback }
      const sent = new URLSearchParams({ ...fields, client_id: 'bound', client_secret: secret } as never)
      const withCertificate = (request: supertest.Test) =>
        request.set('Client-Cert', encodeURIComponent(certificate.cert))
      const tokens = supertest(host.app).post(pathOf('token_endpoint')).type('form')
      const { access_token } = await tokensOf(await withCertificate(tokens).send(sent.toString()))
      expect((await userinfoOf(access_token)).status).toBe(401)
      expect((await withCertificate(userinfoOf(access_token))).status).toBe(200)
    },
    mtls_endpoint_aliases: async () => {
      const aliases = said.mtls_endpoint_aliases as Record<string, string>
      expect(Object.keys(aliases)).toContain('token_endpoint')
      for (const [name, alias] of Object.entries(aliases))
        expect(alias).toBe(String(said[name]).replace('http://localhost:3000', 'https://mtls.example.com'))
    },
    client_id_metadata_document_supported: async () => {
      const client_id = `${client.origin}/client.json`
      const page = await new RawBrowser(host.app).open(
        authorizeAt({ client_id, code_challenge: pkce().challenge, code_challenge_method: 'S256' }),
      )
      expect({ path: page.url.pathname, said: said.client_id_metadata_document_supported }).toEqual({
        path: '/oauth/login',
        said: true,
      })
    },
  }
  const describesItself = 'registration' in features
  if (describesItself) Object.assign(probes, ofSelfDescription)

  /** Names whose proof stands under another. */
  const together: Readonly<Record<string, string>> = {
    token_endpoint_auth_signing_alg_values_supported: 'token_endpoint_auth_methods_supported',
    revocation_endpoint_auth_signing_alg_values_supported: 'revocation_endpoint_auth_methods_supported',
    introspection_endpoint_auth_signing_alg_values_supported: 'introspection_endpoint_auth_methods_supported',
    backchannel_logout_session_supported: 'backchannel_logout_supported',
    ...(describesItself && {
      frontchannel_logout_session_supported: 'frontchannel_logout_supported',
    }),
    require_request_uri_registration: 'request_uri_parameter_supported',
    ...(describesItself && {
      request_object_signing_alg_values_supported: 'request_uri_parameter_supported',
    }),
  }

  test('each published name is proven here, and each proof belongs to a name', () => {
    expect(Object.keys(said).sort()).toEqual([...Object.keys(probes), ...Object.keys(together)].sort())
  })

  // Without features.implicit the others are the same code.
  const plain = ['response_types_supported', 'grant_types_supported', 'claims_supported']
  const probed = implicit ? Object.keys(probes) : describesItself ? Object.keys(ofSelfDescription) : plain
  test.each(probed)('%s is true', (name) => probes[name]!(), 60_000)

  describe('what is not named is refused', () => {
    const unnamed = (name: string, candidates: readonly string[]): string[] =>
      candidates.filter((value) => !listed(name).includes(value))

    test('signatures of a client by other algorithms', async () => {
      for (const alg of unnamed('token_endpoint_auth_signing_alg_values_supported', ['RS512', 'PS384'])) {
        const key = await createClientKey(alg)
        const seed: ClientSeed = {
          client_id: 'other-algorithm',
          token_endpoint_auth_method: 'private_key_jwt',
          redirect_uris: [callback],
          jwks: jwksOf(key),
        }
        const { knex, tablePrefix } = host.database
        await seedClients(knex, [seed], { tablePrefix })
        const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
        const res = await send('token_endpoint', fields, 'private_key_jwt', 'other-algorithm', key)
        expect(res.body.error).toBe('invalid_client')
      }
    })

    test('claims are not returned to any client', async () => {
      const names = unnamed('claims_supported', ['shoe_size', 'acr', 'password', 'groups'])
      const members = Object.fromEntries(names.map((name) => [name, { essential: true }]))
      const claims = JSON.stringify({ userinfo: members, id_token: members })
      const tokens = await tokensFor({ scope: 'openid', claims })
      const { body } = await userinfoOf(tokens.access_token)
      const told = { ...body, ...(await verify(tokens.id_token, 'web')) }
      for (const name of names) expect(told).not.toHaveProperty(name)
    })
  })
})
