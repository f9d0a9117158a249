import supertest from 'supertest'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { countStatements, type StatementCount } from '../support/statement-count.ts'
import { answerOf, post, redeem, refresh, type TokenAnswer, userinfo, web } from '../support/tokens.ts'

// How often each operation goes to the database does not depend on the machine. Each is run once to warm up.

let host: Host
let count: StatementCount
let browser: RawBrowser

beforeAll(async () => {
  host = await startHost()
  const { knex, tablePrefix } = host.database
  count = await countStatements(knex, [`${tablePrefix}sessions`, host.usersTable])
  browser = new RawBrowser(host.app)
  for (const scope of ['openid profile email', 'openid offline_access', 'openid profile email notes:read'])
    codeOf(await browser.grant(authorizeUrl({ client_id: 'web', scope, prompt: 'consent' })))
})
afterAll(() => host.close())

const codeFlow = async (scope: string): Promise<TokenAnswer> =>
  answerOf(redeem(host, codeOf(await browser.get(authorizeUrl({ client_id: 'web', scope })))))

interface Operation {
  /** Made before the count begins. */
  readonly before?: () => Promise<TokenAnswer>
  readonly run: (tokens: TokenAnswer) => PromiseLike<unknown>
  readonly statements: number
  /** Write transactions. */
  readonly transactions: number
}

const online = (): Promise<TokenAnswer> => codeFlow('openid profile email')
const offline = (): Promise<TokenAnswer> => codeFlow('openid offline_access')
const nothing = async (): Promise<TokenAnswer> => ({}) as TokenAnswer

const operations: Readonly<Record<string, Operation>> = {
  client_credentials: {
    run: () => post(host, { ...web, grant_type: 'client_credentials' }).expect(200),
    statements: 2,
    transactions: 0,
  },
  'authorize and token, signed in and allowed before': { run: online, statements: 8, transactions: 2 },
  // One more: the login must stand when something is granted that outlives it.
  'the same with offline_access': { run: offline, statements: 9, transactions: 2 },
  refresh: {
    before: offline,
    run: ({ refresh_token }) => refresh(host, refresh_token).expect(200),
    statements: 5,
    transactions: 1,
  },
  UserInfo: {
    before: online,
    run: ({ access_token }) => userinfo(host, access_token).expect(200),
    statements: 1,
    transactions: 0,
  },
  introspection: {
    before: online,
    run: ({ access_token }) =>
      supertest(host.app)
        .post('/oauth/introspect')
        .type('form')
        .send({ ...web, token: access_token })
        .expect(/"active":true/),
    statements: 2,
    transactions: 0,
  },
  'a guarded route': {
    before: () => codeFlow('openid profile email notes:read'),
    run: ({ access_token }) =>
      supertest(host.app).get('/api/notes').set('Authorization', `Bearer ${access_token}`).expect(200),
    statements: 1,
    transactions: 0,
  },
  discovery: {
    run: () => supertest(host.app).get('/oauth/.well-known/openid-configuration').expect(200),
    statements: 0,
    transactions: 0,
  },
  'the key set': {
    run: () => supertest(host.app).get('/oauth/jwks').expect(200),
    statements: 0,
    transactions: 0,
  },
}

test.each(Object.entries(operations))(
  '%s',
  async (_, { before = nothing, run, statements, transactions }) => {
    await run(await before())
    const tokens = await before()
    count.reset()
    await run(tokens)
    expect({ sql: count.ours, statements: count.ours.length }).toEqual({ sql: count.ours, statements })
    const begun = count.transactions.filter((sql) => !/COMMIT|ROLLBACK/.test(sql))
    expect(begun).toHaveLength(transactions)
    expect(count.prepared).toEqual([])
  },
)
