import { stopClock } from '../support/clock.ts'
import { openTestDatabase } from '../support/database.ts'
import { type FaultProxy, openFaultProxy } from '../support/fault-proxy.ts'
import { authorizeUrl, createUsers, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { describeWith, services } from '../support/services.ts'
import { countStatements, type StatementCount } from '../support/statement-count.ts'

// The way of a person who was never here: from the client to the login page, the consent page and back. Each request is
// a round trip of the person's network, and each statement one of the database's.

let host: Host
let count: StatementCount

beforeAll(async () => {
  host = await startHost()
  // Nothing is left out: limits on failures and the host's own user table count, too.
  count = await countStatements(host.database.knex, [])
  // Learns what a password check costs, and prepares every statement.
  await visit()
})
afterAll(() => host.close())

interface Step {
  readonly request: Request
  readonly statements: readonly string[]
}

type Request = 'GET /authorize' | 'GET /login' | 'POST /login' | 'GET /consent' | 'POST /consent'

/** Walks from the authorization request to the code. @param noted is called with each request */
const walk = async (
  { app, table }: Host,
  noted: (request: Request, answer: Promise<Answer>) => Promise<Answer>,
): Promise<void> => {
  await table('consents').delete()
  const browser = new RawBrowser(app)
  const next = (answer: Answer): string => answer.location?.pathname.concat(answer.location.search) ?? ''

  const url = authorizeUrl({ client_id: 'web', scope: 'openid profile email' })
  const asked = await noted('GET /authorize', browser.get(url))
  const login = await noted('GET /login', browser.get(next(asked)))
  const credentials = { username: 'ada@example.com', password: 'ada’s password' }
  const form = { ...fieldsOf(login, 'name="password"'), ...credentials }
  const signedIn = await noted('POST /login', browser.post('/oauth/login', form))
  const consent = await noted('GET /consent', browser.get(next(signedIn)))
  const allow = { ...fieldsOf(consent, 'value="allow"'), decision: 'allow' }
  codeOf(await noted('POST /consent', browser.post('/oauth/consent', allow)))
}

/** Visits, and notes the statements of each request. */
const visit = async (): Promise<Step[]> => {
  const steps: Step[] = []
  await walk(host, async (request, answer) => {
    count.reset()
    const received = await answer
    steps.push({ request, statements: [...count.ours] })
    return received
  })
  return steps
}

const isPostgres = process.env.DATABASE_URL?.startsWith('postgres') === true

test('a first visit takes six requests with the one to the client, and few statements', async () => {
  const steps = await visit()
  const statements = Object.fromEntries(steps.map(({ request, statements }) => [request, statements.length]))
  expect({ statements, sql: steps.map((step) => step.statements) }).toEqual({
    statements: {
      'GET /authorize': 2,
      'GET /login': 1,
      // On PostgreSQL a conditional write is one statement.
      'POST /login': isPostgres ? 9 : 11,
      'GET /consent': 2,
      'POST /consent': isPostgres ? 3 : 6,
    },
    sql: expect.any(Array),
  })
})

describeWith('postgresql', 'round trips to PostgreSQL', () => {
  let counter: FaultProxy
  let host: Host

  beforeAll(async () => {
    counter = await openFaultProxy(services.postgresql)
    const database = openTestDatabase(counter.url)
    await createUsers(database, `${database.tablePrefix}people`)
    host = await startHost({ database, options: { database: { prune: false } } })
    stopClock()
  })
  afterAll(async () => {
    jest.restoreAllMocks()
    await host.close()
    await counter.close()
  })

  test('are few on a first visit', async () => {
    const trips: Partial<Record<Request, number>> = {}
    const visit = (): Promise<void> =>
      walk(host, async (request, answer) => {
        const received = await answer
        trips[request] = counter.takeTurns()
        return received
      })
    // Learns what a password check costs.
    await visit()
    counter.takeTurns()
    await visit()
    // The consents are deleted by the test itself.
    expect({ ...trips, 'GET /authorize': Number(trips['GET /authorize']) - 1 }).toEqual({
      'GET /authorize': 2,
      'GET /login': 1,
      'POST /login': 9,
      'GET /consent': 2,
      'POST /consent': 3,
    })
  })
})
