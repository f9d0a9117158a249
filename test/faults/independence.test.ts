// Requests are independent of each other on PostgreSQL: none waits for a row that another one wants, unrelated updates
// cannot deadlock, a refused request costs no statement, and each statement runs in the context of its own request.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import knex, { type Knex } from 'knex'
import supertest from 'supertest'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { findClient, revokeAuthorization } from '../../lib/storage/repositories/index.ts'
import { openTestDatabase } from '../support/database.ts'
import { createUsers, type Host, startHost } from '../support/host.ts'
import { describeWith, services } from '../support/services.ts'
import { codeFor, post, redeem, tokensFor, userinfo, web } from '../support/tokens.ts'

const now = 1_700_000_000

/** A statement that was sent, by the request that sent it. */
interface Sent {
  readonly request: string | undefined
  readonly text: string
}

const currentRequest = new AsyncLocalStorage<string>()

/** Notes every statement that reaches pg, and every error of the server. */
const observe = async ({ client }: Knex): Promise<{ sent: Sent[]; errors: unknown[]; end(): void }> => {
  const [sent, errors]: [Sent[], unknown[]] = [[], []]
  const connection = await client.acquireConnection()
  const prototype: { query(...values: unknown[]): unknown } = Object.getPrototypeOf(connection)
  await client.releaseConnection(connection)
  const { query } = prototype
  prototype.query = function observed(...values) {
    const [config] = values as [string | { text: string }]
    sent.push({
      request: currentRequest.getStore(),
      text: typeof config === 'string' ? config : config.text,
    })
    const answer = query.apply(this, values)
    if (answer instanceof Promise) answer.catch((error: unknown) => errors.push(error))
    return answer
  }
  return { sent, errors, end: () => Object.assign(prototype, { query }) }
}

/** What requests cost. One that comes when the signing keys are due makes the server read them again beside it. */
const ofRequests = ({ sent }: { readonly sent: readonly Sent[] }): Sent[] =>
  sent.filter(({ text }) => !text.includes('_signing_keys'))

describeWith('postgresql', 'requests on PostgreSQL', () => {
  // A database of its own: the server counts deadlocks by database.
  const name = `latchkey_${randomBytes(4).toString('hex')}`
  const url = Object.assign(new URL(services.postgresql), { pathname: `/${name}` }).href
  const server = knex({ client: 'pg', connection: services.postgresql, pool: { min: 0, max: 1 } })
  let host: Host
  const openAnother = (): Knex => knex({ client: 'pg', connection: url, pool: { min: 0, max: 4 } })

  beforeAll(async () => {
    await server.raw(`create database ${name}`)
    const database = openTestDatabase(url)
    await createUsers(database, `${database.tablePrefix}people`)
    host = await startHost({ database, options: { database: { prune: false } } })
  })
  afterAll(async () => {
    await host.close()
    await server.raw(`drop database ${name} with (force)`)
    await server.destroy()
  })

  /** As the server has counted them, once the connections that may have met one are closed. */
  const deadlocks = async (): Promise<number> => {
    const { rows } = await server.raw('select deadlocks from pg_stat_database where datname = ?', [name])
    return Number(rows[0].deadlocks)
  }

  test('a read that starts in the same turn as a write that waits for a lock does not wait', async () => {
    const { knex: pool, tablePrefix } = host.database
    const { database } = openDatabase(pool, tablePrefix)
    await tokensFor(host)
    const { id } = await host.table('authorizations').first('id')
    const locking = await pool.transaction()
    await host.table('authorizations').transacting(locking).where({ id }).forUpdate()
    const order: string[] = []
    const write = revokeAuthorization(database, { id, now }).then(() => order.push('written'))
    const read = findClient(database, { clientId: 'web', now }).then(() => order.push('read'))
    await read
    order.push('released')
    await locking.commit()
    await write
    expect(order).toEqual(['read', 'released', 'written'])
  })

  test('UserInfo answers while the redemption of another code waits for a lock', async () => {
    const { access_token } = await tokensFor(host)
    const { knex: pool } = host.database
    const code = await codeFor(host)
    const locking = await pool.transaction()
    await host.table('authorizations').transacting(locking).forUpdate()
    const order: string[] = []
    const redemption = redeem(host, code).then(({ status }) => order.push(`redeemed ${status}`))
    const answer = userinfo(host, access_token).then(({ status }) => order.push(`user ${status}`))
    await answer
    await locking.commit()
    await redemption
    expect(order).toEqual(['user 200', 'redeemed 200'])
  })

  test('200 rounds of crossed updates of two processes cause no deadlock', async () => {
    await Promise.all([tokensFor(host), tokensFor(host)])
    const rows = await host.table('authorizations').limit(2).orderBy('id')
    const ids = rows.map(({ id }) => String(id))
    const pools = [openAnother(), openAnother()]
    const [one, other] = pools.map((pool) => openDatabase(pool, host.database.tablePrefix).database)
    const before = await deadlocks()
    for (let round = 0; round < 200; round += 1) {
      await host.table('authorizations').update({ revoked_at: null })
      const writes = [
        ...ids.map((id) => revokeAuthorization(one!, { id, now })),
        ...ids.toReversed().map((id) => revokeAuthorization(other!, { id, now })),
      ]
      expect((await Promise.all(writes)).filter(Boolean)).toHaveLength(2)
    }
    for (const pool of pools) await pool.destroy()
    expect(await deadlocks()).toBe(before)
  })

  test('requests that redeem one code at the same time cause no error of the server', async () => {
    const code = await codeFor(host)
    const observed = await observe(host.database.knex)
    const answers = await Promise.all([1, 2, 3, 4].map(() => redeem(host, code)))
    observed.end()
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect(observed.errors).toEqual([])
    expect(ofRequests(observed)).not.toEqual([])
  })

  test('statements that start in the same turn are sent once, each by its own request', async () => {
    const { database } = openDatabase(host.database.knex, host.database.tablePrefix)
    const names = ['first', 'second', 'third']
    const observed = await observe(host.database.knex)
    await Promise.all(
      names.map((id) =>
        currentRequest.run(id, async () => {
          await findClient(database, { clientId: id, now })
          await revokeAuthorization(database, { id, now })
        }),
      ),
    )
    observed.end()
    const wordsOf = (id: string) =>
      observed.sent.filter(({ request }) => request === id).map(({ text }) => text.split(' ')[0])
    expect(names.map(wordsOf)).toEqual(names.map(() => ['select', 'update']))
    expect(ofRequests(observed)).toHaveLength(6)
  })

  test('a token request that is refused with 429 runs no statement', async () => {
    const wrong = { ...web, client_secret: 'wrong', grant_type: 'authorization_code', code: 'lk_ac_x' }
    let status = 0
    for (let attempt = 0; status !== 429 && attempt < 100; attempt += 1) {
      status = (await post(host, wrong)).status
    }
    const secret = 'a'.repeat(43)
    const observed = await observe(host.database.knex)
    await post(host, { ...web, grant_type: 'authorization_code', code: `lk_ac_${secret}` }).expect(429)
    await post(host, { ...web, grant_type: 'refresh_token', refresh_token: `lk_rt_${secret}` }).expect(429)
    observed.end()
    expect(ofRequests(observed)).toEqual([])
  })

  test.each(['introspect', 'revoke'])(
    'a request at /%s that is refused with 429 runs no statement either (L19)',
    async (path) => {
      const send = (fields: object) =>
        supertest(host.app)
          .post(`/oauth/${path}`)
          .type('form')
          .send({ token: 'x', ...web, ...fields })
      let status = 0
      for (let attempt = 0; status !== 429 && attempt < 100; attempt += 1)
        status = (await send({ client_secret: 'wrong' })).status
      const observed = await observe(host.database.knex)
      await send({}).expect(429)
      observed.end()
      expect(ofRequests(observed)).toEqual([])
    },
  )
})
