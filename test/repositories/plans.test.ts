import { kept } from '../support/features.ts'
import type { Host } from '../support/host.ts'
import { startResourceHost } from '../support/resource-host.ts'
import { countStatements, type StatementCount } from '../support/statement-count.ts'
import { everythingAt } from './everything.ts'

// No statement reads all rows of a table that grows with use. Checked on SQLite, whose plans, without statistics, do not
// depend on the contents of the tables.
delete process.env.DATABASE_URL

/** A plan that reads all rows of a table, or all with a value that nearly all rows have. */
const readsAll = /^SCAN |\((consumed|revoked|ended|disabled)_at=\?\)/

/** Whether a plan sorts the rows of a client, which may be nearly all. */
const sortsClient = (plan: readonly string[]): boolean =>
  plan.some((step) => step.startsWith('USE TEMP B-TREE')) &&
  plan.some((step) => /INDEX latchkey_authorizations_\w+ \(client_id(=\?|>\? AND client_id<\?)\)$/.test(step))

const growing = [
  'access_tokens',
  'pending_requests',
  'authorizations',
  'clients',
  'client_owners',
  'consent_receipts',
  'consents',
  'logins',
  'refresh_tokens',
  'replays',
  'throttles',
]

/** Tables that stay small. */
const small = /^SCAN (CONSTANT ROW|latchkey_(signing_keys|salts|migrations)\b)/

let host: Host
let count: StatementCount

beforeAll(async () => {
  host = await startResourceHost({ options: { database: { prune: false }, features: kept } })
  count = await countStatements(host.database.knex, [host.usersTable])
})
afterAll(() => host.close())

const planOf = async (sql: string): Promise<string[]> => {
  const bindings = Array.from(sql.matchAll(/\?/g), () => null)
  const rows: { detail: string }[] = await host.database.knex.raw(`EXPLAIN QUERY PLAN ${sql}`, bindings)
  return rows.map(({ detail }) => detail)
}

test('no statement reads all rows of a table that grows with use', async () => {
  await everythingAt(host)
  const statements = [...new Set(count.ours)]
  for (const table of growing) expect(statements).toContainEqual(expect.stringContaining(`latchkey_${table}`))
  const slow = []
  for (const sql of statements) {
    const plan = await planOf(sql)
    const steps = plan.filter((step) => sortsClient(plan) || (readsAll.test(step) && !small.test(step)))
    if (steps.length > 0) slow.push({ sql, steps })
  }
  expect(slow).toEqual([])
})
