import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { changeSilently } from '../../lib/events/events.ts'
import { developerAdministration } from '../../lib/features/developers/administration.ts'
import { developerOptionIn } from '../../lib/features/developers/option.ts'
import { registerDeveloperClient } from '../../lib/features/developers/register.ts'
import { listClientIdsOfOwner } from '../../lib/features/developers/table.ts'
import { developers } from '../../lib/features/index.ts'
import { migrate, rollback } from '../../lib/index.ts'
import { createThrottle } from '../../lib/limits/throttle.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { hasQueue } from '../../lib/storage/database/group-commit.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/storage/database/open.ts'
import type { Database, Driver } from '../../lib/storage/database/types.ts'
import { listClients } from '../../lib/storage/repositories/clients.ts'
import { beginLogin, countRevocations } from '../../lib/storage/repositories/index.ts'
import { decrementThrottles, incrementThrottles } from '../../lib/storage/repositories/throttles.ts'
import { kept } from '../support/features.ts'
import { checkedInBurst } from '../support/login-burst.ts'
import { describeWith, services } from '../support/services.ts'
import { countStatements } from '../support/statement-count.ts'
import { watchedDatabase } from './watched-driver.ts'

// Parallel calls on one schema of each database.

const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const start = 1_700_000_000

/** A database that does not understand RETURNING, as MySQL does not. */
const withoutReturning = (db: Database): Database => {
  const refusal = Object.assign(new Error('You have an error in your SQL syntax'), { code: 'ER_PARSE_ERROR' })
  const execute: Driver['execute'] = async (connection, sql, bindings) => {
    if (/ returning /i.test(sql)) throw refusal
    return db.driver.execute(connection, sql, bindings)
  }
  return { ...db, driver: { ...db.driver, execute } }
}

const countingOn = (opened: () => OpenedDatabase, { lacksReturning = false } = {}): void => {
  let db: Database
  let now = start
  beforeEach(async () => {
    db = lacksReturning ? withoutReturning(opened().database) : opened().database
    now = start
    await opened().hostKnex(`${tablePrefix}throttles`).delete()
  })
  const count = (...keys: string[]) =>
    incrementThrottles(
      db,
      keys.map((key) => ({ key, expiresAt: now + 60 })),
      { now },
    )
  const pointsOf = async (...keys: string[]) => (await count(...keys)).map(({ points }) => points - 1)

  test('counts each key, returns the counts in order, and keeps the first expiry until it is over', async () => {
    expect(await count('b', 'a')).toEqual([
      { key: 'b', points: 1, expiresAt: start + 60 },
      { key: 'a', points: 1, expiresAt: start + 60 },
    ])
    now += 59
    expect(await count('c', 'b')).toEqual([
      { key: 'c', points: 1, expiresAt: now + 60 },
      { key: 'b', points: 2, expiresAt: start + 60 },
    ])
    now += 1
    expect(await count('a')).toEqual([{ key: 'a', points: 1, expiresAt: now + 60 }])
  })

  test('takes one from a count, never below zero, and resets others', async () => {
    for (let time = 0; time < 2; time += 1) await count('a', 'b', 'c')
    await decrementThrottles(db, { decrement: ['a', 'missing'], reset: ['b'] })
    expect(await pointsOf('a', 'b', 'c')).toEqual([1, 0, 2])
    for (let time = 0; time < 4; time += 1) await decrementThrottles(db, { decrement: ['a'] })
    expect(await pointsOf('a')).toEqual([0])
  })

  test('gives each of many parallel requests its own count, in any order of keys', async () => {
    const orders = [
      ['x', 'y', 'z'],
      ['z', 'y', 'x'],
      ['y', 'z', 'x'],
    ]
    const requests = Array.from({ length: 60 }, (_, index) => orders[index % 3] ?? [])
    const counted = await Promise.all(requests.map((keys) => count(...keys)))
    for (const key of ['x', 'y', 'z']) {
      const points = counted.map((one) => one.find((throttle) => throttle.key === key)?.points ?? 0)
      expect(points.sort((one, other) => one - other)).toEqual(requests.map((_, index) => index + 1))
    }
    await Promise.all(requests.map((decrement) => decrementThrottles(db, { decrement })))
    expect(await pointsOf('x', 'y', 'z')).toEqual([0, 0, 0])
  })

  test('of twenty wrong passwords in flight in two processes, five are checked, in each round (M7)', async () => {
    const { limits } = resolveOptions({})
    const processes = [1, 2].map(() => createThrottle(limits, { database: db, now: () => now }).login)
    const checked: number[] = []
    for (let round = 1; round <= 10; round += 1)
      checked.push(await checkedInBurst(processes, `198.51.100.${round}`))
    expect(checked).toEqual(Array(10).fill(5))
  })

  test('a sign-in in a new browser costs three statements; a failure costs one, or three to lock', async () => {
    const control = /^(begin|commit|start|rollback|savepoint|release)/i
    const ada = { subject: 'ada' }
    const { db: database, statements } = watchedDatabase(db)
    /** How many statements an attempt costs. */
    const costOf = async (user?: typeof ada): Promise<number> => {
      statements.length = 0
      const { login } = createThrottle(resolveOptions({}).limits, {
        database,
        now: () => now,
      })
      const attempt = { account: 'ada', address: '198.51.100.1' }
      const result = await login.attempt(attempt, async () => user)
      if (user) expect(result.outcome).toBe('succeeded')
      return statements.filter((sql) => !control.test(sql)).length
    }
    // Learns what the server can do.
    await costOf(ada)
    expect(await costOf(ada)).toBe(lacksReturning ? 5 : 3)
    // On SQLite the last two share a transaction, and so a wait for the disk.
    expect(statements.some((sql) => control.test(sql))).toBe(lacksReturning || hasQueue(db))
    const costs: number[] = []
    for (let time = 0; time < 6; time += 1) costs.push(await costOf())
    expect(costs).toEqual(lacksReturning ? [2, 2, 2, 2, 5, 3] : [1, 1, 1, 1, 3, 2])
  })
}

const developerFields = {
  client_name: 'Desk',
  redirect_uris: ['https://desk.example.com/'],
  scope: 'openid',
  client_uri: null,
  logo_uri: null,
  policy_uri: null,
  tos_uri: null,
}

const racingOn = (config: Knex.Config): void => {
  let opened: OpenedDatabase
  beforeAll(async () => {
    opened = openDatabase(config, tablePrefix)
    await migrate(opened.hostKnex, { features: kept, database: { tablePrefix } })
  })
  afterAll(async () => {
    await rollback(opened.hostKnex, { features: kept, database: { tablePrefix } })
    for (const name of ['migrations', 'migrations_lock'])
      await opened.hostKnex.schema.dropTableIfExists(tablePrefix + name)
    await opened.close()
  })

  describe('the count of failures', () => countingOn(() => opened))
  if (config.client === 'mysql2')
    describe('the count of failures without RETURNING, as on MySQL', () =>
      countingOn(() => opened, { lacksReturning: true }))

  test('parallel requests never exceed a user’s quota of clients, and one decision on each counts', async () => {
    const maxClients = 3
    const options = resolveOptions({
      issuer: 'https://app.example.com',
      database: config,
      secrets: ['s'.repeat(32)],
      features: [developers({ allow: () => 'approval', maxClients })],
    })
    const { database } = opened
    const now = () => start
    const context = {
      database,
      options,
      option: developerOptionIn(options),
      installed: [],
      now,
      events: { change: changeSilently },
      throttle: { takeQuota: async () => {} },
    }
    for (const subject of ['ada', 'bob']) {
      const sid = `of-${subject}`
      const login = { sid, subject, authTime: start, amr: ['pwd'], expiresAt: start + 9000 }
      await beginLogin(database, { login, since: await countRevocations(database), now: start })
      const info = { requestId: 'id', address: '127.0.0.1' }
      const developer = { subject, sid, needsApproval: true, info }
      const register = () =>
        registerDeveloperClient(context, developer, { fields: developerFields, isPublic: false })
      await Promise.allSettled(Array.from({ length: 8 }, register))
      // Requests that lost too often to the others may come again.
      for (let more = 0; more < maxClients; more += 1) await register()
      expect(await listClientIdsOfOwner(database, { subject })).toHaveLength(maxClients)
    }
    expect(await listClients(database, { now: now() })).toHaveLength(2 * maxClients)

    const { approve, refuse, list } = developerAdministration({ ...context, ready: async () => {} })
    const count = await countStatements(opened.hostKnex, [])
    const owned = await list()
    expect(owned).toHaveLength(2 * maxClients)
    // One for the owners and one for the clients, however many there are.
    expect(count.ours).toHaveLength(2)
    for (const { client } of owned) {
      const decisions = [approve, refuse, approve, refuse].map((decide) => decide(client.client_id))
      const outcomes = await Promise.allSettled(decisions)
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    }
    for (const { client, status } of await list()) expect(client.disabled).toBe(status === 'refused')
  })
}

const pool = { min: 0, max: 8 }
describe('on SQLite', () => racingOn({ client: 'better-sqlite3', connection: { filename: ':memory:' } }))
describeWith('postgresql', 'on PostgreSQL', () =>
  racingOn({ client: 'pg', connection: services.postgresql, pool }),
)
describeWith('mariadb', 'on MariaDB', () =>
  racingOn({ client: 'mysql2', connection: services.mariadb, pool }),
)
