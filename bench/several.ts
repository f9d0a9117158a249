import type { Contestant } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import type { Bench } from './processes.ts'
import { offers } from './rates.ts'
import { median, quantile } from './statistics.ts'
import { table } from './table.ts'

export interface Several {
  readonly contestant: string
  readonly operation: string
  readonly processes: number
  /** Operations per second of all processes together; the median of the rounds. */
  readonly rate: number
  /** Milliseconds. */
  readonly p99: number
}

/** Measures one process and four processes on one database, each with its own load generator. */
export const several = async (
  bench: Bench,
  contestants: readonly Contestant[],
  operations: readonly Operation[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<Several[]> => {
  const found: Several[] = []
  const [rounds, seconds] = quick ? [3, 0.6] : [7, 2]
  for (const contestant of contestants.filter(({ server }) => server === 'latchkey')) {
    const prepared = await bench.prepare(contestant)
    const pairs = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => ({
        server: await prepared.start(),
        load: await bench.generator({ firstPerson: index * 8 }),
      })),
    )
    const measure = async (operation: Operation, processes: number) => {
      const run = { contestant: contestant.name, operation: operation.name, concurrency: 8, seconds }
      const one = () =>
        Promise.all(
          pairs.slice(0, processes).map(({ server, load }) => load.ask('run', { ...run, base: server.base })),
        )
      await one()
      const rates: number[] = []
      const latencies: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        const all = await one()
        rates.push(all.reduce((sum, { count, seconds: took }) => sum + count / took, 0))
        latencies.push(...all.flatMap((measured) => measured.latencies))
      }
      const p99 = quantile(latencies, 0.99) / 1000
      found.push({
        contestant: contestant.name,
        operation: operation.name,
        processes,
        rate: median(rates),
        p99,
      })
    }
    for (const operation of operations.filter((one) => offers(contestant, one)))
      for (const processes of [1, 4]) await measure(operation, processes)
    await Promise.all(pairs.flatMap(({ server, load }) => [server.stop(), load.stop()]))
    await prepared.remove()
  }
  const rows = found.map(({ contestant, operation, processes, rate, p99 }) => [
    contestant,
    operation,
    String(processes),
    rate.toFixed(0),
    p99.toFixed(1),
  ])
  say(`\n${table(['', 'operation', 'processes', 'operations per second', 'p99, ms'], rows)}`)
  return found
}
