// A Galera cluster of two nodes that both take writes, with Latchkey on each: what is used once is used once in all.
import knex, { type Knex } from 'knex'
import { type FaultDatabase, openFaultDatabase, silence } from '../support/fault-databases.ts'
import {
  familyOf,
  isActive,
  postToken,
  prepareDatabase,
  redemption,
  refreshing,
  type SignedIn,
  sharedOptions,
  signIn,
  userinfoStatus,
} from '../support/fault-family.ts'
import { type Answer, successesOf, tally } from '../support/fault-load.ts'
import { describeUnless, until } from '../support/fault-programs.ts'
import { type FaultServer, startServer } from '../support/fault-servers.ts'
import { type Cluster, missingGalera, openCluster } from './galera.ts'

const refreshGracePeriod = 3600
const rounds = 5

describeUnless(missingGalera(), 'a Galera cluster that is written to at both ends', () => {
  let cluster: Cluster | undefined
  let database: FaultDatabase | undefined
  /** Beside Latchkey's own connections to the second node. */
  let second: Knex
  const kits: FaultServer[] = []
  let origins: string[]
  let ada: SignedIn

  const own = (config: Knex.Config): Knex.Config => ({ ...config, log: silence })

  const openDatabase = async () => {
    cluster = await openCluster()
    await cluster.start()
    const [here, there] = cluster.nodes.map(({ url }) => url)
    database = openFaultDatabase('MariaDB', { url: here, own })
    second = knex(own({ ...database.config, connection: there }))
    await prepareDatabase(database)
    return sharedOptions(database, { lifetimes: { refreshGracePeriod } })
  }
  beforeAll(async () => {
    const first = openDatabase()
    const other = first.then((options) => ({
      ...options,
      database: { ...options.database, knex: { ...database!.config, connection: cluster!.nodes[1]!.url } },
    }))
    const starting = await Promise.allSettled([startServer(first), startServer(other)])
    for (const start of starting) if (start.status === 'fulfilled') kits.push(start.value)
    for (const start of starting) if (start.status === 'rejected') throw start.reason
    origins = kits.map(({ origin }) => origin)
    ada = await signIn(origins[0]!)
  })
  afterAll(async () => {
    for (const kit of kits) await kit.kill()
    await database?.knex.destroy()
    await second?.destroy()
    await cluster?.close()
  })

  /** One that lost too often to be served, or had to wait too long, comes again. */
  const served = async (origin: string, form: Parameters<typeof postToken>[1]): Promise<Answer> => {
    let answer: Answer | undefined
    await until('an answer that is not 503', async () => {
      answer = await postToken(origin, form)
      return answer.status !== 503
    })
    return answer!
  }
  /** The same at both nodes at the same moment. */
  const atBoth = (form: Parameters<typeof postToken>[1]): Promise<Answer[]> =>
    Promise.all(origins.map((origin) => served(origin, form)))

  /** A connection to the second node that does not wait until the node has caught up. */
  const impatient = async (): Promise<Knex> => {
    const connection = knex(
      own({ ...database!.config, connection: cluster!.nodes[1]!.url, pool: { min: 1, max: 1 } }),
    )
    await connection.raw('SET SESSION wsrep_sync_wait = 0')
    return connection
  }

  /** Conflicts that Galera has found, by certification or by work of another node that came first. */
  const conflicts = async (): Promise<number> => {
    let sum = 0
    for (const node of [database!.knex, second]) {
      const [rows] = await node.raw(
        "SHOW STATUS WHERE Variable_name IN ('wsrep_local_cert_failures', 'wsrep_local_bf_aborts')",
      )
      for (const { Value } of rows) sum += Number(Value)
    }
    return sum
  }

  /** Runs rounds until the nodes have met in one; on a busy machine that takes more of them. */
  const untilMet = async (run: () => Promise<void>): Promise<number> => {
    const before = await conflicts()
    let count = 0
    for (; count < rounds || (count < 20 * rounds && (await conflicts()) === before); count += 1) await run()
    expect(await conflicts()).toBeGreaterThan(before)
    return count
  }

  test('a code that is redeemed at both works once, and its tokens are revoked at both', async () => {
    await untilMet(async () => {
      const code = await ada.code()
      const answers = await atBoth(redemption(code))
      expect(tally(answers)).toEqual({ '200 ok': 1, '400 invalid_grant': 1 })
      const [tokens] = successesOf(answers)
      const statuses = origins.map((origin) => userinfoStatus(origin, tokens?.access_token))
      expect(await Promise.all(statuses)).toEqual([401, 401])
      expect(await familyOf(database!, code)).toEqual({
        consumed: true,
        revoked: true,
        accessTokens: 1,
        refreshTokens: { used: 0, unused: 1 },
      })
    })
  })

  test('a refresh token that is used at both has one successor', async () => {
    const code = await ada.code()
    let token = (await served(origins[0]!, redemption(code))).body.refresh_token
    const used = await untilMet(async () => {
      const answers = await atBoth(refreshing(token))
      expect(tally(answers)).toEqual({ '200 ok': 2 })
      const [one, other] = successesOf(answers)
      expect(one?.refresh_token).toBe(other?.refresh_token)
      expect(one?.refresh_token).not.toBe(token)
      token = one?.refresh_token
    })
    expect(await familyOf(database!, code)).toMatchObject({
      revoked: false,
      refreshTokens: { used, unused: 1 },
    })
  })

  test('a token of one node is valid at the other', async () => {
    const [here, there] = origins as [string, string]
    for (let round = 0; round < rounds / 2; round += 1) {
      const redeemed = await served(there, redemption(await ada.code()))
      expect(redeemed.status).toBe(200)
      expect(await userinfoStatus(here, redeemed.body.access_token)).toBe(200)
      const refreshed = await served(here, refreshing(redeemed.body.refresh_token))
      expect(refreshed.status).toBe(200)
      expect(await isActive(there, refreshed.body.refresh_token)).toBe(true)
    }
  })

  test('a node that lags behind waits until it knows a code', async () => {
    // The lock goes with its connection at the latest.
    const lock = await impatient()
    try {
      // From here on the second node receives what the first has written, and does not apply it.
      await lock.raw('FLUSH TABLES WITH READ LOCK')
      const code = await ada.code()
      let isAnswered = false
      const redeemed = served(origins[1]!, redemption(code)).finally(() => {
        isAnswered = true
      })
      await until('the redemption waits, or has been refused', async () => {
        const [waiting] = await lock.raw(
          "SELECT 1 FROM information_schema.processlist WHERE command <> 'Sleep' AND info LIKE 'select `%'",
        )
        return isAnswered || waiting.length > 0
      })
      await lock.raw('UNLOCK TABLES')
      expect(await redeemed).toMatchObject({ status: 200 })
    } finally {
      await lock.destroy()
    }
  })

  test('a node that has lost the others answers 503, and no client loses its token', async () => {
    const [here, there] = origins as [string, string]
    const { body } = await served(here, redemption(await ada.code()))
    const survivor = await impatient()
    try {
      await cluster!.nodes[0]!.kill()
      await until('the second node knows that it is alone', async () => {
        const [[status]] = await survivor.raw("SHOW STATUS LIKE 'wsrep_cluster_status'")
        return status.Value === 'non-Primary'
      })
      expect(await userinfoStatus(there, body.access_token)).toBe(503)
      for (const origin of origins) {
        const refused = await postToken(origin, refreshing(body.refresh_token))
        expect([refused.status, refused.body.error]).toEqual([503, 'temporarily_unavailable'])
      }
      // What an operator says when the other will not come back.
      await survivor.raw("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=true'")
      await until('the second node serves', async () => {
        const { status } = await postToken(there, refreshing(body.refresh_token))
        expect([200, 503]).toContain(status)
        return status === 200
      })
    } finally {
      await survivor.destroy()
    }
    expect(kits.map((kit) => kit.isAlive())).toEqual([true, true])
  })
})
