import { hash } from '@node-rs/bcrypt'
import createKnex from 'knex'
import { openOnFile, openOnServer, type SharedDatabase } from '../support/database.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { describeWith, services } from '../support/services.ts'
import { ada, tokensFor, userinfo } from '../support/tokens.ts'

// What the database of a host makes of values: its driver reads integers as BigInt, and its user table has an old character set.

interface Column {
  readonly type: string
  length: number
  string(): string | null
}

/** As apps with ids beyond 2^53 write it for mysql2. */
const typeCast = (column: Column, next: () => unknown): unknown => {
  if (column.type !== 'LONGLONG' && column.type !== 'LONG' && column.type !== 'TINY') return next()
  const text = column.string()
  return text === null ? null : BigInt(text)
}

const integers = new Set([20, 21, 23])
const { types } = require('pg') as { types: { getTypeParser(oid: number, format?: string): unknown } }

const postgresTypes = {
  getTypeParser: (oid: number, format?: string): unknown =>
    integers.has(oid) ? BigInt : types.getTypeParser(oid, format),
}

interface SafeIntegers {
  defaultSafeIntegers(): void
}

const databases = {
  sqlite: () =>
    openOnFile((config) => ({
      ...config,
      pool: {
        min: 1,
        max: 1,
        afterCreate: (connection: SafeIntegers, done: (error: null, connection: SafeIntegers) => void) => {
          connection.defaultSafeIntegers()
          done(null, connection)
        },
      },
    })),
  postgresql: () =>
    openOnServer(services.postgresql, 5, (config) => ({
      ...config,
      connection: { connectionString: services.postgresql, types: postgresTypes } as object,
    })),
  mariadb: () =>
    openOnServer(services.mariadb, 5, (config) => ({
      ...config,
      connection: { uri: services.mariadb, typeCast } as object,
    })),
}

const usersOn = async (
  { knex, tablePrefix }: Pick<SharedDatabase, 'knex' | 'tablePrefix'>,
  charset?: string,
) => {
  const table = `${tablePrefix}people`
  await knex.schema.createTable(table, (columns) => {
    if (charset !== undefined) columns.charset(charset)
    columns.bigIncrements('id')
    columns.string('email').unique()
    columns.string('password_hash')
    columns.bigInteger('member_no')
    columns.specificType('confirmed', 'smallint')
  })
  const password_hash = await hash(ada.password, { cost: 4 })
  for (const email of [ada.email, 'rené@example.com'])
    await knex(table).insert({ email, password_hash, member_no: '9007199254740993', confirmed: 1 })
  return { table, columns: { id: 'id', username: 'email', password: 'password_hash' } }
}

const api = 'https://api.example.com/'

const bigIntegersOn = (open: () => SharedDatabase): void => {
  test('users whose integers are BigInt sign in, and their claims have these numbers', async () => {
    const database = open()
    const host = await startHost({
      database,
      options: {
        users: {
          ...(await usersOn(database)),
          claims: {
            member_no: 'member_no',
            email_verified: 'confirmed',
            memberships: (row) => [{ since: { no: row.member_no } }],
          },
        },
        scopes: {
          'notes:read': { description: 'Read your notes', claims: ['member_no', 'memberships'] },
          'notes:write': 'Write notes',
        },
        resources: {
          [api]: {
            accessToken: 'jwt',
            scopes: ['notes:read'],
            claims: (user) => ({ tenant: { id: user?.member_no } }),
          },
        },
      },
    })
    try {
      const scope = 'openid email notes:read'
      const { access_token } = await tokensFor(host, { scope })
      const no = '9007199254740993'
      const member = { member_no: no, email_verified: true, memberships: [{ since: { no } }] }
      expect((await userinfo(host, access_token)).body).toEqual({ sub: '1', ...member })
      const { access_token: jwt } = await tokensFor(host, { scope, resource: api }, { resource: api })
      expect(JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString())).toMatchObject({
        tenant: { id: no },
      })
    } finally {
      await host.close()
    }
  })
}

describe('SQLite', () => bigIntegersOn(databases.sqlite))
describeWith('postgresql', 'PostgreSQL', () => bigIntegersOn(databases.postgresql))
describeWith('mariadb', 'MariaDB', () => bigIntegersOn(databases.mariadb))

const url = authorizeUrl({ client_id: 'web', scope: 'openid' })

/** Tries names that the table cannot hold: each is a wrong password, and five of one are too many. */
const attemptsOn = async (
  database: SharedDatabase,
  charset?: string,
  further = async (_host: Host): Promise<void> => {},
): Promise<void> => {
  const errors: unknown[] = []
  const logger = { info: () => {}, warn: () => {}, error: (message: unknown) => errors.push(message) }
  const users = await usersOn(database, charset)
  const host: Host = await startHost({ database, options: { users, logger } })
  try {
    const names = ['ada😀', 'Ада', 'a\ud800', 'a\0', '\u{10ffff}']
    for (const name of names) {
      const browser = new RawBrowser(host.app)
      const page = await browser.signIn(await browser.open(url), name, ada.password)
      expect([name, page.status]).toEqual([name, 400])
      expect(page.html).toContain('Wrong email or password')
    }
    const browser = new RawBrowser(host.app)
    let page = await browser.open(url)
    const statuses: number[] = []
    for (let time = 0; time < 6; time += 1) {
      page = await browser.signIn(page, names[0]!, 'wrong')
      statuses.push(page.status)
    }
    expect(statuses).toEqual([400, 400, 400, 400, 429, 429])
    await tokensFor(host, { scope: 'openid' }, {}, { as: { ...ada, email: 'rené@example.com' } })
    await further(host)
    expect(errors).toEqual([])
  } finally {
    await host.close()
  }
}

describeWith('mariadb', 'a name that the user table cannot hold', () => {
  test.each(['latin1', 'utf8mb3'])('is a wrong password on MariaDB with %s, and counts', (charset) =>
    attemptsOn(openOnServer(services.mariadb, 5), charset),
  )
})

/** In a database of this encoding Latchkey's own tables have it, too. */
const expectBadRequests = async (host: Host): Promise<void> => {
  for (const parameter of ['client_id', 'login_hint', 'nonce']) {
    const url = authorizeUrl({ client_id: 'web', scope: 'openid', [parameter]: '😀' })
    const page = await new RawBrowser(host.app).open(url)
    expect([parameter, page.status]).toEqual([parameter, 400])
  }
}

describeWith('postgresql', 'a character that the database cannot hold', () => {
  test('makes a wrong password of a name, and a bad request of parameters, on PostgreSQL', async () => {
    const name = `latchkey_latin1_${process.pid}`
    const admin = createKnex({ client: 'pg', connection: services.postgresql })
    await admin.raw(
      `create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`,
    )
    const place = new URL(services.postgresql)
    place.pathname = `/${name}`
    try {
      await attemptsOn(openOnServer(place.href, 5), undefined, expectBadRequests)
    } finally {
      await admin.raw(`drop database ${name}`)
      await admin.destroy()
    }
  })
})
