import { type AuthEvent, type ClientSeed, seedClients } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import {
  authorizeUrl,
  callback,
  type Host,
  secret,
  startHost,
  clients as testClients,
} from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  answerOf,
  expectError,
  guarded,
  introspect,
  post,
  redeem,
  refresh,
  userinfo,
} from '../support/tokens.ts'

let host: Host
let clients: Host['oauth']['clients']
const events: AuthEvent[] = []

beforeAll(async () => {
  host = await startHost({
    clients: [...testClients, { client_id: 'reports', grant_types: ['client_credentials'] }],
    options: { limits: false },
  })
  clients = host.oauth.clients
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(() => host.close())
beforeEach(() => {
  events.length = 0
})
afterEach(() => jest.restoreAllMocks())

const announced = () =>
  events
    .filter(({ type }) => type.startsWith('client.') && type !== 'client.refused')
    .map(({ type, ...event }) => [type, Reflect.get(event, 'clientId')])

/** A client like `web`, for one test. */
const newClient = async (client_id: string): Promise<string> => {
  await clients.create({ ...(testClients[0] as ClientSeed), client_id })
  events.length = 0
  return client_id
}
const ownTokens = (client_id: string, client_secret = secret, scope?: string) =>
  post(host, { grant_type: 'client_credentials', client_id, client_secret, scope })

/** Everything that a client may hold: tokens of a user and of its own, an unused code, a signed-in browser. */
const holdings = async (client_id: string) => {
  const agent = new RawBrowser(host.app)
  const url = authorizeUrl({ client_id, scope: 'openid offline_access notes:read' })
  const tokens = await answerOf(redeem(host, codeOf(await agent.grant(url)), { client_id }))
  const own = await answerOf(ownTokens(client_id, secret, 'notes:read'))
  const code = codeOf(await agent.get(url))
  return { client_id, agent, url, tokens, own, code }
}
type Holdings = Awaited<ReturnType<typeof holdings>>

/** The status of each use that leaves the holdings as they are. */
const uses = async ({ client_id, agent, url, tokens, own }: Holdings) => ({
  userinfo: (await userinfo(host, tokens.access_token)).status,
  api: (await guarded(host, tokens.access_token)).status,
  'api with its own token': (await guarded(host, own.access_token)).status,
  introspection: (await introspect(host, own.access_token, { client_id })).status,
  'client credentials': (await ownTokens(client_id)).status,
  authorize: (await agent.get(url)).status,
})
const allAre = (status: number, authorize: number) => ({
  userinfo: status,
  api: status,
  'api with its own token': status,
  introspection: status,
  'client credentials': status,
  authorize,
})
const working = allAre(200, 303)
const refused = allAre(401, 400)

describe('disable()', () => {
  test('refuses the client, its codes and tokens at once, and no other; enable() restores them', async () => {
    const held = await holdings(await newClient('off'))
    const others = await holdings(await newClient('other'))
    expect(await uses(held)).toEqual(working)

    await clients.disable('off')
    expect(await uses(held)).toEqual(refused)
    expectError(await redeem(host, held.code, { client_id: 'off' }), 401, 'invalid_client')
    const { refresh_token } = held.tokens
    expectError(await refresh(host, refresh_token, { client_id: 'off' }), 401, 'invalid_client')
    expect(await clients.get('off')).toMatchObject({ client_id: 'off', disabled: true })
    expect(await uses(others)).toEqual(working)

    await clients.enable('off')
    expect(await uses(held)).toEqual(working)
    await redeem(host, held.code, { client_id: 'off' }).expect(200)
    await refresh(host, refresh_token, { client_id: 'off' }).expect(200)
    expect(await clients.get('off')).toMatchObject({ disabled: false })
    expect(announced()).toEqual([
      ['client.disabled', 'off'],
      ['client.enabled', 'off'],
    ])
  })

  test('restores nothing that expired meanwhile', async () => {
    const clock = stopClock()
    const client_id = await newClient('expired')
    const held = await holdings(client_id)
    await clients.disable(client_id)
    clock.travel(3601)
    await clients.enable(client_id)
    expect((await userinfo(host, held.tokens.access_token)).status).toBe(401)
    expectError(await redeem(host, held.code, { client_id }), 400, 'invalid_grant')
    await refresh(host, held.tokens.refresh_token, { client_id }).expect(200)
  })
})

test('delete() removes only what the client holds, in batches; the next of its id gets nothing', async () => {
  const client_id = await newClient('deleted')
  const held = await holdings(client_id)
  const others = await holdings(await newClient('kept'))
  const [row] = await host.table('authorizations').where({ client_id })
  const [consent] = await host.table('consents').where({ client_id })
  const [token] = await host.table('access_tokens').where({ client_id }).whereNull('authorization_id')
  const copies = Array.from({ length: 230 }, (_, n) => `copy-${n}`)
  const insert = (name: string, rows: object[]) =>
    host.database.knex.batchInsert(`${host.database.tablePrefix}${name}`, rows, 25)
  await insert(
    'authorizations',
    copies.map((copy) => ({ ...row, id: copy, code_hash: copy })),
  )
  await insert(
    'consents',
    copies.map((copy) => ({ ...consent, subject: copy })),
  )
  await insert(
    'access_tokens',
    copies.map((copy) => ({ ...token, hash: copy })),
  )
  events.length = 0

  await clients.delete(client_id)
  expect(await uses(held)).toEqual(refused)
  expect(await clients.get(client_id)).toBeUndefined()
  for (const name of ['consents', 'authorizations', 'access_tokens'])
    expect(await host.table(name).where({ client_id })).toEqual([])
  const authorizations = (await host.table('authorizations')).map(({ id }) => id)
  expect(await host.table('refresh_tokens').whereNotIn('authorization_id', authorizations)).toEqual([])
  expect(await host.table('consent_receipts').where({ client_id })).toHaveLength(1)
  expect(await uses(others)).toEqual(working)
  expect(announced()).toEqual([['client.deleted', client_id]])

  await newClient(client_id)
  expect(await uses(held)).toMatchObject({ userinfo: 401, api: 401, 'api with its own token': 401 })
  expectError(await redeem(host, held.code, { client_id }), 400, 'invalid_grant')
  expectError(await refresh(host, held.tokens.refresh_token, { client_id }), 400, 'invalid_grant')
})

describe('create()', () => {
  test('registers a client, returns its secret once and stores the hash', async () => {
    const created = await clients.create({ client_name: 'Shop', redirect_uris: [callback] })
    expect(created).toMatchObject({
      client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      client_secret: expect.stringMatching(/^lk_cs_[\w-]{43}$/),
      client_name: 'Shop',
      disabled: false,
      grant_types: ['authorization_code', 'refresh_token'],
    })
    const { client_secret = '', ...registered } = created
    expect(await clients.get(created.client_id)).toEqual(registered)
    const [row] = await host.table('clients').where({ client_id: created.client_id })
    expect(row.secret_hash).toBe(hashSecret(client_secret))
    expect(announced()).toEqual([['client.created', created.client_id]])
    expect(JSON.stringify(await clients.list())).not.toContain(hashSecret(client_secret))
  })

  test.each<[string, object, string]>([
    ['a taken id', { client_id: 'web' }, 'client_id: web is already registered'],
    ['an id that ends with a space', { client_id: 'web ' }, 'client_id must be 1 to 255'],
    ['an id with a newline', { client_id: 'b\n' }, 'client_id must be 1 to 255'],
    [
      'a scope with a typo',
      { scope: 'openid notes:raed' },
      'scope: notes:raed is not in the option scopes; did you mean notes:read?',
    ],
    ['a redirect URI with a fragment', { redirect_uris: [`${callback}#x`] }, 'redirect_uri'],
    ['a short secret', { client_secret: 'short' }, 'client_secret must have at least 32'],
    ['a repeated word', { client_secret: 'changeme'.repeat(5) }, 'client_secret is too easy to guess'],
    [
      'a secret for a public client',
      { client_secret: secret, token_endpoint_auth_method: 'none' },
      'client_secret must not be set for a public client',
    ],
    ['an unknown field', { redirect_uri: callback }, 'redirect_uri is not client metadata'],
  ])('refuses %s and writes nothing', async (_, input, message) => {
    const before = await host.table('clients')
    const code = 'redirect_uris' in input ? 'invalid_redirect_uri' : 'invalid_client_metadata'
    const creating = clients.create({ redirect_uris: [callback], ...input })
    await expect(creating).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
    expect(await host.table('clients')).toEqual(before)
    expect(announced()).toEqual([])
  })

  test('accepts an id with spaces inside (RFC 6749 Appendix A.1)', async () => {
    const grant_types = ['client_credentials' as const]
    await clients.create({ client_id: 'my shop', client_secret: secret, grant_types })
    await post(host, { grant_type: 'client_credentials' }).auth('my shop', secret).expect(200)
  })

  test('of two registrations of one id at the same time one succeeds', async () => {
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map(() => clients.create({ client_id: 'twin', redirect_uris: [callback] })),
    )
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(await host.table('clients').where({ client_id: 'twin' })).toHaveLength(1)
  })
})

test('create() and update() refuse what is no metadata, and do not call the service unavailable', async () => {
  for (const given of [undefined, null, 'native', []] as never[]) {
    const refusal = { code: 'invalid_client_metadata', message: expect.stringContaining('an object') }
    await expect(clients.create(given)).rejects.toMatchObject(refusal)
    await expect(clients.update('native', given)).rejects.toMatchObject(refusal)
  }
})

test('list() pages through all clients by id, and searches ids and names literally in any case', async () => {
  const numbered = Array.from({ length: 205 }, (_, index) => `n-${String(index).padStart(3, '0')}`)
  for (const client_id of numbered)
    await clients.create({ client_id, client_name: `No. ${client_id}`, grant_types: [] })
  await clients.create({ client_id: 'odd', client_name: 'Größe 100%_!"', grant_types: [] })
  await clients.disable('odd')
  const ids = async (options: Parameters<typeof clients.list>[0]) =>
    (await clients.list(options)).map(({ client_id }) => client_id)

  expect(await ids({ limit: 204, search: 'N-' })).toEqual(numbered.slice(0, 204))
  expect(await ids({ limit: 204, search: 'n-', after: 'n-203' })).toEqual(['n-204'])
  expect(await ids({ limit: 2, after: 'n-204' })).toEqual(['native', 'odd'])
  const all = (await host.table('clients')).map(({ client_id }) => client_id).sort()
  expect(await ids({})).toEqual(all.slice(0, 100))
  expect(await ids({ after: 'odd' })).toEqual(all.filter((id) => id > 'odd'))
  expect(await ids({ search: 'NO. N-20' })).toEqual(numbered.slice(200))
  for (const search of ['100%_!"', 'größe', '%', '_', '!']) expect(await ids({ search })).toEqual(['odd'])
  expect(await clients.list({ search: '%' })).toMatchObject([{ client_id: 'odd', disabled: true }])
  expect(await ids({ search: 'client_name' })).toEqual([])
  expect(await ids({ search: 'GRÖßE' })).toEqual(['odd'])
  await clients.update('odd', { client_name: 'Renamed' })
  expect(await ids({ search: 'größe' })).toEqual([])
  expect(await ids({ search: 'renAMED' })).toEqual(['odd'])
  for (const limit of [0, 1.5, 1001, '5' as never])
    await expect(ids({ limit })).rejects.toThrow('limit must be a whole number from 1 to 1000')
})

describe('update()', () => {
  test('changes the named fields and keeps the others, with the secret', async () => {
    const client_id = await newClient('named')
    const before = await clients.get(client_id)
    const updated = await clients.update(client_id, { client_name: 'Shop', scope: 'openid' })
    expect(updated).toEqual({ ...before, client_name: 'Shop', scope: 'openid' })
    expectError(await ownTokens(client_id, secret, 'notes:read'), 400, 'invalid_scope')
    const { client_name: _, ...without } = updated
    const nameless = await clients.update(client_id, { client_name: null, grant_types: undefined })
    expect(nameless).toEqual(without)
    expect(announced()).toEqual(Array(2).fill(['client.updated', client_id]))
  })

  test('a token loses the scopes that its client loses', async () => {
    const client_id = await newClient('narrower')
    const { access_token } = await answerOf(ownTokens(client_id))
    await guarded(host, access_token).expect(200)
    await clients.update(client_id, { scope: 'notes:write' })
    expectError(await guarded(host, access_token), 403, 'insufficient_scope')
    const { body } = await introspect(host, access_token, { client_id })
    expect(body).toMatchObject({ active: true, scope: 'notes:write' })
  })

  test('a client that begins to use a secret gets one', async () => {
    await clients.create({ ...(testClients[1] as ClientSeed), client_id: 'public' })
    const updated = await clients.update('public', { token_endpoint_auth_method: 'client_secret_basic' })
    expect(updated.client_secret).toMatch(/^lk_cs_/)
    expect(await clients.update('public', { client_name: 'N' })).not.toHaveProperty('client_secret')
  })

  test.each<[object, string]>([
    [{ redirect_uris: [] }, 'redirect_uris is required'],
    [{ scope: 'orders:read' }, 'scope: orders:read is not in the option scopes; add it there'],
    [{ client_secret: secret }, 'client_secret is not client metadata'],
    [{ client_id: 'other' }, 'client_id is not client metadata'],
  ])('refuses %j and changes nothing', async (changes, message) => {
    const before = await host.table('clients')
    await expect(clients.update('web', changes)).rejects.toThrow(message)
    expect(await host.table('clients')).toEqual(before)
  })

  test('with ifUnchanged one of several changes applies; the others are refused and write nothing', async () => {
    const client_id = await newClient('read')
    const ifUnchanged = (await clients.get(client_id))!
    const change = (client_name: string) => clients.update(client_id, { client_name }, { ifUnchanged })
    const outcomes = await Promise.allSettled(['A', 'B', 'C'].map(change))
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    const message = `client ${client_id} has changed since it was read`
    await expect(change('late')).rejects.toMatchObject({ status: 409, message })
    expect((await clients.get(client_id))?.client_name).toMatch(/^[ABC]$/)
    expect(announced()).toEqual([['client.updated', client_id]])
    await clients.update(client_id, { client_name: 'late' })
    const unknown = clients.update('unknown-client', {}, { ifUnchanged })
    await expect(unknown).rejects.toMatchObject({ status: 409 })
  })
})

describe('a rotated secret', () => {
  const works = async (client_id: string, client_secret: string): Promise<boolean> =>
    (await ownTokens(client_id, client_secret)).status === 200
  const chosen = 'another-client-secret-of-more-than-32-characters'
  const seed = (client_id: string, changes: Partial<ClientSeed>) => {
    const { knex, tablePrefix } = host.database
    const scopes = { 'notes:read': 'Read', 'notes:write': 'Write' }
    const logger = { ...console, info: () => {} }
    const client = { ...(testClients[0] as ClientSeed), client_id, ...changes }
    return seedClients(knex, [client], { database: { tablePrefix }, scopes, logger })
  }

  test('is new, and the previous one stays valid for a while, or not at all', async () => {
    const clock = stopClock()
    const client_id = await newClient('rotated')
    const rotated = await clients.rotateSecret(client_id, { keepPreviousFor: 60 })
    expect(rotated).toEqual({
      client_id,
      client_secret: expect.stringMatching(/^lk_cs_/),
      previous_secret_expires_at: clock.now() + 60,
    })
    for (const each of [secret, rotated.client_secret]) expect(await works(client_id, each)).toBe(true)
    clock.travel(60)
    expect(await works(client_id, secret)).toBe(false)
    expect(await works(client_id, rotated.client_secret)).toBe(true)
    expect(announced()).toEqual([['client.secret_rotated', client_id]])
    await clients.rotateSecret(client_id, { keepPreviousFor: 0 })
    expect(await works(client_id, rotated.client_secret)).toBe(false)
    await expect(clients.rotateSecret('native')).rejects.toThrow('does not use a secret')
    await expect(clients.rotateSecret(client_id, { keepPreviousFor: -1 })).rejects.toThrow(TypeError)
  })

  test('stays, with the one before it, until a seed chooses another', async () => {
    const client_id = await newClient('seeded')
    const { client_secret: rotated } = await clients.rotateSecret(client_id)
    for (const client_secret of [rotated, undefined]) {
      await seed(client_id, { client_secret })
      expect([await works(client_id, secret), await works(client_id, rotated)]).toEqual([true, true])
    }
    await seed(client_id, { client_secret: chosen })
    const all = [secret, rotated, chosen].map((each) => works(client_id, each))
    expect(await Promise.all(all)).toEqual([false, false, true])
  })

  test('does not come back when the client was public or used a key in between', async () => {
    const client_id = await newClient('between')
    await clients.rotateSecret(client_id)
    const isPublic = { token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] } as const
    const none = { client_secret: undefined }
    await seed(client_id, { ...none, ...isPublic, grant_types: [...isPublic.grant_types] })
    const [{ client_secret: created = '' } = {}] = await seed(client_id, none)
    expect([await works(client_id, secret), await works(client_id, created)]).toEqual([false, true])
  })
})

test.each(['unknown-client', '', 'WEB', 'web ', "' OR 1=1 --"])(
  'an unknown client is refused: %j',
  async (id) => {
    expect(await clients.get(id)).toBeUndefined()
    const before = await host.table('clients')
    const calls = [clients.disable(id), clients.enable(id), clients.delete(id), clients.rotateSecret(id)]
    const reason = { code: 'invalid_client', message: `client ${id} is not registered` }
    for (const outcome of await Promise.allSettled([...calls, clients.update(id, {})]))
      expect(outcome).toMatchObject({ status: 'rejected', reason })
    expect(await host.table('clients')).toEqual(before)
    expect(announced()).toEqual([])
  },
)
