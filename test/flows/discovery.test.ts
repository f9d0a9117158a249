import supertest from 'supertest'
import { type Host, startHost } from '../support/host.ts'
import { expectError } from '../support/tokens.ts'

const documents = ['openid-configuration', 'oauth-authorization-server']

/** The IANA registry of authorization server metadata, and OpenID Connect's names beside it. */
const registeredNames = new Set([
  ...['issuer', 'authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri'],
  ...['registration_endpoint', 'revocation_endpoint', 'introspection_endpoint', 'end_session_endpoint'],
  ...['device_authorization_endpoint', 'pushed_authorization_request_endpoint', 'check_session_iframe'],
  ...['scopes_supported', 'response_types_supported', 'response_modes_supported', 'grant_types_supported'],
  ...['token', 'revocation', 'introspection'].flatMap((endpoint) => [
    `${endpoint}_endpoint_auth_methods_supported`,
    `${endpoint}_endpoint_auth_signing_alg_values_supported`,
  ]),
  ...['id_token', 'userinfo', 'request_object'].flatMap((jwt) => [
    `${jwt}_signing_alg_values_supported`,
    `${jwt}_encryption_alg_values_supported`,
    `${jwt}_encryption_enc_values_supported`,
  ]),
  ...['introspection', 'authorization', 'dpop'].map((jwt) => `${jwt}_signing_alg_values_supported`),
  ...['acr_values_supported', 'subject_types_supported', 'display_values_supported'],
  ...['claim_types_supported', 'claims_supported', 'claims_locales_supported', 'ui_locales_supported'],
  ...['claims_parameter_supported', 'request_parameter_supported', 'request_uri_parameter_supported'],
  ...['require_request_uri_registration', 'require_signed_request_object', 'signed_metadata'],
  ...['service_documentation', 'op_policy_uri', 'op_tos_uri', 'code_challenge_methods_supported'],
  ...['require_pushed_authorization_requests', 'tls_client_certificate_bound_access_tokens'],
  ...['mtls_endpoint_aliases', 'authorization_details_types_supported', 'protected_resources'],
  ...['authorization_response_iss_parameter_supported', 'prompt_values_supported'],
  ...['backchannel_logout_supported', 'backchannel_logout_session_supported'],
  ...['frontchannel_logout_supported', 'frontchannel_logout_session_supported'],
  'client_id_metadata_document_supported',
])

describe.each([
  ['/a/oauth', 'http://localhost:3000/a/oauth'],
  ['/', 'http://localhost:3000'],
])('mounted at %s', (mount, issuer) => {
  let host: Host
  const base = mount === '/' ? '' : mount
  const metadata = async () =>
    (await supertest(host.app).get(`${base}/.well-known/openid-configuration`)).body

  beforeAll(async () => {
    host = await startHost({ mount })
  })
  afterAll(() => host.close())

  test('both documents are identical', async () => {
    const read = (name: string) => supertest(host.app).get(`${base}/.well-known/${name}`)
    const [openid, oauthServer] = await Promise.all(documents.map(read))
    expect(openid?.status).toBe(200)
    expect(openid?.body).toHaveProperty('issuer', issuer)
    expect(oauthServer?.text).toBe(openid?.text)
  })

  test.each(documents)('%s is at the root too, followed by the path of the issuer', async (name) => {
    const res = await supertest(host.app).get(`/.well-known/${name}${base}`)
    expect({ status: res.status, body: res.body }).toEqual({ status: 200, body: await metadata() })
  })

  test.each(documents)('%s may be read by any origin, and cached', async (name) => {
    for (const url of [`${base}/.well-known/${name}`, `/.well-known/${name}${base}`]) {
      const res = await supertest(host.app).get(url).set('Origin', 'https://spa.example.com')
      expect(res.headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'public, max-age=300',
        'access-control-allow-origin': '*',
      })
      expect(res.headers).not.toHaveProperty('access-control-allow-credentials')
      expect(res.headers).not.toHaveProperty('set-cookie')
    }
  })

  test.each(documents)('%s answers HEAD, and nothing but reading', async (name) => {
    for (const url of [`${base}/.well-known/${name}`, `/.well-known/${name}${base}`]) {
      const [get, head] = [await supertest(host.app).get(url), await supertest(host.app).head(url)]
      expect(head.status).toBe(200)
      expect(head.text ?? '').toBe('')
      expect(head.headers['content-length']).toBe(get.headers['content-length'])
      const res = await supertest(host.app).post(url)
      expectError(res, 405, 'invalid_request')
      expect(res.headers.allow).toBe('GET, HEAD')
    }
  })

  test('uses registered names only', async () => {
    expect(Object.keys(await metadata()).filter((name) => !registeredNames.has(name))).toEqual([])
  })

  test('the document of another issuer path is 404', async () => {
    const res = await supertest(host.app).get('/.well-known/oauth-authorization-server/elsewhere')
    expect(res.status).toBe(404)
  })
})

const switches = [false, true]
const optionSets = switches.flatMap((implicit) =>
  switches.flatMap((registration) =>
    switches.map((clientMetadataDocuments) => ({ implicit, registration, clientMetadataDocuments })),
  ),
)

test.each(optionSets)('with %j it names what is on, and nothing else', async (features) => {
  const host = await startHost({ options: { features } })
  const { body } = await supertest(host.app).get('/oauth/.well-known/oauth-authorization-server')
  const { status } = await supertest(host.app)
    .post('/oauth/register')
    .send({ redirect_uris: ['https://a.example/'] })
  const { implicit, registration, clientMetadataDocuments: documents } = features
  expect({
    implicit: body.grant_types_supported.includes('implicit'),
    registration: body.registration_endpoint,
    documents: body.client_id_metadata_document_supported,
    status,
  }).toEqual({
    implicit,
    registration: registration ? `${body.issuer}/register` : undefined,
    documents: documents || undefined,
    status: registration ? 201 : 404,
  })
  await host.close()
})
