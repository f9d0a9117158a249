import { randomBytes, randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { createPasskey, listPasskeys, removePasskeysOfSubject } from '../../lib/features/passkeys/table.ts'
import { migrate, rollback } from '../../lib/index.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/storage/database/open.ts'
import {
  beginHostLogin,
  beginLogin,
  countRevocations,
  isRevoked,
  listLogins,
  type NewLoginRecord,
} from '../../lib/storage/repositories/index.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { endAllOf } from '../../lib/users/account/end-all.ts'
import { expired, kept } from '../support/features.ts'
import { describeWith, services } from '../support/services.ts'

// Attempts and revocations of one user at the same moment, on one schema of each database.

const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const now = 1_800_000_000

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

  const loginOf = (subject: string): NewLoginRecord => ({
    sid: randomUUID(),
    subject,
    authTime: now,
    amr: ['pwd'],
    expiresAt: now + 9000,
  })
  const begin = (subject: string, since: number): Promise<boolean> =>
    beginLogin(opened.database, { login: loginOf(subject), since, now })
  const end = (subject: string, writes: Parameters<typeof endAllOf>[2] = []) =>
    endAllOf({ database: opened.database, installed: [], now: () => now }, subject, writes)
  const standing = (subject: string): Promise<string[]> => listLogins(opened.database, { subject, now })

  test('of attempts that began before a revocation none stands, whichever is faster (H1)', async () => {
    const outcomes = new Set<boolean>()
    for (let round = 0; round < 25; round += 1) {
      // A user without a row, and one with a row.
      const subject = `user-${round % 20}`
      const since = await countRevocations(opened.database)
      const attempts = Array.from({ length: 6 }, () => begin(subject, since))
      attempts.splice(
        round % 6,
        0,
        end(subject).then(() => false),
      )
      for (const outcome of await Promise.all(attempts)) outcomes.add(outcome)
      expect(await standing(subject)).toEqual([])
      expect(await begin(subject, since)).toBe(false)
      expect(await begin(subject, await countRevocations(opened.database))).toBe(true)
      await end(subject)
    }
    expect(outcomes.has(false)).toBe(true)
  })

  test('parallel revocations of several users stop the attempts of each, and of nobody else (H1)', async () => {
    const { database } = opened
    const since = await countRevocations(database)
    const users = ['one', 'two', 'three', 'four']
    await Promise.all(users.map((subject) => end(subject)))
    expect(await countRevocations(database)).toBe(since + 4)
    for (const subject of users) {
      expect(await isRevoked(database, { subject, since })).toBe(true)
      expect(await begin(subject, since)).toBe(false)
      expect(await begin(subject, since + 4)).toBe(true)
    }
    expect(await isRevoked(database, { subject: 'five', since })).toBe(false)
    expect(await begin('five', since)).toBe(true)
  })

  test('parallel first requests of a host’s login share one, and after a revocation get none', async () => {
    const { database } = opened
    const since = await countRevocations(database)
    const hostLoginHash = randomBytes(32).toString('base64url')
    const first = () => beginHostLogin(database, { login: loginOf('host'), hostLoginHash, since, now })
    const shared = await Promise.all([first(), first(), first()])
    expect(new Set(shared.map((login) => login?.sid)).size).toBe(1)
    await end('host')
    expect(await first()).toBeUndefined()
    expect(await standing('host')).toEqual([])
  })

  test('passkeys that are added while all of a user’s end do not survive (M4)', async () => {
    const { database } = opened
    const subject = 'with passkeys'
    const key = { credentialId: 'id', publicKey: 'key', counter: 0, isBackedUp: false }
    const passkey = { ...key, subject, name: '', transports: [], now }
    for (let round = 0; round < 10; round += 1) {
      const login = loginOf(subject)
      await beginLogin(database, { login, since: await countRevocations(database), now })
      const add = (id: string) =>
        createPasskey(database, {
          ...passkey,
          hash: `${round}-${id}`,
          sid: login.sid,
        })
      const removal = () => end(subject, [removePasskeysOfSubject.with({ subject })])
      expect(await add('before')).toBe('added')
      const [, { counts }] = await Promise.all([add('a'), removal(), add('b'), add('c')])
      expect(counts[0]).toBeGreaterThan(0)
      expect(await listPasskeys(database, { subject })).toEqual([])
      expect(await add('late')).toBe('signed-out')
    }
  })

  test('a row stays longer than a sign-in takes, and the count for ever (H1)', async () => {
    const { database } = opened
    await end('ada')
    const prune = (later: number) =>
      removeExpiredRows(database, { now: now + later, expired, refreshGracePeriod: 10 })
    const count = await countRevocations(database)
    await prune(7200)
    expect(await isRevoked(database, { subject: 'ada', since: count - 1 })).toBe(true)
    await prune(7261)
    expect(await isRevoked(database, { subject: 'ada', since: count - 1 })).toBe(false)
    expect(await opened.hostKnex(`${tablePrefix}revocations`)).toHaveLength(1)
    expect(await countRevocations(database)).toBe(count)
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
