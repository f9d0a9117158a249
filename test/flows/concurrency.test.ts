import supertest from 'supertest'
import { seedUsers } from '../../lib/index.ts'
import { forkServers } from '../support/fault-servers.ts'
import { callback, type Host, startHost } from '../support/host.ts'
import { openSharedDatabase, type SharedDatabase } from '../support/shared-database.ts'
import { ada, codeFor, type TokenAnswer, tokensFor, web } from '../support/tokens.ts'

const secret = 'a secret of the tests that is long enough'

// Four processes take long to load on a busy machine.
jest.setTimeout(60_000)

let processes: Awaited<ReturnType<typeof forkServers>>
beforeAll(async () => {
  processes = await forkServers(4)
})
afterAll(() => processes.close())

/** Sends the same form fifty times at once, each on a connection of its own, spread over the servers. */
const fiftyTimes = (
  origins: readonly string[],
  fields: Record<string, string>,
): Promise<supertest.Response[]> =>
  Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      supertest(origins[index % origins.length]!)
        .post('/oauth/token')
        .type('form')
        .send({ ...fields, ...web }),
    ),
  )

/** Answers by what they say, with how often. */
const tally = (answers: readonly supertest.Response[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const key = `${status} ${body.error ?? 'tokens'}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

const successes = (answers: readonly supertest.Response[]): TokenAnswer[] =>
  answers.filter(({ status }) => status === 200).map(({ body }) => body)

describe.each([
  ['with the replay window', 10],
  ['without a replay window', 0],
])('four processes on one database, %s', (_, refreshTokenGracePeriod) => {
  let database: SharedDatabase
  let host: Host
  let origins: string[]

  beforeAll(async () => {
    database = openSharedDatabase()
    const { config, tablePrefix } = database
    origins = await processes.start({
      database: config,
      tablePrefix,
      secrets: [secret],
      refreshTokenGracePeriod,
    })
    // The user signs in here, in a fifth process, with an account of the kit, which all processes can read.
    host = await startHost({
      database,
      options: { users: undefined, secrets: [secret], refreshTokenGracePeriod },
    })
    await seedUsers(database.knex, [{ username: ada.email, password: ada.password }], { tablePrefix })
  })
  afterAll(() => host.close())

  const fifty = (fields: Record<string, string>) => fiftyTimes(origins, fields)
  const redeemFifty = (code: string) =>
    fifty({ grant_type: 'authorization_code', code, redirect_uri: callback })
  const refreshFifty = (refresh_token: string) => fifty({ grant_type: 'refresh_token', refresh_token })

  /** What each server says of an access token. */
  const userinfoStatuses = (token: string): Promise<number[]> =>
    Promise.all(
      origins.map(async (origin) => {
        const res = await supertest(origin).get('/oauth/userinfo').set('Authorization', `Bearer ${token}`)
        return res.status
      }),
    )

  test('processes started together on an empty database create one schema and one set of keys', async () => {
    const { knex, tablePrefix } = database
    const migrations = await knex(`${tablePrefix}migrations`).pluck('name')
    expect(migrations.length).toBeGreaterThan(0)
    expect(new Set(migrations).size).toBe(migrations.length)
    expect(await knex(`${tablePrefix}migrations_lock`).pluck('is_locked')).toEqual([0])
    const keySets = await Promise.all(origins.map((origin) => supertest(origin).get('/oauth/jwks')))
    const algorithms = keySets[0]?.body.keys.map(({ alg }: { alg: string }) => alg)
    expect(algorithms).toEqual(expect.arrayContaining(['ES256', 'RS256']))
    expect(new Set(algorithms).size).toBe(algorithms.length)
    for (const { body } of keySets) expect(body).toEqual(keySets[0]?.body)
    expect(await knex(`${tablePrefix}signing_keys`)).toHaveLength(algorithms.length)
  })

  test('fifty redemptions of one code at once: one succeeds, stores one pair of tokens, and they are revoked', async () => {
    const { knex, tablePrefix } = database
    const count = async (table: string) => (await knex(`${tablePrefix}${table}`).select('hash')).length
    const counts = async () => [await count('access_tokens'), await count('refresh_tokens')]
    const before = await counts()
    const answers = await redeemFifty(await codeFor(host))
    expect(await counts()).toEqual(before.map((number) => number + 1))
    expect(tally(answers)).toEqual({ '200 tokens': 1, '400 invalid_grant': 49 })
    const [tokens] = successes(answers)
    expect(await userinfoStatuses(tokens!.access_token)).toEqual([401, 401, 401, 401])
    expect(tally(await refreshFifty(tokens!.refresh_token))).toEqual({ '400 invalid_grant': 50 })
  })

  if (refreshTokenGracePeriod > 0) {
    test('fifty refreshes of one token at once: all get the same successor, which is valid', async () => {
      const { refresh_token } = await tokensFor(host)
      const answers = await refreshFifty(refresh_token)
      expect(tally(answers)).toEqual({ '200 tokens': 50 })
      const successors = new Set(successes(answers).map((tokens) => tokens.refresh_token))
      expect(successors.size).toBe(1)
      expect(successors).not.toContain(refresh_token)
      expect(new Set(successes(answers).map((tokens) => tokens.access_token)).size).toBe(50)
      const [successor] = successors
      const next = await refreshFifty(successor!)
      expect(tally(next)).toEqual({ '200 tokens': 50 })
      expect(await userinfoStatuses(successes(next)[0]!.access_token)).toEqual([200, 200, 200, 200])
    })
  } else {
    test('fifty refreshes of one token at once: one succeeds, and its tokens are revoked', async () => {
      const { refresh_token } = await tokensFor(host)
      const answers = await refreshFifty(refresh_token)
      expect(tally(answers)).toEqual({ '200 tokens': 1, '400 invalid_grant': 49 })
      const [tokens] = successes(answers)
      expect(await userinfoStatuses(tokens!.access_token)).toEqual([401, 401, 401, 401])
      expect(tally(await refreshFifty(tokens!.refresh_token))).toEqual({ '400 invalid_grant': 50 })
    })
  }
})
