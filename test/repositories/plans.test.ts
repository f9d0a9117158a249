import supertest from 'supertest'
import { openDatabase } from '../../lib/database/open.ts'
import { removeExpiredRows } from '../../lib/repositories/pruning/schedule.ts'
import { expired } from '../../lib/schema.ts'
import { operationNames, operationsAt } from '../support/counted-operations.ts'
import { authorizeUrl, type Host } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { files, introspectAs, notes, startResourceHost, tokensOf } from '../support/resource-host.ts'
import { countStatements, type StatementCount } from '../support/statement-count.ts'
import { answerOf, redeem, web } from '../support/tokens.ts'

// No statement reads all rows of a table that grows with use. Checked on SQLite, whose plans, without statistics, do not
// depend on the contents of the tables.
delete process.env.DATABASE_URL

/** A plan that reads all rows of a table, or all with a value that nearly all rows have. */
const readsAll = /^SCAN |\((consumed|revoked|ended|disabled)_at=\?\)/

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
const small = /^SCAN (CONSTANT ROW|oauth_(signing_keys|salts|migrations)\b)/

let host: Host
let count: StatementCount

beforeAll(async () => {
  host = await startResourceHost({ options: { database: { prune: false } } })
  count = await countStatements(host.database.knex, [host.usersTable])
})
afterAll(() => host.close())

/** Everything that clients, APIs, browsers, the host and pruning cause. */
const everything = async (): Promise<void> => {
  const { app, oauth, database } = host
  const operations = await operationsAt(host)
  for (const name of operationNames) await operations[name].run(await operations[name].before())
  const browser = new RawBrowser(app)
  await browser.submit(await browser.open(authorizeUrl({ client_id: 'web' })), 'name="password"', {
    username: 'nobody',
    password: 'nothing',
  })
  const scope = 'openid offline_access'
  const code = codeOf(await browser.grant(authorizeUrl({ client_id: 'web', scope, prompt: 'consent' })))
  const { refresh_token, access_token, id_token } = await answerOf(redeem(host, code))
  for (const token of [refresh_token, access_token]) {
    const form = { ...web, token }
    await supertest(app).post('/oauth/introspect').type('form').send(form).expect(200)
    await supertest(app).post('/oauth/revoke').type('form').send(form).expect(200)
  }
  const { html } = await browser.open('/oauth/account')
  const [, removal = ''] = html.match(/button secondary" href="([^"]+)"/) ?? []
  await browser.submit(await browser.open(removal), 'csrf_token')
  await browser.submit(await browser.open('/oauth/logout'), 'csrf_token')
  await browser.open(`/oauth/logout?id_token_hint=${id_token}`)
  for (const resource of [notes, files]) {
    const tokens = await tokensOf(host, [resource], { scope: 'openid notes:read files:read' })
    await introspectAs(host, 'notes-api', tokens.access_token)
  }
  await oauth.users.export(1)
  await oauth.users.revokeAll(1)
  await oauth.users.erase(1)
  await operationsAt(host)
  await removeExpiredRows(openDatabase(database.knex, database.tablePrefix).database, {
    now: Math.floor(Date.now() / 1000) + 10 ** 9,
    expired,
    refreshGracePeriod: 10,
  })
}

const planOf = async (sql: string): Promise<string[]> => {
  const bindings = Array.from(sql.matchAll(/\?/g), () => null)
  const rows: { detail: string }[] = await host.database.knex.raw(`EXPLAIN QUERY PLAN ${sql}`, bindings)
  return rows.map(({ detail }) => detail)
}

test('no statement reads all rows of a table that grows with use', async () => {
  await everything()
  const statements = [...new Set(count.ours)]
  for (const table of growing) expect(statements).toContainEqual(expect.stringContaining(`oauth_${table}`))
  const slow = []
  for (const sql of statements) {
    const steps = (await planOf(sql)).filter((step) => readsAll.test(step) && !small.test(step))
    if (steps.length > 0) slow.push({ sql, steps })
  }
  expect(slow).toEqual([])
})
