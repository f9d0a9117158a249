import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { isRetryable, isUniqueViolation } from '../../lib/database/errors.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/database/open.ts'
import { transaction, writeIf } from '../../lib/database/transaction.ts'
import type { DriverOptions } from '../../lib/database/types.ts'
import { migrate, rollback } from '../../lib/index.ts'
import { createLogin, createReplay, endLogin, findLogin, lockLogin } from '../../lib/repositories/index.ts'
import { describeWith, type Service, services } from '../support/services.ts'
import { watchedDatabase } from '../support/watched-driver.ts'

const sqlite: Knex.Config = { client: 'better-sqlite3', connection: { filename: ':memory:' } }
const servers: Readonly<Record<string, Service>> = { pg: 'postgresql', mysql2: 'mariadb' }
const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const now = Math.floor(Date.now() / 1000)
const login = (sid: string) => ({ sid, subject: '1', authTime: now, amr: ['pwd'], expiresAt: now + 60 })
const replay = () => ({ hash: randomBytes(32).toString('base64url'), expiresAt: now })

const configOf = (client: string, more: object): Knex.Config => {
  const service = servers[client]
  if (service === undefined) return sqlite
  const connectionString = services[service]
  return { client, connection: client === 'pg' ? { connectionString, ...more } : connectionString }
}

const removeTables = async (knex: Knex): Promise<void> => {
  await rollback(knex, { tablePrefix })
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
    await migrate(opened.hostKnex, { tablePrefix })
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
  test('sends nothing after a statement that has failed, unless both were sent together', async () => {
    await createLogin(opened.database, login('taken')).catch(() => {})
    // A statement has to run alone before it can be sent together with others.
    await transaction(opened.database, (tx) => createReplay(tx, replay()))
    const { db, statements } = watchedDatabase(opened.database)
    const work = transaction(db, async (tx) => {
      await findLogin(tx, { sid: 'any', now })
      await Promise.all([createLogin(tx, login('taken')), createReplay(tx, replay())])
    })
    await expect(work).rejects.toMatchObject({ status: 503 })
    const areSentTogether = client === 'pg' && options.preparedStatements !== false
    expect(statements.some((sql) => sql.includes('replays'))).toBe(areSentTogether)
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

  test('writes something if all conditions hold, and otherwise nothing', async () => {
    const { database } = opened
    const [present, missing] = [`present-${client}`, `missing-${client}`]
    await createLogin(database, login(present)).catch(() => {})
    const attempt = (sid: string, used: ReturnType<typeof replay>) =>
      writeIf(
        database,
        [
          ['ended', (tx) => endLogin(tx, { sid: present, now })],
          ['missing', (tx) => lockLogin(tx, { sid, now })],
        ],
        (tx) => createReplay(tx, used),
      )
    // The first time each statement is new to the connection, later PostgreSQL gets all with one message.
    for (const refused of [replay(), replay(), replay()]) {
      expect(await attempt(missing, refused)).toBe('missing')
      expect(await standing(present)).toBeDefined()
      expect(await createReplay(database, refused)).toBe(true)
    }
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
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const used = replay()
      const work = writeIf(database, [['ended', (tx) => endLogin(tx, { sid, now })]], (tx) =>
        Promise.all([createReplay(tx, used), createLogin(tx, login(taken))]),
      )
      await expect(work).rejects.toMatchObject({ status: 503 })
      expect(await standing(sid)).toBeDefined()
      expect(await createReplay(database, used)).toBe(true)
    }
  })

  test('lets one of several through that come at the same time', async () => {
    const { database } = opened
    const sid = `once-${client}`
    await createLogin(database, login(sid))
    const written = ['one', 'two', 'three', 'four'].map((name) => `${name}-of-${client}`)
    const outcomes = await Promise.all(
      written.map((name) =>
        writeIf(database, [['used', (tx) => endLogin(tx, { sid, now })]], (tx) =>
          createLogin(tx, login(name)),
        ),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1)
    const stored = await Promise.all(written.map(standing))
    expect(stored.map((found) => found !== undefined)).toEqual(
      outcomes.map((outcome) => outcome === undefined),
    )
  })

  test('needs neither BEGIN nor COMMIT on PostgreSQL, which gets conditions and writes with one message', async () => {
    const [first, second] = [`first-${client}`, `second-${client}`]
    for (const sid of [first, second]) await createLogin(opened.database, login(sid))
    const { db, statements } = watchedDatabase(opened.database)
    const write = (sid: string) =>
      writeIf(db, [['ended', (tx) => endLogin(tx, { sid, now })]], (tx) => createReplay(tx, replay()))
    expect(await write(first)).toBeUndefined()
    statements.length = 0
    expect(await write(second)).toBeUndefined()
    const isOneMessage = client === 'pg' && options.preparedStatements !== false
    expect(statements).toHaveLength(isOneMessage ? 2 : 4)
    expect(statements.some((sql) => sql === 'COMMIT')).toBe(!isOneMessage)
  })

  test('refuses a statement that comes after the others, where all of them were one message', async () => {
    const outcomes: string[] = []
    for (const time of [1, 2, 3]) {
      const sid = `time-${time}-${client}`
      await createLogin(opened.database, login(sid))
      const work = writeIf(opened.database, [['ended', (tx) => endLogin(tx, { sid, now })]], async (tx) => {
        await createReplay(tx, replay())
        await createReplay(tx, replay())
      })
      outcomes.push(
        await work.then(
          () => 'written',
          () => 'refused',
        ),
      )
    }
    const isOneMessage = client === 'pg' && options.preparedStatements !== false
    expect(outcomes.at(-1)).toBe(isOneMessage ? 'refused' : 'written')
  })

  test('cannot undo a part of a transaction', async () => {
    const used = replay()
    const work = transaction(opened.database, async (tx) => {
      await createReplay(tx, used)
      await writeIf(tx, [['missing', (inner) => lockLogin(inner, { sid: 'nowhere', now })]], async () => {})
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

  test('is not needed for writes that come together: PostgreSQL gets one message', async () => {
    const { driver } = opened.database
    // A statement has to run alone before it can be sent together with others.
    await createLogin(opened.database, login(`before-${client}`))
    await createReplay(opened.database, replay())
    const sent: number[] = []
    const executeTogether: typeof driver.executeTogether = (connection, statements, first) => {
      const answers = driver.executeTogether?.(connection, statements, first)
      if (answers) sent.push(statements.length)
      return answers
    }
    const db = {
      ...opened.database,
      driver: { ...driver, ...(driver.executeTogether && { executeTogether }) },
    }
    await Promise.all([createReplay(db, replay()), createLogin(db, login(`together-${client}`))])
    const isOneMessage = client === 'pg' && options.preparedStatements !== false
    expect(sent).toEqual(isOneMessage ? [2] : [])
    expect(await standing(`together-${client}`)).toBeDefined()
  })

  test('sends nothing without a statement', async () => {
    const { db, statements } = watchedDatabase(opened.database)
    expect(await transaction(db, async () => 'nothing')).toBe('nothing')
    expect(statements).toEqual([])
  })
}

describe('a transaction on SQLite', () => {
  transactionsOn('better-sqlite3', {})
})
describeWith('mariadb', 'a transaction on MariaDB', () => {
  transactionsOn('mysql2', {})
})
describeWith('postgresql', 'on PostgreSQL', () => {
  describe('a transaction with prepared statements', () => {
    transactionsOn('pg', {}, { isLast: false })
  })
  describe('a transaction on connections that support pipelining', () => {
    transactionsOn('pg', { pipeline: true }, { isLast: false })
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
