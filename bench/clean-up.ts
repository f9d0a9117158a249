import type { Contestant } from './contestants.ts'
import type { Bench } from './processes.ts'
import type { CleanedUp } from './server/clean-up.ts'
import { quantile } from './statistics.ts'
import { table } from './table.ts'

export interface CleanUp extends CleanedUp {
  readonly contestant: string
  /** Milliseconds of a refresh before, and meanwhile. */
  readonly before: number
  readonly during: number
}

/** Removal of a million expired rows beside a refresh loop. */
export const cleanUp = async (
  bench: Bench,
  contestants: readonly Contestant[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<CleanUp[]> => {
  const found: CleanUp[] = []
  const [rows, seconds] = quick ? [20_000, 3] : [1_000_000, 20]
  for (const contestant of contestants.filter(
    ({ server, storage }) => server === 'latchkey' && storage === 'sqlite',
  )) {
    const [load, prepared] = [await bench.generator(), await bench.prepare(contestant)]
    const server = await prepared.start()
    const run = { contestant: contestant.name, base: server.base, concurrency: 4 }
    await load.ask('run', { ...run, operation: 'client credentials', seconds: 5, count: 8 })
    await server.ask('expire', rows)
    const p99 = async (): Promise<number> => {
      const { latencies } = await load.ask('run', { ...run, operation: 'refresh', seconds })
      return quantile(latencies, 0.99) / 1000
    }
    await load.ask('run', { ...run, operation: 'refresh', seconds: 2 })
    const before = await p99()
    const cleaned = server.ask('cleanUp')
    const during = await p99()
    found.push({ contestant: contestant.name, before, during, ...(await cleaned) })
    await Promise.all([load.stop(), server.stop()])
    await prepared.remove()
  }
  const lines = found.map((one) => [
    one.contestant,
    one.removed.toLocaleString('en'),
    one.seconds.toFixed(0),
    one.longest.toFixed(1),
    one.before.toFixed(1),
    one.during.toFixed(1),
  ])
  const head = [
    'clean-up',
    'rows',
    'seconds',
    'longest hold-up, ms',
    'p99 of a refresh before, ms',
    'meanwhile, ms',
  ]
  say(`\n${table(head, lines)}`)
  return found
}
