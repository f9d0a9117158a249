import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { type OpenedDatabase, openDatabase } from '../../lib/database/open.ts'
import type { Database, Driver } from '../../lib/database/types.ts'
import { migrate, rollback } from '../../lib/index.ts'
import { checkedThrottle } from '../../lib/options/throttle.ts'
import { decrementThrottles, incrementThrottles } from '../../lib/repositories/throttles.ts'
import { createThrottle } from '../../lib/throttle/throttle.ts'
import { describeWith, services } from '../support/services.ts'

const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const start = 1_700_000_000

/** The same database with every statement noted that reaches the driver. */
const watched = (db: Database, statements: string[]): Database => {
  const { execute, executeAfter } = db.driver
  const driver: Driver = {
    ...db.driver,
    execute: (connection, sql, bindings) => {
      statements.push(sql)
      return execute(connection, sql, bindings)
    },
    executeAfter:
      executeAfter &&
      ((connection, first, sql, bindings) => {
        statements.push(first, sql)
        return executeAfter(connection, first, sql, bindings)
      }),
  }
  return { ...db, driver }
}

/** A database that does not understand RETURNING, as MySQL does not. */
const withoutReturning = (db: Database): Database => {
  const refusal = Object.assign(new Error('You have an error in your SQL syntax'), { code: 'ER_PARSE_ERROR' })
  const execute: Driver['execute'] = async (connection, sql, bindings) => {
    if (/ returning /i.test(sql)) throw refusal
    return db.driver.execute(connection, sql, bindings)
  }
  return { ...db, driver: { ...db.driver, execute } }
}

const countingOn = (config: Knex.Config, { lacksReturning = false } = {}): void => {
  let opened: OpenedDatabase
  let db: Database
  let now = start
  beforeAll(async () => {
    opened = openDatabase(config, tablePrefix)
    await migrate(opened.hostKnex, { tablePrefix })
    db = lacksReturning ? withoutReturning(opened.database) : opened.database
  })
  afterAll(async () => {
    await rollback(opened.hostKnex, { tablePrefix })
    for (const name of ['migrations', 'migrations_lock'])
      await opened.hostKnex.schema.dropTableIfExists(tablePrefix + name)
    await opened.close()
  })
  beforeEach(async () => {
    now = start
    await opened.hostKnex(`${tablePrefix}throttles`).delete()
  })
  const count = (...keys: string[]) =>
    incrementThrottles(
      db,
      keys.map((key) => ({ key, expiresAt: now + 60 })),
      { now },
    )
  const pointsOf = async (...keys: string[]) => (await count(...keys)).map(({ points }) => points - 1)

  test('counts under each key, returns the counts in the order of the keys, and keeps the first expiry', async () => {
    expect(await count('b', 'a')).toEqual([
      { key: 'b', points: 1, expiresAt: start + 60 },
      { key: 'a', points: 1, expiresAt: start + 60 },
    ])
    now += 59
    expect(await count('c', 'b')).toEqual([
      { key: 'c', points: 1, expiresAt: now + 60 },
      { key: 'b', points: 2, expiresAt: start + 60 },
    ])
  })

  test('begins again when a count has expired', async () => {
    await count('a', 'b')
    now += 60
    expect(await count('a')).toEqual([{ key: 'a', points: 1, expiresAt: now + 60 }])
  })

  test('takes one from a count, never below zero, and resets others', async () => {
    await count('a', 'b', 'c')
    await count('a', 'b', 'c')
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
    const counted = await Promise.all(
      Array.from({ length: 60 }, (_, index) => count(...(orders[index % orders.length] ?? []))),
    )
    for (const key of ['x', 'y', 'z']) {
      const points = counted.map((one) => one.find((throttle) => throttle.key === key)?.points ?? 0)
      expect(points.sort((one, other) => one - other)).toEqual(
        Array.from({ length: 60 }, (_, index) => index + 1),
      )
    }
    await Promise.all(
      counted.map((_, index) => decrementThrottles(db, { decrement: orders[index % 3] ?? [] })),
    )
    expect(await pointsOf('x', 'y', 'z')).toEqual([0, 0, 0])
  })

  describe('a sign-in', () => {
    const statements: string[] = []
    const ada = { subject: 'ada' }
    const attempt = (user: typeof ada | undefined, account = 'ada') =>
      createThrottle(checkedThrottle({}), [], {
        database: watched(db, statements),
        now: () => now,
      }).login.attempt({ account, address: '198.51.100.1' }, async () => user)
    beforeEach(async () => {
      // Learns what the server can do.
      await attempt(ada)
      statements.length = 0
    })
    const control = /^(begin|commit|start|rollback)/i

    test('that succeeds costs two statements and no transaction', async () => {
      expect(await attempt(ada)).toEqual({ outcome: 'succeeded', user: ada })
      const expected = lacksReturning ? 3 : 2
      expect(statements.filter((sql) => !control.test(sql))).toHaveLength(expected)
      expect(statements.some((sql) => control.test(sql))).toBe(lacksReturning)
    })

    test('that fails costs one statement, and two more when it locks', async () => {
      const costs: number[] = []
      for (let time = 0; time < 6; time += 1) {
        statements.length = 0
        await attempt(undefined)
        costs.push(statements.filter((sql) => !control.test(sql)).length)
      }
      expect(costs).toEqual(lacksReturning ? [2, 2, 2, 2, 5, 3] : [1, 1, 1, 1, 3, 2])
    })
  })
}

describe('failures in SQLite', () => {
  countingOn({ client: 'better-sqlite3', connection: { filename: ':memory:' } })
})
describeWith('postgresql', 'failures in PostgreSQL', () => {
  countingOn({ client: 'pg', connection: services.postgresql, pool: { min: 0, max: 8 } })
})
describeWith('mariadb', 'failures in MariaDB', () => {
  countingOn({ client: 'mysql2', connection: services.mariadb, pool: { min: 0, max: 8 } })
})
describeWith('mariadb', 'failures in MySQL, which has no RETURNING', () => {
  countingOn(
    { client: 'mysql2', connection: services.mariadb, pool: { min: 0, max: 8 } },
    { lacksReturning: true },
  )
})
