import supertest from 'supertest'
import { clientMetadataDocuments, pushedRequests, registration } from '../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { certificate } from '../support/certificate.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { callback, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { grace } from '../support/person.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { expectError } from '../support/tokens.ts'
import {
  assertionAlgorithms,
  authMethods,
  type ClientSite,
  everyScope,
  frontChannel,
  loggedOut,
  openClientSite,
  otherAlgorithms,
  signingAlgorithms,
  startDiscoveredHost,
  tokensOf,
} from './discovered-host.ts'

type Fields = Readonly<Record<string, string>>

describe.each(['/a/oauth', '/'])('mounted at %s', (mount) => {
  const base = mount === '/' ? '' : mount
  let host: Host
  beforeAll(async () => {
    host = await startHost({ mount })
  })
  afterAll(() => host.close())

  test('both documents are below the issuer and at the root, the same for every reader', async () => {
    const documents = ['openid-configuration', 'oauth-authorization-server']
    const paths = documents.flatMap((name) => [`${base}/.well-known/${name}`, `/.well-known/${name}${base}`])
    const { text: expected } = await supertest(host.app).get(paths[0]!)
    expect(JSON.parse(expected).issuer).toBe(`http://localhost:3000${base}`)
    for (const path of paths) {
      const res = await supertest(host.app).get(path).set('Origin', 'https://spa.example.com')
      expect({ path, status: res.status, text: res.text }).toEqual({ path, status: 200, text: expected })
      expect(res.headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'public, max-age=300',
        'access-control-allow-origin': '*',
      })
      expect(res.headers).not.toHaveProperty('access-control-allow-credentials')
      expect(res.headers).not.toHaveProperty('set-cookie')
      const head = await supertest(host.app).head(path)
      expect([head.status, head.text ?? '']).toEqual([200, ''])
      expect(head.headers['content-length']).toBe(res.headers['content-length'])
      const posted = await supertest(host.app).post(path)
      expectError(posted, 405, 'invalid_request')
      expect(posted.headers.allow).toBe('GET, HEAD')
    }
    await supertest(host.app).get('/.well-known/oauth-authorization-server/elsewhere').expect(404)
  })
})

test.each([
  ['a table without claims', { columns: { id: 'id', username: 'email', password: 'password_hash' } }, []],
  [
    'a table with a phone number',
    {
      columns: { id: 'id', username: 'id', password: 'password_hash' },
      claims: { phone_number: () => '+1 555 0100' },
    },
    ['profile', 'phone'],
  ],
])('of %s, only standard scopes that reveal something are announced (mcp 8)', async (_, users, expected) => {
  const host = await startHost()
  try {
    const { app, oauth } = await startHost({
      database: host.database,
      options: { users: { table: host.usersTable, ...users } },
    })
    const { body } = await supertest(app).get('/oauth/.well-known/openid-configuration')
    const standard = ['profile', 'email', 'address', 'phone']
    expect(standard.filter((scope) => body.scopes_supported.includes(scope))).toEqual(expected)
    expect(body.claims_supported.includes('address')).toBe(false)
    await oauth.close()
  } finally {
    await host.close()
  }
})

let client: ClientSite
beforeAll(async () => {
  client = await openClientSite()
})
afterAll(() => client.close())

const options: Readonly<Record<string, Partial<Pick<AuthRouterOptions, 'protocol' | 'features'>>>> = {
  'by default': {},
  'with protocol.implicit': { protocol: { implicit: true } },
  'with clients that describe themselves and request objects': {
    protocol: {
      requestObjects: true,
      frontChannelLogout: true,
      mutualTls: { header: 'Client-Cert', ca: certificate.cert, url: 'https://mtls.example.com/oauth' },
    },
    features: [registration(), clientMetadataDocuments(), pushedRequests()],
  },
}

describe.each(Object.entries(options))('%s', (_, given) => {
  const implicit = given.protocol?.implicit === true
  const describesItself = given.features !== undefined
  let host: Awaited<ReturnType<typeof startDiscoveredHost>>
  beforeAll(async () => {
    host = await startDiscoveredHost(client, given)
  })
  afterAll(() => host.close())

  /** Each value of a list has a probe, and passes it. */
  const each = async (
    name: string,
    ...probed: readonly [values: readonly string[], probe: (value: string) => Promise<unknown>][]
  ): Promise<void> => {
    expect(new Set(host.listed(name)).size).toBe(host.listed(name).length)
    for (const value of host.listed(name)) {
      const [, probe] = probed.find(([values]) => values.includes(value)) ?? []
      if (probe === undefined) throw new Error(`${name} holds ${value}, for which there is no probe`)
      await probe(value)
    }
  }

  /** What a client of each algorithm gets is signed by it, and has this claim. */
  const signs = (name: string, claim: string, jwtFor: (client_id: string) => Promise<string>) =>
    each(name, [
      signingAlgorithms,
      async (alg) => {
        const jwt = await jwtFor(`signed-${alg}`)
        expect(await host.verify(jwt, `signed-${alg}`, alg)).toHaveProperty(claim)
      },
    ])

  /** Each method and algorithm at one endpoint authenticates its client, which then gets this answer. */
  const authenticates = async (endpoint: string, answer: object): Promise<void> => {
    const fields = { grant_type: 'refresh_token', refresh_token: 'x', token: 'x' }
    await each(`${endpoint}_auth_methods_supported`, [
      authMethods,
      async (method) => expect(await host.send(endpoint, fields, method, method)).toMatchObject(answer),
    ])
    await each(`${endpoint}_auth_signing_alg_values_supported`, [
      assertionAlgorithms,
      async (alg) => {
        const key = { ...client.keys[alg]!, alg }
        const sent = await host.send(endpoint, fields, `assertion-${alg}`, 'private_key_jwt', key)
        expect(sent).toMatchObject(answer)
      },
    ])
  }

  /** Every name that discovery may publish, with the proof that it is so. */
  const probes: Record<string, () => Promise<unknown>> = {
    issuer: async () => expect(host.metadata.issuer).toBe(issuer),
    authorization_endpoint: async () => {
      expect((await host.granted()).code).toMatch(/^lk_ac_/)
      const posted = { response_type: 'code', client_id: 'web', redirect_uri: callback, prompt: 'none' }
      const agent = new RawBrowser(host.app)
      const answer = await agent.post(host.pathOf('authorization_endpoint'), { ...posted, scope: 'openid' })
      expect(clientAnswer(await agent.follow(answer)).fields.error).toBe('login_required')
    },
    userinfo_endpoint: async () => {
      const { access_token, id_token } = await host.tokensFor()
      expect((await host.userinfoOf(access_token)).body).toMatchObject({ sub: 'grace-1' })
      const posted = supertest(host.app)
        .post(host.pathOf('userinfo_endpoint'))
        .type('form')
        .send({ access_token })
      expect((await posted).body).toMatchObject({ sub: 'grace-1' })
      expect(await host.verify(id_token, 'web')).toMatchObject({ sub: 'grace-1' })
    },
    introspection_endpoint: async () => {
      const { access_token, refresh_token } = await host.tokensFor()
      const isActive = async (token: string) =>
        (await host.send('introspection_endpoint', { token })).body.active as boolean
      expect([await isActive(access_token), await isActive(`lk_at_${'A'.repeat(43)}`)]).toEqual([true, false])
      expect((await host.send('revocation_endpoint', { token: refresh_token })).status).toBe(200)
      expect((await host.userinfoOf(access_token)).status).toBe(401)
    },
    end_session_endpoint: async () => {
      const agent = new RawBrowser(host.app)
      const { id_token } = await host.tokensFor({}, agent)
      const hint = { id_token_hint: id_token, post_logout_redirect_uri: loggedOut, state: 's' }
      const done = await agent.get(host.pathOf('end_session_endpoint', hint))
      expect(done.headers.location).toBe(`${loggedOut}?state=s`)
      const silent = await agent.get(host.asked({ prompt: 'none' }))
      expect(clientAnswer(silent).fields.error).toBe('login_required')
    },
    scopes_supported: async () => {
      expect([...host.listed('scopes_supported')].sort()).toEqual(everyScope.split(' ').sort())
      expect((await host.tokensFor()).scope.split(' ').sort()).toEqual(everyScope.split(' ').sort())
    },
    response_types_supported: () =>
      each('response_types_supported', [
        ['code', ...frontChannel],
        async (response_type) => {
          const fields = await host.granted({ response_type })
          const wanted = response_type.split(' ').map((word) => (word === 'token' ? 'access_token' : word))
          const given = Object.keys(fields).filter((name) => /^(code|access_token|id_token)$/.test(name))
          expect(given.sort()).toEqual(wanted.sort())
        },
      ]),
    response_modes_supported: () =>
      each(
        'response_modes_supported',
        [
          ['query', 'fragment', 'form_post'],
          async (response_mode) => {
            const { mode, fields } = clientAnswer(await host.grant({ response_mode }))
            expect([mode, fields.code]).toEqual([response_mode, expect.any(String)])
          },
        ],
        [
          ['jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'],
          async (response_mode) => {
            const answer = await host.grant({ client_id: 'signed-ES256', response_mode })
            const { mode, fields } = clientAnswer(answer)
            expect(mode).toBe(response_mode === 'jwt' ? 'query' : response_mode.replace('.jwt', ''))
            expect(await host.verify(fields.response!, 'signed-ES256', 'ES256')).toHaveProperty('code')
          },
        ],
      ),
    authorization_signing_alg_values_supported: () =>
      signs('authorization_signing_alg_values_supported', 'code', async (client_id) => {
        return (await host.granted({ client_id, response_mode: 'jwt' })).response ?? ''
      }),
    id_token_signing_alg_values_supported: () =>
      signs('id_token_signing_alg_values_supported', 'sub', async (client_id) => {
        return (await host.tokensFor({ client_id })).id_token
      }),
    userinfo_signing_alg_values_supported: () =>
      signs('userinfo_signing_alg_values_supported', 'sub', async (client_id) => {
        const response = await host.userinfoOf((await host.tokensFor({ client_id })).access_token)
        expect(response.headers['content-type']).toBe('application/jwt')
        return response.text ?? response.body.toString()
      }),
    grant_types_supported: async () => {
      await each(
        'grant_types_supported',
        [
          ['authorization_code', 'refresh_token'],
          async () => {
            const { refresh_token } = await host.tokensFor()
            tokensOf(await host.send('token_endpoint', { grant_type: 'refresh_token', refresh_token }))
          },
        ],
        [
          ['client_credentials'],
          async (grant_type) => tokensOf(await host.send('token_endpoint', { grant_type }, 'machine')),
        ],
        [
          ['implicit'],
          async () => {
            const { access_token = '' } = await host.granted({ response_type: 'token' })
            expect((await host.userinfoOf(access_token)).status).toBe(200)
          },
        ],
      )
      expect(host.listed('grant_types_supported').includes('implicit')).toBe(implicit)
    },
    token_endpoint_auth_methods_supported: () =>
      authenticates('token_endpoint', { status: 400, body: { error: 'invalid_grant' } }),
    revocation_endpoint_auth_methods_supported: () => authenticates('revocation_endpoint', { status: 200 }),
    introspection_endpoint_auth_methods_supported: () =>
      authenticates('introspection_endpoint', { status: 200, body: { active: false } }),
    code_challenge_methods_supported: () =>
      each('code_challenge_methods_supported', [
        ['S256', 'plain'],
        async (code_challenge_method) => {
          const { verifier, challenge } = pkce()
          const code_challenge = code_challenge_method === 'plain' ? verifier : challenge
          const by = async (code_verifier: string) => {
            const fields = await host.granted({ code_challenge, code_challenge_method })
            return host.redeem(fields, 'web', { code_verifier })
          }
          expect((await by('w'.repeat(43))).body.error).toBe('invalid_grant')
          tokensOf(await by(verifier))
        },
      ]),
    subject_types_supported: () =>
      each('subject_types_supported', [
        ['public', 'pairwise'],
        async (type) => {
          const client_id = type === 'public' ? 'web' : type
          const { id_token, access_token } = await host.tokensFor({ client_id })
          const { sub } = await host.verify(id_token, client_id)
          expect(sub).toMatch(type === 'public' ? /^grace-1$/ : /^[\w-]{43}$/)
          expect((await host.userinfoOf(access_token)).body.sub).toBe(sub)
        },
      ]),
    claim_types_supported: async () => expect(host.metadata.claim_types_supported).toEqual(['normal']),
    claims_supported: async () => {
      const names: string[] = []
      for (const response_type of host.listed('response_types_supported')) {
        const fields = await host.granted({ response_type })
        const tokens = fields.code === undefined ? undefined : tokensOf(await host.redeem(fields))
        for (const idToken of [fields.id_token ?? [], tokens?.id_token ?? []].flat())
          names.push(...Object.keys(await host.verify(idToken, 'web')))
        if (tokens) names.push(...Object.keys((await host.userinfoOf(tokens.access_token)).body))
      }
      expect([...new Set(names)].sort()).toEqual([...host.listed('claims_supported')].sort())
      const others = Object.fromEntries(
        ['shoe_size', 'acr', 'password'].map((name) => [name, { essential: true }]),
      )
      const claims = JSON.stringify({ userinfo: others, id_token: others })
      const tokens = await host.tokensFor({ scope: 'openid', claims })
      const told = {
        ...(await host.userinfoOf(tokens.access_token)).body,
        ...(await host.verify(tokens.id_token, 'web')),
      }
      for (const name of Object.keys(others)) expect(told).not.toHaveProperty(name)
    },
    prompt_values_supported: async () => {
      await host.grant()
      const places: Fields = {
        none: 'the client',
        login: '/oauth/login',
        consent: '/oauth/consent',
        select_account: '/oauth/select-account',
      }
      await each('prompt_values_supported', [
        Object.keys(places),
        async (prompt) => {
          const answer = await host.browser.open(host.asked({ prompt }))
          expect(answer.location === undefined ? answer.url.pathname : 'the client').toBe(places[prompt])
        },
      ])
    },
    ui_locales_supported: async () => {
      const answeredIn = async (ui_locales: string): Promise<string | undefined> => {
        const page = await new RawBrowser(host.app).open(host.asked({ ui_locales }))
        return /<html lang="([^"]*)"/.exec(page.html)?.[1]
      }
      const languages = ['ar', 'de', 'en', 'es', 'fr', 'ja']
      await each('ui_locales_supported', [languages, async (tag) => expect(await answeredIn(tag)).toBe(tag)])
      expect(await answeredIn('nl')).toBe('en')
    },
    authorization_response_iss_parameter_supported: async () => {
      expect(host.metadata.authorization_response_iss_parameter_supported).toBe(true)
      expect((await host.granted()).iss).toBe(issuer)
      const silent = await new RawBrowser(host.app).get(host.asked({ prompt: 'none' }))
      expect(clientAnswer(silent).fields).toMatchObject({ error: 'login_required', iss: issuer })
    },
    backchannel_logout_supported: async () => {
      const { backchannel_logout_supported, backchannel_logout_session_supported } = host.metadata
      expect([backchannel_logout_supported, backchannel_logout_session_supported]).toEqual([true, true])
      const agent = new RawBrowser(host.app)
      const { id_token } = await host.tokensFor({}, agent)
      const { sid, sub } = await host.verify(id_token, 'web')
      const before = client.logoutTokens.items.length
      await agent.get(host.pathOf('end_session_endpoint', { id_token_hint: id_token }))
      const sent = (await client.logoutTokens.until(before + 1)).at(-1) ?? ''
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      expect(await host.verify(sent, 'web')).toMatchObject({ sid, sub, events })
    },
    claims_parameter_supported: async () => {
      expect(host.metadata.claims_parameter_supported).toBe(true)
      const claims = JSON.stringify({ userinfo: { nickname: null }, id_token: { gender: null } })
      const tokens = await host.tokensFor({ scope: 'openid', claims })
      expect((await host.userinfoOf(tokens.access_token)).body).toHaveProperty('nickname')
      expect(await host.verify(tokens.id_token, 'web')).toHaveProperty('gender')
    },
    request_parameter_supported: async () => {
      expect(host.metadata.request_parameter_supported).toBe(false)
      expect(await host.errorOf({ request: 'eyJhbGciOiJub25lIn0.e30.' })).toBe('request_not_supported')
    },
    request_uri_parameter_supported: async () => {
      expect(host.metadata.request_uri_parameter_supported).toBe(false)
      expect(host.metadata.require_request_uri_registration).toBe(false)
      expect(await host.errorOf({ request_uri: `${client.origin}/object` })).toBe('request_uri_not_supported')
      expect(client.reads).toBe(0)
    },
  }

  const ofSelfDescription: typeof probes = {
    registration_endpoint: async () => {
      const members = { redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_post' }
      const { body } = await supertest(host.app).post(host.pathOf('registration_endpoint')).send(members)
      const { client_id, client_secret } = body
      const { code = '' } = await host.granted({ client_id, scope: 'openid' })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, client_secret }
      tokensOf(await host.send('token_endpoint', fields, client_id, 'none'))
    },
    request_parameter_supported: async () => {
      expect(host.metadata.request_parameter_supported).toBe(true)
      for (const alg of assertionAlgorithms) {
        const error = await host.errorOf({
          client_id: `assertion-${alg}`,
          request: await client.objectBy(alg),
        })
        expect({ alg, error }).toEqual({ alg, error: 'login_required' })
      }
    },
    request_uri_parameter_supported: async () => {
      expect(host.metadata.request_uri_parameter_supported).toBe(true)
      expect(host.metadata.require_request_uri_registration).toBe(true)
      expect(await host.errorOf({ request_uri: `${client.origin}/unregistered` })).toBe('invalid_request_uri')
      await each('request_object_signing_alg_values_supported', [
        ['none', ...assertionAlgorithms],
        async (alg) => {
          client.requestObject = await client.objectBy(alg)
          const client_id = alg === 'none' ? 'web' : `assertion-${alg}`
          expect(await host.errorOf({ client_id, request_uri: `${client.origin}/object` })).toBe(
            'login_required',
          )
        },
      ])
    },
    frontchannel_logout_supported: async () => {
      const { frontchannel_logout_supported, frontchannel_logout_session_supported } = host.metadata
      expect([frontchannel_logout_supported, frontchannel_logout_session_supported]).toEqual([true, true])
      const agent = new RawBrowser(host.app)
      const { id_token } = await host.tokensFor({}, agent)
      const { sid } = await host.verify(id_token, 'web')
      const { html } = await agent.get(host.pathOf('end_session_endpoint', { id_token_hint: id_token }))
      const query = new URLSearchParams({ iss: issuer, sid: String(sid) })
      expect(html.replaceAll('&amp;', '&')).toContain(`<iframe src="${callback}/out?${query}"`)
    },
    pushed_authorization_request_endpoint: async () => {
      const fields = { response_type: 'code', redirect_uri: callback, scope: 'openid' }
      const { request_uri } = (await host.send('pushed_authorization_request_endpoint', fields)).body
      const query = { client_id: 'web', request_uri }
      const url = host.pathOf('authorization_endpoint', query)
      const answer = await host.browser.grant(url, grace.email, grace.password)
      expect(clientAnswer(answer).fields.code).toMatch(/^lk_ac_/)
    },
    tls_client_certificate_bound_access_tokens: async () => {
      const { code = '' } = await host.granted({ client_id: 'bound', scope: 'openid' })
      const fields = { grant_type: 'authorization_code', code, redirect_uri: callback }
      const body = new URLSearchParams({ ...fields, client_id: 'bound', client_secret: secret })
      const withCertificate = (request: supertest.Test) =>
        request.set('Client-Cert', encodeURIComponent(certificate.cert))
      const request = supertest(host.app).post(host.pathOf('token_endpoint')).type('form')
      const { access_token } = tokensOf(await withCertificate(request).send(body.toString()))
      expect((await host.userinfoOf(access_token)).status).toBe(401)
      expect((await withCertificate(host.userinfoOf(access_token))).status).toBe(200)
    },
    mtls_endpoint_aliases: async () => {
      const aliases = host.metadata.mtls_endpoint_aliases as Fields
      expect(Object.keys(aliases)).toContain('token_endpoint')
      for (const [name, alias] of Object.entries(aliases))
        expect(alias).toBe(`https://mtls.example.com${host.pathOf(name)}`)
    },
    client_id_metadata_document_supported: async () => {
      expect(host.metadata.client_id_metadata_document_supported).toBe(true)
      const challenge = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
      const client_id = `${client.origin}/client.json`
      const page = await new RawBrowser(host.app).open(host.asked({ client_id, ...challenge }))
      expect(page.url.pathname).toBe('/oauth/login')
    },
  }
  if (describesItself) Object.assign(probes, ofSelfDescription)

  /** Names whose proof stands under another. */
  const together = [
    'token_endpoint',
    'jwks_uri',
    'revocation_endpoint',
    'backchannel_logout_session_supported',
    ...['token', 'revocation', 'introspection'].map(
      (name) => `${name}_endpoint_auth_signing_alg_values_supported`,
    ),
    'require_request_uri_registration',
    ...(describesItself
      ? ['frontchannel_logout_session_supported', 'request_object_signing_alg_values_supported']
      : []),
  ]

  test('each published name is proven here, and each proof belongs to a name', () => {
    expect(Object.keys(host.metadata).sort()).toEqual([...Object.keys(probes), ...together].sort())
  })

  // Without protocol.implicit the others are the same code.
  const plain = ['response_types_supported', 'grant_types_supported', 'claims_supported']
  const probed = implicit ? Object.keys(probes) : describesItself ? Object.keys(ofSelfDescription) : plain
  test.each(probed)('%s is true', (name) => probes[name]!(), 60_000)

  test.each(otherAlgorithms)('signatures of a client by %s, which is not named, are refused', async (alg) => {
    expect(host.listed('token_endpoint_auth_signing_alg_values_supported')).not.toContain(alg)
    const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
    const { body } = await host.send('token_endpoint', fields, alg, 'private_key_jwt', client.keys[alg])
    expect(body.error).toBe('invalid_client')
  })
})
