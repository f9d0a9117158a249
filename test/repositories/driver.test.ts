import { randomBytes } from 'node:crypto'
import createKnex, { type Knex } from 'knex'
import {
  connectionSettings,
  driverName,
  driverOf,
  mapResponse,
  privateHandle,
  privateSchema,
  silence,
} from '../../lib/storage/database/driver.ts'
import { migrateDatabase } from '../../lib/storage/database/migrate.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { query } from '../../lib/storage/database/statement.ts'
import { boundStatements, type DriverConnection } from '../../lib/storage/database/statement-bound.ts'
import { transaction } from '../../lib/storage/database/transaction.ts'
import type { SchemaChange } from '../../migrations/migration.ts'
import { dropTables } from '../support/database.ts'
import { describeWith, services } from '../support/services.ts'

// What lib/storage/database/driver.ts takes for granted of Knex and of each driver.

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

const acquire = (knex: Knex): Promise<unknown> => knex.client.acquireConnection()
const release = (knex: Knex, connection: unknown): Promise<void> => knex.client.releaseConnection(connection)

type WithSocket = { stream?: { destroyed: boolean }; connection?: { stream: { destroyed: boolean } } }
const socketOf = (connection: unknown) => {
  const { stream, connection: inner } = connection as WithSocket
  return (stream ?? inner?.stream)!
}

const contractOf = (config: Knex.Config): void => {
  test('Knex names the driver', () => {
    expect(driverName(open(config))).toBe(config.client)
    expect(driverName(privateHandle(open(config)))).toBe(config.client)
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
    const connection = await acquire(handle)
    await release(host, connection)
  })
}

const quiet = { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} }

/** Bounds that the server knows for statements on a connection, in milliseconds; 0 for none. */
const boundOf: Readonly<Record<string, string>> = {
  pg: "select setting as bound from pg_settings where name = 'statement_timeout'",
  mysql2: 'select @@max_statement_time * 1000 as bound',
}

const ofServer = (config: Knex.Config): void => {
  const bound = async (given: Knex.Config | Knex): Promise<number> => {
    const { hostKnex, close } = openDatabase(given, '')
    const found = await hostKnex.raw(boundOf[String(config.client)]!)
    await close()
    return Number((found.rows ?? found[0])[0].bound)
  }

  test('the server ends long statements on our pools before we give up, and on no other pool', async () => {
    expect(await bound(config)).toBe(4500)
    expect(await bound(open(config))).toBe(0)
  })

  test('a bound of the host’s own stays (M12)', async () => {
    const sql = config.client === 'pg' ? 'SET statement_timeout = 700' : 'SET max_statement_time = 0.7'
    type DriverConnection = { query(sql: string, done: (error: Error | null) => void): void }
    const afterCreate = (
      connection: DriverConnection,
      done: (error: Error | null, connection: DriverConnection) => void,
    ) => connection.query(sql, (error) => done(error, connection))
    expect(await bound({ ...config, pool: { ...config.pool, afterCreate } })).toBe(700)
  })

  test('a statement that runs too long ends at the server, but migrations may take their time', async () => {
    const { hostKnex, database, close } = openDatabase(config, `t${randomBytes(4).toString('hex')}_`)
    const isPostgres = config.client === 'pg'
    const [short, slow] = isPostgres
      ? ['SET statement_timeout = 250', 'SELECT pg_sleep(0.5)']
      : ['SET max_statement_time = 0.25', 'SELECT SLEEP(0.5)']
    await hostKnex.raw(short)
    const ended = isPostgres ? { code: '57014' } : { errno: 1969 }
    await expect(hostKnex.raw(slow)).rejects.toMatchObject(ended)
    const change: SchemaChange = { up: ({ schema }) => schema.raw(slow), down: ({ schema }) => schema }
    expect(await migrateDatabase(database, new Map([['001_slow', change]]))).toEqual(['001_slow'])
    await expect(hostKnex.raw(slow)).rejects.toMatchObject(ended)
    await dropTables(hostKnex, database.prefix)
    await close()
  })

  test('a closed connection has no socket, also while the server works, and the pool lends another one', async () => {
    const knex = open(config)
    const connection = await acquire(knex)
    const driver = driverOf(knex, { preparedStatements: false })
    const sql = config.client === 'pg' ? 'SELECT pg_sleep(2)' : 'SELECT SLEEP(2)'
    const hanging = driver.execute(connection, sql, [])
    hanging.catch(() => {})
    await driver.close(connection)
    expect(socketOf(connection).destroyed).toBe(true)
    await release(knex, connection)
    const next = await acquire(knex)
    expect(next).not.toBe(connection)
    expect((await driver.execute(next, 'SELECT 1 AS one', [])).rows).toEqual([{ one: 1 }])
    await release(knex, next)
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
  ofServer(mysql2)
})

describeWith('postgresql', 'pg', () => {
  contractOf(pg)
  ofServer(pg)

  describe('statements on tables of the host, which are prepared too,', () => {
    let knex: Knex
    let connection: unknown
    const text = 'SELECT * FROM staff WHERE id = $1'
    let driver: ReturnType<typeof driverOf>
    const find = async () => (await driver.execute(connection, text, ['1'])).rows
    const change = (sql: string) => knex.raw(sql).connection(connection)
    beforeEach(async () => {
      knex = open(pg)
      connection = await acquire(knex)
      driver = driverOf(knex, { ofHost: true })
      await change("CREATE TEMPORARY TABLE staff AS SELECT 1 AS id, 'Ada' AS name")
      for (let time = 0; time < 2; time += 1) expect(await find()).toEqual([{ id: 1, name: 'Ada' }])
    })

    afterEach(() => release(knex, connection))

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

  test('a bound of a connection’s settings stays, and the sessions of a pooler get none (M12)', async () => {
    const bound = async (given: Knex.Config | Knex, prepare = async (_: unknown): Promise<void> => {}) => {
      const { hostKnex, close } = openDatabase(given, '')
      const connection = await acquire(hostKnex)
      await prepare(connection)
      const sql = boundOf.pg ?? ''
      const { rows } = await driverOf(hostKnex).execute(connection, sql, [])
      await release(hostKnex, connection)
      await close()
      return Number(rows[0]?.bound)
    }
    const connection = { connectionString: services.postgresql, statement_timeout: 700 }
    expect(await bound({ ...pg, connection })).toBe(700)
    const bounding = (as: (own: number) => number) => (given: unknown) =>
      new Promise<void>((resolve, reject) => {
        const real = given as DriverConnection
        const query: DriverConnection['query'] = (...statement) => real.query(...statement)
        const processID = as(Number(real.processID))
        boundStatements('pg', { processID, query }, (error) => (error ? reject(error) : resolve()))
      })
    expect(
      await bound(
        open(pg),
        bounding((own) => own),
      ),
    ).toBe(4500)
    expect(
      await bound(
        open(pg),
        bounding((own) => own + 1),
      ),
    ).toBe(0)
  })

  test('statements work after a pooler has run DISCARD ALL, also those of a transaction (L17)', async () => {
    const { database, close } = openDatabase({ ...pg, log: quiet }, '')
    const one = query<{ value: string }>((_table, v, _name, raw) =>
      raw('select cast(? as text) as value', [v.value]),
    )
    const other = query<Record<never, never>>((_table, _v, _name, raw) => raw('select 2 as value'))
    const run = async () => [...(await one(database, { value: 'a' })), ...(await other(database, {}))]
    const values = [{ value: 'a' }, { value: 2 }]
    const discard = async () => {
      const connection = await acquire(database.knex)
      await database.driver.execute(connection, 'DISCARD ALL', [])
      await release(database.knex, connection)
    }
    for (let time = 0; time < 2; time += 1) expect(await run()).toEqual(values)
    await discard()
    for (let time = 0; time < 2; time += 1) expect(await run()).toEqual(values)
    await discard()
    for (let time = 0; time < 2; time += 1) {
      const found = await transaction(database, async (tx) => [
        ...(await one(tx, { value: 'a' })),
        ...(await other(tx, {})),
      ])
      expect(found).toEqual(values)
    }
    await close()
  })

  test('two connections that get one session of the server share no statement (L17)', async () => {
    const [first, second] = [open(pg), open(pg)]
    const names = await Promise.all(
      [first, second].map(async (knex) => {
        const connection = await acquire(knex)
        const { execute } = driverOf(knex)
        await execute(connection, 'SELECT 1 AS one', [])
        const { rows } = await execute(connection, 'SELECT name FROM pg_prepared_statements', [])
        await release(knex, connection)
        return rows.map(({ name }) => String(name))
      }),
    )
    expect(new Set(names.flat()).size).toBe(names.flat().length)
    for (const name of names.flat()) expect(name.length).toBeLessThan(64)
  })

  test('a prepared statement returns the same the first time and later, and may fail in between', async () => {
    const knex = open(pg)
    const connection = await acquire(knex)
    const { execute } = driverOf(knex)
    await execute(connection, 'CREATE TEMPORARY TABLE numbers (number int PRIMARY KEY, note text)', [])
    const insert = (number: number, note: string | null) =>
      execute(connection, 'INSERT INTO numbers VALUES ($1, $2)', [number, note])
    expect(await insert(1, 'ä€😀')).toEqual({ rows: [], count: 1 })
    await expect(insert(1, null)).rejects.toThrow('duplicate key')
    expect(await insert(2, null)).toEqual({ rows: [], count: 1 })
    const remove = 'DELETE FROM numbers WHERE number < $1 RETURNING number, note'
    expect((await execute(connection, remove, [3])).rows).toEqual([
      { number: 1, note: 'ä€😀' },
      { number: 2, note: null },
    ])
    expect(await execute(connection, remove, [3])).toEqual({ rows: [], count: 0 })
    await release(knex, connection)
  })
})
