import { randomUUID } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { base64url } from 'jose'
import { type ClientSeed, seedClients } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import {
  asserted,
  assertion,
  type Claims,
  type ClientKey,
  createClientKey,
} from '../support/signing-client.ts'
import {
  answerOf,
  codeFor,
  expectError,
  type Fields,
  post,
  redeem,
  refresh,
  userinfo,
} from '../support/tokens.ts'

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
const noMethod = { token_endpoint_auth_method: undefined }

/** What the client publishes: served at /jwks while it is there, counted, and answered as a test says. */
const publisher = {
  keys: [] as object[],
  asked: 0,
  answer: undefined as ((res: ServerResponse) => void) | undefined,
}
const usualAnswer = (res: ServerResponse): void => void res.end(JSON.stringify({ keys: publisher.keys }))
const warnings: string[] = []

let keys: Record<string, ClientKey>
let server: Server
let jwksUri: string
let host: Host

const signer = (client_id: string, more: Partial<ClientSeed>): ClientSeed => ({
  client_id,
  token_endpoint_auth_method: 'private_key_jwt',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: 'openid profile email offline_access notes:read',
  ...more,
})
const publicKeys = (...names: string[]) =>
  ({ keys: names.map((name) => keyOf(name).publicJwk) }) as ClientSeed['jwks']
const keyOf = (name: string): ClientKey => {
  const key = keys[name]
  if (key === undefined) throw new Error(`no key ${name}`)
  return key
}

beforeAll(async () => {
  server = createServer((_req, res) => {
    publisher.asked += 1
    ;(publisher.answer ?? usualAnswer)(res)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  jwksUri = `${origin}/jwks`
  keys = Object.fromEntries(
    await Promise.all([
      ...algorithms.map(async (alg): Promise<[string, ClientKey]> => [alg, await createClientKey(alg, alg)]),
      ...['first', 'second', 'third', 'fourth'].map(
        async (name): Promise<[string, ClientKey]> => [name, await createClientKey('ES256')],
      ),
    ]),
  )
  host = await startHost({
    options: {
      outbound: { allow: [origin] },
      limits: false,
      logger: { info: () => {}, warn: (message: string) => void warnings.push(message), error: () => {} },
    },
    clients: [
      ...clients,
      signer('signer', { jwks: publicKeys(...algorithms) }),
      signer('other', { jwks: publicKeys('second') }),
      signer('nameless', { jwks: publicKeys('first', 'second', 'third') }),
      signer('many', { jwks: publicKeys('first', 'second', 'third', 'fourth') }),
      signer('es256', { jwks: publicKeys(...algorithms), token_endpoint_auth_signing_alg: 'ES256' }),
      signer('fapi', { jwks: publicKeys('ES256'), require_issuer_audience: true }),
      signer('older', { jwks: publicKeys('ES256'), require_issuer_audience: false }),
      signer('disabled', { jwks: publicKeys('ES256') }),
      signer('keyholder', { jwks: publicKeys('ES256'), ...noMethod, client_secret: secret }),
    ],
  })
  await host.oauth.clients.disable('disabled')
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  await host.close()
})
afterEach(() => {
  jest.restoreAllMocks()
  publisher.answer = undefined
  warnings.length = 0
})

/** A client-credentials request with this assertion. */
const ask = (jwt: string, fields: Fields = {}, at: Pick<Host, 'app'> = host) =>
  post(at, { grant_type: 'client_credentials', scope: 'notes:read', ...asserted(jwt), ...fields })
const askAs = async (clientId: string, key: string, claims?: Claims, header?: object) =>
  ask(await assertion(clientId, keyOf(key), claims, header))

const undecided = { error: 'invalid_client', error_description: 'client authentication failed' }

describe('an assertion', () => {
  test.each(algorithms)('signed with %s is accepted', async (alg) => {
    expect((await askAs('signer', alg)).body).toMatchObject({ token_type: 'Bearer', scope: 'notes:read' })
  })

  test('may be of each type that stands for it', async () => {
    const types = ['JWT', 'client-authentication+jwt', 'application/client-authentication+JWT']
    for (const typ of types) expect((await askAs('signer', 'ES256', {}, { typ })).status).toBe(200)
  })

  test('names the issuer alone, unless the client may name one of the endpoints (L22)', async () => {
    for (const client of ['signer', 'older'])
      for (const aud of [issuer, [issuer]]) expect((await askAs(client, 'ES256', { aud })).status).toBe(200)
    for (const aud of [`${issuer}/token`, [issuer, `${issuer}/token`], `${issuer}/revoke`]) {
      const refused = await askAs('signer', 'ES256', { aud })
      expectError(refused, 401, 'invalid_client')
      expect(refused.body.error_description).toContain(`aud ${issuer} alone`)
      expect((await askAs('older', 'ES256', { aud })).status).toBe(200)
    }
    const elsewhere = { aud: [issuer, 'https://elsewhere.example.com'] }
    for (const client of ['signer', 'older'])
      expectError(await askAs(client, 'ES256', elsewhere), 401, 'invalid_client')
  })

  test('without kid may be signed by any of several keys', async () => {
    for (const name of ['first', 'third']) expect((await askAs('nameless', name)).status).toBe(200)
  })

  test('without a kid is verified with three keys at most, because anyone can send one (M11)', async () => {
    for (const key of ['first', 'second', 'third']) expect((await askAs('many', key)).status).toBe(200)
    expectError(await askAs('many', 'fourth'), 401, 'invalid_client')
  })

  test('of a client with require_issuer_audience names the issuer alone', async () => {
    expect((await askAs('fapi', 'ES256')).status).toBe(200)
    for (const aud of [[issuer], `${issuer}/token`, [issuer, `${issuer}/token`]]) {
      const res = await askAs('fapi', 'ES256', { aud })
      expectError(res, 401, 'invalid_client')
      expect(res.body.error_description).toContain(`aud ${issuer} alone`)
    }
  })

  const now = () => Math.floor(Date.now() / 1000)
  test('with a wrong claim is refused with the reason, but a clock may be wrong by 20 seconds', async () => {
    const refused: [Claims, string][] = [
      [{ aud: 'https://elsewhere.example.com' }, 'aud'],
      [{ exp: now() - 30 }, 'is expired'],
      [{ exp: now() + 3640 }, 'within 3600 seconds'],
      [{ nbf: now() + 60 }, 'nbf'],
      [{ jti: undefined }, 'jti'],
    ]
    for (const [claims, reason] of refused) {
      const res = await askAs('signer', 'ES256', claims)
      expectError(res, 401, 'invalid_client')
      expect(res.body.error_description).toContain(reason)
      expect(res.headers).not.toHaveProperty('www-authenticate')
    }
    const [behind, ahead] = [
      { exp: now() - 20, iat: now() - 80 },
      { iat: now() + 20, nbf: now() + 20 },
    ]
    for (const claims of [behind, { ...ahead, exp: now() + 3620 }])
      expect((await askAs('signer', 'ES256', claims)).status).toBe(200)
  })

  test.each<[string, () => Promise<string>]>([
    ['by another key under a known kid', () => assertion('signer', keyOf('second'), {}, { kid: 'ES256' })],
    ['under an unknown kid', () => assertion('signer', keyOf('ES256'), {}, { kid: 'unknown' })],
    ['with an algorithm other than the registered one', () => assertion('es256', keyOf('PS256'))],
    ['for a client that is disabled', () => assertion('disabled', keyOf('ES256'))],
    ['for a client that uses a secret', () => assertion('web', keyOf('ES256'))],
    ['for a client with keys that registered no method', () => assertion('keyholder', keyOf('ES256'))],
  ])('signed %s is refused with the common error', async (_what, signed) => {
    const res = await ask(await signed())
    expectError(res, 401, 'invalid_client')
    expect(res.body).toEqual(undecided)
  })
})

test('the request may repeat the client_id, and names no other client', async () => {
  const jwt = await assertion('signer', keyOf('ES256'))
  expectError(await ask(jwt, { client_id: 'other' }), 400, 'invalid_request')
  expectError(await ask(jwt).auth('web', secret), 400, 'invalid_request')
  expect((await ask(jwt, { client_id: 'signer' })).status).toBe(200)
})

describe('one use', () => {
  test('of an identifier counts for each client separately', async () => {
    const jti = randomUUID()
    expect((await askAs('signer', 'ES256', { jti })).status).toBe(200)
    expect((await askAs('other', 'second', { jti })).status).toBe(200)
  })

  test('across routers on one database: one of twenty parallel requests succeeds', async () => {
    const twin = await startHost({ database: host.database, clients: [], options: { limits: false } })
    try {
      const jwt = await assertion('signer', keyOf('ES256'))
      const asked = Array.from({ length: 20 }, (_, index) => ask(jwt, {}, index % 2 ? twin : host))
      const all = await Promise.all(asked)
      expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 401)])
    } finally {
      await twin.oauth.close()
    }
  })

  test('is stored as a hash until the assertion has expired, with the tolerance for clocks', async () => {
    const clock = stopClock()
    const jti = randomUUID()
    const table = host.table('replays')
    await askAs('signer', 'ES256', { jti, exp: clock.now() + 60.5 })
    const rows = await table.where({ expires_at: clock.now() + 61 + 30 }).select(['hash'])
    expect(rows).toEqual([{ hash: expect.stringMatching(/^[\w-]{43}$/) }])
    expect(JSON.stringify(rows)).not.toContain(jti)
  })
})

describe('keys at jwks_uri', () => {
  let clientId: string
  const register = async (path = randomUUID()) => {
    clientId = `published-${randomUUID()}`
    const seed = signer(clientId, { jwks_uri: `${jwksUri}?${path}` })
    await seedClients(host.database.knex, [seed], {
      database: { tablePrefix: host.database.tablePrefix },
      scopes: { 'notes:read': 'Read your notes' },
    })
    publisher.asked = 0
    publisher.keys = [keyOf('ES256').publicJwk]
  }
  beforeEach(() => register())
  const status = async (key: string): Promise<number> => (await askAs(clientId, key)).status

  test('are fetched once for ten minutes, and once for many at once', async () => {
    const clock = stopClock()
    const all = await Promise.all(Array.from({ length: 5 }, () => status('ES256')))
    expect(all).toEqual([200, 200, 200, 200, 200])
    clock.travel(599)
    expect(await status('ES256')).toBe(200)
    expect(publisher.asked).toBe(1)
    clock.travel(1)
    expect(await status('ES256')).toBe(200)
    expect(publisher.asked).toBe(2)
  })

  test('that the client changes are found at once, and the old ones are gone', async () => {
    const clock = stopClock()
    expect(await status('ES256')).toBe(200)
    publisher.keys = [keyOf('RS256').publicJwk]
    clock.travel(1)
    const all = await Promise.all(Array.from({ length: 5 }, () => status('RS256')))
    expect(all).toEqual([200, 200, 200, 200, 200])
    expect(publisher.asked).toBe(2)
    expect(await status('ES256')).toBe(401)
  })

  test('that the client changes without naming them are found too', async () => {
    const clock = stopClock()
    publisher.keys = [keyOf('first').publicJwk]
    expect(await status('first')).toBe(200)
    publisher.keys = [keyOf('second').publicJwk]
    clock.travel(1)
    expect(await status('second')).toBe(200)
  })

  test('that take long to fetch: a token that is revoked meanwhile gives no other', async () => {
    const clock = stopClock()
    const fields = async (): Promise<Fields> => ({
      client_id: undefined,
      client_secret: undefined,
      ...asserted(await assertion(clientId, keyOf('ES256'))),
    })
    const code = await codeFor(host, { client_id: clientId })
    const tokens = await answerOf(redeem(host, code, await fields()))
    clock.travel(601)
    publisher.answer = (res) => {
      clock.travel(2)
      const revoked = host.table('authorizations').where({ client_id: clientId })
      void revoked.update({ revoked_at: clock.now() }).then(() => usualAnswer(res))
    }
    expectError(await refresh(host, tokens.refresh_token, await fields()), 400, 'invalid_grant')
  })

  test('that are known are used for a day while the client is unavailable', async () => {
    const clock = stopClock()
    expect(await status('ES256')).toBe(200)
    publisher.answer = (res) => void res.destroy()
    clock.travel(3600)
    expect(await status('ES256')).toBe(200)
    expect(await status('ES256')).toBe(200)
    expect(publisher.asked).toBe(2)
    const warning = /^latchkey: the keys at http:.* cannot be read: .*no response$/
    expect(warnings).toEqual([expect.stringMatching(warning)])
    clock.travel(86_400)
    expect(await status('ES256')).toBe(401)
  })

  test('that cannot verify a signature are passed over', async () => {
    const rsa = keyOf('RS256').publicJwk
    const symmetric = { kty: 'oct', k: base64url.encode('a secret that everybody can read'), alg: 'HS256' }
    const encrypting = { ...keyOf('second').publicJwk, use: 'enc' }
    const useless = [{ kty: 'new' }, 'text' as never, symmetric, { ...rsa, d: 'leaked' }, encrypting]
    publisher.keys = [...useless, keyOf('ES256').publicJwk]
    expect(await status('ES256')).toBe(200)
    for (const key of ['RS256', 'second']) expect(await status(key)).toBe(401)
  })
})

test('a client with an assertion needs neither a secret nor PKCE to log in and refresh', async () => {
  const fields = async (): Promise<Fields> => ({
    client_id: undefined,
    client_secret: undefined,
    ...asserted(await assertion('signer', keyOf('PS256'))),
  })
  const code = await codeFor(host, { client_id: 'signer', scope: 'openid profile' })
  const tokens = await answerOf(redeem(host, code, await fields()))
  expect((await userinfo(host, tokens.access_token)).body).toMatchObject({ name: 'Ada Lovelace' })
  const refreshed = await answerOf(refresh(host, tokens.refresh_token, await fields()))
  expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
})

describe('registration', () => {
  const seed = async (metadata: Partial<ClientSeed>) => {
    const lines: string[] = []
    const info = (line: string) => void lines.push(line)
    const seeds = [signer('seeded', { scope: 'openid', ...metadata })]
    const { tablePrefix } = host.database
    const options = { database: { tablePrefix }, logger: { ...console, info } }
    const [seeded] = await seedClients(host.database.knex, seeds, options)
    const row = await host.table('clients').where({ client_id: 'seeded' }).first()
    return { seeded, lines, row }
  }
  const rsa = (more: object) => ({ keys: [{ ...keyOf('RS256').publicJwk, ...more }] }) as ClientSeed['jwks']

  test('makes no secret, shows none, and forgets one there was', async () => {
    await seed({ token_endpoint_auth_method: 'client_secret_basic', client_secret: secret })
    const { seeded, lines, row } = await seed({ jwks: publicKeys('ES256') })
    expect(seeded).toEqual({ client_id: 'seeded' })
    expect(lines).toEqual([])
    expect(row.secret_hash).toBeNull()
  })

  test('keeps of a key what verifying needs', async () => {
    const jwks = rsa({ use: 'sig', key_ops: ['verify'], alg: 'PS256', x5c: ['MIIB'], other: 1 })
    const { kty, n, e, kid } = keyOf('RS256').publicJwk
    const { row } = await seed({ jwks })
    const kept = { kty, n, e, kid, use: 'sig', key_ops: ['verify'], alg: 'PS256' }
    expect(JSON.parse(row.metadata).jwks).toEqual({ keys: [kept] })
  })

  test.each<[string, () => Partial<ClientSeed>, string]>([
    ['no keys', () => ({}), 'jwks or jwks_uri is required'],
    ['both', () => ({ jwks: rsa({}), jwks_uri: 'https://client.example.com/jwks' }), 'must not both'],
    ['a secret', () => ({ jwks: rsa({}), client_secret: secret }), 'must not be set for private_key_jwt'],
    ['keys over http', () => ({ jwks_uri: 'http://client.example.com/jwks' }), 'must be an https URL'],
    [
      'keys as a string',
      () => ({ jwks: JSON.stringify(rsa({})) as never }),
      'must be an object with an array',
    ],
    ['an empty set', () => ({ jwks: { keys: [] } }), '1 to 20 keys'],
    ['21 keys', () => ({ jwks: publicKeys(...Array(21).fill('RS256')) }), '1 to 20 keys'],
    ['a private key', () => ({ jwks: rsa({ d: 'AQAB' }) }), 'private key'],
    ['a symmetric key', () => ({ jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } as never }), 'symmetric'],
    ['a key of an unknown kind', () => ({ jwks: rsa({ kty: '__proto__' }) }), 'RSA, EC and OKP'],
    ['a key that lacks something', () => ({ jwks: rsa({ e: undefined }) }), 'without n, e'],
    ['a short RSA key', () => ({ jwks: rsa({ n: 'x'.repeat(171) }) }), '2048 bits'],
    ['a kid that is a number', () => ({ jwks: rsa({ kid: 5 }) }), 'not strings'],
    ['key_ops that are a string', () => ({ jwks: rsa({ key_ops: 'verify' }) }), 'key_ops'],
  ])('refuses %s', async (_what, metadata, reason) => {
    await expect(seed(metadata())).rejects.toThrow(reason)
  })
})
