import express, { type Express } from 'express'
import createKnex, { type Knex } from 'knex'
import supertest from 'supertest'
import { type AuthRouter, authRouter, migrate, seedClients } from '../../lib/index.ts'
import { openTestDatabase } from '../support/database.ts'
import {
  type DatabaseKind,
  describeOnSampledServer,
  openFaultDatabase,
  silence,
} from '../support/fault-databases.ts'
import { type FaultProxy, openFaultProxy } from '../support/fault-proxy.ts'
import { kept } from '../support/features.ts'
import { authorizeUrl, clients, issuer, secret } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { services } from '../support/services.ts'

// A request waits a limited time for the server to be ready.

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const secrets = ['a secret of the tests that is long enough']
const scopes = { 'notes:read': 'Read your notes', 'notes:write': 'Write notes for you' }

/** Timeouts of this many milliseconds or more end after a twentieth, until `jest.restoreAllMocks()`. */
const hurry = (least: number): void => {
  const real = globalThis.setTimeout
  const hurried = (run: () => void, milliseconds = 0, ...rest: unknown[]): unknown =>
    real(run, milliseconds >= least ? milliseconds / 20 : milliseconds, ...rest)
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(hurried as unknown as typeof setTimeout)
}
afterEach(() => {
  jest.restoreAllMocks()
})

interface Served {
  readonly oauth: AuthRouter
  readonly app: Express
}

const serve = (database: Knex | Knex.Config, tablePrefix: string): Served => {
  const oauth = authRouter({
    issuer,
    database: { knex: database, tablePrefix },
    secrets,
    scopes,
    logger: quiet,
  })
  const app = express().use('/oauth', oauth)
  app.get('/api', oauth.requireToken(), (_req, res) => void res.send('never'))
  return { oauth, app }
}

const clientCredentials = (app: Express) =>
  supertest(app)
    .post('/oauth/token')
    .type('form')
    .send({ grant_type: 'client_credentials', scope: 'notes:read', client_id: 'web', client_secret: secret })
const guarded = (app: Express) => supertest(app).get('/api').set('Authorization', 'Bearer unknown')
const keySet = (app: Express) => supertest(app).get('/oauth/jwks')

const unavailable = {
  error: 'temporarily_unavailable',
  error_description: expect.any(String),
  error_id: expect.any(String),
}

/** The API, the pages and the guard all say 503, and when to come again. */
const expectUnavailable = async ({ app }: Served): Promise<void> => {
  const page = new RawBrowser(app).get(authorizeUrl({ client_id: 'web', scope: 'openid' }))
  const answers = await Promise.all([clientCredentials(app), keySet(app), guarded(app)])
  expect(
    answers.map(({ status, body, headers }) => ({ status, body, retry: headers['retry-after'] })),
  ).toEqual(answers.map(() => ({ status: 503, body: unavailable, retry: '1' })))
  const answer = await page
  expectErrorPage(answer, 503)
  expect(answer.headers['retry-after']).toBe('1')
}

const expectServed = async ({ app }: Served): Promise<void> => {
  const statuses = [await clientCredentials(app), await keySet(app), await guarded(app)].map(
    ({ status }) => status,
  )
  expect(statuses).toEqual([200, 200, 401])
}

test('during a long migration requests get 503; the migration continues, then they are served', async () => {
  const { knex, tablePrefix, close } = openTestDatabase()
  // Another process has begun.
  const lock = `${tablePrefix}migrations_lock`
  await knex.schema.createTable(lock, (columns) => {
    columns.increments('index').primary()
    columns.integer('is_locked')
  })
  await knex(lock).insert({ index: 1, is_locked: 1 })
  // The timeout of waiting requests, which is the longest.
  hurry(8000)
  const served = serve(knex, tablePrefix)
  let isReady = false
  const ready = served.oauth.ready().then(() => {
    isReady = true
  })
  await expectUnavailable(served)
  expect(isReady).toBe(false)
  await knex(lock).update({ is_locked: 0 })
  // The same attempt for which the requests did not wait.
  await ready
  await seedClients(knex, clients, { database: { tablePrefix }, scopes, logger: quiet })
  await expectServed(served)
  await served.oauth.close()
  await close()
})

test('close() and functions such as users.revokeAll() wait for the start', async () => {
  const { knex, tablePrefix, table, close } = openTestDatabase()
  const { oauth } = serve(knex, tablePrefix)
  const revoked = oauth.users.revokeAll('1')
  await oauth.close()
  // They are created last.
  const keys: unknown[] = await table('signing_keys')
  await revoked
  await close()
  expect(keys.length).toBeGreaterThan(0)
})

const onServer = (kind: Exclude<DatabaseKind, 'SQLite'>): void => {
  const url = kind === 'PostgreSQL' ? services.postgresql : services.mariadb
  const database = openFaultDatabase(kind)
  let proxy: FaultProxy
  let served: Served | undefined
  let own: Knex | undefined

  const config = (): Knex.Config => ({ ...database.config, connection: proxy.url, log: silence })
  beforeAll(async () => {
    proxy = await openFaultProxy(url)
    const { tablePrefix } = database
    await migrate(database.knex, { features: kept, database: { tablePrefix } })
    await seedClients(database.knex, clients, { database: { tablePrefix }, scopes, logger: quiet })
  })
  afterEach(async () => {
    proxy.heal()
    await served?.oauth.close()
    await own?.destroy()
    own = undefined
  })
  afterAll(async () => {
    await proxy.close()
    await database.close()
  })

  /** Repeats until it is served, as Retry-After asks; each failed connection may cost one attempt. */
  const insist = async (given: Served): Promise<void> => {
    for (let attempt = 1; attempt < 20; attempt += 1) {
      const { status } = await clientCredentials(given.app)
      if (status !== 503) break
    }
    await expectServed(given)
  }

  test('that accepts connections and never answers gives 503 at once, and is used when it is back', async () => {
    proxy.blackHole()
    hurry(4000)
    served = serve(config(), database.tablePrefix)
    await expectUnavailable(served)
    await expectUnavailable(served)
    proxy.heal()
    jest.restoreAllMocks()
    await insist(served)
  })

  test('whose connections in the host’s pool are silent is 503, and they are closed', async () => {
    own = createKnex({ ...config(), pool: { min: 0, max: 2 }, acquireConnectionTimeout: 60_000 })
    await own.raw('select 1')
    void proxy.forget()
    hurry(4000)
    served = serve(own, database.tablePrefix)
    await expectUnavailable(served)
    jest.restoreAllMocks()
    await insist(served)
  })
}

describeOnSampledServer('a database at the start', onServer)
