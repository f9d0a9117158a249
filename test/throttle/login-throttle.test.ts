import { createClient } from 'redis'
import { type Counters, memoryCounters } from '../../lib/limits/counters.ts'
import { countersIn } from '../../lib/limits/database-counters.ts'
import { createLoginThrottle } from '../../lib/limits/login-throttle.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { checkedInBurst } from '../support/login-burst.ts'
import { openPreparedDatabase } from '../support/prepared-database.ts'
import { describeWith, services } from '../support/services.ts'

const now = () => 1_700_000_000

test.each(['memory', 'database'] as const)(
  'in %s: refused attempts of a burst take back their failures, and the account stays locked',
  async (store) => {
    const { knex, tablePrefix } = await openPreparedDatabase('a secret of the tests that is long enough')
    const { database } = openDatabase(knex, tablePrefix)
    const counters = countersIn(store, { database, now })
    const late: (() => void)[] = []
    const delayed: Counters = {
      ...counters,
      decrement: async (given, reset) => {
        if (given.length > 0) await new Promise<void>((resolve) => late.push(resolve))
        await counters.decrement(given, reset)
      },
    }
    const { failures: limits } = resolveOptions({}).limits
    let checked = 0
    const guess = (throttle: ReturnType<typeof createLoginThrottle>) =>
      throttle.attempt({ account: 'ada', address: '198.51.100.1' }, async () => {
        checked += 1
        return undefined
      })
    const bursting = createLoginThrottle(limits, delayed, now)
    let failed = 0
    const burst = Array.from({ length: 15 }, async () => {
      if ((await guess(bursting)).outcome === 'failed') failed += 1
    })
    // The fifth failure has locked the account before the ten others take back what they counted.
    while (failed < 5 || late.length < 10) await new Promise((resolve) => setImmediate(resolve))
    for (const proceed of late) proceed()
    await Promise.all(burst)
    expect(await guess(createLoginThrottle(limits, counters, now))).toEqual({
      outcome: 'refused',
      retryAfter: 900,
    })
    expect(checked).toBe(5)
  },
)

test('in memory: of twenty wrong passwords in flight, five are checked, in each round (M7)', async () => {
  const { failures: limits } = resolveOptions({}).limits
  const one = createLoginThrottle(limits, memoryCounters(now), now)
  const checked: number[] = []
  for (let round = 1; round <= 60; round += 1)
    checked.push(await checkedInBurst([one], `198.51.100.${round}`))
  expect(checked).toEqual(Array(60).fill(5))
})

const limits = resolveOptions({}).limits.failures

/** Guesses of the password of `account`, one after the other. */
const guessTimes = async (
  throttle: ReturnType<typeof createLoginThrottle>,
  { account, address, times }: { account: string; address: string; times: number },
) => {
  for (let time = 0; time < times; time += 1)
    await throttle.attempt({ account, address }, async () => undefined)
}

const expectUnlocking = async (counters: Counters) => {
  const throttle = createLoginThrottle(limits, counters, now)
  for (const address of ['198.51.100.1', '2001:db8::7'])
    await guessTimes(throttle, { account: 'ada_%', address, times: 5 })
  await guessTimes(throttle, { account: 'ada_', address: '198.51.100.1', times: 5 })
  await guessTimes(throttle, { account: 'bob', address: '203.0.113.9', times: 4 })
  const sorted = (await throttle.locks('ada_%')).map(({ network }) => network).sort()
  expect(sorted).toEqual(['198.51.100.1', '2001:db8::/64'])
  expect(await throttle.locks('bob')).toEqual([])
  expect([await throttle.unlock('ada_%'), await throttle.unlock('ada_%')]).toEqual([true, false])
  expect(await throttle.locks('ada_%')).toEqual([])
  const user = { subject: '1' }
  const mine = await throttle.attempt({ account: 'ada_%', address: '198.51.100.1' }, async () => user)
  expect(mine).toEqual({ outcome: 'succeeded', user })
  // Another name, which only begins as this one does, is still locked, and so is the next lock of this one short.
  expect(await throttle.locks('ada_')).toMatchObject([{ network: '198.51.100.1' }])
  await guessTimes(throttle, { account: 'ada_%', address: '2001:db8::7', times: 5 })
  expect(await throttle.locks('ada_%')).toEqual([{ network: '2001:db8::/64', seconds: 900 }])
}

test.each(['memory', 'database'] as const)(
  'in %s: an unlocked name is checked again everywhere, and no other name is unlocked',
  async (store) => {
    const { knex, tablePrefix, table } = await openPreparedDatabase(
      'a secret of the tests that is long enough',
    )
    const { database } = openDatabase(knex, tablePrefix)
    await table('throttles').delete()
    await expectUnlocking(countersIn(store, { database, now }))
  },
)

test('beyond the limit of an address, attempts in flight count only if they are checked', async () => {
  const counters = memoryCounters(now)
  const limit = { max: 1, seconds: 900 }
  const throttle = createLoginThrottle({ ...limits, loginAddress: limit }, counters, now)
  const address = '198.51.100.1'
  const names = Array.from({ length: 20 }, (_, index) => `name-${index}`)
  for (const account of names)
    await throttle.attempt({ account, address }, async () => ({ subject: account }))
  await guessTimes(throttle, { account: 'a stranger', address, times: 1 })
  const checked = jest.fn(async () => undefined)
  await Promise.all(names.map((account) => throttle.attempt({ account, address }, checked)))
  const [count] = await counters.read([{ name: 'loginReturning', limit, key: address }])
  expect([checked.mock.calls.length, count?.failures]).toEqual([10, 10])
})

test('a name that is locked as a whole is unlocked, too (pages 28)', async () => {
  const throttle = createLoginThrottle(
    { ...limits, loginAccount: { max: 3, seconds: 900 } },
    memoryCounters(now),
    now,
  )
  await guessTimes(throttle, { account: 'ada', address: '198.51.100.1', times: 3 })
  expect(await throttle.locks('ada')).toEqual([{ network: undefined, seconds: 900 }])
  expect(await throttle.unlock('ada')).toBe(true)
  expect(await throttle.locks('ada')).toEqual([])
})

describeWith('redis', 'in Redis', () => {
  test('an unlocked name is checked again everywhere, and no other name is unlocked (pages 28)', async () => {
    const { knex, tablePrefix } = await openPreparedDatabase('a secret of the tests that is long enough')
    const { database } = openDatabase(knex, tablePrefix)
    const client = createClient({ url: services.redis, database: 10 })
    await client.connect()
    for (const key of await client.keys(`latchkey:${tablePrefix}login*`)) await client.del(key)
    try {
      await expectUnlocking(countersIn(client, { database, now }))
    } finally {
      client.destroy()
    }
  })

  test('of twenty wrong passwords in flight in two processes, five are checked, in each round (M7)', async () => {
    const { knex, tablePrefix } = await openPreparedDatabase('a secret of the tests that is long enough')
    const { database } = openDatabase(knex, tablePrefix)
    const { failures: limits } = resolveOptions({}).limits
    const client = createClient({ url: services.redis, database: 10 })
    await client.connect()
    for (const key of await client.keys(`latchkey:${tablePrefix}login*`)) await client.del(key)
    const processes = [1, 2].map(() =>
      createLoginThrottle(limits, countersIn(client, { database, now }), now),
    )
    const checked: number[] = []
    for (let round = 1; round <= 60; round += 1)
      checked.push(await checkedInBurst(processes, `198.51.100.${round}`))
    client.destroy()
    expect(checked).toEqual(Array(60).fill(5))
  })
})
