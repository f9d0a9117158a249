import session from 'express-session'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import { stopClock } from '../support/clock.ts'
import { type CountedOperation, type OperationName, operationsAt } from '../support/counted-operations.ts'
import { openTestDatabase } from '../support/database.ts'
import { type FaultProxy, openFaultProxy } from '../support/fault-proxy.ts'
import { type Host, people, startHost } from '../support/host.ts'
import { describeWith, services } from '../support/services.ts'
import { countStatements, type StatementCount } from '../support/statement-count.ts'

// How many statements each operation needs, and how often it waits for PostgreSQL. Each is run once to warm up.

let host: Host
let count: StatementCount
let operations: Record<OperationName, CountedOperation>

beforeAll(async () => {
  // With these features the client of the host costs no more.
  host = await startHost({
    options: {
      protocol: {
        tokenExchange: { allow: () => true },
        authorizationDetails: { payment: { description: 'Make a payment' } },
      },
      features: [registration(), clientMetadataDocuments()],
    },
  })
  const { knex } = host.database
  count = await countStatements(knex, [host.usersTable])
  operations = await operationsAt(host)
})
afterAll(() => host.close())

const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0)

interface Counts {
  readonly statements: number
  /** Write transactions. */
  readonly transactions: number
  /** The most columns that all statements read together. */
  readonly columns: number
  /** How often it waits for PostgreSQL, where a conditional write is one statement. */
  readonly trips: number
}

const counts: Readonly<Record<OperationName, Counts>> = {
  client_credentials: { statements: 2, transactions: 0, columns: 6, trips: 2 },
  'authorize and token, signed in and allowed before': {
    statements: 7,
    transactions: 2,
    columns: 46,
    trips: 4,
  },
  // One more: the login must stand when something is granted that outlives it.
  'the same with offline_access': { statements: 8, transactions: 2, columns: 46, trips: 4 },
  refresh: { statements: 4, transactions: 1, columns: 27, trips: 2 },
  UserInfo: { statements: 1, transactions: 0, columns: 19, trips: 1 },
  introspection: { statements: 2, transactions: 0, columns: 25, trips: 2 },
  'a guarded route': { statements: 1, transactions: 0, columns: 19, trips: 1 },
  discovery: { statements: 0, transactions: 0, columns: 0, trips: 0 },
  'the key set': { statements: 0, transactions: 0, columns: 0, trips: 0 },
}

const isPostgres = process.env.DATABASE_URL?.startsWith('postgres') === true
const entries = Object.entries(counts) as [OperationName, Counts][]

test.each(entries)(
  '%s takes as many statements as documented',
  async (name, { statements, transactions, columns, trips }) => {
    const { before, run } = operations[name]
    await run(await before())
    const tokens = await before()
    count.reset()
    await run(tokens)
    // On PostgreSQL a conditional write is one statement.
    const [ours, ended] = isPostgres ? [trips, 0] : [statements, transactions]
    expect({ sql: count.ours, statements: count.ours.length }).toEqual({ sql: count.ours, statements: ours })
    expect(count.transactions.filter((sql) => /COMMIT|ROLLBACK/.test(sql))).toHaveLength(ended)
    expect(count.prepared).toEqual([])
    expect(count.replanned).toEqual([])
    if (!process.env.DATABASE_URL) expect(sum(count.columns)).toBeLessThanOrEqual(columns)
  },
)

// Over a network waiting takes longest. Users and sessions are the host's and not counted here.
describeWith('postgresql', 'round trips to PostgreSQL', () => {
  let counter: FaultProxy
  let host: Host
  let operations: Record<OperationName, CountedOperation>

  beforeAll(async () => {
    counter = await openFaultProxy(services.postgresql)
    const [ada] = people
    const user = { id: 1, username: ada?.email }
    host = await startHost({
      database: openTestDatabase(counter.url),
      options: {
        database: { prune: false },
        limits: false,
        session: session({ secret: 'of the tests', resave: false, saveUninitialized: false }),
        users: {
          find: (id) => (id === '1' ? user : undefined),
          authenticate: ({ password }) => (password === ada?.password ? user : undefined),
        },
      },
    })
    // Otherwise the keys are read again.
    stopClock()
    operations = await operationsAt(host)
  })
  afterAll(async () => {
    jest.restoreAllMocks()
    await host.close()
    await counter.close()
  })

  test.each(entries)('%s waits as often as documented', async (name, { trips }) => {
    const { before, run } = operations[name]
    await run(await before())
    const tokens = await before()
    counter.takeTurns()
    await run(tokens)
    expect(counter.takeTurns()).toBe(trips)
  })
})
