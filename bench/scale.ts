import type { Contestant } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import type { Bench, RunningServer } from './processes.ts'
import { measureRound, offers } from './rates.ts'
import { median } from './statistics.ts'
import { table } from './table.ts'

export interface Scale {
  readonly contestant: string
  readonly operation: string
  /** Microseconds of processor time for one operation, in each round. */
  readonly empty: readonly number[]
  readonly full: readonly number[]
}

const canBeFilled = ({ server, storage }: Contestant): boolean =>
  storage === 'sqlite' && (server === 'latchkey' || server === 'oidc-provider')

/** Starts two equal servers, and adds rows to each table of tokens of the second. */
const pair = async (bench: Bench, contestant: Contestant, rows: number) => {
  const load = await bench.generator()
  const prepared = [await bench.prepare(contestant), await bench.prepare(contestant)]
  const [empty, full] = await Promise.all(prepared.map((server) => server.start()))
  if (!empty || !full) throw new Error('two servers are needed')
  const run = { contestant: contestant.name, operation: 'code flow', concurrency: 1, seconds: 60 }
  for (const { base } of [empty, full]) await load.ask('run', { ...run, base, count: 8 })
  await full.ask('fill', rows)
  const stop = async (): Promise<void> => {
    await Promise.all([load.stop(), empty.stop(), full.stop()])
    await Promise.all(prepared.map((server) => server.remove()))
  }
  return { ask: load.ask, empty, full, stop }
}

/** Compares the processor time of each operation with a million rows in each table of tokens and with few. */
export const scale = async (
  bench: Bench,
  contestants: readonly Contestant[],
  operations: readonly Operation[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<Scale[]> => {
  const found: Scale[] = []
  const [rows, rounds, seconds] = quick ? [100_000, 3, 0.6] : [1_000_000, 7, 1.5]
  for (const contestant of contestants.filter(canBeFilled)) {
    const { ask, empty, full, stop } = await pair(bench, contestant, rows)
    const cost = async (server: RunningServer, operation: Operation): Promise<number> =>
      (await measureRound(server, ask, operation, { seconds, concurrency: 8 })).processor
    for (const operation of operations.filter((one) => offers(contestant, one))) {
      const costs = { empty: [] as number[], full: [] as number[] }
      for (const server of [empty, full]) await cost(server, operation)
      for (let round = 0; round < rounds; round += 1) {
        costs.empty.push(await cost(empty, operation))
        costs.full.push(await cost(full, operation))
      }
      found.push({ contestant: contestant.name, operation: operation.name, ...costs })
    }
    await stop()
  }
  const lines = found.map(({ contestant, operation, empty, full }) => [
    contestant,
    operation,
    median(empty).toFixed(0),
    median(full).toFixed(0),
    (median(full) / median(empty)).toFixed(2),
  ])
  const head = ['µs of processor time', 'operation', 'empty', `${rows.toLocaleString('en')} rows`, 'ratio']
  say(`\n${table(head, lines)}`)
  return found
}
