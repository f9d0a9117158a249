import type { Contestant } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import { type Bench, openBench } from './processes.ts'
import { measureOperation, offers, type Rate, type RateSettings } from './rates.ts'
import { median, quantile } from './statistics.ts'
import { table } from './table.ts'

export interface Compared {
  readonly contestant: string
  readonly operation: string
  readonly own: Rate
  readonly other: Rate
}

/** The quotients of the rounds: median and quartiles. */
const shown = (own: readonly number[], other: readonly number[]): string => {
  const quotients = own.map((value, round) => value / (other[round] ?? Number.NaN))
  const [low, high] = [quantile(quotients, 0.25), quantile(quotients, 0.75)]
  return `${median(quotients).toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`
}

const rowOf = ({ contestant, operation, own, other }: Compared): string[] => [
  `${contestant}: ${operation}`,
  shown(own.rates, other.rates),
  shown(own.processors, other.processors),
  `${own.processor.toFixed(0)} / ${other.processor.toFixed(0)}`,
  `${own.requests.toFixed(1)} / ${other.requests.toFixed(1)}`,
]

/**
 * Compares this checkout of Latchkey with another one, in alternating rounds. Each checkout runs its own `bench/server`;
 * the load generator is this checkout's.
 *
 * @param checkout the folder of the other checkout, with installed packages
 */
export const compare = async (
  bench: Bench,
  checkout: string,
  contestants: readonly Contestant[],
  operations: readonly Operation[],
  settings: RateSettings,
  say: (text: string) => void,
): Promise<Compared[]> => {
  const benches = [bench, openBench(checkout)]
  const found: Compared[] = []
  for (const contestant of contestants.filter(({ server }) => server === 'latchkey')) {
    const load = await bench.generator()
    const prepared = await Promise.all(benches.map((of) => of.prepare(contestant)))
    const running = await Promise.all(prepared.map((server) => server.start()))
    try {
      for (const operation of operations.filter((one) => offers(contestant, one))) {
        say(`measuring ${operation.name}`)
        const [own, other] = await measureOperation(running, load.ask, operation, settings)
        if (own && other) found.push({ contestant: contestant.name, operation: operation.name, own, other })
      }
    } finally {
      await Promise.all([load.stop(), ...running.map((server) => server.stop())])
      await Promise.all(prepared.map((server) => server.remove()))
    }
  }
  const head = [
    `this checkout ÷ ${checkout}`,
    'rate',
    'processor time',
    'µs of processor time, this / other',
    'HTTP requests, this / other',
  ]
  say(`\n${table(head, found.map(rowOf))}`)
  return found
}
