// Tests whether response times reveal which users exist: an unknown user compared with a wrong password.
// Run: npx tsx bench/timing.ts [--samples N] [--cost N] [--json FILE]
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { contestants } from './contestants.ts'
import { openBench } from './processes.ts'
import { median, medianDifference, quantile, rankTest } from './statistics.ts'
import { table } from './table.ts'
import { type Attempts, closeConnection, loginAttempts } from './timing/attempts.ts'

const { values: flags } = parseArgs({
  options: {
    samples: { type: 'string', default: '1000' },
    cost: { type: 'string', default: '8' },
    json: { type: 'string' },
  },
})

const shuffled = <T>(values: readonly T[]): T[] =>
  values
    .map((value) => ({ value, order: Math.random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ value }) => value)

/** Makes one attempt of each kind per round, in random order, so that other load affects all kinds. */
const collect = async (attempts: Attempts, rounds: number): Promise<Map<string, number[]>> => {
  const samples = new Map<string, number[]>(Object.keys(attempts).map((kind) => [kind, []]))
  const warmUp = Math.ceil(rounds / 10)
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [kind, attempt] of shuffled(Object.entries(attempts))) {
      const microseconds = await attempt()
      if (round >= 0) samples.get(kind)?.push(microseconds)
    }
  }
  return samples
}

const quantiles = [0.1, 0.25, 0.5, 0.75, 0.9]

/** A kind compared with the first. */
interface Comparison {
  readonly kind: string
  readonly median: number
  /** Differences of quantiles, in microseconds. */
  readonly differences: readonly number[]
  /** The 95 % confidence interval of the difference of medians. */
  readonly interval: readonly [number, number]
  /** Mann–Whitney U, two-sided. */
  readonly p: number
  readonly superiority: number
}

const compared = (kind: string, first: readonly number[], second: readonly number[]): Comparison => ({
  kind,
  median: median(second),
  differences: quantiles.map((share) => quantile(second, share) - quantile(first, share)),
  interval: medianDifference(first, second),
  ...rankTest(first, second),
})

// One false alarm in a hundred runs, with a Bonferroni correction for the number of kinds.
const level = 0.01

const verdictOf = ({ kind, p, interval: [low, high] }: Comparison, tests: number): string =>
  p < level / tests
    ? `DISTINGUISHABLE: ${kind} (p = ${p.toExponential(1)}; the medians differ by ${low.toFixed(0)} to ${high.toFixed(0)} µs)`
    : `not distinguishable: ${kind} (p = ${p.toFixed(2)}; the medians differ by ${low.toFixed(0)} to ${high.toFixed(0)} µs, at 95 % confidence)`

const examine = async (title: string, attempts: Attempts, rounds: number): Promise<Comparison[]> => {
  const samples = await collect(attempts, rounds)
  const [[reference, first] = ['', []], ...others] = [...samples]
  const comparisons = others.map(([kind, second]) => compared(kind, first, second))
  const rows = comparisons.map(({ kind, median: middle, differences, interval, p, superiority }) => [
    kind,
    middle.toFixed(0),
    ...differences.map((difference) => difference.toFixed(0)),
    interval.map((end) => end.toFixed(0)).join(' … '),
    superiority.toFixed(3),
    p.toFixed(3),
  ])
  const head = [
    `µs, minus ${reference} (median ${median(first).toFixed(0)})`,
    'median',
    ...quantiles.map((share) => `Δ q${share * 100}`),
    'Δ median, 95 %',
    'P(slower)',
    'p',
  ]
  console.log(`\n${title}, ${rounds} of each kind\n\n${table(head, rows)}\n`)
  for (const comparison of comparisons) console.log(verdictOf(comparison, others.length))
  return comparisons
}

const [contestant] = contestants
if (contestant === undefined) throw new Error('no contestants')
const settings = { throttle: false, passwordCost: Number(flags.cost) }
const prepared = await openBench().prepare(contestant, settings)
const server = await prepared.start()
try {
  const found = await examine('POST /login', loginAttempts(server), Number(flags.samples))
  if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(found, null, 1)}\n`)
} finally {
  closeConnection()
  await server.stop()
  await prepared.remove()
}
