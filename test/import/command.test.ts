import { hash } from '@node-rs/bcrypt'
import type { Knex } from 'knex'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { answerOf, post } from '../support/tokens.ts'
import { type ImportHost, startImportHost } from './host.ts'

const secret = 'Zk4Rq9vX2bN7mYt5Ws8Lc3Hd6Jf1GpQaUeIo'

let host: ImportHost
beforeAll(async () => {
  host = await startImportHost()
})
afterEach(() => host.forget())
afterAll(() => host.close())

const tables = {
  none: (db: Knex) => db.schema.createTable('others', (table) => table.string('id')),
  incomplete: (db: Knex) => db.schema.createTable('oauth_clients', (table) => table.string('client_id')),
  clients: async (db: Knex) => {
    await db.schema.createTable('oauth_clients', (table) => {
      for (const column of ['client_id', 'client_secret', 'redirect_uri', 'scope', 'name'])
        table.string(column)
    })
    const redirect_uri = '["https://a.example.com/cb","http://a.example.com/cb"]'
    const client = { client_secret: secret, redirect_uri, scope: 'read,write' }
    await db('oauth_clients').insert([
      { ...client, client_id: 'a', name: 'A' },
      { ...client, client_id: 'b', redirect_uri: 'https://b.example.com/cb', scope: null },
    ])
  },
}

test.each<[string, keyof typeof tables, number, string]>([
  ['dorkeeper --from DB', 'none', 2, 'did you mean doorkeeper?'],
  ['wxyz --from DB', 'none', 2, 'it reads doorkeeper, django-oauth-toolkit'],
  ['doorkeeper', 'none', 2, 'import needs --from'],
  ['doorkeeper --from mongodb://localhost', 'none', 2, '--from must be'],
  ['doorkeeper --from DB --hex x', 'none', 2, '--hex must be plain or sha256'],
  ['doorkeeper --from DBx', 'none', 1, 'does not exist'],
  ['doorkeeper --from DB', 'none', 1, 'the database has no table oauth_applications'],
  ['oidc-provider --from DB --table x', 'none', 1, 'name yours with --table'],
  ['oauth2-server --from DB', 'incomplete', 1, 'oauth_clients has no column client_secret'],
])('latchkey import %s, with %s of its tables, exits with %i: %s', async (line, fill, code, message) => {
  const from = await host.sqlite(tables[fill])
  const outcome = await host.run(...line.replace('DB', from).split(' '))
  expect(outcome).toMatchObject({ code, stderr: expect.stringContaining(message) })
  expect(outcome.stderr).not.toMatch(/^\s+at /m)
})

test('lines for people: what changes, what is left out, and no secret', async () => {
  const from = await host.sqlite(tables.clients)
  const args = ['oauth2-server', '--from', from, '--scope', 'read']
  const { code, stdout, stderr } = await host.run(...args, '--refresh-tokens')
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`reading: ${from}`) })
  expect(stdout).toMatch(/^\+ create a\n( {4}.*\n)* {4}client_secret: "the imported secret"\n\+ create b\n/)
  expect(stdout).toContain(
    '2 to create, 0 to update, 0 to remove\n  note a: left out of redirect_uris: http://a.example.com/cb',
  )
  expect(stdout).toContain('refresh tokens: 0 new, 0 already here\n')
  expect(stdout + stderr).not.toContain(secret)
  expect(stdout + stderr).not.toContain(hashSecret(secret))
  expect(await host.oauth.clients.list()).toMatchObject([
    { client_id: 'a', client_name: 'A', scope: 'read write', redirect_uris: ['https://a.example.com/cb'] },
    { client_id: 'b', scope: 'read' },
  ])
})

test('clients that only this server has stay; one that changed there changes here', async () => {
  const from = await host.sqlite(tables.clients)
  await host.oauth.clients.create({ client_id: 'own', redirect_uris: ['https://own.example.com/cb'] })
  await host.import('oauth2-server', '--from', from, '--scope', 'read')
  const report = await host.import('oauth2-server', '--from', from, '--scope', 'write')
  expect(report.clients).toEqual([
    { client_id: 'b', action: 'update', fields: [{ name: 'scope', from: 'read', to: 'write' }] },
  ])
  expect(await host.oauth.clients.get('own')).toMatchObject({ disabled: false })
})

/** A client as an adapter of oidc-provider stores it. */
const payload = (client_id: string, more: object = {}): string =>
  JSON.stringify({
    client_id,
    client_secret: secret,
    redirect_uris: [`https://${client_id}.example.com/cb`],
    grant_types: ['authorization_code', 'refresh_token'],
    ...more,
  })

test.each<[string, string, string | undefined, object, string[]]>([
  ['by Sequelize', 'Clients', undefined, {}, []],
  ['with names of models', 'payloads', 'model', { model: 'Client' }, []],
  ['with numbers', 'oidc_model', 'type', { type: 7 }, []],
  ['with names as types', 'oidc_payloads', 'type', { type: 'Client' }, []],
  ['of another name', 'things', 'kind', { kind: 'Client' }, ['--table', 'things']],
])('tables of oidc-provider %s are found', async (_name, name, model, fields, more) => {
  const from = await host.sqlite(async (db) => {
    await db.schema.createTable(name, (table) => {
      table.string('id').primary()
      table.json('data')
      if (model !== undefined) table.specificType(model, 'any')
    })
    const row = (id: string, more: object) => ({ id, data: payload(id), ...more })
    await db(name).insert([row('one', fields), row('two', model === undefined ? {} : { [model]: 'Session' })])
  })
  const report = await host.import('oidc-provider', '--from', from, '--dry-run', '--refresh-tokens', ...more)
  expect(report.clients.map(({ client_id }) => client_id)).toEqual(
    model === undefined ? ['one', 'two'] : ['one'],
  )
  expect(report).toMatchObject({ code: 0, refresh_tokens: { imported: 0 } })
})

test('metadata that is not known here is left out, and a payload that is none is refused', async () => {
  const from = await host.sqlite(async (db) => {
    await db.schema.createTable('payloads', (table) => {
      for (const column of ['id', 'model', 'payload']) table.text(column)
    })
    const more = { logo_uri: null, invoice_email: 'a@example.com', client_secret_expires_at: 2_000_000_000 }
    await db('payloads').insert([
      { id: 'known', model: 'Client', payload: payload('known', more) },
      { id: 'broken', model: 'Client', payload: 'no JSON' },
    ])
  })
  expect(await host.import('oidc-provider', '--from', from)).toMatchObject({
    refused: [{ client_id: 'broken', remark: 'its payload is no JSON object' }],
    notes: [{ client_id: 'known', remark: 'left out: invoice_email' }],
  })
  expect(await host.oauth.clients.get('known')).toMatchObject({ client_secret_expires_at: 2_000_000_000 })
})

test('more rows than fit in one page are read, each once', async () => {
  const from = await host.sqlite(async (db) => {
    await db.schema.createTable('oauth_clients', (table) => {
      for (const column of ['client_id', 'client_secret', 'redirect_uri']) table.string(column)
    })
    await db.schema.createTable('oauth_tokens', (table) => {
      for (const column of ['refresh_token', 'client_id', 'user_id', 'scope']) table.string(column)
    })
    await db('oauth_clients').insert({
      client_id: 'many',
      client_secret: secret,
      redirect_uri: 'https://m.example.com/cb',
    })
    const tokens = Array.from({ length: 1001 }, (_, number) => ({
      refresh_token: `a-refresh-token-of-the-number-${number}`,
      client_id: 'many',
      user_id: '1',
      scope: 'read',
    }))
    await db.batchInsert('oauth_tokens', tokens, 200)
  })
  const report = await host.import('oauth2-server', '--from', from, '--refresh-tokens')
  expect(report.refresh_tokens).toEqual({ imported: 1001, known: 0, refused: {} })
  const again = await host.import('oauth2-server', '--from', from, '--refresh-tokens')
  expect(again.refresh_tokens).toEqual({ imported: 0, known: 1001, refused: {} })
})

// No package of Debian has Laravel Passport. The columns are those of its migrations of versions 12 and 13
// (https://github.com/laravel/passport/tree/13.x/database/migrations), and the secrets as its model writes them: as they
// are, or by PHP's password_hash().
describe('Laravel Passport', () => {
  const fromPhp = async (): Promise<string> => (await hash(secret, { cost: 4 })).replace('$2b$', '$2y$')

  const both = ['https://web.example.com/cb', 'https://web.example.com/cb2']

  const version12 = async (database: Knex): Promise<void> => {
    await database.schema.createTable('oauth_clients', (table) => {
      table.bigIncrements('id')
      table.bigInteger('user_id').nullable()
      table.string('name').notNullable()
      for (const name of ['secret', 'provider']) table.string(name).nullable()
      table.text('redirect').notNullable()
      for (const name of ['personal_access_client', 'password_client', 'revoked'])
        table.boolean(name).notNullable()
      table.timestamps()
    })
    const flags = { personal_access_client: false, password_client: false, revoked: false }
    const redirect = 'http://localhost'
    await database('oauth_clients').insert([
      { ...flags, id: 1, name: 'Web', secret, redirect: both.join() },
      { ...flags, id: 2, name: 'Hashed', secret: await fromPhp(), redirect: 'https://hashed.example.com/cb' },
      { ...flags, id: 3, name: 'Personal', secret, redirect, personal_access_client: true },
      { ...flags, id: 4, name: 'Password', secret, redirect, password_client: true },
      { ...flags, id: 5, name: 'Gone', secret, redirect: 'https://gone.example.com/cb', revoked: true },
    ])
  }

  const version13 = async (database: Knex): Promise<void> => {
    await database.schema.createTable('oauth_clients', (table) => {
      table.uuid('id').primary()
      table.bigInteger('user_id').nullable()
      table.string('name').notNullable()
      for (const name of ['secret', 'provider']) table.string(name).nullable()
      for (const name of ['redirect_uris', 'grant_types']) table.text(name).notNullable()
      table.boolean('revoked').notNullable()
      table.timestamps()
    })
    const client = (id: string, stored: string | null, uris: string[], grants: string[]) => ({
      id,
      name: id,
      secret: stored,
      revoked: false,
      redirect_uris: JSON.stringify(uris),
      grant_types: JSON.stringify(grants),
    })
    const code = ['authorization_code', 'refresh_token']
    await database('oauth_clients').insert([
      client(
        '1',
        await fromPhp(),
        ['https://web.example.com/cb'],
        [...code, 'password', 'client_credentials'],
      ),
      client('2', null, ['com.example.phone:/cb'], [...code, 'urn:ietf:params:oauth:grant-type:device_code']),
      client('3', null, [], ['personal_access']),
      client('4', '$1$unknown$hash', ['https://odd.example.com/cb'], code),
    ])
  }

  const ownToken = (client_id: string) =>
    answerOf(post(host, { grant_type: 'client_credentials', client_id, client_secret: secret }))

  test('version 12: flags, plain and hashed secrets', async () => {
    const from = ['passport', '--from', await host.sqlite(version12), '--refresh-tokens']
    const report = await host.import(...from)
    expect(report).toMatchObject({
      code: 1,
      clients: [{ client_id: '1' }, { client_id: '2' }],
      refused: [
        { client_id: '3', remark: 'the grant personal_access is not supported' },
        { client_id: '4', remark: 'the grant password is not supported' },
      ],
      ignored: [{ client_id: '5', remark: 'it is revoked' }],
      printed: expect.stringContaining('users sign in again'),
    })
    expect(report.printed).not.toMatch(/\$2[aby]\$/)
    expect(report.refresh_tokens).toBeUndefined()
    expect(await host.oauth.clients.get('1')).toMatchObject({
      redirect_uris: both,
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    })
    for (const id of ['1', '2']) await ownToken(id)
    expect(await host.import(...from)).toMatchObject({ clients: [] })
  })

  test('version 13: lists in JSON, hashed secrets', async () => {
    const report = await host.import('passport', '--from', await host.sqlite(version13))
    expect(report).toMatchObject({
      clients: [{ client_id: '1' }, { client_id: '2' }],
      refused: [
        { client_id: '3', remark: 'the grant personal_access is not supported' },
        { client_id: '4', remark: 'its secret is stored as a hash of an unknown format' },
      ],
      notes: [{ client_id: '1', remark: 'left out: the grant password' }],
    })
    await ownToken('1')
    expect(await host.oauth.clients.get('2')).toMatchObject({
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    })
  })
})
