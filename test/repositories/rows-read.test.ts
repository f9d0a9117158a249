import type { Knex } from 'knex'
import {
  findDueLanes,
  findUntriedLane,
  listDueOfLane,
  listLane,
  postponeLane,
} from '../../lib/features/webhooks/lanes.ts'
import {
  countDeadLetters,
  findBacklog,
  hasDeadLetter,
  listDeadLetters,
  removeLane,
} from '../../lib/features/webhooks/table.ts'
import { migrate } from '../../lib/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import type { Database } from '../../lib/storage/database/types.ts'
import { countUsersOfClients, listLastTokens } from '../../lib/storage/repositories/client-usage.ts'
import { eventWindow, listNewestEvents } from '../../lib/storage/repositories/events.ts'
import {
  listAuthorizationsPage,
  listLoginsPage,
  loginClients,
  maxPage,
} from '../../lib/storage/repositories/lists/sessions-and-authorizations.ts'
import { listThrottles } from '../../lib/storage/repositories/throttles.ts'
import { type FaultDatabase, openFaultDatabase } from '../support/fault-databases.ts'
import { kept } from '../support/features.ts'
import { describeWith } from '../support/services.ts'
import { fillTables } from './large-tables.ts'

// MariaDB plans each statement for its values, so this counts the rows that it reads: a list reads little more than its page.
// test/repositories/generic-plans.test.ts looks at the plans of PostgreSQL, and plans.test.ts at those of SQLite.

const total = 30_000

/** How many rows MariaDB has read on this connection. */
const rowsRead = async (knex: Knex): Promise<number> => {
  const [rows] = await knex.raw<{ Value: string }[][]>("SHOW SESSION STATUS LIKE 'Handler_read%'")
  return (rows ?? []).reduce((sum, { Value: value }) => sum + Number(value), 0)
}

const now = 1_700_000_000
const page = { after: '', now }
const whose = [{}, { subject: 'u7' }, { clientId: 'big-1' }, { subject: 'u7', clientId: 'big-1' }]
const places = ['', 'l-000000015000', 'a-000000015000']

type Call = readonly [name: string, most: number, run: (db: Database) => Promise<unknown>]

const crm = { endpoint: 'crm', priority: 1 } as const

const lists: Call[] = [
  ...whose.flatMap((each) =>
    places.flatMap((after): Call[] => [
      [
        `sessions ${JSON.stringify({ ...each, after })}`,
        5 * maxPage,
        (db) => listLoginsPage(db, { ...page, ...each, after }),
      ],
      [
        `authorizations ${JSON.stringify({ ...each, after })}`,
        10 * maxPage,
        (db) => listAuthorizationsPage(db, { ...page, ...each, after }),
      ],
    ]),
  ),
  [
    'locks of a login name',
    500,
    (db) => listThrottles(db, { owner: 'loginAccountAddress:x-000000000007', now }),
  ],
  ['clients of sessions', 5 * maxPage, (db) => loginClients(db, ['l-000000000007', 'l-000000015000'])],
  ...[{}, { clientId: 'big-1' }, { type: 'login.succeeded' }, { subject: 'u7' }].map(
    (about): Call => [
      `connections ${JSON.stringify(about)}`,
      2 * eventWindow,
      (db) => listNewestEvents(db, about),
    ],
  ),
  ['lanes that are due', 500, (db) => findDueLanes(db, { ...crm, until: now + total, most: 8 })],
  [
    'lanes that are due after another',
    500,
    (db) =>
      findDueLanes(db, {
        ...crm,
        until: now + total,
        after: { lane: 'subject:u1', attemptAt: now + total / 2 },
        most: 8,
      }),
  ],
  ['a lane that has not failed', 500, (db) => findUntriedLane(db, { endpoint: 'crm', now: now + total })],
  ['the first of a lane', 500, (db) => listLane(db, { endpoint: 'crm', lane: 'subject:u7' })],
  ['what is due of a lane', 500, (db) => listDueOfLane(db, { ...crm, lane: 'subject:u7', now: now + total })],
  ['dead letters', 500, (db) => listDeadLetters(db)],
  ['older dead letters', 500, (db) => listDeadLetters(db, { id: total, deadAt: now + total / 2 })],
  ['whether there is one', 500, (db) => hasDeadLetter(db, { endpoint: 'crm' })],
  ['how many dead letters', 500, (db) => countDeadLetters(db)],
  [
    'a lane that waits',
    1000,
    (db) => postponeLane(db, { ...crm, lane: 'subject:u9', failure: null, until: now + total }),
  ],
  ['a lane that is removed', 500, (db) => removeLane(db, { lane: 'subject:u10' })],
  ['users of clients', 13_000, (db) => countUsersOfClients(db, ['big-1', 'big-2'])],
  ['the last tokens of clients', 1000, (db) => listLastTokens(db, ['big-1', 'big-2'])],
  ['the backlog', total, (db) => findBacklog(db, { endpoint: 'crm' })],
]

describeWith('mariadb', `on MariaDB with ${total} rows of each table`, () => {
  let server: FaultDatabase
  let database: Database
  beforeAll(async () => {
    // Its status is that of one connection.
    server = openFaultDatabase('MariaDB', { own: (config) => ({ ...config, pool: { min: 1, max: 1 } }) })
    const { knex, tablePrefix } = server
    await migrate(knex, { features: kept, database: { tablePrefix } })
    await fillTables(knex, tablePrefix, total, [
      'logins',
      'authorizations',
      'consents',
      'events',
      'throttles',
      'webhook_deliveries',
    ])
    database = openDatabase(knex, tablePrefix).database
  })
  afterAll(() => server.close())

  test.each(lists)('%s reads at most %i rows', async (_, most, run) => {
    await run(database)
    const before = await rowsRead(server.knex)
    await run(database)
    const read = (await rowsRead(server.knex)) - before
    expect(read).toBeGreaterThan(0)
    expect(read).toBeLessThanOrEqual(most)
  })
})
