import { createHash } from 'node:crypto'
import { hash as argon2 } from '@node-rs/argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import supertest from 'supertest'
import { seedClients } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { verifySecrets } from '../../lib/oauth/client-authentication/client-secret.ts'
import { registrableOf } from '../../lib/options/registrable.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { findClient } from '../../lib/storage/repositories/index.ts'
import type { ImportedClient } from '../../lib/tools/import/checked-client.ts'
import { type ImportedToken, importRefreshTokens } from '../../lib/tools/import/import-refresh-tokens.ts'
import { importClients } from '../../lib/tools/import/import-server.ts'
import { createPasswordVerifier } from '../../lib/users/passwords/password-verifier.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { callback, type Host, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, type Fields, introspect, post, refresh, revoke } from '../support/tokens.ts'

const secret = 'Zk4Rq9vX2bN7mYt5Ws8Lc3Hd6Jf1GpQaUeIo'
const token = 'rT9xK2mV7bN4qY5wS8zL3cH6dJ1fGpQa'
const shop: ImportedClient = {
  clientId: 'shop',
  secret,
  metadata: {
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  },
}
// Written by Django 3.2: make_password(secret, salt='0B2L6Lodqi7MuosivMkLHv'), with fewer iterations.
const pbkdf2 = 'pbkdf2_sha256$1000$0B2L6Lodqi7MuosivMkLHv$fDgzdsvkLdrBrT7kdXD4uX0FFpkapuw3ReTC/8HzFk8='
const scrypt = '$scrypt$ln=4,r=8,p=1$c2l4dGVlbiBieXRlcyBvZg$rKNBFEh1NxsCmZpBknPXk9LoG02EjEwOFO1HNaYXkP0'
const hex = (value: string): string => createHash('sha256').update(value).digest('hex')

let clock: Clock
let usual: Host
let host: Host
beforeAll(async () => {
  usual = await startHost({ clients: [], options: { lifetimes: { refreshGracePeriod: 0 }, limits: false } })
})
afterAll(() => usual.close())
beforeEach(async () => {
  clock = stopClock()
  host = usual
  for (const name of ['clients', 'imported_secrets', 'refresh_tokens', 'authorizations'])
    await host.table(name).delete()
})
afterEach(() => jest.restoreAllMocks())

const opened = () => openDatabase(host.database.knex, host.database.tablePrefix)
const registrable = registrableOf({ scopes: { 'notes:read': true, 'notes:write': true } })

const take = (clients: readonly ImportedClient[], meaning?: 'plain' | 'sha256') =>
  importClients({ database: opened().database, now: clock.now, installed: [] }, clients, {
    registrable,
    scopes: registrable.scopes,
    hex: meaning,
    dryRun: false,
  })

const lifetimes = { refreshTokenIdle: 1000, refreshTokenAbsolute: 5000 }
const takeTokens = async (...tokens: Partial<ImportedToken>[]) => {
  const { clients } = await take([shop])
  const list = tokens.map((each) => ({
    clientId: 'shop',
    subject: '1',
    scopes: ['openid', 'notes:read'],
    stored: token,
    createdAt: clock.now(),
    ...each,
  }))
  const batches = async function* () {
    yield list
  }
  const registry = { database: opened().database, now: clock.now }
  return importRefreshTokens(registry, batches(), { clients, lifetimes, dryRun: false })
}

const asks = (client_secret = secret, byHeader = false) => {
  const form: Fields = { grant_type: 'client_credentials', scope: 'notes:read' }
  if (!byHeader) return post(host, { ...form, client_id: 'shop', client_secret })
  const request = supertest(host.app).post('/oauth/token').type('form').auth('shop', client_secret)
  return request.send({ grant_type: 'client_credentials' })
}
const statusOf = async (client_secret?: string, byHeader?: boolean): Promise<number> =>
  (await asks(client_secret, byHeader)).status
const storedHash = async () =>
  (await host.table('clients').select('secret_hash').where({ client_id: 'shop' }))[0]
const wrong = secret.replace('Z', 'z')
const slow = () => bcrypt(secret, { cost: 4 })

test.each([
  ['bcrypt', slow],
  ['bcrypt of PHP', async () => (await slow()).replace('$2b$', '$2y$')],
  ['argon2', () => argon2(secret, { memoryCost: 64, timeCost: 1 })],
  ['argon2 of Django', async () => `argon2${await argon2(secret, { memoryCost: 64, timeCost: 1 })}`],
  ['bcrypt of Django', async () => `bcrypt$${await slow()}`],
  ['scrypt', async () => scrypt],
  ['PBKDF2 of Django', async () => pbkdf2],
])('a secret known only by %s works', async (_name, make) => {
  await take([{ ...shop, secret: await make() }])
  expect([await statusOf(wrong), await statusOf()]).toEqual([401, 200])
  expect(await storedHash()).toEqual({ secret_hash: hashSecret(secret) })
})

test('the first use of a secret known by a slow hash stores Latchkey’s own hash, once', async () => {
  const client = { ...shop, secret: await slow() }
  expect(await take([client])).toMatchObject({ refused: [], differences: [{ client_id: 'shop' }] })
  expect((await take([client])).differences).toEqual([])
  expect(await host.table('imported_secrets').select()).toHaveLength(1)
  expect(await statusOf('')).toBe(401)
  expect(await Promise.all([statusOf(), statusOf(secret, true), statusOf()])).toEqual([200, 200, 200])
  expect(await storedHash()).toEqual({ secret_hash: hashSecret(secret) })
  expect(await host.table('imported_secrets').select()).toEqual([])
  expect([await statusOf(secret, true), await statusOf(wrong)]).toEqual([200, 401])
  expect((await take([client])).differences).toEqual([])
  expect(await statusOf()).toBe(200)
})

test('a request that read the client before another request stored our hash succeeds too', async () => {
  await take([{ ...shop, secret: await slow() }])
  const { database } = opened()
  const client = await findClient(database, { clientId: 'shop', now: clock.now() })
  expect(await statusOf()).toBe(200)
  const context = { database, now: clock.now, passwords: createPasswordVerifier() }
  expect(await verifySecrets(client!, [wrong], context)).toBe(false)
  expect(await verifySecrets(client!, [secret], context)).toBe(true)
})

test('plain and SHA-256 secrets need no first use; an option says which of them hex digits are', async () => {
  await take([shop])
  expect(await storedHash()).toEqual({ secret_hash: hashSecret(secret) })
  expect((await take([{ ...shop, secret: hex(secret) }])).differences).toEqual([])
  expect((await take([{ ...shop, secret: hex(secret) }], 'plain')).differences).toHaveLength(1)
  expect([await statusOf(), await statusOf(hex(secret))]).toEqual([401, 200])
  await take([{ ...shop, secret: hex(secret) }])
  // A person who has read the other server's database knows this value, so it must not work as a secret.
  expect([await statusOf(), await statusOf(hex(secret))]).toEqual([200, 401])
})

test('an imported secret survives changes of its client, and ends with a rotation or the client', async () => {
  await take([{ ...shop, secret: await slow() }])
  expect(await host.oauth.clients.update('shop', { client_name: 'Shop' })).not.toHaveProperty('client_secret')
  const rotated = await host.oauth.clients.rotateSecret('shop', { keepPreviousFor: 60 })
  expect(await statusOf()).toBe(200)
  expect(await host.table('clients').select('secret_hash', 'previous_secret_hash')).toEqual([
    { secret_hash: hashSecret(rotated.client_secret), previous_secret_hash: hashSecret(secret) },
  ])
  clock.travel(60)
  expect([await statusOf(), await statusOf(rotated.client_secret)]).toEqual([401, 200])

  await take([{ ...shop, clientId: 'other', secret: await slow() }])
  await host.oauth.clients.delete('other')
  expect(await host.table('imported_secrets').select()).toEqual([])
})

test('a seeded secret replaces an imported one, and nothing of the old one stays stored', async () => {
  await take([{ ...shop, secret: await slow() }])
  const { knex, tablePrefix } = host.database
  const seed = { client_id: 'shop', client_secret: wrong, redirect_uris: [callback] }
  await seedClients(knex, [seed], { database: { tablePrefix } })
  expect(await host.table('imported_secrets').select()).toEqual([])
  expect(await statusOf()).toBe(401)
})

test('another slow hash replaces an unused secret, but not one that was used', async () => {
  await take([{ ...shop, secret: await bcrypt(wrong, { cost: 4 }) }])
  expect((await take([{ ...shop, secret: await slow() }])).differences).toHaveLength(1)
  expect([await statusOf(wrong), await statusOf()]).toEqual([401, 200])
  expect((await take([{ ...shop, secret: await bcrypt(wrong, { cost: 4 }) }])).differences).toEqual([])
  expect([await statusOf(wrong), await statusOf()]).toEqual([401, 200])
})

test('only a client that presents the right secret learns that an imported secret has expired', async () => {
  await take([{ ...shop, secret: await slow() }])
  await host.oauth.clients.update('shop', { client_secret_expires_at: clock.now() + 60 })
  clock.travel(60)
  expect((await asks()).body.error_description).toBe('client_secret is expired')
  expect((await asks(wrong)).body.error_description).toBe('client authentication failed')
})

test('wrong secrets are limited, before the slow hash is checked', async () => {
  const limits = { token: { max: 2, seconds: 60 } }
  host = await startHost({
    database: host.database,
    clients: [],
    options: { limits: { failures: limits } },
  })
  await take([{ ...shop, secret: await slow() }])
  expect([await statusOf(wrong), await statusOf(wrong), await statusOf()]).toEqual([401, 401, 429])
})

test.each<[string, Partial<ImportedClient>, string]>([
  ['no secret', { secret: '' }, 'it is confidential and has no secret'],
  ['a short secret', { secret: 'secret', form: 'plain' }, 'client_secret must have at least 32 characters'],
  ['an unknown hash', { secret: 'md5$salt$0123' }, 'its secret is stored as a hash of an unknown format'],
  [
    'an id that is none',
    { clientId: ' shop' },
    'client_id must be 1 to 255 printable ASCII characters, without spaces at either end',
  ],
  [
    'an unknown scope',
    { metadata: { ...shop.metadata, scope: 'notes:burn' } },
    'scope: notes:burn is not in the option scopes',
  ],
  [
    'only http',
    { metadata: { ...shop.metadata, redirect_uris: ['http://a.example.com/'] } },
    'redirect_uri must use https beyond loopback',
  ],
])('a client with %s is refused, and the others are imported', async (_name, change, remark) => {
  const other = { ...shop, clientId: 'other' }
  const report = await take([{ ...shop, ...change }, other])
  expect(report.refused).toEqual([
    { client_id: change.clientId ?? 'shop', remark: expect.stringContaining(remark) },
  ])
  expect((await host.oauth.clients.list()).map(({ client_id }) => client_id)).toEqual(['other'])
})

const web = { client_id: 'shop', client_secret: secret }

test('an imported refresh token is active, appears to its user, and can be revoked', async () => {
  expect(await takeTokens({})).toEqual({ imported: 1, known: 0, refused: {} })
  expect((await introspect(host, token, web)).body).toMatchObject({
    active: true,
    sub: '1',
    scope: 'openid notes:read',
  })
  expect(await host.oauth.users.export('1')).toMatchObject({ authorizations: [{ clientId: 'shop' }] })
  const agent = new RawBrowser(host.app)
  const list = await agent.signIn(await agent.open('/oauth/account'))
  expect(list.html).toContain('/oauth/account?client_id=shop')
  expect((await revoke(host, token, web)).status).toBe(200)
  expect((await introspect(host, token, web)).body).toEqual({ active: false })
  expect((await refresh(host, token, web)).body).toMatchObject({ error: 'invalid_grant' })
  expect(await takeTokens({})).toMatchObject({ imported: 0, known: 1 })
  expect((await refresh(host, token, web)).body).toMatchObject({ error: 'invalid_grant' })
})

test.each([
  ['a password change', () => host.oauth.users.revokeAll('1')],
  ['the end of its user', () => host.oauth.users.erase('1')],
])('an imported refresh token ends with %s', async (_name, end) => {
  await takeTokens({})
  await end()
  expect((await refresh(host, token, web)).body).toMatchObject({ error: 'invalid_grant' })
})

test('without a known login auth_time is the oldest possible; scopes are those the client has', async () => {
  await takeTokens({ scopes: ['openid', 'notes:read', 'notes:burn'] })
  const { id_token, scope } = await answerOf(refresh(host, token, web))
  expect(scope).toBe('openid notes:read')
  const claims = JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString())
  expect(claims).toMatchObject({ sub: '1', auth_time: 0 })
})

test.each<[string, Partial<ImportedToken>, number]>([
  ['the idle lifetime from the import', {}, 1000],
  ['its own expiry', { expiresAt: 0 + 500 }, 500],
  ['the absolute lifetime from its creation', { createdAt: -4300 }, 700],
])('an imported refresh token lasts %s', async (_name, { createdAt = 0, expiresAt }, lasts) => {
  const now = clock.now()
  await takeTokens({ createdAt: now + createdAt, ...(expiresAt && { expiresAt: now + expiresAt }) })
  expect((await introspect(host, token, web)).body).toMatchObject({ exp: now + lasts })
  clock.travel(lasts)
  expect((await refresh(host, token, web)).body).toMatchObject({ error: 'invalid_grant' })
  clock.travel(-1)
  expect((await refresh(host, token, web)).status).toBe(200)
})

test('a token with a time in the future lasts as if it was created at the import', async () => {
  const now = clock.now()
  await takeTokens({ createdAt: now + 90_000 })
  const { refresh_token } = await answerOf(refresh(host, token, web))
  expect((await introspect(host, refresh_token, web)).body).toMatchObject({ exp: now + 5000 })
})

test('tokens are stored by hash; hashes are stored as they are', async () => {
  const tokens = [{ stored: hex(token) }, { stored: 'f'.repeat(64), form: 'plain' as const }]
  expect(await takeTokens(...tokens)).toMatchObject({ imported: 2 })
  const hashes = (await host.table('refresh_tokens').select('hash')).map(({ hash }) => hash)
  expect(hashes.sort()).toEqual([hashSecret(token), hashSecret('f'.repeat(64))].sort())
  expect((await refresh(host, hex(token), web)).status).toBe(400)
  expect((await refresh(host, token, web)).status).toBe(200)
})

test('tokens that cannot be imported are counted by reason', async () => {
  const now = clock.now()
  const refused = await takeTokens(
    { clientId: 'other' },
    { subject: '' },
    { stored: 'short' },
    { stored: `lk_rt_${'a'.repeat(43)}x` },
    { stored: 'no hash', form: 'sha256' },
    { expiresAt: now },
    { createdAt: now - 5000 },
    { refusal: 'it is odd' },
  )
  expect(refused).toEqual({
    imported: 0,
    known: 0,
    refused: {
      'its client is not imported': 1,
      'it belongs to no user': 1,
      'its form is not that of a refresh token': 3,
      'it is expired': 1,
      'it is older than refresh tokens can be here': 1,
      'it is odd': 1,
    },
  })
  expect(await host.table('refresh_tokens').select()).toEqual([])
})
