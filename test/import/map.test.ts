// Tables as teams write them by hand, with the map of docs/moving.md and with others.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hash as bcrypt } from '@node-rs/bcrypt'
import type { Knex } from 'knex'
import { missing } from '../support/services.ts'
import { answerOf, codeFor, type Fields, post } from '../support/tokens.ts'
import { type ImportHost, startImportHost } from './host.ts'
import { createPeerDatabase, type PeerDatabase, type PeerService } from './peer-database.ts'

const [, documented = ''] =
  /```js\n\/\/ map\.mjs\n(.*?)```/s.exec(readFileSync('docs/moving.md', 'utf8')) ?? []

const secret = 'Zk4Rq9vX2bN7mYt5Ws8Lc3Hd6Jf1GpQaUeIo'
const token = 'rT9xK2mV7bN4qY5wS8zL3cH6dJ1fGpQa'
const sha256 = (value: string) => createHash('sha256').update(value)

let host: ImportHost
let peer: PeerDatabase | undefined
beforeAll(async () => {
  host = await startImportHost()
})
afterEach(async () => {
  await peer?.drop()
  peer = undefined
  await host.forget()
})
afterAll(() => host.close())

const refreshes = (refresh_token: string, client: Fields) =>
  post(host, { grant_type: 'refresh_token', refresh_token, ...client })

describe('the tables of docs/moving.md', () => {
  const callbackUrls = ['https://shop.example.com/cb', 'https://shop.example.com/cb2']
  const time = new Date(Math.floor(Date.now() / 1000) * 1000 - 60_000)
  const inAnHour = new Date(time.getTime() + 3_600_000)

  /** As ORMs make them: times are numbers on SQLite, and dates without a zone elsewhere. */
  const fill = async (db: Knex): Promise<void> => {
    const isSqlite = db.client.config.client === 'better-sqlite3'
    const written = (date: Date) =>
      isSqlite ? date.getTime() : date.toISOString().slice(0, 19).replace('T', ' ')
    await db.schema.createTable('apiClients', (table) => {
      table.increments('id')
      table.string('clientId').notNullable().unique()
      table.string('secretHash')
      table.boolean('isPublic').notNullable().defaultTo(false)
      table.string('displayName')
      table.json('callbackUrls')
      table.text('allowedScopes')
      table.timestamp('deletedAt', { useTz: false }).nullable()
    })
    await db.schema.createTable('apiRefreshTokens', (table) => {
      table.increments('id')
      table.string('tokenHash', 64).notNullable()
      table.integer('apiClientId').notNullable()
      table.integer('userId')
      table.string('scopes')
      for (const column of ['createdAt', 'expiresAt', 'revokedAt'])
        table.timestamp(column, { useTz: false }).nullable()
    })
    const client = {
      isPublic: false,
      callbackUrls: JSON.stringify(callbackUrls),
      allowedScopes: 'read, write',
    }
    const secretHash = await bcrypt(secret, { cost: 4 })
    await db('apiClients').insert([
      { ...client, id: 11, clientId: 'shop', displayName: 'Shop', secretHash },
      { ...client, id: 12, clientId: 'phone', displayName: 'Phone', isPublic: true },
      { ...client, id: 13, clientId: 'gone', secretHash, deletedAt: written(time) },
    ])
    const row = {
      apiClientId: 11,
      userId: 1,
      scopes: 'read',
      createdAt: written(time),
      expiresAt: written(inAnHour),
    }
    const rows = [
      { ...row, tokenHash: token },
      { ...row, tokenHash: `${token}-phone`, apiClientId: 12 },
      { ...row, tokenHash: `${token}-gone`, apiClientId: 13 },
      { ...row, tokenHash: `${token}-revoked`, revokedAt: written(time) },
      { ...row, tokenHash: `${token}-expired`, expiresAt: written(time) },
    ]
    for (const each of rows)
      await db('apiRefreshTokens').insert({ ...each, tokenHash: sha256(each.tokenHash).digest('hex') })
  }

  const places: readonly ('sqlite' | PeerService)[] = ['sqlite', 'postgresql', 'mariadb']
  const found = places.filter((place) => place === 'sqlite' || missing(place) === undefined)

  test.each(found)('on %s: clients sign users in, and refresh tokens go on', async (place) => {
    if (place !== 'sqlite') {
      peer = await createPeerDatabase(place)
      await fill(peer.knex)
    }
    const from = peer?.url ?? (await host.sqlite(fill))
    const args = ['--map', host.map(documented), '--from', from, '--refresh-tokens']
    const planned = await host.import(...args, '--dry-run')
    expect(await host.oauth.clients.list()).toEqual([])
    const report = await host.import(...args)
    expect(report).toEqual({ ...planned, printed: expect.any(String) })
    expect(report).toMatchObject({
      code: 0,
      clients: [{ client_id: 'phone' }, { client_id: 'shop' }],
      refused: [],
      refresh_tokens: {
        imported: 2,
        known: 0,
        refused: { 'its client is not imported': 1, 'it is expired': 1 },
      },
    })
    for (const value of [secret, token, sha256(token).digest('hex'), '$2b$'])
      expect(report.printed).not.toContain(value)
    expect(await host.oauth.clients.get('shop')).toMatchObject({
      client_name: 'Shop',
      redirect_uris: callbackUrls,
      scope: 'read write',
    })
    expect(await host.oauth.clients.get('phone')).toMatchObject({ token_endpoint_auth_method: 'none' })

    const shop = { client_id: 'shop', client_secret: secret }
    const redirect_uri = callbackUrls[1]
    const code = await codeFor(host, { client_id: 'shop', redirect_uri, scope: 'read' })
    const redeemed = { grant_type: 'authorization_code', code, redirect_uri }
    expect((await post(host, { ...redeemed, ...shop, client_secret: `${secret}x` })).status).toBe(401)
    const again = await codeFor(host, { client_id: 'shop', redirect_uri, scope: 'read' })
    await answerOf(post(host, { ...redeemed, ...shop, code: again }))

    const first = await answerOf(refreshes(token, shop))
    expect(first.scope).toBe('read')
    await answerOf(refreshes(`${token}-phone`, { client_id: 'phone' }))
    const second = await answerOf(refreshes(first.refresh_token, shop))
    for (const ended of [token, second.refresh_token, `${token}-revoked`])
      expect((await refreshes(ended, shop)).body).toMatchObject({ error: 'invalid_grant' })
    expect(await host.import(...args)).toMatchObject({
      clients: [],
      refresh_tokens: { imported: 0, known: 2 },
    })
  })
})

/** A map of the tables `c` and `t`, in which these members replace the usual ones. */
const mapOf = (clients: string, refreshTokens = ''): string => `export default {
  clients: { table: 'c', columns: { client_id: 'id', client_secret: 'secret', redirect_uris: 'uri' }, ${clients} },
  refreshTokens: {
    table: 't',
    key: 'n',
    columns: { refresh_token: 'token', client_id: 'client', subject: 'user', scope: () => 'read', created_at: 'made' },
    ${refreshTokens}
  },
}`

type Row = Readonly<Record<string, unknown>>

/** Tables of one client and its token, in which these values replace the usual ones. */
const tablesOf =
  (client: Row = {}, ...tokens: readonly Row[]) =>
  async (db: Knex): Promise<void> => {
    await db.schema.createTable('c', (table) => {
      table.string('id')
      for (const column of ['secret', 'uri', 'flag', 'more']) table.specificType(column, 'any')
    })
    await db.schema.createTable('t', (table) => {
      table.increments('n')
      for (const column of ['token', 'client', 'user', 'made']) table.specificType(column, 'any')
    })
    await db('c').insert({ id: 'shop', secret, uri: 'https://shop.example.com/cb', ...client })
    const usual = { token, client: 'shop', user: 1 }
    for (const each of tokens.length > 0 ? tokens : [{}]) await db('t').insert({ ...usual, ...each })
  }

const imported = async (map: string, fill = tablesOf(), ...more: string[]) =>
  host.import('--map', host.map(map), '--from', await host.sqlite(fill), '--refresh-tokens', ...more)

test.each<[form: string, stored: string, write: (value: string) => unknown]>([
  ['plain', "stored: 'plain'", (value) => value],
  ['hexadecimal SHA-256', "stored: 'sha256'", (value) => sha256(value).digest('hex').toUpperCase()],
  ['SHA-256 in base64', "stored: 'sha256'", (value) => sha256(value).digest('base64')],
  ['SHA-256 in bytes', "stored: 'sha256'", (value) => sha256(value).digest()],
  ['plain, by a function of the row', "stored: () => 'plain'", (value) => value],
  ['recognised hexadecimal SHA-256', '', (value) => sha256(value).digest('hex')],
])('secrets and tokens that are stored as %s work', async (_form, stored, write) => {
  const report = await imported(
    mapOf(stored, stored),
    tablesOf({ secret: write(secret) }, { token: write(token) }),
  )
  expect(report).toMatchObject({ code: 0, refresh_tokens: { imported: 1 } })
  const shop = { client_id: 'shop', client_secret: secret }
  // A person who has read the database knows the hash.
  const client_secret = sha256(secret).digest('hex')
  expect((await refreshes(token, { ...shop, client_secret })).status).toBe(401)
  await answerOf(refreshes(token, shop))
})

test('a value that is no SHA-256 is refused where the map says that all are', async () => {
  const stored = "stored: 'sha256'"
  expect(await imported(mapOf(stored), tablesOf())).toMatchObject({
    code: 1,
    refused: [{ client_id: 'shop', remark: 'its secret is stored as no SHA-256' }],
  })
  expect(await imported(mapOf('', stored), tablesOf())).toMatchObject({
    refresh_tokens: { imported: 0, refused: { 'its form is not that of a refresh token': 1 } },
  })
})

test('members of a JSON column are read like columns, and client metadata in it without an entry', async () => {
  const more = {
    client_name: 'Shop',
    contacts: ['a@shop.example.com'],
    age: 3,
    trusted: 1,
    first_party: true,
  }
  const map = mapOf("json: ['other', 'more'], note: (row) => row.trusted && 'it was trusted'")
  expect(await imported(map, tablesOf({ more: JSON.stringify(more) }))).toMatchObject({
    notes: [
      { client_id: 'shop', remark: 'left out: age, trusted, first_party' },
      { client_id: 'shop', remark: 'it was trusted' },
    ],
  })
  const { client_name, contacts, first_party } = { ...(await host.oauth.clients.get('shop')) }
  expect({ client_name, contacts, first_party }).toEqual({
    client_name: 'Shop',
    contacts: ['a@shop.example.com'],
    first_party: false,
  })
})

test('rows of a list of values, and columns of a joined table, are read', async () => {
  const map = mapOf(
    "where: { flag: ['a', 2] }",
    `
    columns: { refresh_token: 'token', client_id: 'client', subject: 'owner', scope: () => 'read' },
    join: { table: 'owners', key: 'n', on: 'user', columns: { owner: 'subject' } },`,
  )
  const fill = async (db: Knex) => {
    await tablesOf({ flag: 2 }, { user: 7 }, { user: 8, token: `${token}2` })(db)
    await db('c').insert({ id: 'other', secret, uri: 'https://other.example.com/cb', flag: 3 })
    await db.schema.createTable('owners', (table) => table.integer('n') && table.string('subject'))
    await db('owners').insert({ n: 7, subject: '1' })
  }
  expect(await imported(map, fill)).toMatchObject({
    clients: [{ client_id: 'shop' }],
    refresh_tokens: { imported: 1, refused: { 'it belongs to no user': 1 } },
  })
  await answerOf(refreshes(token, { client_id: 'shop', client_secret: secret }))
})

test('a row that cannot be read is refused by its column and key; the others are imported', async () => {
  const tokens = [{}, { token: `${token}2`, made: 'soon' }, { token: `${token}3`, made: 'later' }]
  const flag =
    "columns: { client_id: 'id', client_secret: 'secret', redirect_uris: 'uri', require_pkce: 'flag' }"
  const fill = async (db: Knex) => {
    await tablesOf({}, ...tokens)(db)
    await db('c').insert([{ id: 'odd', secret, uri: 'https://odd.example.com/cb', flag: 'yes' }, { id: '' }])
  }
  expect(await imported(mapOf(flag), fill)).toMatchObject({
    code: 1,
    clients: [{ client_id: 'shop' }],
    refused: [
      { client_id: 'row 1 in the order of id', remark: 'it has no client_id' },
      { client_id: 'odd', remark: 'the column flag has a value that is no flag' },
    ],
    refresh_tokens: {
      imported: 1,
      refused: { 'the column made has a value that is no time, first in the row with n 2': 2 },
    },
  })
})

test('times are seconds, milliseconds or dates, with a zone or in UTC', async () => {
  const forms: readonly ((date: Date) => unknown)[] = [
    (date) => date.getTime() / 1000,
    (date) => date.getTime(),
    (date) => date.toISOString(),
    (date) => date.toISOString().slice(0, 19).replace('T', ' '),
    (date) => date.toISOString().replace('T', ' ').replace('Z', ' +00:00'),
    (date) => new Date(date.getTime() + 7_200_000).toISOString().replace('Z', '+02:00'),
  ]
  const tokens = forms.flatMap((write, number) =>
    [-60_000, 60_000].map((milliseconds) => ({
      token: `${token}${number}${milliseconds}`,
      made: write(new Date(Date.now() + milliseconds)),
    })),
  )
  const columns =
    "refresh_token: 'token', client_id: 'client', subject: 'user', scope: () => 'read', expires_at: 'made'"
  expect(await imported(mapOf('', `columns: { ${columns} }`), tablesOf({}, ...tokens))).toMatchObject({
    refresh_tokens: { imported: 6, refused: { 'it is expired': 6 } },
  })
})

test('a token is never that of another client, because ids of clients are unique and not empty', async () => {
  const fill = (more: Row) => async (db: Knex) => {
    await tablesOf({ flag: 7 }, { client: 7 }, { client: null, token: `${token}2` })(db)
    await db('c').insert({ id: 'other', secret, uri: 'https://other.example.com/cb', ...more })
  }
  const map = mapOf('', "clientKey: 'flag',")
  await expect(imported(map, fill({ flag: 7 }))).rejects.toThrow(
    'flag of the table of clients has a value twice',
  )
  await host.forget()
  expect(await imported(map, fill({ flag: null }))).toMatchObject({
    refresh_tokens: { imported: 1, refused: { 'its client is not imported': 1 } },
  })
})

test('no error names a token, also if tokens are the key of their table', async () => {
  const report = await imported(mapOf('', "key: 'token',"), tablesOf({}, { made: 'soon' }))
  const reason = 'the column made has a value that is no time, first in row 1 in the order of token'
  expect(report.refresh_tokens?.refused).toEqual({ [reason]: 1 })
  expect(report.printed).not.toContain(token)
})

test.each<[message: string, map: string]>([
  ['map.clients is required', 'export default {}'],
  ['has no default export, which must be an object with clients', 'export const map = 1'],
  ['map.clients.tabel is not an option; did you mean map.clients.table?', mapOf("tabel: 'x'")],
  ['map.clients.columns.client_id is required', mapOf("columns: { client_secret: 'secret' }")],
  [
    'redirectUris is not client metadata; did you mean redirect_uris?',
    mapOf("columns: { redirectUris: 'uri' }"),
  ],
  [
    "map.clients.columns['client_id'] must be a column, a list of columns or",
    mapOf('columns: { client_id: 1 }'),
  ],
  ['map.clients.where must be an object with values of columns', mapOf('where: { flag: {} }')],
  ["map.clients.stored must be 'plain', 'sha256' or a function of the row", mapOf("stored: 'md5'")],
  ['the database has no table C2', mapOf("table: 'C2'")],
  ['the table c has no column Id; did you mean id?', mapOf("columns: { client_id: 'Id' }")],
  ['the table c has no column flags; did you mean flag?', mapOf('where: { flags: 1 }')],
  ['the table c has no column x', mapOf("needs: ['x']")],
  ['the map of c must name its key', mapOf('columns: { client_id: (row) => row.id }')],
  [
    'the function for client_id failed: Cannot read',
    mapOf("key: 'id', columns: { client_id: (row) => row.x.y }"),
  ],
  ['the column client of t has a value twice; name another key', mapOf('', "key: 'client',")],
  ['the table of clients has no column number', mapOf('', "clientKey: 'number',")],
  ['the database has no table x', mapOf('', "join: { table: 'x', key: 'y', on: 'user', columns: {} },")],
  ['--refresh-tokens needs refreshTokens in the map', mapOf('').replace(/refreshTokens.*/s, '}')],
])('a map is refused: %s', async (message, map) => {
  const from = await host.sqlite(tablesOf({}, {}, { token: `${token}2` }))
  const args = ['--map', host.map(map), '--from', from, '--refresh-tokens', '--dry-run']
  const outcome = await host.run(...args)
  expect(outcome).toMatchObject({ stderr: expect.stringContaining(message) })
  expect(outcome.code).toBeGreaterThan(0)
  expect(outcome.stderr).not.toMatch(/^\s+at |select /m)
})

test.each([
  [[], 'import needs --map or the name of one server: doorkeeper, django-oauth-toolkit'],
  [['doorkeeper', '--map', 'map.mjs'], 'import needs --map or the name of one server'],
  [['doorkeeper', 'passport'], 'import needs --map or the name of one server'],
  [['--map', 'none.mjs'], 'none.mjs does not exist'],
])('latchkey import %j is refused: %s', async (args, message) => {
  const { code, stderr } = await host.run(...args, '--from', await host.sqlite(tablesOf()))
  expect({ code, stderr }).toEqual({
    code: args[1] === 'none.mjs' ? 1 : 2,
    stderr: expect.stringContaining(message),
  })
})
