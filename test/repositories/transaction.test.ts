import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { migrate, rollback } from '../../lib/index.ts'
import { isRetryable, isUniqueViolation } from '../../lib/storage/database/errors.ts'
import { RolledBack } from '../../lib/storage/database/in-transaction.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/storage/database/open.ts'
import { command, type Write } from '../../lib/storage/database/statement.ts'
import { transaction, writeAll, writeIf } from '../../lib/storage/database/transaction.ts'
import type { Driver, DriverOptions } from '../../lib/storage/database/types.ts'
import { createLogin, createReplay, findLogin, lockLogin } from '../../lib/storage/repositories/index.ts'
import { kept } from '../support/features.ts'
import { describeWith, type Service, services } from '../support/services.ts'
import { watchedDatabase } from './watched-driver.ts'

const sqlite: Knex.Config = { client: 'better-sqlite3', connection: { filename: ':memory:' } }
const servers: Readonly<Record<string, Service>> = { pg: 'postgresql', mysql2: 'mariadb' }
const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const now = Math.floor(Date.now() / 1000)
const login = (sid: string) => ({ sid, subject: '1', authTime: now, amr: ['pwd'], expiresAt: now + 60 })
const replay = () => ({ hash: randomBytes(32).toString('base64url'), expiresAt: now })

// The same statements as values.
const insertReplay = command<{ hash: string; expiresAt: number }>((table, v) =>
  table('replays').insert({ hash: v.hash, expires_at: v.expiresAt }),
)
const insertLogin = command<{ sid: string; now: number }>((table, v) =>
  table('logins').insert({
    sid: v.sid,
    subject: '1',
    auth_time: v.now,
    amr: '[]',
    expires_at: 9_999_999_999,
  }),
)
const endOne = command<{ sid: string; now: number }>((table, v) =>
  table('logins').where({ sid: v.sid }).whereNull('ended_at').update({ ended_at: v.now }),
)
const ending = (sid: string): Write => endOne.with({ sid, now })
const loggingIn = (sid: string): Write => insertLogin.with({ sid, now })

const configOf = (client: string, more: object): Knex.Config => {
  const service = servers[client]
  if (service === undefined) return sqlite
  const connectionString = services[service]
  return { client, connection: client === 'pg' ? { connectionString, ...more } : connectionString }
}

const removeTables = async (knex: Knex): Promise<void> => {
  await rollback(knex, { features: kept, database: { tablePrefix } })
  for (const name of ['migrations', 'migrations_lock'])
    await knex.schema.dropTableIfExists(tablePrefix + name)
}

/** @param isLast whether no later tests use the tables of this server */
const transactionsOn = (
  client: string,
  more: object,
  { isLast = true, ...options }: DriverOptions & { readonly isLast?: boolean } = {},
): void => {
  let opened: OpenedDatabase
  beforeAll(async () => {
    opened = openDatabase(configOf(client, more), tablePrefix, options)
    await migrate(opened.hostKnex, { features: kept, database: { tablePrefix } })
    await opened.hostKnex(`${tablePrefix}logins`).delete()
  })
  afterAll(async () => {
    if (isLast) await removeTables(opened.hostKnex)
    await opened.close()
  })

  const standing = (sid: string) => findLogin(opened.database, { sid, now })

  test('does all of its work and returns the result', async () => {
    const [a, b] = [replay(), replay()]
    const decision = await transaction(opened.database, async (tx) => {
      const isFirst = await createReplay(tx, a)
      await Promise.all([createLogin(tx, login('whole')), createReplay(tx, b)])
      return isFirst
    })
    expect(decision).toBe(true)
    expect(await standing('whole')).toMatchObject({ sid: 'whole' })
    expect(await createReplay(opened.database, a)).toBe(false)
    expect(await createReplay(opened.database, b)).toBe(false)
  })

  test('runs statements in the order in which they are given, also the first ones', async () => {
    const { db, statements } = watchedDatabase(opened.database)
    await transaction(db, async (tx) => {
      await Promise.all([createLogin(tx, login('in-order')), findLogin(tx, { sid: 'in-order', now })])
    })
    const words = statements.map((sql) => sql.toLowerCase()).filter((sql) => /insert|select/.test(sql))
    expect(words.map((sql) => /insert|select/.exec(sql)?.[0])).toEqual(['insert', 'select'])
  })

  test('writes nothing if it cannot begin, not even with its first statements', async () => {
    const { database } = opened
    const driver = { ...database.driver, begin: 'BEGIN nothing' }
    const work = transaction({ ...database, driver }, (tx) =>
      Promise.all([createLogin(tx, login('adrift')), createLogin(tx, login('adrift-too'))]),
    )
    await expect(work).rejects.toMatchObject({ status: 503 })
    expect(await standing('adrift')).toBeUndefined()
    expect(await standing('adrift-too')).toBeUndefined()
  })

  test('begins anew after a first statement that failed, on the same connection', async () => {
    await createLogin(opened.database, login('there')).catch(() => {})
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const work = transaction(opened.database, (tx) => createLogin(tx, login('there')))
      await expect(work).rejects.toMatchObject({ status: 503 })
    }
    await transaction(opened.database, (tx) => createLogin(tx, login(`after-${client}`)))
    expect(await standing(`after-${client}`)).toBeDefined()
  })

  test('writes nothing if a statement fails, the first or the last', async () => {
    for (const order of [0, 1]) {
      const used = replay()
      const writes = [login('taken'), login(`beside-${order}`)]
      if (order === 1) writes.reverse()
      await createLogin(opened.database, login('taken')).catch(() => {})
      const work = transaction(opened.database, async (tx) => {
        await createReplay(tx, used)
        await Promise.all(writes.map((row) => createLogin(tx, row)))
      })
      await expect(work).rejects.toMatchObject({ status: 503 })
      expect(await standing(`beside-${order}`)).toBeUndefined()
      expect(await createReplay(opened.database, used)).toBe(true)
    }
  })

  test('keeps the values of two statements apart whose SQL is the same', async () => {
    const byName = command<{ name: string; now: number }>((table, v) =>
      table('logins').where({ sid: v.name }).whereNull('ended_at').update({ ended_at: v.now }),
    )
    await createLogin(opened.database, login('by-sid'))
    await createLogin(opened.database, login('by-name'))
    expect(await writeIf(opened.database, [['first', ending('by-sid')]], [])).toBeUndefined()
    const ended = byName.with({ name: 'by-name', now })
    expect(await writeIf(opened.database, [['second', ended]], [])).toBeUndefined()
  })

  test('writes nothing if the work throws', async () => {
    const used = replay()
    const work = transaction(opened.database, async (tx) => {
      await createReplay(tx, used)
      throw new Error('decided against')
    })
    await expect(work).rejects.toMatchObject({ cause: new Error('decided against') })
    expect(await createReplay(opened.database, used)).toBe(true)
  })

  test('refuses statements of work that continues after a failure', async () => {
    let late: Promise<unknown> = Promise.resolve()
    const work = transaction(opened.database, async (tx) => {
      const goesOn = async (): Promise<void> => {
        await createLogin(tx, login('first-half'))
        while (!isOver) await new Promise(setImmediate)
        await createLogin(tx, login('second-half'))
      }
      late = goesOn()
      late.catch(() => {})
      await createReplay(tx, replay())
      throw new Error('failed beside it')
    })
    let isOver = false
    await work.catch(() => {})
    isOver = true
    await expect(late).rejects.toThrow('after the end of its transaction')
    expect(await standing('first-half')).toBeUndefined()
    expect(await standing('second-half')).toBeUndefined()
  })

  // After a deadlock MariaDB has rolled back, and SQLite after a full disk: a further statement would commit by itself.
  test('sends nothing after a statement that has failed', async () => {
    await createLogin(opened.database, login('taken')).catch(() => {})
    const { db, statements } = watchedDatabase(opened.database)
    const work = transaction(db, (tx) =>
      Promise.all([createLogin(tx, login('taken')), createReplay(tx, replay())]),
    )
    await expect(work).rejects.toMatchObject({ status: 503 })
    expect(statements.filter((sql) => sql.includes('replays'))).toEqual([])
  })

  test('fails although its work ignores the error of a statement', async () => {
    const used = replay()
    await createLogin(opened.database, login('taken')).catch(() => {})
    const work = transaction(opened.database, async (tx) => {
      await createReplay(tx, used)
      await createLogin(tx, login('taken')).catch(() => {})
      return 'done'
    })
    await expect(work).rejects.toMatchObject({ status: 503 })
    expect(await createReplay(opened.database, used)).toBe(true)
  })

  test('fails with the error of the statement that failed, also if one beside it fails sooner', async () => {
    const taken = login(`taken-${client}`)
    await createLogin(opened.database, taken)
    const work = transaction(opened.database, (tx) => {
      const late = createLogin(tx, taken).finally(() => new Promise(setImmediate))
      return Promise.all([late, createReplay(tx, replay()), findLogin(tx, { sid: 'any', now })])
    })
    const error: unknown = await work.catch((reason: unknown) => reason)
    expect(isUniqueViolation(error)).toBe(true)
  })

  test('writes something if all conditions hold, and otherwise uses nothing up', async () => {
    const { database } = opened
    const [present, missing] = [`present-${client}`, `missing-${client}`]
    await createLogin(database, login(present)).catch(() => {})
    const attempt = (sid: string, used: ReturnType<typeof replay>) =>
      writeIf(
        database,
        [
          ['missing', lockLogin({ sid, now })],
          ['ended', ending(present)],
        ],
        [insertReplay.with(used)],
      )
    const refused = replay()
    expect(await attempt(missing, refused)).toBe('missing')
    expect(await standing(present)).toBeDefined()
    expect(await createReplay(database, refused)).toBe(true)
    const used = replay()
    await createLogin(database, login(missing))
    expect(await attempt(missing, used)).toBeUndefined()
    expect(await standing(present)).toBeUndefined()
    expect(await createReplay(database, used)).toBe(false)
    expect(await attempt(missing, replay())).toBe('ended')
  })

  test('writes nothing if what it writes fails, whatever the conditions have done', async () => {
    const { database } = opened
    const [sid, taken] = [`kept-${client}`, `taken-if-${client}`]
    await createLogin(database, login(sid))
    await createLogin(database, login(taken))
    const used = replay()
    const work = writeIf(database, [['ended', ending(sid)]], [insertReplay.with(used), loggingIn(taken)])
    await expect(work).rejects.toMatchObject({ status: 503 })
    expect(await standing(sid)).toBeDefined()
    expect(await createReplay(database, used)).toBe(true)
  })

  test('writes several rows together, or none', async () => {
    const { database } = opened
    const [taken, beside, further] = [`taken-all-${client}`, `beside-all-${client}`, `further-all-${client}`]
    await createLogin(database, login(taken))
    await expect(writeAll(database, [loggingIn(beside), loggingIn(taken)])).rejects.toMatchObject({
      status: 503,
    })
    expect(await standing(beside)).toBeUndefined()
    await writeAll(database, [loggingIn(beside), loggingIn(further)])
    expect([await standing(beside), await standing(further)]).not.toContain(undefined)
    await writeAll(database, [])
  })

  test('lets one of several through that come at the same time', async () => {
    const { database } = opened
    const sid = `once-${client}`
    await createLogin(database, login(sid))
    const written = ['one', 'two', 'three', 'four'].map((name) => `${name}-of-${client}`)
    const outcomes = await Promise.all(
      written.map((name) => writeIf(database, [['used', ending(sid)]], [loggingIn(name)])),
    )
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1)
    const stored = await Promise.all(written.map(standing))
    expect(stored.map((found) => found !== undefined)).toEqual(
      outcomes.map((outcome) => outcome === undefined),
    )
  })

  test('a conditional write is one statement on PostgreSQL, and a transaction elsewhere', async () => {
    const sid = `one-statement-${client}`
    await createLogin(opened.database, login(sid))
    const { db, statements } = watchedDatabase(opened.database)
    expect(await writeIf(db, [['ended', ending(sid)]], [insertReplay.with(replay())])).toBeUndefined()
    expect(statements).toHaveLength(client === 'pg' ? 1 : 4)
  })

  test('cannot undo a part of a transaction', async () => {
    const used = replay()
    const work = transaction(opened.database, async (tx) => {
      await createReplay(tx, used)
      await writeIf(tx, [['missing', lockLogin({ sid: 'nowhere', now })]], [])
    })
    await expect(work).rejects.toMatchObject({
      cause: { message: 'latchkey: only a whole transaction can be rolled back' },
    })
    expect(await createReplay(opened.database, used)).toBe(true)
  })

  test('is not needed for writes that come together: one that fails does not affect the others', async () => {
    const { database } = opened
    const [taken, used, unused] = [login(`alone-${client}`), replay(), replay()]
    await createLogin(database, taken)
    await createReplay(database, used)
    const writes = [
      createReplay(database, unused),
      createLogin(database, taken),
      createReplay(database, used),
    ]
    const [first, second, third] = await Promise.allSettled<unknown>(writes)
    expect(first).toEqual({ status: 'fulfilled', value: true })
    expect(second).toMatchObject({ status: 'rejected', reason: { status: 503 } })
    expect(third).toEqual({ status: 'fulfilled', value: false })
    expect(await createReplay(database, unused)).toBe(false)
  })
}

describe('a transaction on SQLite', () => {
  transactionsOn('better-sqlite3', {})
})

describe('writes that come together on SQLite', () => {
  let opened: OpenedDatabase
  beforeEach(async () => {
    opened = openDatabase(sqlite, tablePrefix)
    await migrate(opened.hostKnex, { features: kept, database: { tablePrefix } })
  })
  afterEach(() => opened.close())

  test('need no savepoints if each is one statement', async () => {
    const { db, statements } = watchedDatabase(opened.database)
    await Promise.all([createReplay(db, replay()), createReplay(db, replay())])
    const words = statements.map((sql) => sql.split(' ')[0]?.toUpperCase())
    expect(words).toEqual(['BEGIN', 'INSERT', 'INSERT', 'COMMIT'])
  })

  test('stay without those beside them that fail or take themselves back', async () => {
    const { db, statements } = watchedDatabase(opened.database)
    const rows = { kept: replay(), takenBack: replay(), failed: replay(), last: replay() }
    const work = (row: ReturnType<typeof replay>, end: () => unknown) =>
      transaction<unknown>(db, async (tx) => {
        await createReplay(tx, row)
        return end()
      })
    const outcomes = await Promise.allSettled([
      work(rows.kept, () => 'done'),
      work(rows.takenBack, () => new RolledBack('taken back')),
      work(rows.failed, () => {
        throw new Error('decided against')
      }),
      work(rows.last, () => 'done too'),
    ])
    expect(
      outcomes.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.cause.message)),
    ).toEqual(['done', 'taken back', 'decided against', 'done too'])
    expect(statements.filter((sql) => sql === 'COMMIT')).toHaveLength(1)
    const isFree = async (name: keyof typeof rows) => [name, await createReplay(db, rows[name])]
    expect(await Promise.all((['kept', 'takenBack', 'failed', 'last'] as const).map(isFree))).toEqual([
      ['kept', false],
      ['takenBack', true],
      ['failed', true],
      ['last', false],
    ])
  })

  test('are all undone if the second one ends their transaction, as a full disk does', async () => {
    const { database } = opened
    const { execute } = database.driver
    let inserts = 0
    const driver: Driver = {
      ...database.driver,
      execute: async (connection, sql, bindings) => {
        if (sql.startsWith('insert')) inserts += 1
        if (inserts !== 2 || !sql.startsWith('insert')) return execute(connection, sql, bindings)
        await execute(connection, 'ROLLBACK', [])
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      },
    }
    const rows = [replay(), replay(), replay()]
    const writes = await Promise.allSettled(rows.map((row) => createReplay({ ...database, driver }, row)))
    expect(writes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    for (const row of rows) expect(await createReplay(database, row)).toBe(true)
  })
})

describeWith('mariadb', 'a transaction on MariaDB', () => {
  transactionsOn('mysql2', {})
})
describeWith('postgresql', 'on PostgreSQL', () => {
  describe('a transaction with prepared statements', () => {
    transactionsOn('pg', {}, { isLast: false })
  })
  describe('a transaction behind a pooler', () => {
    transactionsOn('pg', {}, { preparedStatements: false })
  })
})

test('work that lost against other work is tried again, by the code of each database', () => {
  const busy = ['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_LOCKED']
  for (const code of [...busy, '40001', '40P01', 'ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT', 'ER_CHECKREAD'])
    expect([code, isRetryable(Object.assign(new Error('lost'), { code }))]).toEqual([code, true])
})
