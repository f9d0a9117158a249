import { device } from '../../lib/features/index.ts'
import { codesFor, connect, deviceClients, openCode, poll } from '../support/device.ts'
import {
  type DatabaseKind,
  describeOnSampled,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import { clients, createUsers, type Host, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { ada, bob, guarded } from '../support/tokens.ts'

const crowd = 16

describeOnSampled('the code of a device', (kind: DatabaseKind) => {
  let database: FaultDatabase
  let host: Host
  beforeAll(async () => {
    database = openFaultDatabase(kind)
    await createUsers(database, `${database.tablePrefix}people`)
    const options = {
      features: [device()],
      database: { tablePrefix: database.tablePrefix },
    }
    host = await startHost({ database, clients: [...clients, ...deviceClients], options })
  })
  afterAll(() => host.close())

  const browser = () => new RawBrowser(host.app)
  const tally = (values: readonly string[]): Record<string, number> => {
    const counts: Record<string, number> = {}
    for (const value of values) counts[value] = (counts[value] ?? 0) + 1
    return counts
  }
  const pollAtOnce = async (codes: Parameters<typeof poll>[1]) => {
    const answers = await Promise.all(Array.from({ length: crowd }, () => poll(host, codes)))
    return { answers, counts: tally(answers.map(({ body }) => body.error ?? 'tokens')) }
  }

  test('polled at once while it waits: one poll counts, and every other adds five seconds', async () => {
    const codes = await codesFor(host)
    expect((await pollAtOnce(codes)).counts).toEqual({ authorization_pending: 1, slow_down: crowd - 1 })
    const [row] = await database
      .table('device_codes')
      .whereNull('decision')
      .orderBy('created_at', 'desc')
      .limit(1)
    expect(row.poll_interval).toBe(5 * crowd)
  })

  test('redeemed at once by several devices: one gets tokens, and they are revoked', async () => {
    const codes = await codesFor(host)
    await connect(browser(), codes.user_code)
    const { answers, counts } = await pollAtOnce(codes)
    expect(counts).toEqual({ tokens: 1, invalid_grant: crowd - 1 })
    const tokens = answers.find(({ status }) => status === 200)
    expect((await guarded(host, tokens?.body.access_token)).status).toBe(401)
  })

  /** Opens the code in two browsers, up to the consent page, and presses these buttons at once. */
  const decideAtOnce = async (first: 'allow' | 'deny', second: 'allow' | 'deny') => {
    const codes = await codesFor(host)
    const [one, two] = [browser(), browser()]
    const [onPage, twoPage] = [
      await one.decide(await openCode(one, codes.user_code, ada), 'allow'),
      await two.decide(await openCode(two, codes.user_code, bob), 'allow'),
    ]
    const answers = await Promise.all([one.decide(onPage, first), two.decide(twoPage, second)])
    const said = answers.map(({ html }) =>
      html.includes('is connected') ? 'connected' : html.includes('is not connected') ? 'denied' : 'finished',
    )
    const { body } = await poll(host, codes)
    return { said, polled: body.error ?? 'tokens' }
  }

  test('allowed twice at once: one browser connects it, and one authorization is stored', async () => {
    for (let round = 0; round < 3; round += 1) {
      const before = await database.table('authorizations').select('id')
      const { said, polled } = await decideAtOnce('allow', 'allow')
      expect({ said: said.sort(), polled }).toEqual({ said: ['connected', 'finished'], polled: 'tokens' })
      expect(await database.table('authorizations').select('id')).toHaveLength(before.length + 1)
    }
  })

  test('allowed and denied at once: one of both happens', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { said, polled } = await decideAtOnce('allow', 'deny')
      expect([
        { said: ['connected', 'finished'], polled: 'tokens' },
        { said: ['finished', 'denied'], polled: 'access_denied' },
      ]).toContainEqual({ said, polled })
    }
  })
})
