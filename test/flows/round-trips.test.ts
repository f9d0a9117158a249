import session from 'express-session'
import { stopClock } from '../support/clock.ts'
import { type CountedOperation, type OperationName, operationsAt } from '../support/counted-operations.ts'
import { openTestDatabase } from '../support/database.ts'
import { type FaultProxy, openFaultProxy } from '../support/fault-proxy.ts'
import { type Host, people, startHost } from '../support/host.ts'
import { describeWith, services } from '../support/services.ts'

// How often each operation waits for PostgreSQL, because over a network waiting takes longest. BEGIN travels with the first
// statement of a transaction, COMMIT by itself. Users and sessions are the host's and not counted here.

const most: Readonly<Record<OperationName, number>> = {
  client_credentials: 2,
  'authorize and token, signed in and allowed before': 9,
  'the same with offline_access': 10,
  refresh: 5,
  UserInfo: 1,
  introspection: 2,
  'a guarded route': 1,
  discovery: 0,
  'the key set': 0,
}

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
        prune: false,
        throttle: false,
        session: session({ secret: 'of the tests', resave: false, saveUninitialized: false }),
        users: {
          find: (id) => (id === '1' ? user : undefined),
          authenticate: (_username, password) => (password === ada?.password ? user : undefined),
        },
      },
    })
    // So that the keys are not read again.
    stopClock()
    operations = await operationsAt(host)
  })
  afterAll(async () => {
    jest.restoreAllMocks()
    await host.close()
    await counter.close()
  })

  test.each(Object.entries(most) as [OperationName, number][])('%s: %i', async (name, trips) => {
    const { before, run } = operations[name]
    await run(await before())
    const tokens = await before()
    counter.takeTurns()
    await run(tokens)
    expect(counter.takeTurns()).toBe(trips)
  })
})
