import type { Contestant } from './contestants.ts'
import type { Bench } from './processes.ts'
import type { Pruned } from './server/prune.ts'
import { quantile } from './statistics.ts'
import { table } from './table.ts'

export interface PruneResult extends Pruned {
  readonly contestant: string
  /** p99 of a refresh in milliseconds, before and during the removal. */
  readonly before: number
  readonly during: number
}

/** Measures a refresh loop while a million expired rows are removed. */
export const prune = async (
  bench: Bench,
  contestants: readonly Contestant[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<PruneResult[]> => {
  const found: PruneResult[] = []
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
    const pruned = server.ask('prune')
    const during = await p99()
    found.push({ contestant: contestant.name, before, during, ...(await pruned) })
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
    'prune',
    'rows',
    'seconds',
    'longest event loop delay, ms',
    'p99 of a refresh before, ms',
    'during it, ms',
  ]
  say(`\n${table(head, lines)}`)
  return found
}
