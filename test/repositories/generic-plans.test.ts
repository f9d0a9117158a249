import { admin, connections, registration, webhooks } from '../../lib/features/index.ts'
import {
  findDueLanes,
  findUntriedLane,
  gatherLane,
  listDueOfLane,
  listLane,
  postponeLane,
} from '../../lib/features/webhooks/lanes.ts'
import { findBacklog, hasDeadLetter, listDeadLetters, removeLane } from '../../lib/features/webhooks/table.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import type { Database } from '../../lib/storage/database/types.ts'
import {
  listAuthorizationsPage,
  listLoginsPage,
} from '../../lib/storage/repositories/lists/sessions-and-authorizations.ts'
import { type FaultDatabase, openFaultDatabase } from '../support/fault-databases.ts'
import { kept } from '../support/features.ts'
import { createUsers, type Host } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { startResourceHost } from '../support/resource-host.ts'
import { describeWith } from '../support/services.ts'
import { countStatements } from '../support/statement-count.ts'
import { everythingAt } from './everything.ts'
import { fillTables, largeTables } from './large-tables.ts'

// PostgreSQL plans a prepared statement for any value at once. With a few large clients, and others that have next to
// nothing, such a plan must not read a table to its end, or sort much of it.

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  /** The same of a bitmap. */
  readonly 'Recheck Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Node[]
}

const conditionOf = ({ 'Index Cond': condition, 'Recheck Cond': again }: Node): string =>
  condition ?? again ?? ''

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** The columns of which one value selects the rows, and not a span of values. */
const keysIn = (condition: string): string[] =>
  Array.from(condition.matchAll(/(\w+)(?:\)::text)? = /g), ([, column = '']) => column)

/** The rows of one client are a span of the index; they need no sorting where that would take long. */
const ofOneClient = (span: string): boolean => /client_id\)::text >= .*client_id\)::text <= /.test(span)

/** What a plan does that takes longer the more rows there are. */
const slowIn = (plan: Node, large: readonly string[]): string[] =>
  nodesOf(plan).flatMap((node) => {
    const { 'Node Type': type, 'Relation Name': table = '', Filter: filter } = node
    const condition = conditionOf(node)
    const ofLarge = nodesOf(node).filter(({ 'Relation Name': name = '' }) => large.includes(name))
    if (
      type === 'Sort' &&
      ofLarge.map(conditionOf).some((span) => keysIn(span).length === 0 && !ofOneClient(span))
    )
      return [`sorts a span of ${ofLarge[0]?.['Relation Name']}`]
    if (!large.includes(table)) return []
    if (type === 'Seq Scan') return [`reads all of ${table}`]
    const isOther = (column: string) => !condition.includes(column)
    return keysIn(condition).length === 0 && keysIn(filter ?? '').some(isOther)
      ? [`looks through ${table} for ${filter}`]
      : []
  })

/** The numbers and the search of the list of clients look at every client, and at nothing else as a whole. */
const isCount = (sql: string, what: string): boolean =>
  (sql.includes(' as "listed"') &&
    /^(reads all of|sorts a span of|looks through) \w+_clients\b/.test(what)) ||
  isBacklog(sql, what) ||
  isJoinOfFew(sql, what) ||
  isCountOfDay(sql, what)

/** For the events of 200 webhooks a table of 30,000 is read as a whole; a larger one is not. */
const isJoinOfFew = (sql: string, what: string): boolean =>
  /left join "\w+_events" as "events"/.test(sql) && /^(reads all of|sorts a span of) \w+_events$/.test(what)

/** The page about webhooks counts what waits for a receiver. Mostly that is next to nothing, and else nearly the whole table. */
const isBacklog = (sql: string, what: string): boolean =>
  sql.startsWith('select count(*)') && /^reads all of \w+_webhook_deliveries\b/.test(what)

/** The overview counts the events of a day, of one type and at most 50,000: by the index of types, or by that of times. */
const isCountOfDay = (sql: string, what: string): boolean =>
  /"time" >= \$\d and "time" < \$\d .*limit (50000|10000)\)\) as counted/.test(sql) &&
  /^(sorts a span of|looks through) \w+_events\b/.test(what)

/** A receiver of what does not happen here. */
const crm = { url: 'https://crm.example.com/', secrets: [`whsec_${'A'.repeat(32)}`], events: ['key.revoked'] }

/** Runs the statements of the sender and of the admin page. Replaying all dead letters is left out: it has to read them all. */
const webhooksAt = async (database: Database): Promise<void> => {
  const [endpoint, lane, now] = ['crm', 'subject:1', 1_700_000_000]
  const priority = 1
  await findDueLanes(database, { endpoint, priority, until: now, most: 8 })
  await findUntriedLane(database, { endpoint, now })
  await listLane(database, { endpoint, lane })
  await listDueOfLane(database, { endpoint, lane, priority, now })
  await gatherLane(database, { endpoint, lane, priority, attemptAt: now, until: now })
  await findBacklog(database, { endpoint })
  await postponeLane(database, { endpoint, lane, priority, failure: null, until: now })
  await listDeadLetters(database)
  await hasDeadLetter(database, { endpoint })
  await removeLane(database, { lane })
}

describeWith('postgresql', 'on PostgreSQL with many rows', () => {
  let database: FaultDatabase
  let host: Host
  const byAdmin = { 'x-admin': 'yes' }
  beforeAll(async () => {
    database = openFaultDatabase('PostgreSQL')
    await createUsers(database, `${database.tablePrefix}people`)
    host = await startResourceHost({
      database,
      options: {
        database: { prune: false },
        storedEvents: true,
        features: [
          ...kept.filter(({ name }) => !['registration', 'webhooks', 'admin', 'connections'].includes(name)),
          connections(),
          registration(),
          webhooks({ endpoints: { crm } }),
          admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
        ],
      },
    })
  })
  afterAll(async () => {
    await host.oauth.close()
    await database.close()
  })

  const planOf = async (sql: string): Promise<Node> => {
    const connection = await database.knex.client.acquireConnection()
    try {
      const run = async (text: string) => (await connection.query(text)).rows
      await run('SET plan_cache_mode = force_generic_plan')
      await run(`PREPARE latchkey_plan AS ${sql}`)
      const count = Math.max(0, ...Array.from(sql.matchAll(/\$(\d+)/g), ([, place]) => Number(place)))
      const values = count > 0 ? `(${Array(count).fill('NULL').join(', ')})` : ''
      const [row] = await run(`EXPLAIN (FORMAT JSON) EXECUTE latchkey_plan${values}`)
      await run('DEALLOCATE latchkey_plan')
      return row['QUERY PLAN'][0].Plan
    } finally {
      await database.knex.client.releaseConnection(connection)
    }
  }

  test('every statement of a request goes by an index, and so do those of pruning (M12, M18)', async () => {
    const count = await countStatements(database.knex, [host.usersTable, 'information_schema'])
    await everythingAt(host)
    const operator = new RawBrowser(host.app, undefined, byAdmin)
    for (const path of [
      '',
      '/clients',
      '/clients?q=web',
      '/clients?filter=unused',
      '/client?client_id=web',
      '/delete-client?client_id=web',
      '/users?q=1',
      '/events?user=1',
      '/events',
      '/events?type=login.failed',
      '/keys',
      '/connections',
      '/connections?client=web',
      '/webhooks',
    ])
      expect((await operator.open(`/oauth/admin${path}`)).status).toBe(200)
    await webhooksAt(openDatabase(database.knex, database.tablePrefix).database)
    const statements = [...new Set(count.ours)].filter((sql) =>
      /^(select|insert|update|delete|with)/i.test(sql),
    )
    for (const name of largeTables) expect(statements).toContainEqual(expect.stringContaining(`_${name}`))
    await fillTables(database.knex, database.tablePrefix, 30_000)
    const large = largeTables.map((name) => `${database.tablePrefix}${name}`)
    const slow = []
    for (const sql of statements) {
      const found = slowIn(await planOf(sql), large).filter((what) => !isCount(sql, what))
      if (found.length > 0) slow.push({ sql, found })
    }
    expect(slow).toEqual([])
  })

  test('a page of what people granted a client sorts nothing: a client may have nearly all rows', async () => {
    const { database: db } = openDatabase(database.knex, database.tablePrefix)
    const count = await countStatements(database.knex, [host.usersTable, 'information_schema'])
    const page = { clientId: 'big-1', after: '', now: 1_700_000_000 }
    await listLoginsPage(db, page)
    await listAuthorizationsPage(db, page)
    const lists = count.ours.filter((sql) => sql.includes('"client_id"') && sql.includes('limit 100'))
    expect(lists).toHaveLength(2)
    for (const sql of lists) {
      const types = nodesOf(await planOf(sql)).map(({ 'Node Type': type }) => type)
      expect(types.filter((type) => type.includes('Sort'))).toEqual([])
    }
  })
})
