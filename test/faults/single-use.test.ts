// 48 requests at the same moment, each on a connection of its own, spread over two processes. 200 requests and four processes
// found nothing more.
import { createChance } from '../support/fault-chance.ts'
import { describeOnSampled, type FaultDatabase, openFaultDatabase } from '../support/fault-databases.ts'
import {
  familyOf,
  isActive,
  other,
  postToken,
  redemption,
  refreshing,
  type SignedIn,
  sharedOptions,
  signIn,
  startSharedHost,
  userinfoStatus,
} from '../support/fault-family.ts'
import { postAtOnce, successesOf, tally } from '../support/fault-load.ts'
import { forkServers } from '../support/fault-servers.ts'
import { type Host, pkce } from '../support/host.ts'

const crowd = 48
/** A user has at most 100 authorizations for a client, those of other tests included. */
const ofOneUser = Math.min(crowd, 60)
const processes = 2
const chance = createChance()

let servers: Awaited<ReturnType<typeof forkServers>>
beforeAll(async () => {
  servers = await forkServers(processes)
})
afterAll(() => servers.close())

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** Filled in before the tests run. */
interface Place {
  database: FaultDatabase
  origins: string[]
  ada: SignedIn
}

const atOnce = ({ origins }: Place, forms: Parameters<typeof postAtOnce>[2]) =>
  postAtOnce(origins, '/oauth/token', forms)

/** The distinct statuses of UserInfo with an access token at every process. */
const userinfos = async ({ origins }: Place, token: unknown): Promise<number[]> => [
  ...new Set(await Promise.all(origins.map((origin) => userinfoStatus(origin, token)))),
]

const first = ({ origins: [origin = ''] }: Place): string => origin

describeOnSampled(`${crowd} requests at once`, (kind) => {
  const place = {} as Place
  let host: Host
  const begin = async (refreshGracePeriod: number): Promise<void> => {
    place.origins = await servers.start(sharedOptions(place.database, { lifetimes: { refreshGracePeriod } }))
  }
  beforeAll(async () => {
    place.database = openFaultDatabase(kind)
    host = await startSharedHost(place.database)
    place.ada = await signIn(host.app)
  })
  afterAll(() => host.close())

  describe('with the replay window', () => {
    beforeAll(() => begin(3600))

    test('that redeem one code rightly: one success, one child, and a dead family', async () => {
      const code = await place.ada.code()
      const answers = await atOnce(place, Array(crowd).fill(redemption(code)))
      expect(tally(answers)).toEqual({ '200 ok': 1, '400 invalid_grant': crowd - 1 })
      const [tokens] = successesOf(answers)
      expect(await userinfos(place, tokens?.access_token)).toEqual([401])
      expect(await isActive(first(place), tokens?.refresh_token)).toBe(false)
      expect(await familyOf(place.database, code)).toEqual({
        consumed: true,
        revoked: true,
        accessTokens: 1,
        refreshTokens: { used: 0, unused: 1 },
      })
    })

    test('redeem one code, all but one of them wrongly: one success, and a living family', async () => {
      const { verifier, challenge } = pkce()
      const code = await place.ada.code({ code_challenge: challenge, code_challenge_method: 'S256' })
      const right = redemption(code, { code_verifier: verifier })
      const wrong = [
        redemption(code, { code_verifier: pkce().verifier }),
        redemption(code),
        { ...right, redirect_uri: 'https://client.example.com/elsewhere' },
        { ...right, ...other },
      ]
      const invalid = times(crowd - 1, (index) => wrong[index % wrong.length]!)
      const answers = await atOnce(place, chance.shuffled([right, ...invalid]))
      expect(tally(answers)).toEqual({ '200 ok': 1, '400 invalid_grant': crowd - 1 })
      const [tokens] = successesOf(answers)
      expect(await userinfos(place, tokens?.access_token)).toEqual([200])
      // Nor does it die of them when they come late.
      expect(tally(await atOnce(place, invalid))).toEqual({ '400 invalid_grant': crowd - 1 })
      const { status } = await postToken(first(place), refreshing(tokens?.refresh_token))
      expect(status).toBe(200)
    })

    test('that refresh one token: every answer holds the one successor', async () => {
      const code = await place.ada.code()
      const { body: tokens } = await postToken(first(place), redemption(code))
      const answers = await atOnce(place, Array(crowd).fill(refreshing(tokens.refresh_token)))
      expect(tally(answers)).toEqual({ '200 ok': crowd })
      const successors = new Set(successesOf(answers).map(({ refresh_token }) => refresh_token))
      expect([...successors]).toEqual([expect.stringMatching(/^lk_rt_[\w-]{43}$/)])
      expect(successors).not.toContain(tokens.refresh_token)
      expect(await familyOf(place.database, code)).toMatchObject({
        revoked: false,
        refreshTokens: { used: 1, unused: 1 },
      })
      const [successor] = successors
      expect((await postToken(first(place), refreshing(successor))).status).toBe(200)
    })

    test('refresh one token, only one with the right client: it works once, and the family lives', async () => {
      const code = await place.ada.code()
      const { body: tokens } = await postToken(first(place), redemption(code))
      const right = refreshing(tokens.refresh_token)
      const invalid = times(crowd - 1, () => refreshing(tokens.refresh_token, other))
      const answers = await atOnce(place, chance.shuffled([right, ...invalid]))
      expect(tally(answers)).toEqual({ '200 ok': 1, '400 invalid_grant': crowd - 1 })
      const [next] = successesOf(answers)
      expect(await userinfos(place, next?.access_token)).toEqual([200])
      expect((await postToken(first(place), refreshing(next?.refresh_token))).status).toBe(200)
    })

    test('that redeem many codes of one user all succeed, and so do their refreshes', async () => {
      const codes: string[] = []
      for (let more = 0; more < ofOneUser; more += 1) codes.push(await place.ada.code())
      const answers = await atOnce(
        place,
        codes.map((code) => redemption(code)),
      )
      expect(tally(answers)).toEqual({ '200 ok': ofOneUser })
      const tokens = successesOf(answers)
      expect(new Set(tokens.map(({ access_token }) => access_token)).size).toBe(ofOneUser)
      const refreshed = await atOnce(
        place,
        tokens.map(({ refresh_token }) => refreshing(refresh_token)),
      )
      expect(tally(refreshed)).toEqual({ '200 ok': ofOneUser })
      const families = await Promise.all(codes.map((code) => familyOf(place.database, code)))
      expect(families).toEqual(
        times(ofOneUser, () => ({
          consumed: true,
          revoked: false,
          accessTokens: 2,
          refreshTokens: { used: 1, unused: 1 },
        })),
      )
    })
  })

  describe('without a replay window', () => {
    beforeAll(() => begin(0))

    test('that refresh one token: one success, one successor, and a dead family', async () => {
      const code = await place.ada.code()
      const { body: tokens } = await postToken(first(place), redemption(code))
      const answers = await atOnce(place, Array(crowd).fill(refreshing(tokens.refresh_token)))
      expect(tally(answers)).toEqual({ '200 ok': 1, '400 invalid_grant': crowd - 1 })
      const [next] = successesOf(answers)
      expect(await userinfos(place, next?.access_token)).toEqual([401])
      expect(await isActive(first(place), next?.refresh_token)).toBe(false)
      expect(await familyOf(place.database, code)).toMatchObject({
        revoked: true,
        refreshTokens: { used: 1, unused: 1 },
      })
    })
  })
})
