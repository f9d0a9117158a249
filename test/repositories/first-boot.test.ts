import supertest from 'supertest'
import { type ClientSeed, seedClients, seedUsers } from '../../lib/index.ts'
import { migrationsOf } from '../../lib/storage/schema.ts'
import { type DatabaseKind, describeOnSampled, openFaultDatabase } from '../support/fault-databases.ts'
import { forkServers } from '../support/fault-servers.ts'
import { authorizeUrl, callback, secret } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { testsAll } from '../support/sample.ts'
import { ada } from '../support/tokens.ts'

let processes: Awaited<ReturnType<typeof forkServers>>
beforeAll(async () => {
  processes = await forkServers(testsAll ? 4 : 2)
})
afterAll(() => processes.close())

const pairwise: ClientSeed = {
  client_id: 'web',
  client_secret: secret,
  redirect_uris: [callback],
  scope: 'openid',
  subject_type: 'pairwise',
  first_party: true,
}

/** Processes start at the same moment on an empty database. */
const bootTogether = async (kind: DatabaseKind): Promise<void> => {
  const database = openFaultDatabase(kind)
  const { knex, config, tablePrefix, table } = database
  try {
    // Fails unless each process gets ready.
    const origins = await processes.start({
      database: { knex: config, tablePrefix },
      lifetimes: { refreshGracePeriod: 10 },
      secrets: ['a secret of the tests that is long enough'],
    })

    expect(await table('migrations').orderBy('id').pluck('name')).toEqual([...migrationsOf([]).keys()])
    expect(await table('migrations_lock').pluck('is_locked')).toEqual([0])

    const keySets = await Promise.all(origins.map((origin) => supertest(origin).get('/oauth/jwks')))
    const algorithms: string[] = keySets[0]?.body.keys.map(({ alg }: { alg: string }) => alg)
    expect(algorithms).toEqual(expect.arrayContaining(['ES256', 'RS256']))
    expect(new Set(algorithms).size).toBe(algorithms.length)
    for (const { body } of keySets) expect(body).toEqual(keySets[0]?.body)
    expect(await table('signing_keys')).toHaveLength(algorithms.length)
    expect(await table('salts')).toHaveLength(1)

    // All processes have the same keys in memory: one signs in, and each accepts the token.
    await seedClients(knex, [pairwise], { database: { tablePrefix } })
    await seedUsers(knex, [{ username: ada.email, password: ada.password }], { database: { tablePrefix } })
    const [first = '', second = ''] = origins
    const answer = await new RawBrowser(first).grant(authorizeUrl({ client_id: 'web', scope: 'openid' }))
    const redemption = {
      client_id: 'web',
      client_secret: secret,
      redirect_uri: callback,
      code: codeOf(answer),
    }
    const { body: tokens } = await supertest(second)
      .post('/oauth/token')
      .type('form')
      .send({ grant_type: 'authorization_code', ...redemption })
      .expect(200)
    const subjects = await Promise.all(
      origins.map(async (origin) => {
        const { body } = await supertest(origin)
          .get('/oauth/userinfo')
          .set('Authorization', `Bearer ${tokens.access_token}`)
        return body.sub
      }),
    )
    expect(subjects).toEqual(origins.map(() => claimsOf(tokens.id_token).sub))
    expect(subjects).not.toContain(undefined)
  } finally {
    await database.close()
  }
}

describeOnSampled('processes that start at the same moment on an empty database', (kind) => {
  test.each(testsAll ? ['once', 'and once more'] : ['once'])(
    'get one schema, one set of keys and one salt, %s',
    () => bootTogether(kind),
  )
})
