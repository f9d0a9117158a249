import { migrate } from '../../lib/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import type { Database, Driver } from '../../lib/storage/database/types.ts'
import {
  createClient,
  findClient,
  listClients,
  longestIdTokenLifetime,
} from '../../lib/storage/repositories/clients.ts'
import { describeOnSampled, openFaultDatabase } from '../support/fault-databases.ts'
import { kept } from '../support/features.ts'

describeOnSampled('clients', (kind) => {
  const { knex, tablePrefix, close } = openFaultDatabase(kind)
  const { database } = openDatabase(knex, tablePrefix)
  beforeAll(() => migrate(knex, { features: kept, database: { tablePrefix } }))
  afterAll(close)

  const store = (clientId: string, more: object) => {
    const metadata = { redirect_uris: ['https://app.example.com/'], ...more } as never
    return createClient(database, { clientId, secretHash: null, metadata, now: 1 })
  }

  test('the longest lifetime of an ID token is that of any client, read without their metadata', async () => {
    expect(await longestIdTokenLifetime(database)).toBe(0)
    // More than one statement reads.
    for (let place = 100; place < 220; place += 1) await store(`client-${place}`, {})
    expect(await longestIdTokenLifetime(database)).toBe(0)
    await store('client-050', { id_token_lifetime: 900 })
    await store('client-300', { id_token_lifetime: 7200 })
    const read: unknown[] = []
    const execute: Driver['execute'] = async (...statement) => {
      const result = await database.driver.execute(...statement)
      read.push(...result.rows)
      return result
    }
    const watched = { ...database, driver: { ...database.driver, execute } }
    expect(await longestIdTokenLifetime(watched)).toBe(7200)
    expect(read).toHaveLength(122)
    expect(JSON.stringify(read)).not.toContain('redirect_uris')
  })

  test.each([
    ['the longest lifetime', longestIdTokenLifetime],
    ['a list of all', (db: Database) => listClients(db, { now: 1 })],
  ])('%s of many clients is read in turns with other requests', async (_, read) => {
    for (let place = 400; place < 620; place += 1) await store(`client-${place}`, {})
    let [turns, isDone] = [0, false]
    const count = (): void => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    await read(database)
    isDone = true
    expect(turns).toBeGreaterThan(1)
    await knex(`${tablePrefix}clients`).delete()
  })

  test('metadata of more than 65,535 bytes is stored whole (M16)', async () => {
    const client_name = 'ä'.repeat(70_000)
    await store('long', { client_name })
    const client = await findClient(database, { clientId: 'long', now: 1 })
    expect(client?.metadata.client_name).toBe(client_name)
  })
})
