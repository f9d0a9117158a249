import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import createKnex from 'knex'
import supertest from 'supertest'
import { type AuthRouter, type AuthRouterOptions, authRouter, migrate } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import {
  databaseOn,
  openTestDatabase,
  sqliteAt,
  type TestDatabase,
  withoutIdleConnections,
} from '../support/database.ts'
import { kept } from '../support/features.ts'
import { openPreparedDatabase } from '../support/prepared-database.ts'
import { describeWith, services } from '../support/services.ts'

const secret = 'a secret of the tests that is long enough'

let database: TestDatabase
const routers: AuthRouter[] = []
const log = { info: jest.fn(), warn: jest.fn(), error: jest.fn() }
let time: number

beforeEach(async () => {
  database = process.env.DATABASE_URL === undefined ? await openPreparedDatabase(secret) : openTestDatabase()
  database.knex.client.logger.warn = () => {}
  withoutIdleConnections(database.knex)
  time = 1_000_000
  jest.spyOn(performance, 'now').mockImplementation(() => time)
  for (const told of Object.values(log)) told.mockClear()
})
afterEach(async () => {
  jest.restoreAllMocks()
  for (const oauth of routers.splice(0)) await oauth.close()
  await database.close()
})

const serve = (secrets = [secret], options: Partial<AuthRouterOptions> = {}) => {
  const { knex, tablePrefix } = database
  const issuer = 'http://localhost:3000/oauth'
  const oauth = authRouter({
    issuer,
    database: { knex: knex, tablePrefix },
    secrets,
    logger: log,
    ...options,
  })
  routers.push(oauth)
  const app = express()
  app.get('/healthz', oauth.health)
  const probe = () => supertest(app).get('/healthz')
  return { oauth, app, probe }
}

const isHealthy = (res: supertest.Response): void => {
  expect({ status: res.status, text: res.text }).toEqual({ status: 200, text: '{"status":"ok"}' })
  expect(res.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
}
const isUnavailable = (res: supertest.Response): void => {
  expect({ status: res.status, text: res.text }).toEqual({ status: 503, text: '{"status":"unavailable"}' })
  expect(res.headers).toMatchObject({ 'retry-after': '1', 'cache-control': 'no-store' })
}

/** From now on the database is away, until the function that is returned is called. */
const takeAway = (): (() => void) => {
  const fault = new Error('connect ECONNREFUSED 10.0.0.7:5432, password=hunter2')
  const away = jest.spyOn(database.knex.client.pool, 'acquire')
  away.mockImplementation(() => ({ promise: Promise.reject(fault) }))
  return () => away.mockRestore()
}

test('the first probe waits until the server is ready, and is answered with 200, as is HEAD', async () => {
  const { app, probe } = serve()
  isHealthy(await probe())
  const head = await supertest(app).head('/healthz')
  expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: undefined })
})

test('answers 503 without a reason while the database is down, and logs each change once', async () => {
  const { oauth, probe } = serve()
  await oauth.ready()
  isHealthy(await probe())
  const bringBack = takeAway()
  for (let probes = 0; probes < 3; probes += 1) {
    time += 1001
    isUnavailable(await probe())
  }
  expect(log.error.mock.calls.map(([message]) => message)).toEqual([
    'latchkey: not healthy: the service is temporarily unavailable: connect ECONNREFUSED 10.0.0.7:5432, password=***',
  ])
  bringBack()
  time += 1001
  isHealthy(await probe())
  time += 1001
  isHealthy(await probe())
  expect(log.info.mock.calls.filter(([message]) => message === 'latchkey: healthy again')).toHaveLength(1)
})

test('503 if the tables are not those of this version', async () => {
  const { oauth, probe } = serve()
  await oauth.ready()
  const name = `${database.tablePrefix}signing_keys`
  await database.knex.schema.renameTable(name, `${name}_away`)
  isUnavailable(await probe())
  await database.knex.schema.renameTable(`${name}_away`, name)
})

const onSqlite = process.env.DATABASE_URL === undefined ? test : test.skip
onSqlite('503 while the database only reads, although every read works', async () => {
  const { oauth, probe } = serve()
  await oauth.ready()
  isHealthy(await probe())
  await database.knex.raw('pragma query_only = on')
  time += 1001
  isUnavailable(await probe())
  await database.knex.raw('pragma query_only = off')
  time += 1001
  isHealthy(await probe())
})

describeWith('postgresql', 'after a fail-over', () => {
  test('503 while the connection leads to a standby, and then again 200 on a new one', async () => {
    await database.close()
    database = openTestDatabase(services.postgresql)
    withoutIdleConnections(database.knex)
    const { oauth, probe } = serve()
    await oauth.ready()
    isHealthy(await probe())
    const { client } = database.knex
    const connections = await Promise.all(
      Array.from({ length: client.pool.max }, () => client.acquireConnection()),
    )
    for (const connection of connections) {
      await connection.query('set default_transaction_read_only = on')
      await client.releaseConnection(connection)
    }
    time += 1001
    isUnavailable(await probe())
    for (const connection of connections) await connection.end()
    time += 1001
    isHealthy(await probe())
  })
})

onSqlite('200 while another connection writes for long', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-health-'))
  const config = sqliteAt(join(folder, 'latchkey.sqlite'))
  const other = createKnex(config)
  await database.close()
  database = databaseOn(createKnex(config))
  await database.knex.raw('pragma journal_mode = wal')
  await database.knex.raw('pragma busy_timeout = 1')
  const { oauth, probe } = serve()
  await oauth.ready()
  const transaction = await other.transaction()
  await transaction.raw('create table held (id integer)')
  time += 1001
  isHealthy(await probe())
  await transaction.rollback()
  await other.destroy()
  rmSync(folder, { recursive: true })
})

test('503 if the keys cannot be opened', async () => {
  await migrate(database.knex, { features: kept, database: { tablePrefix: database.tablePrefix } })
  await serve().oauth.ready()
  isUnavailable(await serve(['another secret, under which nothing was sealed']).probe())
})

test('a wrong name in the option users is an error at the start and 503, until the table has it', async () => {
  const { knex, tablePrefix } = database
  const table = `${tablePrefix}people`
  const columns = { id: 'id', username: 'email', password: 'password_hash' }
  const { oauth, probe } = serve([secret], { users: { table, columns } })
  await expect(oauth.ready()).rejects.toThrow(`users.table is ${table}, a table that the database does`)
  isUnavailable(await probe())
  await knex.schema.createTable(table, (people) => {
    people.increments('id')
    people.string('email')
  })
  await expect(oauth.ready()).rejects.toThrow('users.columns.password is password_hash, a column that')
  await knex.schema.alterTable(table, (people) => void people.string('password_hash'))
  await oauth.ready()
  time += 1001
  isHealthy(await probe())
  await knex.schema.dropTable(table)
})

test('however many ask, the database is asked once a second', async () => {
  // Keys are read anew after seconds, which a busy machine may take.
  stopClock()
  const { oauth, probe } = serve()
  await oauth.ready()
  const asked = jest.spyOn(database.knex.client.pool, 'acquire')
  const crowd = async (): Promise<number> => {
    const before = asked.mock.calls.length
    for (const res of await Promise.all(Array.from({ length: 20 }, probe))) isHealthy(res)
    for (let more = 0; more < 5; more += 1) isHealthy(await probe())
    return asked.mock.calls.length - before
  }
  // One statement that reads and one that writes.
  expect(await crowd()).toBe(2)
  time += 999
  expect(await crowd()).toBe(0)
  time += 2
  expect(await crowd()).toBe(2)
})

test('a silent database is 503 before a probe times out, and is not queried again meanwhile', async () => {
  const { oauth, probe } = serve()
  await oauth.ready()
  const real = globalThis.setTimeout
  const hurried = (run: () => void, milliseconds = 0): unknown =>
    real(run, milliseconds === 2000 ? 20 : milliseconds)
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(hurried as unknown as typeof setTimeout)
  const { pool } = database.knex.client
  const acquire = pool.acquire.bind(pool)
  const late: (() => void)[] = []
  const silent = jest.spyOn(pool, 'acquire').mockImplementation(() => {
    const promise = new Promise<void>((resolve) => late.push(resolve)).then(() => acquire().promise)
    return { promise }
  })
  isUnavailable(await probe())
  isUnavailable(await probe())
  expect(silent).toHaveBeenCalledTimes(1)
  silent.mockRestore()
  for (const come of late) come()
  isHealthy(await probe())
})

test('a server that has been closed is not healthy', async () => {
  const { oauth, probe } = serve()
  await oauth.ready()
  isHealthy(await probe())
  await oauth.close()
  isUnavailable(await probe())
})
