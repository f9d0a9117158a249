import type { Knex } from 'knex'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { type ImportHost, startImportHost } from '../support/import-host.ts'

const secret = 'Zk4Rq9vX2bN7mYt5Ws8Lc3Hd6Jf1GpQaUeIo'

let host: ImportHost
beforeAll(async () => {
  host = await startImportHost()
})
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

test.each<[string, keyof typeof tables, (from: string) => string[], number, string]>([
  ['another server', 'none', (from) => ['dorkeeper', '--from', from], 2, 'did you mean doorkeeper?'],
  [
    'a server that is not known',
    'none',
    (from) => ['wxyz', '--from', from],
    2,
    'it reads doorkeeper, django-oauth-toolkit',
  ],
  ['no database', 'none', () => ['doorkeeper'], 2, 'import needs --from'],
  [
    'a database of another kind',
    'none',
    () => ['doorkeeper', '--from', 'mongodb://localhost'],
    2,
    '--from must be',
  ],
  [
    'another meaning',
    'none',
    (from) => ['doorkeeper', '--from', from, '--hex', 'x'],
    2,
    '--hex must be plain or sha256',
  ],
  ['a file that is missing', 'none', (from) => ['doorkeeper', '--from', `${from}x`], 1, 'does not exist'],
  [
    'no tables',
    'none',
    (from) => ['doorkeeper', '--from', from],
    1,
    'the database has no table oauth_applications',
  ],
  [
    'no table of an adapter',
    'none',
    (from) => ['oidc-provider', '--from', from, '--table', 'x'],
    1,
    'name yours with --table',
  ],
  [
    'a missing column',
    'incomplete',
    (from) => ['oauth2-server', '--from', from],
    1,
    'oauth_clients has no column client_secret',
  ],
])('%s is named', async (_name, fill, args, code, message) => {
  const outcome = await host.run(...args(await host.sqlite(tables[fill])))
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
    ...{ client_id, client_secret: secret, redirect_uris: [`https://${client_id}.example.com/cb`] },
    ...{ grant_types: ['authorization_code', 'refresh_token'], ...more },
  })

test.each<[string, string, string | undefined, (id: string) => object, string[]]>([
  ['by Sequelize', 'Clients', undefined, (id) => ({ id, data: payload(id) }), []],
  ['with names of models', 'payloads', 'model', (id) => ({ id, model: 'Client', data: payload(id) }), []],
  ['with numbers', 'oidc_model', 'type', (id) => ({ id, type: 7, data: payload(id) }), []],
  ['with names as types', 'oidc_payloads', 'type', (id) => ({ id, type: 'Client', data: payload(id) }), []],
  [
    'of another name',
    'things',
    'kind',
    (id) => ({ id, kind: 'Client', data: payload(id) }),
    ['--table', 'things'],
  ],
])('tables of oidc-provider %s are found', async (_name, name, model, row, more) => {
  const from = await host.sqlite(async (db) => {
    await db.schema.createTable(name, (table) => {
      table.string('id').primary()
      table.json('data')
      if (model !== undefined) table.specificType(model, 'any')
    })
    await db(name).insert([row('one'), { ...row('two'), ...(model && { [model]: 'Session' }) }])
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
    const tokens = Array.from({ length: 2001 }, (_, number) => ({
      refresh_token: `a-refresh-token-of-the-number-${number}`,
      ...{ client_id: 'many', user_id: '1', scope: 'read' },
    }))
    await db.batchInsert('oauth_tokens', tokens, 200)
  })
  const report = await host.import('oauth2-server', '--from', from, '--refresh-tokens')
  expect(report.refresh_tokens).toEqual({ imported: 2001, known: 0, refused: {} })
  const again = await host.import('oauth2-server', '--from', from, '--refresh-tokens')
  expect(again.refresh_tokens).toEqual({ imported: 0, known: 2001, refused: {} })
})
