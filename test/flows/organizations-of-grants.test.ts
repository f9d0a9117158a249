import supertest from 'supertest'
import { trustedIssuers } from '../../lib/features/index.ts'
import { type AuthRouterOptions, defineGrant } from '../../lib/index.ts'
import { type Host, secret, startHost } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { assertion, type Claims, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { answerOf, expectError, type Fields, post, refresh } from '../support/tokens.ts'

// The organization of tokens that a user gets without a page.

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const pin = 'urn:example:grant-type:pin'
const [idp, acmeIdp] = ['https://idp.example.com', 'https://acme.example.com']
const [api, jwtApi] = ['https://orders.example/api', 'https://stock.example/api']

/** Ada belongs to two organizations, Bob to one, and the user 4 to none. */
const organizationsOf = (id: unknown) =>
  ({ 1: ['acme', 'globex'], 2: ['initech'] })[String(id)]?.map((name) => ({ id: name, name })) ?? []
/** What the grant of the host decides. */
let decision: { subject: number; organization?: string }

let key: ClientKey
let host: Host
/** The same host before it had organizations. */
let earlier: Host

beforeAll(async () => {
  key = await createClientKey('ES256', 'one')
  const jwks = { keys: [key.publicJwk as never] }
  const options: Partial<AuthRouterOptions> = {
    resources: {
      [api]: { scopes: ['notes:read'] },
      [jwtApi]: { scopes: ['notes:read'], accessToken: 'jwt' },
    },
    protocol: {
      grants: [
        defineGrant({
          grantType: pin,
          exchange: () => ({ ...decision, scopes: ['notes:read'], refreshToken: true }),
        }),
      ],
    },
    features: [
      trustedIssuers({
        issuers: {
          [idp]: { jwks, organization: ({ org_id }) => org_id },
          [acmeIdp]: { jwks, organization: () => 'acme' },
        },
      }),
    ],
  }
  earlier = await startHost({
    options,
    clients: [
      {
        client_id: 'agent',
        client_secret: secret,
        grant_types: [jwtBearer, pin, 'refresh_token'],
        scope: 'notes:read',
      },
    ],
  })
  await earlier.database.knex(earlier.usersTable).insert({ id: 4, email: 'eve@example.com' })
  const organizations = ({ id }: { id?: unknown }) => organizationsOf(id)
  host = await startHost({ database: earlier.database, options: { ...options, organizations } })
  for (const resource of [api, jwtApi])
    host.app.get(
      `/${new URL(resource).hostname}`,
      host.oauth.requireToken(undefined, { resource }),
      (req, res) => void res.json({ organization: req.auth.organization ?? null }),
    )
})
afterAll(async () => {
  await host.oauth.close()
  await earlier.close()
})

const agent = { client_id: 'agent', client_secret: secret }
const idJag = async (claims: Claims): Promise<Fields> => {
  const about = { iss: idp, client_id: 'agent', ...claims }
  const typ = 'oauth-id-jag+jwt'
  return { ...agent, grant_type: jwtBearer, assertion: await assertion('agent', key, about, { typ }) }
}
const withPin = async (decided: typeof decision): Promise<Fields> => {
  decision = decided
  return { ...agent, grant_type: pin }
}
const orders = (token: string, resource = api) =>
  supertest(host.app)
    .get(`/${new URL(resource).hostname}`)
    .set('Authorization', `Bearer ${token}`)

test.each<[string, () => Promise<Fields>, string]>([
  ['an assertion', () => idJag({ sub: '1', org_id: 'globex' }), 'globex'],
  ['the issuer of an assertion', () => idJag({ sub: '1', iss: acmeIdp }), 'acme'],
  ['a grant of the host', () => withPin({ subject: 1, organization: 'globex' }), 'globex'],
  ['that a user is in only one, for an assertion', () => idJag({ sub: '2' }), 'initech'],
  ['that a user is in only one, for a grant of the host', () => withPin({ subject: 2 }), 'initech'],
])('%s settles the organization of the tokens (M9)', async (_, fields, organization) => {
  const opaque = await answerOf(post(host, { ...(await fields()), resource: api }))
  expect((await orders(opaque.access_token)).body).toEqual({ organization })
  const jwt = await answerOf(post(host, { ...(await fields()), resource: jwtApi }))
  expect(claimsOf(jwt.access_token).org_id).toBe(organization)
  expect((await orders(jwt.access_token, jwtApi)).body).toEqual({ organization })
})

test.each<[string, () => Promise<Fields>]>([
  ['an assertion about a user of two that names none', () => idJag({ sub: '1' })],
  ['an assertion that names another', () => idJag({ sub: '1', org_id: 'initech' })],
  ['an issuer that names another', () => idJag({ sub: '2', iss: acmeIdp })],
  ['an assertion about a user of none', () => idJag({ sub: '4' })],
  ['a grant for a user of two that names none', () => withPin({ subject: 1 })],
  ['a grant that names another', () => withPin({ subject: 2, organization: 'acme' })],
  ['a grant for a user of none', () => withPin({ subject: 4 })],
])('%s gives no token (M9)', async (_, fields) => {
  expectError(await post(host, await fields()), 400, 'invalid_grant')
})

test('guards refuse tokens from before the host had organizations, also JWTs (M9)', async () => {
  for (const resource of [api, jwtApi]) {
    const tokens = await answerOf(post(earlier, { ...(await withPin({ subject: 1 })), resource }))
    expectError(await orders(tokens.access_token, resource), 401, 'invalid_token')
    expectError(await refresh(host, tokens.refresh_token, agent), 400, 'invalid_grant')
  }
})

test('a wrong answer of organization is an error of the host, which the client does not see', async () => {
  const answer = await post(host, await idJag({ sub: '1', org_id: 7 }))
  expectError(answer, 500, 'server_error')
  expect(answer.text).not.toContain('organization')
})
