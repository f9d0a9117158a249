import { migrate } from '../../lib/database/migrate.ts'
import { openDatabase } from '../../lib/database/open.ts'
import { createAuthorization } from '../../lib/repositories/authorizations.ts'
import { createLastUse } from '../../lib/repositories/last-use.ts'
import { batchSize } from '../../lib/repositories/pruning/batch.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'

let kept: TestDatabase
beforeAll(async () => {
  kept = openTestDatabase()
  await migrate(kept.knex, { tablePrefix: kept.tablePrefix })
})
afterAll(() => kept.close())
afterEach(() => jest.useRealTimers())

const rows = () => kept.knex(`${kept.tablePrefix}authorizations`)
const stamps = async (): Promise<(number | null)[]> =>
  (await rows().orderBy('id')).map(({ last_used_at: time }) => (time === null ? null : Number(time)))

const details = {
  ...{ clientId: 'web', redirectUri: 'https://client.example.com/cb', responseType: 'code' },
  ...{ responseMode: 'query' as const, scopes: [], prompt: [], authTime: 1, amr: [] },
}

const start = async (count: number) => {
  const { database } = openDatabase(kept.knex, kept.tablePrefix)
  await rows().delete()
  const ids = Array.from({ length: count }, (_, number) => `id-${String(number).padStart(4, '0')}`)
  for (const id of ids) {
    await createAuthorization(database, {
      ...{ id, clientId: 'web', subject: '1', sid: 's', scopes: [], offline: true, details },
      ...{ codeHash: id, codeExpiresAt: 1, expiresAt: 2_000_000_000, now: 1 },
    })
  }
  const aside: Promise<void>[] = []
  let now = 1000
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] })
  const lastUse = createLastUse(database, {
    now: () => now,
    runInBackground: (work) => void aside.push(work),
  })
  const travel = async (seconds: number): Promise<void> => {
    now += seconds
    jest.advanceTimersByTime(seconds * 1000)
    await Promise.all(aside)
  }
  return { ids, lastUse, aside, travel }
}

test('however often something is used, it is stamped once a minute', async () => {
  const { ids, lastUse, aside, travel } = await start(1)
  const [id = ''] = ids
  for (const _ of [1, 2, 3]) {
    lastUse.note(id)
    await travel(19)
  }
  expect(aside).toHaveLength(0)
  await travel(3)
  expect(aside).toHaveLength(1)
  expect(await stamps()).toEqual([1000])
  await travel(600)
  expect(aside).toHaveLength(1)
  lastUse.note(id)
  await travel(60)
  expect(aside).toHaveLength(2)
  expect(await stamps()).toEqual([1660])
})

test('many at once, a batch in each statement, and no others', async () => {
  const { ids, lastUse, aside, travel } = await start(2 * batchSize + 3)
  const used = ids.filter((_, number) => number !== 7)
  for (const id of used) lastUse.note(id)
  await travel(60)
  expect(aside).toHaveLength(1)
  expect(await stamps()).toEqual(ids.map((_, number) => (number === 7 ? null : 1000)))
})

test('what is noted is written when the server closes, and nothing is left to do', async () => {
  const { ids, lastUse, aside, travel } = await start(1)
  lastUse.note(ids[0] ?? '')
  await lastUse.flush()
  expect(await stamps()).toEqual([1000])
  await travel(600)
  expect(aside).toHaveLength(0)
})

test('nothing is written where nothing was used', async () => {
  const { lastUse } = await start(1)
  await lastUse.flush()
  expect(await stamps()).toEqual([null])
})
