import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import type { DriverOptions } from '../../lib/database/driver.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/database/open.ts'
import { transaction } from '../../lib/database/statement.ts'
import { migrate, rollback } from '../../lib/index.ts'
import { createLogin, createReplay, findLogin } from '../../lib/repositories/index.ts'
import { describeWith, services } from '../support/services.ts'

describeWith('postgresql', 'a pool that the kit opens on PostgreSQL', () => {
  const connectionString = services.postgresql
  const tablePrefix = `t${randomBytes(4).toString('hex')}_`
  const open = (options: DriverOptions = {}, more: object = {}): OpenedDatabase =>
    openDatabase({ client: 'pg', connection: { connectionString, ...more } }, tablePrefix, options)

  test.each([
    ['sends without waiting', {}, {}, true],
    ['waits behind a pooler', { preparedStatements: false }, {}, false],
    ['waits when it is told to', {}, { pipeline: false }, false],
  ])('%s', async (_, options, more, expected) => {
    const { database, close } = open(options, more)
    const connection = await database.knex.client.acquireConnection()
    expect(database.driver.supportsPipelining(connection)).toBe(expected)
    await database.knex.client.releaseConnection(connection)
    await close()
  })

  describe.each([
    ['that sends without waiting', {}],
    ['that waits', { pipeline: false }],
  ])('a transaction on a connection %s', (_, more) => {
    let opened: OpenedDatabase
    let knex: Knex
    const now = Math.floor(Date.now() / 1000)
    const login = (sid: string) => ({ sid, subject: '1', authTime: now, amr: ['pwd'], expiresAt: now + 60 })
    const replay = () => ({ hash: randomBytes(32).toString('base64url'), expiresAt: now })

    beforeAll(async () => {
      opened = open({}, more)
      knex = opened.hostKnex
      await migrate(knex, { tablePrefix })
    })
    afterAll(async () => {
      await rollback(knex, { tablePrefix })
      for (const name of ['migrations', 'migrations_lock'])
        await knex.schema.dropTableIfExists(tablePrefix + name)
      await opened.close()
    })

    const standing = (sid: string) => findLogin(opened.database, { sid, now })

    test('does all of it', async () => {
      const [a, b] = [replay(), replay()]
      const decision = await transaction(
        opened.database,
        (tx) => createReplay(tx, a),
        (isFirst) => (isFirst ? [(tx) => createLogin(tx, login('whole')), (tx) => createReplay(tx, b)] : []),
      )
      expect(decision).toBe(true)
      expect(await standing('whole')).toMatchObject({ sid: 'whole' })
      expect(await createReplay(opened.database, a)).toBe(false)
      expect(await createReplay(opened.database, b)).toBe(false)
    })

    test('writes nothing when it could not begin', async () => {
      const { database } = opened
      const driver = { ...database.driver, begin: 'BEGIN nothing' }
      const work = transaction(
        { ...database, driver },
        async () => undefined,
        () => [(tx) => createLogin(tx, login('adrift'))],
      )
      await expect(work).rejects.toMatchObject({ status: 503 })
      expect(await standing('adrift')).toBeUndefined()
    })

    test('does nothing of it when a write fails, be it the first or the last', async () => {
      for (const order of [0, 1]) {
        const used = replay()
        const writes = [login('taken'), login(`beside-${order}`)]
        if (order === 1) writes.reverse()
        await createLogin(opened.database, login('taken')).catch(() => {})
        const work = transaction(
          opened.database,
          (tx) => createReplay(tx, used),
          () => writes.map((row) => (tx) => createLogin(tx, row)),
        )
        await expect(work).rejects.toMatchObject({ status: 503 })
        expect(await standing(`beside-${order}`)).toBeUndefined()
        expect(await createReplay(opened.database, used)).toBe(true)
      }
    })

    test('writes nothing when the decision throws', async () => {
      const used = replay()
      const work = transaction(
        opened.database,
        async (tx) => {
          await createReplay(tx, used)
          throw new Error('decided against')
        },
        () => [(tx) => createLogin(tx, login('unwanted'))],
      )
      await expect(work).rejects.toMatchObject({ cause: new Error('decided against') })
      expect(await standing('unwanted')).toBeUndefined()
      expect(await createReplay(opened.database, used)).toBe(true)
    })
  })
})
