import { openDatabase } from '../../lib/database/open.ts'
import { featureOptions } from '../../lib/features/index.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { type Counters, countersIn } from '../../lib/throttle/counters.ts'
import { createLoginThrottle } from '../../lib/throttle/login-throttle.ts'
import { openPreparedDatabase } from '../support/prepared-database.ts'

const now = () => 1_700_000_000

test.each(['memory', 'database'] as const)(
  'in %s: the refused attempts of a burst take back their failures, and the account stays locked',
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
    const { failures: limits } = resolveOptions({}, featureOptions).limits
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
