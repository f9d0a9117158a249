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
  web,
} from '../support/tokens.ts'

let host: Host
const events: AuthEvent[] = []

beforeEach(async () => {
  host = await startHost({
    clients: [...testClients, { client_id: 'reports', grant_types: ['client_credentials'] }],
    options: { throttle: false },
  })
  events.length = 0
  host.oauth.events.on('*', (event) => events.push(event))
})
afterEach(() => host.close())
afterEach(() => jest.restoreAllMocks())

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const announced = () =>
  events
    .filter(({ type }) => type.startsWith('client.'))
    .map(({ type, ...event }) => [type, Reflect.get(event, 'clientId')])

const request = { client_id: 'web', scope: 'openid offline_access notes:read' }

/** Everything that a client may hold: tokens of a user and of its own, an unused code, a signed-in browser. */
const holdings = async () => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await agent.open(authorizeUrl(request)))
  const tokens = await answerOf(redeem(host, codeOf(await agent.decide(page, 'allow'))))
  const own = await answerOf(post(host, { grant_type: 'client_credentials', scope: 'notes:read', ...web }))
  const code = codeOf(await agent.get(authorizeUrl(request)))
  return { agent, tokens, own, code }
}
type Holdings = Awaited<ReturnType<typeof holdings>>

/** The status of each use that leaves the holdings as they are. */
const uses = async ({ agent, tokens, own }: Holdings) => ({
  userinfo: (await userinfo(host, tokens.access_token)).status,
  api: (await guarded(host, tokens.access_token)).status,
  'api with its own token': (await guarded(host, own.access_token)).status,
  introspection: (await introspect(host, own.access_token)).status,
  'client credentials': (await post(host, { grant_type: 'client_credentials', ...web })).status,
  authorize: (await agent.get(authorizeUrl(request))).status,
})
const allAre = (status: number, authorize: number) => ({
  ...{ userinfo: status, api: status, 'api with its own token': status },
  ...{ introspection: status, 'client credentials': status, authorize },
})
const working = allAre(200, 303)
const refused = allAre(401, 400)

describe('disable()', () => {
  test('refuses the client, its codes and all its tokens at once; enable() restores them', async () => {
    const held = await holdings()
    expect(await uses(held)).toEqual(working)

    await host.oauth.clients.disable('web')
    expect(await uses(held)).toEqual(refused)
    expectError(await redeem(host, held.code), 401, 'invalid_client')
    expectError(await refresh(host, held.tokens.refresh_token), 401, 'invalid_client')
    expect(await host.oauth.clients.get('web')).toMatchObject({ client_id: 'web', disabled: true })

    await host.oauth.clients.enable('web')
    expect(await uses(held)).toEqual(working)
    await redeem(host, held.code).expect(200)
    await refresh(host, held.tokens.refresh_token).expect(200)
    expect(await host.oauth.clients.get('web')).toMatchObject({ disabled: false })
    const told = announced().filter(([type]) => type !== 'client.refused')
    expect(told.join(' ')).toBe('client.disabled,web client.enabled,web')
  })

  test('restores nothing that expired meanwhile', async () => {
    const clock = stopClock()
    const held = await holdings()
    await host.oauth.clients.disable('web')
    clock.travel(3601)
    await host.oauth.clients.enable('web')
    expect((await userinfo(host, held.tokens.access_token)).status).toBe(401)
    expectError(await redeem(host, held.code), 400, 'invalid_grant')
    await refresh(host, held.tokens.refresh_token).expect(200)
  })

  test('leaves other clients alone', async () => {
    const held = await holdings()
    await host.oauth.clients.disable('reports')
    await host.oauth.clients.disable('native')
    expect((await userinfo(host, held.tokens.access_token)).status).toBe(200)
    expect((await introspect(host, held.own.access_token)).body.active).toBe(true)
  })
})

describe('delete()', () => {
  test('removes the client with its consents, authorizations and tokens, and nothing of other clients', async () => {
    const held = await holdings()
    const agent = new RawBrowser(host.app)
    const code_challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    const native = { client_id: 'native', scope: 'openid', code_challenge, code_challenge_method: 'S256' }
    const page = await agent.signIn(await agent.open(authorizeUrl(native)))
    codeOf(await agent.decide(page, 'allow'))

    await host.oauth.clients.delete('web')
    expect(await uses(held)).toEqual(refused)
    expect(await host.oauth.clients.get('web')).toBeUndefined()
    for (const name of ['consents', 'authorizations']) {
      expect((await table(name)).map(({ client_id }) => client_id)).toEqual(['native'])
    }
    for (const name of ['access_tokens', 'refresh_tokens']) expect(await table(name)).toEqual([])
    const receipts = (await table('consent_receipts')).map(({ client_id }) => client_id)
    expect(receipts.sort()).toEqual(['native', 'web'])
    expect(announced()).toContainEqual(['client.deleted', 'web'])
  })

  test('removes more rows than one batch', async () => {
    const { tokens } = await holdings()
    const [row] = await table('authorizations')
    const [consent] = await table('consents')
    const [token] = await table('access_tokens').whereNull('authorization_id')
    const copies = Array.from({ length: 230 }, (_, n) => `copy-${n}`)
    for (const copy of copies) {
      await table('authorizations').insert({ ...row, id: copy, code_hash: copy })
      await table('consents').insert({ ...consent, subject: copy })
      await table('access_tokens').insert({ ...token, hash: copy })
    }
    await host.oauth.clients.delete('web')
    for (const name of ['authorizations', 'consents', 'access_tokens', 'refresh_tokens']) {
      expect(await table(name)).toEqual([])
    }
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
  })

  test('a client that is registered again under the same id inherits nothing', async () => {
    const held = await holdings()
    await host.oauth.clients.delete('web')
    await host.oauth.clients.create({ ...testClients[0] })
    expect(await uses(held)).toMatchObject({ userinfo: 401, api: 401, 'api with its own token': 401 })
    expectError(await redeem(host, held.code), 400, 'invalid_grant')
    expectError(await refresh(host, held.tokens.refresh_token), 400, 'invalid_grant')
  })
})

describe('create()', () => {
  test('registers a client, returns its secret once and stores the hash', async () => {
    const created = await host.oauth.clients.create({ client_name: 'Shop', redirect_uris: [callback] })
    expect(created).toMatchObject({
      client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      client_secret: expect.stringMatching(/^lk_cs_[\w-]{43}$/),
      client_name: 'Shop',
      disabled: false,
      grant_types: ['authorization_code', 'refresh_token'],
    })
    const { client_secret = '', ...registered } = created
    expect(await host.oauth.clients.get(created.client_id)).toEqual(registered)
    const [row] = await table('clients').where({ client_id: created.client_id })
    expect(row.secret_hash).toBe(hashSecret(client_secret))
    expect(announced()).toEqual([['client.created', created.client_id]])
    expect(JSON.stringify(await host.oauth.clients.list())).not.toContain(hashSecret(client_secret))
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
    [
      'a secret of a few words that repeat',
      { client_secret: 'changeme'.repeat(5) },
      'client_secret is too easy to guess',
    ],
    [
      'a secret for a public client',
      { client_secret: secret, token_endpoint_auth_method: 'none' },
      'client_secret must not be set for a public client',
    ],
    ['an unknown field', { redirect_uri: callback }, 'redirect_uri is not client metadata'],
  ])('refuses %s and writes nothing', async (_, input, message) => {
    const before = await table('clients')
    const code = 'redirect_uris' in input ? 'invalid_redirect_uri' : 'invalid_client_metadata'
    const refusal = { code, message: expect.stringContaining(message) }
    const creating = host.oauth.clients.create({ redirect_uris: [callback], ...input })
    await expect(creating).rejects.toMatchObject(refusal)
    expect(await table('clients')).toEqual(before)
    expect(announced()).toEqual([])
  })

  test('accepts an id with spaces inside (RFC 6749 Appendix A.1)', async () => {
    const grant_types = ['client_credentials' as const]
    const metadata = { client_id: 'my shop', client_secret: secret, grant_types }
    await host.oauth.clients.create(metadata)
    await post(host, { grant_type: 'client_credentials' }).auth('my shop', secret).expect(200)
  })

  test('of two registrations of one id at the same time one succeeds', async () => {
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map(() => host.oauth.clients.create({ client_id: 'twin', redirect_uris: [callback] })),
    )
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(await table('clients').where({ client_id: 'twin' })).toHaveLength(1)
  })
})

describe('list()', () => {
  test('returns every client by id, disabled ones too', async () => {
    await host.oauth.clients.disable('native')
    const listed = await host.oauth.clients.list()
    expect(listed.map(({ client_id, disabled }) => [client_id, disabled])).toEqual([
      ['native', true],
      ['reports', false],
      ['web', false],
    ])
  })

  test('returns pages by id, each with what the search finds in id or name, literally and in any case', async () => {
    const numbered = Array.from({ length: 205 }, (_, index) => `n-${String(index).padStart(3, '0')}`)
    for (const client_id of numbered)
      await host.oauth.clients.create({ client_id, client_name: `No. ${client_id}`, grant_types: [] })
    await host.oauth.clients.create({ client_id: 'odd', client_name: 'Größe 100%_!"', grant_types: [] })
    const ids = async (options: Parameters<typeof host.oauth.clients.list>[0]) =>
      (await host.oauth.clients.list(options)).map(({ client_id }) => client_id)

    expect(await ids({ limit: 204, search: 'N-' })).toEqual(numbered.slice(0, 204))
    expect(await ids({ limit: 204, search: 'n-', after: 'n-203' })).toEqual(['n-204'])
    expect(await ids({ limit: 2, after: 'n-204' })).toEqual(['native', 'odd'])
    expect(await ids({ after: 'odd' })).toEqual(['reports', 'web'])
    expect(await ids({ search: 'NO. N-20' })).toEqual(numbered.slice(200))
    for (const search of ['100%_!"', 'größe', '%', '_', '!']) expect(await ids({ search })).toEqual(['odd'])
    expect(await ids({ search: 'client_name' })).toEqual([])
    for (const limit of [0, 1.5, 1001, '5' as never])
      await expect(ids({ limit })).rejects.toThrow('limit must be a whole number from 1 to 1000')
  })
})

describe('update()', () => {
  test('changes the named fields and keeps the others, with the secret', async () => {
    const before = await host.oauth.clients.get('web')
    const updated = await host.oauth.clients.update('web', { client_name: 'Shop', scope: 'openid' })
    expect(updated).toEqual({ ...before, client_name: 'Shop', scope: 'openid' })
    const narrowed = post(host, { grant_type: 'client_credentials', scope: 'notes:read', ...web })
    expectError(await narrowed, 400, 'invalid_scope')
    const { client_name: _, ...without } = updated
    const nameless = await host.oauth.clients.update('web', { client_name: null, grant_types: undefined })
    expect(nameless).toEqual(without)
    expect(announced().filter(([type]) => type === 'client.updated')).toHaveLength(2)
  })

  test('a token loses the scopes that its client loses', async () => {
    const { access_token } = await answerOf(post(host, { grant_type: 'client_credentials', ...web }))
    await guarded(host, access_token).expect(200)
    await host.oauth.clients.update('web', { scope: 'notes:write' })
    expectError(await guarded(host, access_token), 403, 'insufficient_scope')
    const { body } = await introspect(host, access_token)
    expect(body).toMatchObject({ active: true, scope: 'notes:write' })
  })

  test('a client that begins to use a secret gets one', async () => {
    const { clients } = host.oauth
    const updated = await clients.update('native', { token_endpoint_auth_method: 'client_secret_basic' })
    expect(updated.client_secret).toMatch(/^lk_cs_/)
    expect(await clients.update('native', { client_name: 'N' })).not.toHaveProperty('client_secret')
  })

  test.each<[object, string]>([
    [{ redirect_uris: [] }, 'redirect_uris is required'],
    [{ scope: 'orders:read' }, 'scope: orders:read is not in the option scopes; add it there'],
    [{ client_secret: secret }, 'client_secret is not client metadata'],
    [{ client_id: 'other' }, 'client_id is not client metadata'],
  ])('refuses %j and changes nothing', async (changes, message) => {
    const before = await table('clients')
    await expect(host.oauth.clients.update('web', changes)).rejects.toThrow(message)
    expect(await table('clients')).toEqual(before)
  })
})

describe('update() with ifUnchanged', () => {
  test('of two changes of what was read one applies; the other is refused and writes nothing', async () => {
    const [read] = await host.oauth.clients.list({ search: 'web' })
    if (read === undefined) throw new Error('no client')
    const change = (client_name: string) =>
      host.oauth.clients.update('web', { client_name }, { ifUnchanged: read })
    const outcomes = await Promise.allSettled(['A', 'B', 'C'].map(change))
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    const late = change('late')
    await expect(late).rejects.toMatchObject({
      status: 409,
      message: 'client web has changed since it was read',
    })
    expect((await host.oauth.clients.get('web'))?.client_name).toMatch(/^[ABC]$/)
    expect(announced()).toEqual([['client.updated', 'web']])
    await host.oauth.clients.update('web', { client_name: 'late' })
    const unknown = host.oauth.clients.update('unknown-client', {}, { ifUnchanged: read })
    await expect(unknown).rejects.toMatchObject({ status: 409 })
  })
})

describe('rotateSecret()', () => {
  const credentials = (client_secret: string) =>
    post(host, { grant_type: 'client_credentials', client_id: 'web', client_secret })

  test('returns a new secret and keeps the previous one for a while', async () => {
    const clock = stopClock()
    const rotated = await host.oauth.clients.rotateSecret('web', { keepPreviousFor: 60 })
    expect(rotated).toEqual({
      client_id: 'web',
      client_secret: expect.stringMatching(/^lk_cs_/),
      previous_secret_expires_at: clock.now() + 60,
    })
    for (const each of [secret, rotated.client_secret]) await credentials(each).expect(200)
    clock.travel(60)
    await credentials(secret).expect(401)
    await credentials(rotated.client_secret).expect(200)
    expect(announced()[0]).toEqual(['client.secret_rotated', 'web'])
  })

  test('ends the previous one at once with 0, and is refused without a secret', async () => {
    await host.oauth.clients.rotateSecret('web', { keepPreviousFor: 0 })
    await credentials(secret).expect(401)
    await expect(host.oauth.clients.rotateSecret('native')).rejects.toThrow('does not use a secret')
    await expect(host.oauth.clients.rotateSecret('web', { keepPreviousFor: -1 })).rejects.toThrow(TypeError)
  })
})

describe('a rotated secret', () => {
  const works = async (client_secret: string): Promise<boolean> =>
    (await post(host, { grant_type: 'client_credentials', client_id: 'web', client_secret })).status === 200
  const other = 'another-client-secret-of-more-than-32-characters'
  const seed = (changes: Partial<ClientSeed>) => {
    const { knex, tablePrefix } = host.database
    const client = testClients.find(({ client_id }) => client_id === 'web')!
    const scopes = { 'notes:read': 'Read', 'notes:write': 'Write' }
    const logger = { ...console, info: () => {} }
    return seedClients(knex, [{ ...client, ...changes }], { tablePrefix, scopes, logger })
  }

  test('ends, and the one before it, when a seed chooses another', async () => {
    const { client_secret: rotated } = await host.oauth.clients.rotateSecret('web')
    await seed({ client_secret: other })
    expect([await works(secret), await works(rotated), await works(other)]).toEqual([false, false, true])
  })

  test('stays, with the one before it, when a seed repeats it or chooses none', async () => {
    const { client_secret: rotated } = await host.oauth.clients.rotateSecret('web')
    for (const client_secret of [rotated, undefined]) {
      await seed({ client_secret })
      expect([await works(secret), await works(rotated)]).toEqual([true, true])
    }
  })

  test('does not come back when the client was public or used a key in between', async () => {
    await host.oauth.clients.rotateSecret('web')
    const isPublic = { token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] } as const
    await seed({ client_secret: undefined, ...isPublic, grant_types: [...isPublic.grant_types] })
    const [{ client_secret: created = '' } = {}] = await seed({ client_secret: undefined })
    expect([await works(secret), await works(created)]).toEqual([false, true])
  })
})

test.each(['nobody', '', 'WEB', 'web ', "' OR 1=1 --"])('an unknown client is refused: %j', async (id) => {
  const { clients } = host.oauth
  expect(await clients.get(id)).toBeUndefined()
  const calls = [clients.disable(id), clients.enable(id), clients.delete(id), clients.rotateSecret(id)]
  for (const outcome of await Promise.allSettled([...calls, clients.update(id, {})])) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { code: 'invalid_client', message: `client ${id} is not registered` },
    })
  }
  expect(await clients.list()).toHaveLength(3)
  expect(announced()).toEqual([])
})
