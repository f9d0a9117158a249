import { type CountedOperation, type OperationName, operationsAt } from '../support/counted-operations.ts'
import { type Host, startHost } from '../support/host.ts'
import { countStatements, type StatementCount } from '../support/statement-count.ts'

// How often each operation goes to the database. Each is run once to warm up.

let host: Host
let count: StatementCount
let operations: Record<OperationName, CountedOperation>

beforeAll(async () => {
  // With these features the client of the host costs no more.
  host = await startHost({
    options: {
      features: {
        ...{ registration: true, clientMetadataDocuments: true },
        tokenExchange: { policy: () => true },
      },
      authorizationDetails: { payment: { description: 'Make a payment' } },
    },
  })
  const { knex, tablePrefix } = host.database
  count = await countStatements(knex, [`${tablePrefix}sessions`, host.usersTable])
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
}

const counts: Readonly<Record<OperationName, Counts>> = {
  client_credentials: { statements: 2, transactions: 0, columns: 6 },
  'authorize and token, signed in and allowed before': { statements: 8, transactions: 2, columns: 37 },
  // One more: the login must stand when something is granted that outlives it.
  'the same with offline_access': { statements: 9, transactions: 2, columns: 37 },
  refresh: { statements: 5, transactions: 1, columns: 22 },
  UserInfo: { statements: 1, transactions: 0, columns: 14 },
  introspection: { statements: 2, transactions: 0, columns: 20 },
  'a guarded route': { statements: 1, transactions: 0, columns: 14 },
  discovery: { statements: 0, transactions: 0, columns: 0 },
  'the key set': { statements: 0, transactions: 0, columns: 0 },
}

test.each(Object.entries(counts) as [OperationName, Counts][])(
  '%s',
  async (name, { statements, transactions, columns }) => {
    const { before, run } = operations[name]
    await run(await before())
    const tokens = await before()
    count.reset()
    await run(tokens)
    expect({ sql: count.ours, statements: count.ours.length }).toEqual({ sql: count.ours, statements })
    // PostgreSQL gets BEGIN together with the first statement.
    const ended = count.transactions.filter((sql) => /COMMIT|ROLLBACK/.test(sql))
    expect(ended).toHaveLength(transactions)
    expect(count.prepared).toEqual([])
    expect(count.replanned).toEqual([])
    if (!process.env.DATABASE_URL) expect(sum(count.columns)).toBeLessThanOrEqual(columns)
  },
)
