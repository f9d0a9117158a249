import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { developerAdministration } from '../../lib/clients/developer-requests.ts'
import { registerDeveloperClient } from '../../lib/clients/developers.ts'
import { type OpenedDatabase, openDatabase } from '../../lib/database/open.ts'
import { migrate, rollback } from '../../lib/index.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { listClientIdsOfOwner } from '../../lib/repositories/client-owners.ts'
import { listClients } from '../../lib/repositories/clients.ts'
import { describeWith, services } from '../support/services.ts'
import { countStatements } from '../support/statement-count.ts'

jest.setTimeout(30_000)

const tablePrefix = `t${randomBytes(4).toString('hex')}_`
const now = () => 1_700_000_000
const maxClients = 3
const fields = {
  client_name: 'Desk',
  redirect_uris: ['https://desk.example.com/'],
  scope: 'openid',
  ...{ client_uri: null, logo_uri: null, policy_uri: null, tos_uri: null },
}

const racingOn = (config: Knex.Config): void => {
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

  test('parallel requests never give a user more clients than the quota, and one decision about each counts', async () => {
    const options = resolveOptions({
      ...{ issuer: 'https://app.example.com', database: config, secrets: ['s'.repeat(32)] },
      developers: { allow: () => 'approval', maxClients },
    })
    const { database } = opened
    const context = {
      database,
      options,
      now,
      events: { announce: () => {} },
      throttle: { takeQuota: async () => {} },
    }
    for (const subject of ['ada', 'bob']) {
      const developer = { subject, needsApproval: true, info: { requestId: 'id', address: '127.0.0.1' } }
      const register = () => registerDeveloperClient(context, developer, { fields, isPublic: false })
      await Promise.allSettled(Array.from({ length: 8 }, register))
      // Requests that lost too often to the others may come again.
      for (let more = 0; more < maxClients; more += 1) await register()
      expect(await listClientIdsOfOwner(database, { subject })).toHaveLength(maxClients)
    }
    expect(await listClients(database, { now: now() })).toHaveLength(2 * maxClients)

    const { approve, refuse, list } = developerAdministration({ ...context, ready: async () => {} })
    const count = await countStatements(opened.hostKnex, [])
    const owned = await list()
    expect(owned).toHaveLength(2 * maxClients)
    // One for the owners and one for the clients, however many there are.
    expect(count.ours).toHaveLength(2)
    for (const { client } of owned) {
      const decisions = [approve, refuse, approve, refuse].map((decide) => decide(client.client_id))
      const outcomes = await Promise.allSettled(decisions)
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    }
    for (const { client, status } of await list()) expect(client.disabled).toBe(status === 'refused')
  })
}

describe('owners of clients in SQLite', () => {
  racingOn({ client: 'better-sqlite3', connection: { filename: ':memory:' } })
})
describeWith('postgresql', 'owners of clients in PostgreSQL', () => {
  racingOn({ client: 'pg', connection: services.postgresql, pool: { min: 0, max: 8 } })
})
describeWith('mariadb', 'owners of clients in MariaDB', () => {
  racingOn({ client: 'mysql2', connection: services.mariadb, pool: { min: 0, max: 8 } })
})
