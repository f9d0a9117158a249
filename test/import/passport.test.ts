// Laravel Passport: no package of Debian has it. The columns are those of its migrations of versions 12 and 13
// (https://github.com/laravel/passport/tree/13.x/database/migrations), and the secrets as its model writes them: as they
// are, or by PHP's password_hash().

import { hash } from '@node-rs/bcrypt'
import type { Knex } from 'knex'
import { type ImportHost, startImportHost } from '../support/import-host.ts'
import { answerOf, post } from '../support/tokens.ts'

const secret = 'mG4vTq8Zk2Xn7Rb5Yw9Lc3Hd6Jf1Ps0QeUaItBoV'
const fromPhp = async (): Promise<string> => (await hash(secret, { cost: 10 })).replace('$2b$', '$2y$')

const version12 = async (database: Knex): Promise<void> => {
  await database.schema.createTable('oauth_clients', (table) => {
    table.bigIncrements('id')
    table.bigInteger('user_id').nullable()
    table.string('name').notNullable()
    table.string('secret', 100).nullable()
    table.string('provider').nullable()
    table.text('redirect').notNullable()
    table.boolean('personal_access_client').notNullable()
    table.boolean('password_client').notNullable()
    table.boolean('revoked').notNullable()
    table.timestamps()
  })
  const flags = { personal_access_client: false, password_client: false, revoked: false }
  const rows = [
    {
      id: 1,
      name: 'Web',
      secret,
      redirect: 'https://web.example.com/cb,https://web.example.com/cb2',
      ...flags,
    },
    { id: 2, name: 'Hashed', secret: await fromPhp(), redirect: 'https://hashed.example.com/cb', ...flags },
    { id: 3, name: 'Personal', secret, redirect: 'http://localhost', ...flags, personal_access_client: true },
    { id: 4, name: 'Password', secret, redirect: 'http://localhost', ...flags, password_client: true },
    { id: 5, name: 'Gone', secret, redirect: 'https://gone.example.com/cb', ...flags, revoked: true },
  ]
  await database('oauth_clients').insert(rows)
}

const version13 = async (database: Knex): Promise<void> => {
  await database.schema.createTable('oauth_clients', (table) => {
    table.uuid('id').primary()
    table.bigInteger('user_id').nullable()
    table.string('name').notNullable()
    table.string('secret').nullable()
    table.string('provider').nullable()
    table.text('redirect_uris').notNullable()
    table.text('grant_types').notNullable()
    table.boolean('revoked').notNullable()
    table.timestamps()
  })
  const client = (id: string, stored: string | null, uris: string[], grants: string[]) => ({
    ...{ id, name: id, secret: stored, revoked: false },
    ...{ redirect_uris: JSON.stringify(uris), grant_types: JSON.stringify(grants) },
  })
  const code = ['authorization_code', 'refresh_token']
  await database('oauth_clients').insert([
    client('1', await fromPhp(), ['https://web.example.com/cb'], [...code, 'password', 'client_credentials']),
    client('2', null, ['com.example.phone:/cb'], [...code, 'urn:ietf:params:oauth:grant-type:device_code']),
    client('3', null, [], ['personal_access']),
    client('4', '$1$unknown$hash', ['https://odd.example.com/cb'], code),
  ])
}

let host: ImportHost
beforeEach(async () => {
  host = await startImportHost()
})
afterEach(() => host.close())

const credentials = (client_id: string) => ({
  grant_type: 'client_credentials',
  client_id,
  client_secret: secret,
})

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
    redirect_uris: ['https://web.example.com/cb', 'https://web.example.com/cb2'],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  })
  for (const id of ['1', '2']) await answerOf(post(host, credentials(id)))
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
  await answerOf(post(host, credentials('1')))
  expect(await host.oauth.clients.get('2')).toMatchObject({
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  })
})
