import createKnex, { type Knex } from 'knex'
import {
  acquireConnection,
  connectionSettings,
  destroySocket,
  dispose,
  driverName,
  driverOf,
  idleConnection,
  isDisposed,
  isUsable,
  mapResponse,
  othersMayWait,
  privateHandle,
  privateSchema,
  releaseConnection,
  silence,
} from '../../lib/database/driver.ts'
import { createPgRun } from '../../lib/database/pg-query.ts'
import { describeWith, services } from '../support/services.ts'

// What lib/database/driver.ts takes for granted of Knex and of each driver, and neither documents.

const sqlite: Knex.Config = {
  client: 'better-sqlite3',
  connection: { filename: ':memory:' },
  useNullAsDefault: true,
}
const pg: Knex.Config = { client: 'pg', connection: services.postgresql, pool: { min: 0, max: 1 } }
const mysql2: Knex.Config = { client: 'mysql2', connection: services.mariadb, pool: { min: 0, max: 1 } }

const opened: Knex[] = []
const open = (config: Knex.Config): Knex => {
  const knex = createKnex(config)
  silence(knex)
  opened.push(knex)
  return knex
}
afterEach(async () => {
  for (const knex of opened.splice(0)) await knex.destroy()
})

/** The result of the only statement. */
const one = async (results: ReturnType<ReturnType<typeof createPgRun>>) => (await results)?.[0]

const contractOf = (config: Knex.Config): void => {
  test('Knex names the driver', () => {
    expect(driverName(open(config))).toBe(config.client)
    expect(driverName(privateHandle(open(config)))).toBe(config.client)
  })

  test('the pool lends a connection and takes it back, and lends another one after it was disposed of', async () => {
    const knex = open(config)
    const connection = await acquireConnection(knex)
    await releaseConnection(knex, connection)
    expect(await acquireConnection(knex)).toBe(connection)
    expect(isDisposed(connection)).toBe(false)
    dispose(connection, new Error('unusable'))
    expect(isDisposed(connection)).toBe(true)
    await releaseConnection(knex, connection)
    const next = await acquireConnection(knex)
    expect(next).not.toBe(connection)
    await releaseConnection(knex, next)
  })

  test('a connection is idle while the pool has it, until it was disposed of', async () => {
    const knex = open(config)
    const connection = await acquireConnection(knex)
    expect(idleConnection(knex)).toBeUndefined()
    await releaseConnection(knex, connection)
    expect(idleConnection(knex)).toBe(connection)
    dispose(connection, new Error('unusable'))
    expect(idleConnection(knex)).toBeUndefined()
    await knex.destroy()
    expect(idleConnection(knex)).toBeUndefined()
  })

  test('the pool says whether others wait for a connection', async () => {
    const knex = open({ ...config, pool: { min: 0, max: 1 } })
    const connection = await acquireConnection(knex)
    expect(othersMayWait(knex)).toBe(false)
    const waiting = acquireConnection(knex)
    expect(othersMayWait(knex)).toBe(true)
    await releaseConnection(knex, connection)
    await releaseConnection(knex, await waiting)
  })

  test('a connection is usable until it was disposed of', async () => {
    const knex = open(config)
    const connection = await acquireConnection(knex)
    expect(isUsable(knex, connection)).toBe(true)
    dispose(connection, new Error('unusable'))
    expect(isUsable(knex, connection)).toBe(false)
    await releaseConnection(knex, connection)
  })

  test('a private handle has the same pool without the host’s mappers', async () => {
    const host = open({
      ...config,
      wrapIdentifier: (name, wrap) => wrap(name.toUpperCase()),
      postProcessResponse: () => 'mapped',
    })
    const handle = privateHandle(host)
    expect(handle.select('a').from('b').toString()).not.toContain('A')
    expect(String(privateSchema(host).createTable('b', (table) => table.integer('a')))).not.toContain('A')
    expect(host.select('a').from('b').toString()).toContain('A')
    expect(mapResponse(host, ['a row'])).toBe('mapped')
    expect(mapResponse(handle, ['a row'])).toEqual(['a row'])
    const connection = await acquireConnection(handle)
    await releaseConnection(host, connection)
  })
}

const brokenBySocket = (config: Knex.Config): void => {
  test('a connection whose socket is destroyed fails its statement', async () => {
    const knex = open(config)
    const connection = await acquireConnection(knex)
    const driver = driverOf(knex, { preparedStatements: false })
    const sql = config.client === 'pg' ? 'SELECT pg_sleep(60)' : 'SELECT SLEEP(60)'
    const answer = driver.execute(connection, sql, [])
    setImmediate(destroySocket, connection)
    await expect(answer).rejects.toThrow()
    dispose(connection, new Error('broken'))
    await releaseConnection(knex, connection)
  })

  test('the settings of a URL are known and can be changed before connecting', async () => {
    const knex = open(config)
    const settings = connectionSettings(knex)
    expect(settings).toBeDefined()
    Object.assign(settings ?? {}, { port: 1 })
    await expect(knex.raw('SELECT 1')).rejects.toThrow()
  })
}

describe('better-sqlite3', () => {
  contractOf(sqlite)
})

describeWith('mariadb', 'mysql2', () => {
  contractOf(mysql2)
  brokenBySocket(mysql2)
})

describeWith('postgresql', 'pg', () => {
  contractOf(pg)
  brokenBySocket(pg)

  let knex: Knex
  let connection: unknown
  /** Borrows a connection for each test. */
  const useConnection = (): void => {
    beforeEach(async () => {
      knex = open(pg)
      connection = await acquireConnection(knex)
    })
    afterEach(() => releaseConnection(knex, connection))
  }
  const executeOnce = (sql: string) =>
    driverOf(knex, { preparedStatements: false }).execute(connection, sql, [])

  describe('statements on tables of the host, which are prepared too,', () => {
    useConnection()
    const text = 'SELECT * FROM staff WHERE id = $1'
    let driver: ReturnType<typeof driverOf>
    const find = async () => (await driver.execute(connection, text, ['1'])).rows
    const change = (sql: string) => knex.raw(sql).connection(connection)
    beforeEach(async () => {
      driver = driverOf(knex, { tablesMayChange: true })
      await change("CREATE TEMPORARY TABLE staff AS SELECT 1 AS id, 'Ada' AS name")
      for (let time = 0; time < 2; time += 1) expect(await find()).toEqual([{ id: 1, name: 'Ada' }])
    })

    test.each([
      ['gets a column', 'ALTER TABLE staff ADD COLUMN city text', { id: 1, name: 'Ada', city: null }],
      ['loses a column', 'ALTER TABLE staff DROP COLUMN name', { id: 1 }],
      [
        'has a column of another type',
        'ALTER TABLE staff ALTER COLUMN id TYPE text',
        { id: '1', name: 'Ada' },
      ],
      [
        'is made anew',
        "DROP TABLE staff; CREATE TEMPORARY TABLE staff AS SELECT 'Bo' AS name, 1 AS id",
        { name: 'Bo', id: 1 },
      ],
    ])('work after the table %s', async (_, sql, row) => {
      await change(sql)
      for (let time = 0; time < 3; time += 1) expect(await find()).toEqual([row])
    })

    test('fail while there is no table, and work when it is there again', async () => {
      await change('ALTER TABLE staff RENAME TO people')
      await expect(find()).rejects.toMatchObject({ code: '42P01' })
      await change('ALTER TABLE people RENAME TO staff')
      expect(await find()).toEqual([{ id: 1, name: 'Ada' }])
    })
  })

  test('a prepared statement returns the same the first time and later', async () => {
    const knex = open(pg)
    const run = createPgRun()
    const connection = await acquireConnection(knex)
    const text = 'SELECT $1::text AS a, $2::bigint AS b, $3::int AS c, $4::text AS d, $5::text AS e'
    const values = ['ä€😀', 12345678901, -7, '', null]
    for (let time = 0; time < 3; time += 1) {
      const results = await run(connection, [{ name: 'returns', text, values }])
      expect(results).toMatchObject([
        { rowCount: 1, rows: [{ a: 'ä€😀', b: '12345678901', c: -7, d: '', e: null }] },
      ])
    }
    await releaseConnection(knex, connection)
  })

  test('a prepared statement that writes counts rows, and may fail and run again', async () => {
    const knex = open(pg)
    const run = createPgRun()
    const connection = await acquireConnection(knex)
    const driver = driverOf(knex, { preparedStatements: false })
    await driver.execute(connection, 'CREATE TEMPORARY TABLE numbers (number int PRIMARY KEY)', [])
    const insert = (number: number) =>
      one(run(connection, [{ name: 'writes', text: 'INSERT INTO numbers VALUES ($1)', values: [number] }]))
    expect(await insert(1)).toMatchObject({ rowCount: 1, rows: [] })
    await expect(insert(1)).rejects.toThrow('duplicate key')
    for (const number of [2, 3]) expect(await insert(number)).toMatchObject({ rowCount: 1 })
    const remove = {
      name: 'removes',
      text: 'DELETE FROM numbers WHERE number > $1 RETURNING number',
      values: [1],
    }
    expect((await one(run(connection, [remove])))?.rows).toEqual([{ number: 2 }, { number: 3 }])
    expect((await one(run(connection, [remove])))?.rows).toEqual([])
    await releaseConnection(knex, connection)
  })

  describe('several statements together', () => {
    const read = { name: 'reads', text: 'SELECT number, note FROM notes ORDER BY number', values: [] }
    const insert = (number: number, note: string | null) => ({
      name: 'inserts',
      text: 'INSERT INTO notes VALUES ($1, $2)',
      values: [number, note],
    })
    const count = { name: 'counts', text: 'SELECT count(*)::int AS total FROM notes', values: [] }

    useConnection()
    let run: ReturnType<typeof createPgRun>
    beforeEach(async () => {
      await executeOnce('CREATE TEMPORARY TABLE notes (number int PRIMARY KEY, note text)')
      run = createPgRun()
      for (const statement of [insert(1, 'a'), read, count]) await run(connection, [statement])
    })

    test('each have their own rows and count, in order', async () => {
      const results = await run(connection, [insert(2, null), read, insert(3, 'ü'), count, read], 'BEGIN')
      expect(results?.map(({ rows, rowCount }) => [rowCount, rows])).toEqual([
        [1, []],
        [
          2,
          [
            { number: 1, note: 'a' },
            { number: 2, note: null },
          ],
        ],
        [1, []],
        [1, [{ total: 3 }]],
        [3, expect.arrayContaining([{ number: 3, note: 'ü' }])],
      ])
      await run(connection, [{ text: 'ROLLBACK', values: [] }])
      expect((await one(run(connection, [count])))?.rows).toEqual([{ total: 1 }])
    })

    test('are all or nothing without BEGIN, and the connection stays usable after one that fails', async () => {
      for (let time = 0; time < 2; time += 1) {
        const work = run(connection, [insert(2, 'b'), insert(1, 'there already'), insert(3, 'c')])
        await expect(work).rejects.toThrow('duplicate key')
        expect((await one(run(connection, [count])))?.rows).toEqual([{ total: 1 }])
      }
    })

    test('are not sent until each has run on the connection', () => {
      expect(run(connection, [read, { ...count, name: 'unknown' }])).toBeUndefined()
    })

    test('are not sent on a connection whose rows are binary, where each statement alone works', async () => {
      const settings = { connectionString: services.postgresql, binary: true }
      const binary = open({ ...pg, connection: settings as Knex.PgConnectionConfig })
      const other = await acquireConnection(binary)
      const number = { name: 'number', text: 'SELECT 258::int AS number', values: [] }
      for (let time = 0; time < 3; time += 1)
        expect((await one(run(other, [number])))?.rows).toEqual([{ number: 258 }])
      expect(run(other, [number, number])).toBeUndefined()
      await releaseConnection(binary, other)
    })
  })

  describe.each([
    ['named', 'a_name'],
    ['unnamed', undefined],
  ])('a %s query after another', (_, name) => {
    const text = 'SELECT $1::int AS number, pg_current_xact_id_if_assigned() AS transaction'
    const run = createPgRun()
    const afterBegin = (connection: unknown, first = 'BEGIN') =>
      one(run(connection, [{ name, text, values: [5] }], first))

    useConnection()

    test('returns its own rows, again and again, inside the transaction that the other began', async () => {
      for (let time = 0; time < 3; time += 1) {
        const result = await afterBegin(connection)
        expect(result?.rows).toMatchObject([{ number: 5 }])
        expect(result?.rowCount).toBe(1)
        // Only a transaction knows savepoints.
        await executeOnce('SAVEPOINT inside')
        await executeOnce('COMMIT')
      }
    })

    test('is skipped if the other fails, and runs the next time', async () => {
      await executeOnce('CREATE TEMPORARY TABLE written (number int)')
      const insert = { name, text: 'INSERT INTO written VALUES ($1)', values: [5] }
      await expect(run(connection, [insert], 'BEGIN nothing')).rejects.toThrow('syntax')
      expect((await executeOnce('SELECT * FROM written')).rows).toEqual([])
      expect(await run(connection, [insert], 'BEGIN')).toMatchObject([{ rowCount: 1 }])
      await executeOnce('COMMIT')
      expect((await executeOnce('SELECT * FROM written')).rows).toEqual([{ number: 5 }])
    })

    test('that cannot be parsed fails, and the connection stays usable', async () => {
      const wrong = { name, text: 'SELECT missing_column', values: [] }
      for (let time = 0; time < 2; time += 1) {
        await expect(run(connection, [wrong], 'BEGIN')).rejects.toThrow('missing_column')
        await executeOnce('ROLLBACK')
      }
    })
  })
})
