import { randomUUID } from 'node:crypto'
import supertest from 'supertest'
import { trustedIssuers } from '../../lib/features/index.ts'
import { OAuthError } from '../../lib/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { stopClock } from '../support/clock.ts'
import { expiredIn } from '../support/features.ts'
import { createGate } from '../support/gate.ts'
import { type Host, issuer, secret, startHost } from '../support/host.ts'
import { assertion, type Claims, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { answerOf, expectError, type Fields, guarded, post } from '../support/tokens.ts'

const gate = createGate()
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const [idp, cloud, api] = [
  'https://idp.example.com',
  'https://tokens.cloud.example',
  'https://notes.example/api',
]
let host: Host
let keys: { idp: ClientKey; cloud: ClientKey; other: ClientKey }

beforeAll(async () => {
  const [one, two, other] = await Promise.all([
    createClientKey('ES256', 'one'),
    createClientKey('RS256', 'two'),
    createClientKey('ES256', 'one'),
  ])
  keys = { idp: one, cloud: two, other }
  const jwksOf = ({ publicJwk }: ClientKey) => ({ keys: [publicJwk as never] })
  host = await startHost({
    options: {
      resources: { [api]: { scopes: ['notes:read', 'notes:write'], accessToken: 'jwt' } },
      protocol: {
        authorizationDetails: {
          payment: {
            description: 'Make a payment',
            parse: (detail) => {
              if (detail.account === undefined)
                throw new OAuthError('invalid_authorization_details', 'account is missing')
              return { ...detail, currency: 'EUR' }
            },
          },
          account: { description: 'See your account' },
        },
      },
      features: [
        trustedIssuers({
          issuers: {
            [idp]: {
              jwks: jwksOf(keys.idp),
              user: async ({ email }) => {
                await gate.pass()
                return { 'ada@example.com': 1, 'bob@example.com': 2, 'cut@example.com': 3 }[String(email)]
              },
            },
            [cloud]: {
              jwks: jwksOf(keys.cloud),
              client: ({ sub }) => (sub === 'repo:acme/deploy' ? 'deployer' : undefined),
            },
          },
        }),
      ],
    },
    clients: [
      {
        client_id: 'agent',
        client_name: 'Agent',
        client_secret: secret,
        grant_types: [grantType],
        scope: 'openid notes:read notes:write',
        authorization_details_types: ['payment'],
      },
      {
        client_id: 'desktop',
        token_endpoint_auth_method: 'none',
        grant_types: [grantType],
        scope: 'notes:read',
      },
      {
        client_id: 'deployer',
        token_endpoint_auth_method: 'none',
        grant_types: [grantType],
        scope: 'notes:write',
      },
      { client_id: 'web', client_secret: secret, redirect_uris: ['https://client.example.com/callback'] },
    ],
  })
})
beforeAll(() => {
  host.app.get('/pay', host.oauth.requireToken(), (req, res) => void res.json(req.auth.authorizationDetails))
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const removeExpired = async (now: number): Promise<void> => {
  const { database } = openDatabase(host.database.knex, host.database.tablePrefix)
  await removeExpiredRows(database, { now, expired: expiredIn(host.oauth), refreshGracePeriod: 0 })
}

/** An assertion about Ada for the client agent, except where claims say otherwise. */
const idJag = (claims: Claims = {}, key = keys.idp, typ = 'oauth-id-jag+jwt'): Promise<string> =>
  assertion(
    'agent',
    key,
    { iss: idp, sub: 'ada', email: 'ada@example.com', client_id: 'agent', ...claims },
    { typ },
  )

const workload = (claims: Claims = {}): Promise<string> =>
  assertion('deployer', keys.cloud, { iss: cloud, sub: 'repo:acme/deploy', jti: undefined, ...claims })

const exchange = (jwt: string, fields: Fields = {}): supertest.Test =>
  post(host, { grant_type: grantType, client_id: 'agent', client_secret: secret, assertion: jwt, ...fields })

const seconds = (): number => Math.floor(Date.now() / 1000)
const noSecret = { client_secret: undefined }

describe('an assertion about a user', () => {
  test('that was issued before everything of the user ended gives no token', async () => {
    const clock = stopClock()
    clock.travel(-9000)
    const before = { iat: clock.now(), exp: clock.now() + 3600 }
    const [early, ofBob] = [await idJag(before), await idJag({ ...before, email: 'bob@example.com' })]
    clock.travel(1)
    await answerOf(exchange(early))
    await host.oauth.users.revokeAll(1)
    const sameSecond = await idJag()
    for (const wait of [0, 1, 3597, 30]) {
      clock.travel(wait)
      await removeExpired(clock.now())
      const { body } = await exchange(early)
      expect(body).toEqual({
        error: 'invalid_grant',
        error_description: expect.stringMatching(/^assertion /),
      })
      await answerOf(exchange(ofBob))
      if (wait < 10) expectError(await exchange(sameSecond), 400, 'invalid_grant')
    }
    await answerOf(exchange(await idJag()))
  })

  test('gives an access token of that user alone, which ends with the user’s other tokens', async () => {
    stopClock().travel(-60)
    const tokens = await answerOf(exchange(await idJag()))
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      // A second may begin between the authorization and its token.
      expires_in: expect.closeTo(3600, -1),
      scope: 'notes:read notes:write',
    })
    const { body } = await guarded(host, tokens.access_token)
    expect(body).toEqual({ subject: '1' })

    await host.oauth.users.revokeAll('1')
    expect((await guarded(host, tokens.access_token)).status).toBe(401)
  })

  test('gives no token if everything of the user ends meanwhile (H1)', async () => {
    const clock = stopClock()
    clock.travel(-60)
    const { arrival, open } = gate.hold()
    const begun = exchange(await idJag()).then((res) => res)
    await arrival
    await host.oauth.users.revokeAll(1)
    open()
    expectError(await begun, 400, 'invalid_grant')
    clock.travel(1)
    expect((await answerOf(exchange(await idJag()))).access_token).toEqual(expect.any(String))
  })

  test('is for its resource, within its scopes; the request may narrow', async () => {
    const jwt = () => idJag({ resource: api, scope: 'notes:read notes:write' })
    const all = await answerOf(exchange(await jwt()))
    const claims = JSON.parse(Buffer.from(all.access_token.split('.')[1] ?? '', 'base64url').toString())
    expect(claims).toMatchObject({ aud: api, sub: '1', client_id: 'agent', scope: 'notes:read notes:write' })
    expect(await answerOf(exchange(await jwt(), { scope: 'notes:read' }))).toMatchObject({
      scope: 'notes:read',
    })
    const within = await idJag({ scope: 'notes:read' })
    expectError(await exchange(within, { scope: 'notes:write' }), 400, 'invalid_scope')
    expectError(await exchange(await idJag({ resource: 'https://other.example' })), 400, 'invalid_target')
  })

  test('gives a token to a public client that it names, which ends when the user is disabled', async () => {
    const jwt = await idJag({ client_id: 'desktop' })
    const { access_token } = await answerOf(exchange(jwt, { client_id: 'desktop', ...noSecret }))
    expect((await guarded(host, access_token)).status).toBe(200)
    const people = () => host.database.knex(host.usersTable).where({ id: 1 })
    await people().update({ disabled_at: 1 })
    expect((await guarded(host, access_token)).status).toBe(401)
    await people().update({ disabled_at: null })
  })

  test.each<[string, () => Promise<string>]>([
    ['of an unknown issuer', () => idJag({ iss: 'https://evil.example' })],
    ['that is no JWT', async () => 'nonsense'],
    ['signed by another key', () => idJag({}, keys.other)],
    ['of another type', () => idJag({}, keys.idp, 'JWT')],
    ['for another server', () => idJag({ aud: 'https://other.example' })],
    ['for another server too', () => idJag({ aud: [issuer, 'https://other.example'] })],
    ['for another client', () => idJag({ client_id: 'web' })],
    ['without a client', () => idJag({ client_id: undefined })],
    ['that is expired', () => idJag({ exp: 1_700_000_000 })],
    ['without an expiry', () => idJag({ exp: undefined })],
    ['without jti', () => idJag({ jti: undefined })],
    // Nothing of Bob was ended, which would be another reason.
    ['without iat', () => idJag({ iat: undefined, email: 'bob@example.com' })],
    ['of an hour ago', () => idJag({ iat: seconds() - 3700, email: 'bob@example.com' })],
    ['without sub', () => idJag({ sub: undefined })],
    ['about an unknown user', () => idJag({ email: 'eve@example.com' })],
    ['about a disabled user', () => idJag({ email: 'cut@example.com' })],
    ['with a malformed resource', () => idJag({ resource: 7 })],
    ['with an auth_time in milliseconds (L1)', () => idJag({ auth_time: Date.now() })],
    ['with an auth_time in the future (L1)', () => idJag({ auth_time: seconds() + 3600 })],
    ['with an auth_time that is no number (L1)', () => idJag({ auth_time: 'now' })],
    ['of a workload', () => workload({ client_id: 'agent', jti: 'x' })],
  ])('%s is refused', async (_case, jwt) => {
    const answer = await exchange(await jwt())
    expectError(answer, 400, 'invalid_grant')
    expect(answer.body.error_description).toMatch(/^assertion /)
  })

  test('may be sent again until it expires (I2)', async () => {
    const jwt = await idJag()
    const answers = [await answerOf(exchange(jwt)), await answerOf(exchange(jwt))]
    expect(new Set(answers.map(({ access_token }) => access_token)).size).toBe(2)
  })

  test('limits the token to its authorization_details, of which the request may name a part (I3)', async () => {
    const details = [1, 2].map((account) => ({ type: 'payment', account }))
    const jwt = await idJag({ authorization_details: details })
    const both = details.map((detail) => ({ ...detail, currency: 'EUR' }))
    const all = await answerOf(exchange(jwt))
    expect(all).toMatchObject({ authorization_details: both })
    expect((await guarded(host, all.access_token, '/pay')).body).toEqual(both)
    const named = (part: unknown) => ({ authorization_details: JSON.stringify(part) })
    const some = await answerOf(exchange(jwt, named(both.slice(1))))
    expect((await guarded(host, some.access_token, '/pay')).body).toEqual(both.slice(1))
    for (const [assertion, fields] of [
      [jwt, named([{ type: 'payment', account: 3, currency: 'EUR' }])],
      [await idJag(), named(both)],
      [await workload(), { ...named(both), ...noSecret, client_id: 'deployer' }],
    ] as const)
      expectError(await exchange(assertion, fields), 400, 'invalid_authorization_details')
  })

  test.each<[string, unknown]>([
    ['of an unknown type', [{ type: 'transfer' }]],
    ['of a type that the client did not register', [{ type: 'account' }]],
    ['that the host refuses', [{ type: 'payment' }]],
    ['that are no list', { type: 'payment', account: 1 }],
  ])('with authorization_details %s is refused (I3)', async (_, authorization_details) => {
    expectError(await exchange(await idJag({ authorization_details })), 400, 'invalid_authorization_details')
  })

  test('counts as a recent login only if it says that the user signed in recently (L1)', async () => {
    host.app.get('/recent', host.oauth.requireToken('notes:read', { maxAge: 60 }), (_req, res) => {
      res.json('welcome')
    })
    const statusFor = async (claims: Claims): Promise<number> => {
      const { access_token } = await answerOf(exchange(await idJag(claims)))
      const answer = await supertest(host.app).get('/recent').auth(access_token, { type: 'bearer' })
      return answer.status
    }
    expect(await statusFor({ auth_time: seconds() })).toBe(200)
    expect(await statusFor({ auth_time: seconds() - 3600 })).toBe(401)
    expect(await statusFor({})).toBe(401)
  })

  test('needs a client that is registered for the grant, and authenticated', async () => {
    const jwt = await idJag({ client_id: 'web' })
    expectError(await exchange(jwt, { client_id: 'web' }), 400, 'unauthorized_client')
    expectError(await exchange(await idJag(), { client_secret: 'wrong' }), 401, 'invalid_client')
    expectError(await exchange('', { assertion: undefined }), 400, 'invalid_request')
  })
})

describe('an assertion about a workload', () => {
  const asDeployer = { client_id: 'deployer', ...noSecret }

  test('gives a token of the client that the host names, without a user', async () => {
    const tokens = await answerOf(exchange(await workload({ aud: `${issuer}/token` }), asDeployer))
    expect(tokens).toMatchObject({ scope: 'notes:write', expires_in: 3600 })
    expect(tokens).not.toHaveProperty('refresh_token')
    expect((await guarded(host, tokens.access_token)).status).toBe(403)
  })

  test('works once if it has a jti, also in parallel requests, and only once the grant is right', async () => {
    const jwt = await workload({ jti: randomUUID() })
    expectError(await exchange(jwt, { ...asDeployer, scope: 'notes:read' }), 400, 'invalid_scope')
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(jwt, asDeployer)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)])
  })

  test.each<[string, () => Promise<string>, Fields]>([
    ['of another workload', () => workload({ sub: 'repo:evil/deploy' }), asDeployer],
    ['for another client', () => workload(), { client_id: 'desktop', ...noSecret }],
    ['about a user', () => idJag(), asDeployer],
  ])('%s is refused', async (_case, jwt, fields) => {
    expectError(await exchange(await jwt(), fields), 400, 'invalid_grant')
  })
})

test('metadata names the grant and its profile, and neither without trusted issuers', async () => {
  const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
  expect(body.grant_types_supported).toContain(grantType)
  expect(body.authorization_grant_profiles_supported).toEqual(['urn:ietf:params:oauth:grant-profile:id-jag'])
  const other = await startHost()
  const { body: without } = await supertest(other.app).get('/oauth/.well-known/openid-configuration')
  expect(without.grant_types_supported).not.toContain(grantType)
  expect(without).not.toHaveProperty('authorization_grant_profiles_supported')
  const fields = { grant_type: grantType, client_id: 'web', client_secret: secret, assertion: 'x' }
  expectError(await post(other, fields), 400, 'unsupported_grant_type')
  await other.close()
})
