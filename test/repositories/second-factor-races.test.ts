import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import {
  consumePendingLogin,
  putPendingLogin,
  takeTry,
} from '../../lib/features/second-factor/pending-logins-table.ts'
import {
  confirmSecondFactor,
  consumeRecoveryCode,
  createSecondFactor,
  findSecondFactorRecord,
  useTimeStep,
} from '../../lib/features/second-factor/second-factors-table.ts'
import { migrate, rollback } from '../../lib/index.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/storage/database/open.ts'
import { createLogin } from '../../lib/storage/repositories/index.ts'
import { kept } from '../support/features.ts'
import { describeWith, services } from '../support/services.ts'

// Parallel calls on one schema of each database.

const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const start = 1_700_000_000

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

  test('second factors, attempts, time steps and recovery codes are used only as often as allowed', async () => {
    const { database } = opened
    const now = start
    const subject = 'ada'
    /** How many of parallel calls succeed. */
    const winners = async (call: () => Promise<boolean>): Promise<number> =>
      (await Promise.all([1, 2, 3, 4, 5, 6].map(call))).filter(Boolean).length

    const pending = { id: 'i', attempt: 'a', subject, username: 'ada', since: 0, expiresAt: now + 9 }
    await putPendingLogin(database, pending)
    const named = { id: 'i', attempt: 'a', now }
    expect(await winners(() => takeTry(database, { ...named, max: 4 }))).toBe(4)
    expect(await consumePendingLogin(database, { ...named, attempt: 'of another password' })).toBe(false)
    expect(await winners(() => consumePendingLogin(database, named))).toBe(1)

    const open = { subject, replaced: '', now, expiresAt: now + 9 }
    await Promise.all(['s1', 's2', 's3'].map((secret) => createSecondFactor(database, { ...open, secret })))
    const { secret = '' } = (await findSecondFactorRecord(database, { subject })) ?? {}
    const login = { sid: 'ada’s login', subject, authTime: now, amr: ['pwd'], expiresAt: now + 9 }
    await createLogin(database, login)
    const values = { subject, sid: login.sid, step: 5, now, hashes: ['h1', 'h2'] }
    expect(await confirmSecondFactor(database, { ...values, secret: 'another' })).toBe(false)
    expect(await winners(() => confirmSecondFactor(database, { ...values, secret }))).toBe(1)
    await createSecondFactor(database, { ...open, secret: 'later', replaced: secret })
    expect(await findSecondFactorRecord(database, { subject })).toMatchObject({ secret, expiresAt: null })
    expect(await useTimeStep(database, { subject, step: 5 })).toBe(false)
    expect(await winners(() => useTimeStep(database, { subject, step: 6 }))).toBe(1)
    expect(await winners(() => consumeRecoveryCode(database, { hash: 'h1', subject }))).toBe(1)
    expect(await consumeRecoveryCode(database, { hash: 'h2', subject: 'bob' })).toBe(false)
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
