import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { type OpenedDatabase, openDatabase } from '../../lib/database/open.ts'
import { migrate, rollback } from '../../lib/index.ts'
import {
  confirmSecondFactor,
  consumePendingLogin,
  consumeRecoveryCode,
  createSecondFactor,
  findSecondFactorRecord,
  putPendingLogin,
  takeTry,
  useTimeStep,
} from '../../lib/repositories/index.ts'
import { describeWith, services } from '../support/services.ts'

const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const now = 1_700_000_000
const subject = 'ada'

const suite = (config: Knex.Config): void => {
  let opened: OpenedDatabase
  beforeAll(async () => {
    opened = openDatabase(config, tablePrefix)
    await migrate(opened.hostKnex, { tablePrefix })
  })
  afterAll(async () => {
    await rollback(opened.hostKnex, { tablePrefix })
    for (const name of ['migrations', 'migrations_lock'])
      await opened.hostKnex.schema.dropTableIfExists(tablePrefix + name)
    await opened.close()
  })
  /** How many of parallel calls succeed. */
  const winners = async (call: () => Promise<boolean>): Promise<number> =>
    (await Promise.all([1, 2, 3, 4, 5, 6].map(call))).filter(Boolean).length

  test('what may happen once happens once', async () => {
    const { database } = opened
    const pending = { id: 'i', attempt: 'a', subject, username: 'ada', expiresAt: now + 9 }
    await putPendingLogin(database, pending)
    const named = { id: 'i', attempt: 'a', now }
    expect(await winners(() => takeTry(database, { ...named, max: 4 }))).toBe(4)
    expect(await consumePendingLogin(database, { ...named, attempt: 'of another password' })).toBe(false)
    expect(await winners(() => consumePendingLogin(database, named))).toBe(1)

    const open = { subject, replaced: '', now, expiresAt: now + 9 }
    let secrets = 0
    await Promise.all(
      [1, 2, 3].map(() => {
        secrets += 1
        return createSecondFactor(database, { ...open, secret: `s${secrets}` })
      }),
    )
    const { secret = '' } = (await findSecondFactorRecord(database, { subject })) ?? {}
    const values = { subject, step: 5, now, hashes: ['h1', 'h2'] }
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

describe('second factors on SQLite', () => {
  suite({ client: 'better-sqlite3', connection: { filename: ':memory:' } })
})
describeWith('postgresql', 'second factors on PostgreSQL', () => {
  suite({ client: 'pg', connection: services.postgresql, pool: { min: 0, max: 8 } })
})
describeWith('mariadb', 'second factors on MariaDB', () => {
  suite({ client: 'mysql2', connection: services.mariadb, pool: { min: 0, max: 8 } })
})
