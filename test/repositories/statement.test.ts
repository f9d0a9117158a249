import { randomBytes } from 'node:crypto'
import express from 'express'
import createKnex, { type Knex } from 'knex'
import supertest from 'supertest'
import { authRouter, migrate, rollback, seedClients, seedUsers } from '../../lib/index.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/storage/database/open.ts'
import {
  flagOf,
  json,
  jsonOrUndefined,
  numberOf,
  numberOrNull,
  scopesOf,
  textOf,
  textOrNull,
} from '../../lib/storage/database/statement.ts'
import { transaction } from '../../lib/storage/database/transaction.ts'
import type { Database, Row } from '../../lib/storage/database/types.ts'
import { createReplay, createUser, findUserByUsername } from '../../lib/storage/repositories/index.ts'
import { databaseOn } from '../support/database.ts'
import { type FaultProxy, openFaultProxy } from '../support/fault-proxy.ts'
import { kept } from '../support/features.ts'
import { clients, issuer, startHost } from '../support/host.ts'
import { describeWith, type Service, services } from '../support/services.ts'
import { ada, codeFor, redeem, refresh, web } from '../support/tokens.ts'

const kinds: readonly (readonly [Service, string])[] = [
  ['postgresql', 'pg'],
  ['mariadb', 'mysql2'],
]

/** Shortens timers of four seconds or more to a twentieth. */
const hurry = (): void => {
  const real = globalThis.setTimeout
  const hurried = (run: () => void, milliseconds = 0, ...rest: unknown[]): unknown =>
    real(run, milliseconds >= 4000 ? milliseconds / 20 : milliseconds, ...rest)
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(hurried as unknown as typeof setTimeout)
}
afterEach(() => {
  jest.restoreAllMocks()
})

const single = { min: 0, max: 1 }
const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const knexQuiet = { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} }
const replay = () => ({ hash: randomBytes(32).toString('base64url'), expiresAt: 1 })
const unavailable = expect.objectContaining({ code: 'temporarily_unavailable', status: 503 })

for (const [service, client] of kinds) {
  describeWith(service, `on ${service}`, () => {
    const tablePrefix = `t${randomBytes(4).toString('hex')}_`
    const straight = createKnex({ client, connection: services[service], pool: { min: 0, max: 2 } })
    let proxy: FaultProxy
    /** Closed after each test, newest first. */
    const opened: (() => Promise<unknown>)[] = []

    beforeAll(async () => {
      await migrate(straight, { features: kept, database: { tablePrefix } })
      const scopes = { 'notes:read': 'Read', 'notes:write': 'Write' }
      await seedClients(straight, clients, { database: { tablePrefix }, scopes, logger: quiet })
      proxy = await openFaultProxy(services[service])
    })
    afterEach(async () => {
      proxy.heal()
      for (const close of opened.splice(0).reverse()) await close()
    })
    afterAll(async () => {
      await proxy.close()
      await rollback(straight, { features: kept, database: { tablePrefix } })
      await straight.schema.dropTableIfExists(`${tablePrefix}migrations`)
      await straight.schema.dropTableIfExists(`${tablePrefix}migrations_lock`)
      await straight.destroy()
    })

    const config = (pool: Knex.PoolConfig = { min: 0, max: 2 }, connection = proxy.url): Knex.Config => ({
      client,
      connection,
      pool,
      log: knexQuiet,
    })
    const hostKnex = (settings: Knex.Config): Knex => {
      const knex = createKnex(settings)
      opened.push(() => knex.destroy())
      return knex
    }
    const openBoth = (settings: Knex | Knex.Config): OpenedDatabase => {
      const both = openDatabase(settings, tablePrefix)
      opened.push(both.close)
      return both
    }
    const open = (settings: Knex | Knex.Config): Database => openBoth(settings).database
    const serve = async (database: Knex | Knex.Config, options = {}) => {
      const secrets = ['a secret of the tests that is long enough']
      const oauth = authRouter({
        issuer,
        database: { knex: database, tablePrefix, ...options },
        secrets,
        logger: quiet,
      })
      opened.push(() => oauth.close())
      await oauth.ready()
      const app = express().use('/oauth', oauth)
      const fields = { grant_type: 'client_credentials', scope: 'notes:read', ...web }
      return { clientCredentials: () => supertest(app).post('/oauth/token').type('form').send(fields) }
    }

    describe.each([
      ['that Latchkey opened', () => config(single)],
      ['of the host’s', () => hostKnex({ ...config(single), acquireConnectionTimeout: 60_000 })],
    ])('a pool %s', (_, given) => {
      test('with a silent connection answers 503 once, closes it and uses a new one', async () => {
        const { clientCredentials } = await serve(given())
        expect((await clientCredentials()).status).toBe(200)
        hurry()
        const hungUp = proxy.forget()
        const { status, body, headers } = await clientCredentials()
        const error_description = 'the service is temporarily unavailable'
        expect({ status, body, retry: headers['retry-after'] }).toEqual({
          status: 503,
          retry: '1',
          body: { error: 'temporarily_unavailable', error_description, error_id: expect.any(String) },
        })
        await hungUp
        jest.restoreAllMocks()
        expect((await clientCredentials()).status).toBe(200)
      })

      test('that falls silent within a transaction sends no ROLLBACK and does not reuse the connection', async () => {
        const db = open(given())
        const [kept, lost] = [replay(), replay()]
        expect(await createReplay(db, kept)).toBe(true)
        const before = proxy.connections
        hurry()
        const statements: string[] = []
        const execute: typeof db.driver.execute = (connection, sql, bindings) => {
          statements.push(sql.slice(0, 8))
          return db.driver.execute(connection, sql, bindings)
        }
        const watched = { ...db, driver: { ...db.driver, execute } }
        const work = transaction(watched, async (tx) => {
          await createReplay(tx, lost)
          void proxy.forget()
          await createReplay(tx, replay())
        })
        await expect(work).rejects.toEqual(unavailable)
        expect(statements).not.toContain('ROLLBACK')
        jest.restoreAllMocks()
        expect(await createReplay(db, replay())).toBe(true)
        expect(await createReplay(db, kept)).toBe(false)
        // Nothing is committed; the server may keep its locks until it notices that the client is gone.
        expect(await straight(`${tablePrefix}replays`).where({ hash: lost.hash })).toHaveLength(0)
        expect(proxy.connections).toBeGreaterThan(before)
      })
    })

    test('while every connection is silent each request gets 503; afterwards requests succeed again', async () => {
      const { clientCredentials } = await serve({ ...config(single), connection: impatient() })
      hurry()
      proxy.blackHole()
      const answers = await Promise.all([clientCredentials(), clientCredentials(), clientCredentials()])
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503])
      proxy.heal()
      jest.restoreAllMocks()
      // A connection that was being opened during the silence fails later, together with one request.
      for (let status = 503; status !== 200; ) status = (await clientCredentials()).status
      const after = await Promise.all([clientCredentials(), clientCredentials(), clientCredentials()])
      expect(after.map(({ status }) => status)).toEqual([200, 200, 200])
    })

    test('a connection that comes after the timeout is 503, and goes back to the pool', async () => {
      const knex = hostKnex({ ...config(single), acquireConnectionTimeout: 60_000 })
      const db = open(knex)
      const held: unknown = await knex.client.acquireConnection()
      hurry()
      await expect(createReplay(db, replay())).rejects.toEqual(unavailable)
      jest.restoreAllMocks()
      await knex.client.releaseConnection(held)
      expect(await createReplay(db, replay())).toBe(true)
      // At the end of the turn of the event loop.
      await new Promise(setImmediate)
      expect(knex.client.pool.numUsed()).toBe(0)
    })

    test('the driver times out on a server that accepts connections and does not answer', async () => {
      const db = open({ ...config(), connection: impatient() })
      proxy.blackHole()
      const error: unknown = await createReplay(db, replay()).catch((thrown: unknown) => thrown)
      expect(error).toEqual(unavailable)
      expect(String((error as Error).cause)).toMatch(/timeout expired|ETIMEDOUT/)
      proxy.heal()
      expect(await createReplay(db, replay())).toBe(true)
    })

    /** The timers of mysql2 cannot be shortened from outside. */
    const timeoutName = client === 'pg' ? 'connectionTimeoutMillis' : 'connectTimeout'
    const impatient = () => ({ ...settingsOf(proxy.url), [timeoutName]: 200 })

    test.each([
      ['of a URL is four seconds', () => proxy.url, 4000],
      ['of settings that a function returns is four seconds', () => async () => settingsOf(proxy.url), 4000],
      ['that the host has set is kept', () => impatient(), 200],
    ])('a timeout %s', async (_, connection, expected) => {
      const settings = { ...config(), connection: connection() } as Knex.Config
      const { database, hostKnex: own } = openBoth(settings)
      expect(await createReplay(database, replay())).toBe(true)
      expect(own.client.connectionSettings).toMatchObject({ [timeoutName]: expected })
    })

    test('work that lost a race, even at COMMIT, runs again as a whole and writes its rows once', async () => {
      const db = open(config())
      const losses = losing(db, [
        { code: 'ER_LOCK_DEADLOCK', errno: 1213, message: 'Deadlock found when trying to get lock (wsrep)' },
        { code: 'ER_CHECKREAD', errno: 1020, message: 'Record has changed since last read' },
        { code: '40001', message: 'could not serialize access' },
      ])
      const [one, other] = [replay(), replay()]
      let runs = 0
      await transaction(losses, async (tx) => {
        runs += 1
        expect(await createReplay(tx, one)).toBe(true)
        expect(await createReplay(tx, other)).toBe(true)
      })
      expect(runs).toBe(4)
      const hashes = [one.hash, other.hash]
      expect(await straight(`${tablePrefix}replays`).whereIn('hash', hashes)).toHaveLength(2)
    })

    test('work that keeps losing is 503 and writes nothing', async () => {
      const db = open(config())
      const deadlock = { code: 'ER_LOCK_DEADLOCK', errno: 1213, message: 'Deadlock' }
      const one = replay()
      const work = transaction(losing(db, Array(9).fill(deadlock)), (tx) => createReplay(tx, one))
      await expect(work).rejects.toEqual(unavailable)
      expect(await straight(`${tablePrefix}replays`).where({ hash: one.hash })).toHaveLength(0)
    })

    test('after a server that cannot serve us, the next statement uses a new connection', async () => {
      const db = open(config(single))
      expect(await createReplay(db, replay())).toBe(true)
      const before = proxy.connections
      const message = 'WSREP has not yet prepared node for application use'
      const notReady = { code: 'ER_UNKNOWN_COM_ERROR', errno: 1047, message }
      const work = transaction(losing(db, [notReady]), (tx) => createReplay(tx, replay()))
      await expect(work).rejects.toEqual(unavailable)
      expect(await createReplay(db, replay())).toBe(true)
      expect(proxy.connections).toBe(before + 1)
    })

    test('sign-ins, redemptions, refreshes and revocations work with a single connection', async () => {
      const knex = hostKnex(config(single))
      const database = databaseOn(knex, tablePrefix, async () => {})
      const host = await startHost({ database, options: { users: undefined, database: { prune: false } } })
      opened.push(() => host.close())
      await seedUsers(knex, [{ username: ada.email, password: ada.password }], { database: { tablePrefix } })
      const everything = async (): Promise<number[]> => {
        const code = await codeFor(host, { scope: 'openid offline_access' })
        const redeemed = await redeem(host, code)
        const refreshed = await refresh(host, redeemed.body.refresh_token)
        const reused = await redeem(host, code)
        return [redeemed.status, refreshed.status, reused.status]
      }
      const outcomes = await Promise.all(Array.from({ length: 4 }, everything))
      expect(outcomes).toEqual(Array(4).fill([200, 200, 400]))
    })

    /** How many statements the one connection of this pool has prepared. */
    const preparedOn = async (knex: Knex): Promise<number> => {
      if (client === 'pg') {
        const { rows } = await knex.raw('select count(*) as prepared from pg_prepared_statements')
        return Number(rows[0].prepared)
      }
      const [[row]] = await knex.raw("show session status like 'Com_stmt_prepare'")
      return Number(row.Value)
    }

    test('statements are prepared unless preparedStatements is false, and values arrive unchanged', async () => {
      const texts = ['o’Brien', "o'Brien", 'back\\slash\\', '" -- ; drop', '$1 ? :name', 'ünïcödé 🗝']
      const counts: number[] = []
      for (const prepared of [true, false]) {
        const knex = hostKnex(config({ min: 1, max: 1 }))
        const { database } = openDatabase(knex, tablePrefix, { preparedStatements: prepared })
        for (const text of texts) {
          const username = `${prepared} ${text}`
          const account = { id: randomBytes(16).toString('hex'), username, name: text, email: null }
          const rest = { passwordHash: null, emailVerified: true, claims: { text }, now: 1_700_000_000 }
          await transaction(database, (tx) => createUser(tx, { ...account, ...rest }))
          expect(await findUserByUsername(database, { username })).toEqual({
            ...account,
            passwordHash: null,
            emailVerified: true,
            claims: { text },
            disabledAt: null,
            createdAt: 1_700_000_000,
            updatedAt: 1_700_000_000,
          })
        }
        counts.push(await preparedOn(knex))
      }
      expect(counts[0]).toBeGreaterThan(0)
      expect(counts[1]).toBe(0)
      const knex = hostKnex(config({ min: 1, max: 1 }))
      const { clientCredentials } = await serve(knex, { preparedStatements: false })
      expect((await clientCredentials()).status).toBe(200)
      expect(await preparedOn(knex)).toBe(0)
    })
  })
}

/** A URL as a driver's settings. */
function settingsOf(url: string): Record<string, unknown> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const rest = password === '' ? {} : { password: decodeURIComponent(password) }
  return { host: hostname, port: Number(port), user: username, database: pathname.slice(1), ...rest }
}

/** A database whose first COMMITs fail with these errors, in order. */
function losing(
  db: Database,
  failures: readonly { code: string; message: string; errno?: number }[],
): Database {
  const left = [...failures]
  const execute: typeof db.driver.execute = async (connection, sql, bindings) => {
    const failure = sql === 'COMMIT' ? left.shift() : undefined
    if (failure) throw Object.assign(new Error(failure.message), failure)
    return db.driver.execute(connection, sql, bindings)
  }
  return { ...db, driver: { ...db.driver, execute } }
}

describe('a row', () => {
  const notNull = { text: textOf, number: numberOf, flag: flagOf, json, scopes: scopesOf }
  const nullable = { textOrNull, numberOrNull, jsonOrUndefined }
  type Reader = (row: Row, column: string) => unknown
  const readers = Object.entries<Reader>({ ...notNull, ...nullable })

  test.each(readers)('%s throws for a column that the SELECT did not name', (_, read) => {
    expect(() => read({ other: 'x' }, 'subject')).toThrow('the column subject is missing')
  })

  test.each(Object.entries<Reader>(notNull))('%s throws for null', (_, read) => {
    expect(() => read({ subject: null }, 'subject')).toThrow('the column subject is null')
  })

  test.each(Object.entries<Reader>(nullable))('%s accepts null', (name, read) => {
    expect(read({ subject: null }, 'subject')).toBe(name === 'jsonOrUndefined' ? undefined : null)
  })

  test('values are converted from what each driver returns', () => {
    const row = { count: '17', name: 5, on: 1, off: 0, claims: '{"a":1}', scopes: 'openid  email', none: '' }
    expect(numberOf(row, 'count')).toBe(17)
    expect(numberOrNull(row, 'count')).toBe(17)
    expect(textOf(row, 'name')).toBe('5')
    expect(textOrNull(row, 'none')).toBe('')
    expect([flagOf(row, 'on'), flagOf(row, 'off')]).toEqual([true, false])
    expect(json(row, 'claims')).toEqual({ a: 1 })
    expect(jsonOrUndefined(row, 'claims')).toEqual({ a: 1 })
    expect(scopesOf(row)).toEqual(['openid', 'email'])
    expect(scopesOf(row, 'none')).toEqual([])
  })
})
