import type { Knex } from 'knex'
import {
  type AuthRouter,
  authRouter,
  migrate,
  migrationSource,
  rollback,
  seedUsers,
} from '../../lib/index.ts'
import { migrateDatabase } from '../../lib/storage/database/migrate.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { schemaVersion } from '../../lib/storage/database/schema-version.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { expired, kept, migrations } from '../support/features.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { openPreparedDatabase } from '../support/prepared-database.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, expectError, redeem, refresh, userinfo } from '../support/tokens.ts'

const log = { info: jest.fn(), warn: jest.fn(), error: jest.fn() }
const secrets = ['a secret of the tests that is long enough']
const newer = '901_consents_mood'

let database: TestDatabase
const opened: AuthRouter[] = []
/** A schema of this version, and an empty database where a test makes its own. */
const open = async (isEmpty = false): Promise<void> => {
  const isPrepared = process.env.DATABASE_URL === undefined && !isEmpty
  database = isPrepared ? await openPreparedDatabase(secrets[0]!) : openTestDatabase()
  database.knex.client.logger.warn = () => {}
  for (const told of Object.values(log)) told.mockClear()
  if (!isEmpty) await migrated()
}
afterEach(async () => {
  jest.restoreAllMocks()
  for (const oauth of opened.splice(0)) await oauth.close()
  // Otherwise rolling back would be refused.
  await database
    .table('migrations')
    .where('name', '>', '9')
    .delete()
    .catch(() => {})
  await database?.close()
})

const migrated = () =>
  migrate(database.knex, { features: kept, database: { tablePrefix: database.tablePrefix } })
const version = () => schemaVersion(openDatabase(database.knex, database.tablePrefix).database, migrations)

/** Records a migration as a newer version does. */
const run = async (name: string): Promise<void> => {
  await database.table('migrations').insert({ name, batch: 2, migration_time: new Date() })
}
const expandConsents = async (): Promise<void> => {
  await database.knex.schema.alterTable(`${database.tablePrefix}consents`, (columns) => {
    columns.string('mood').nullable()
  })
  await run(newer)
}

/** The names of Latchkey's tables. */
const tablesOf = async (knex: Knex, prefix: string): Promise<string[]> => {
  const sqlite = knex.client.driverName === 'better-sqlite3'
  const names: string[] = sqlite
    ? await knex('sqlite_master').where({ type: 'table' }).pluck('name')
    : await knex('information_schema.tables').where('table_type', 'BASE TABLE').pluck('table_name')
  return names.filter((name) => name.startsWith(prefix))
}

/** Starts a router of this version on the database. */
const boot = async (environment: 'development' | 'production'): Promise<AuthRouter> => {
  const { NODE_ENV } = process.env
  process.env.NODE_ENV = environment
  try {
    const oauth = authRouter({
      issuer: 'https://app.example.com/oauth',
      database: { knex: database.knex, tablePrefix: database.tablePrefix },
      secrets,
      features: kept,
      logger: log,
    })
    opened.push(oauth)
    await oauth.ready()
    return oauth
  } finally {
    process.env.NODE_ENV = NODE_ENV
  }
}
const messages = (told: jest.Mock): string[] => told.mock.calls.map(([message]) => String(message))

describe('in a database that has tables of another server under these names', () => {
  /** As Doorkeeper and node-oauth2-server make theirs; MariaDB could not take back what it created before the second. */
  const others = ['access_tokens', 'clients']
  beforeEach(async () => {
    await open(true)
    for (const name of others)
      await database.knex.schema.createTable(`${database.tablePrefix}${name}`, (of) => of.string('id'))
  })
  const tablesHere = async (): Promise<string[]> => {
    const exists = await Promise.all(
      [...others, 'users', 'migrations', 'migrations_lock'].map(async (name) =>
        (await database.knex.schema.hasTable(`${database.tablePrefix}${name}`)) ? [name] : [],
      ),
    )
    return exists.flat()
  }

  test('migrate names them and tablePrefix, and leaves nothing behind', async () => {
    const error: Error = await migrated().then(
      () => new Error('nothing was thrown'),
      (thrown: Error) => thrown,
    )
    const [tokens, clients] = others.map((name) => `${database.tablePrefix}${name}`)
    expect(error.message).toContain(`the database has ${clients}, ${tokens} already`)
    expect(error.message).toContain("database: { tablePrefix: 'auth_' }")
    expect(await tablesHere()).toEqual(others)
  })

  test('it works with the prefix that the error names', async () => {
    const tablePrefix = `${database.tablePrefix}lk_`
    expect(await migrate(database.knex, { features: kept, database: { tablePrefix } })).toEqual([
      ...migrations.keys(),
    ])
    await rollback(database.knex, { features: kept, database: { tablePrefix } })
    expect(await tablesHere()).toEqual(others)
  })
})

test('an empty database lacks every migration, and the check creates no table', async () => {
  await open(true)
  expect(await version()).toEqual({ pending: [...migrations.keys()], newer: [] })
  for (const name of ['migrations', 'migrations_lock', 'clients'])
    expect(await database.knex.schema.hasTable(database.tablePrefix + name)).toBe(false)
})

test('in production the server does not migrate: it names what is missing and creates no table', async () => {
  await open(true)
  await expect(boot('production')).rejects.toThrow(
    /the database has no tables of Latchkey yet; run: npx latchkey migrate$/,
  )
  expect(await database.knex.schema.hasTable(`${database.tablePrefix}migrations`)).toBe(false)
  await migrated()
  await boot('production')
  expect(messages(log.info)).toEqual([])
})

test('in development only the first start says where the tables are and what comes next', async () => {
  await open(true)
  await boot('development')
  expect(messages(log.info)).toEqual([
    expect.stringMatching(/^latchkey: created its tables in \S+; next, .*npx latchkey client create/),
  ])
  await boot('development')
  expect(messages(log.info)).toHaveLength(1)
})

test('a single missing migration is named', async () => {
  await open()
  const last = [...migrations.keys()].at(-1)
  await database.table('migrations').where({ name: last }).delete()
  await expect(boot('production')).rejects.toThrow(`latchkey: the database lacks ${last}; run:`)
  await run(String(last))
})

test.each(['production', 'development'] as const)(
  'old code starts on a schema that a newer version expanded, and logs it in one line, in %s',
  async (environment) => {
    await open()
    await expandConsents()
    await boot(environment)
    expect(messages(log.info)).toEqual([`latchkey: the database is newer than this version, by ${newer}`])
    expect(messages(log.error)).toEqual([])
  },
)

test('running old code and old code that starts both work on an expanded schema', async () => {
  await open()
  const { knex, tablePrefix } = database
  const settings = {
    options: { users: undefined, features: kept },
    database: { ...database, close: async () => {} },
  }
  const running = await startHost(settings)
  opened.push(running.oauth)
  await seedUsers(knex, [{ username: ada.email, password: ada.password }], { database: { tablePrefix } })
  const everything = async (host: Host): Promise<void> => {
    const agent = new RawBrowser(host.app)
    const page = await agent.open(authorizeUrl({ client_id: 'web', scope: 'openid offline_access' }))
    expect((await agent.signIn(page, ada.email, 'wrong')).html).toContain('name="password"')
    const consent = await agent.signIn(await agent.open(page.url.href))
    const code = codeOf(consent.location === undefined ? await agent.decide(consent, 'allow') : consent)
    const tokens = await answerOf(redeem(host, code))
    const next = await answerOf(refresh(host, tokens.refresh_token))
    await userinfo(host, next.access_token).expect(200)
    const list = await agent.open('/oauth/account')
    expect(list.html).toContain('Web client')
    await host.oauth.users.export((await database.table('users').first()).id)
    await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
    expectError(await redeem(host, code), 400, 'invalid_grant')
    await removeExpiredRows(openDatabase(knex, tablePrefix).database, {
      now: 1,
      expired,
      refreshGracePeriod: 10,
    })
  }
  await everything(running)

  const tables = (await tablesOf(knex, tablePrefix)).filter((name) => !name.includes('migrations'))
  expect(tables).toContain(`${tablePrefix}throttles`)
  for (const name of tables)
    await knex.schema.alterTable(name, (columns) => {
      columns.string('mood').nullable()
    })
  await run(newer)

  await everything(running)
  const started = await startHost(settings)
  opened.push(started.oauth)
  await everything(started)
  expect(await database.table('consents').pluck('mood')).toEqual([null])
})

test('old code leaves a newer schema alone: it neither migrates it nor rolls half of it back', async () => {
  await open()
  await expandConsents()
  const { knex, tablePrefix } = database
  expect(await migrated()).toEqual([])
  expect((await version()).newer).toEqual([newer])
  await expect(rollback(knex, { features: kept, database: { tablePrefix } })).rejects.toThrow(
    `the database is newer than this version, by ${newer}; roll back with the version that made it`,
  )
  const configuration = {
    migrationSource: migrationSource({ features: kept, database: { tablePrefix } }),
    tableName: `${tablePrefix}migrations`,
  }
  await expect(knex.migrate.latest(configuration)).rejects.toThrow(newer)
  const [, names] = await knex.migrate.latest({ ...configuration, disableMigrationsListValidation: true })
  expect(names).toEqual([])
  expect(await knex.schema.hasColumn(`${tablePrefix}consents`, 'mood')).toBe(true)
})

test('reports a lock that a killed process left, with the statement that releases it', async () => {
  await open()
  const last = [...migrations.keys()].at(-1)
  await database.table('migrations').where({ name: last }).delete()
  await database.table('migrations_lock').update({ is_locked: 1 })
  const opened = openDatabase(database.knex, database.tablePrefix).database
  await expect(migrateDatabase(opened, migrations, { attempts: 0 })).rejects.toThrow(
    `another process is migrating; if it was killed, this releases its lock: update ${database.tablePrefix}migrations_lock set is_locked = 0`,
  )
  await database.table('migrations_lock').update({ is_locked: 0 })
  await run(String(last))
})

test('code that reads what a newer version has removed does not start, migrate or roll back', async () => {
  await open()
  const contraction = '903_consents_without_terms_needs_902'
  await run('902_consents_mood')
  await run(contraction)
  const refusal = `this version is too old for the database, where ${contraction} has run; deploy a newer one`
  for (const environment of ['production', 'development'] as const)
    await expect(boot(environment)).rejects.toThrow(refusal)
  await expect(migrated()).rejects.toThrow(refusal)
  const { knex, tablePrefix } = database
  await expect(rollback(knex, { features: kept, database: { tablePrefix } })).rejects.toThrow(refusal)
})

test('code that knows the migration that a removal needs starts after the removal', async () => {
  await open()
  await run('903_consents_without_terms_needs_014')
  await boot('production')
  expect(messages(log.info)).toHaveLength(1)
})

test('an unavailable database causes the driver’s own error', async () => {
  await open(true)
  const fault = new Error('connect ECONNREFUSED 10.0.0.7:5432')
  const away = jest.spyOn(database.knex.client.pool, 'acquire')
  away.mockImplementation(() => ({ promise: Promise.reject(fault) }))
  await expect(version()).rejects.toBe(fault)
})

test('the core and each feature number their migrations from 001, and each removal needs an earlier one', () => {
  const numbers = new Map<string, number[]>()
  for (const name of migrations.keys()) {
    const [, feature = '', number] = /^([a-z_]+_)?(\d{3})(?:_[a-z_]+?(?:_needs_\d{3})?)?$/.exec(name) ?? []
    expect({ name, number }).toEqual({ name, number: expect.any(String) })
    const [, needed] = /_needs_(\d+)$/.exec(name) ?? []
    if (needed !== undefined) expect(Number(needed)).toBeLessThan(Number(number))
    numbers.set(feature, [...(numbers.get(feature) ?? []), Number(number)])
  }
  for (const [feature, own] of numbers)
    expect([feature, own]).toEqual([feature, own.map((_, index) => index + 1)])
})
