import { setTimeout as wait } from 'node:timers/promises'
import type { Contestant } from './contestants.ts'
import { operations } from './operations/index.ts'
import type { Bench, PreparedServer } from './processes.ts'
import { measureRound } from './rates.ts'
import { median } from './statistics.ts'
import { megabytes, table } from './table.ts'

export interface Footprint {
  readonly contestant: string
  /** Milliseconds from the start of the process to its first response, with existing tables; of each start. */
  readonly starts: readonly number[]
  /** Bytes, a second after that response; of each start. */
  readonly idle: readonly number[]
  /** Bytes, after code flows with 32 concurrent requests. */
  readonly peak: number
}

const startOnce = async (prepared: PreparedServer, { paths }: Contestant) => {
  const begun = performance.now()
  const server = await prepared.start()
  await (await fetch(`${server.base}${paths.discovery ?? paths.guarded}`)).text()
  const milliseconds = performance.now() - begun
  await wait(1000)
  const { resident } = await server.ask('usage')
  await server.stop()
  return { milliseconds, resident }
}

const peakOf = async (bench: Bench, prepared: PreparedServer, seconds: number): Promise<number> => {
  const [operation] = operations
  const [load, server] = [await bench.generator(), await prepared.start()]
  if (operation === undefined) return Number.NaN
  const { peakResident } = await measureRound(server, load.ask, operation, { seconds, concurrency: 32 })
  await Promise.all([load.stop(), server.stop()])
  return peakResident
}

/** Measures start-up time and memory of each server, in alternating starts. */
export const footprint = async (
  bench: Bench,
  contestants: readonly Contestant[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<Footprint[]> => {
  const prepared = await Promise.all(contestants.map((contestant) => bench.prepare(contestant)))
  const found = contestants.map((contestant, index) => ({
    contestant: contestant.name,
    starts: [] as number[],
    idle: [] as number[],
    peak: 0,
    of: { contestant, server: prepared[index] as PreparedServer },
  }))
  for (let round = 0; round < (quick ? 3 : 9); round += 1) {
    for (const { starts, idle, of } of found) {
      const { milliseconds, resident } = await startOnce(of.server, of.contestant)
      starts.push(milliseconds)
      idle.push(resident)
    }
  }
  for (const one of found) one.peak = await peakOf(bench, one.of.server, quick ? 4 : 15)
  await Promise.all(prepared.map((server) => server.remove()))
  const head = ['', 'start-up, ms', 'idle RSS, MB', 'peak RSS at 32 concurrent requests, MB']
  const rows = found.map(({ contestant, starts, idle, peak }) => [
    contestant,
    median(starts).toFixed(0),
    megabytes(median(idle)),
    megabytes(peak),
  ])
  say(`\n${table(head, rows)}`)
  return found.map(({ contestant, starts, idle, peak }) => ({ contestant, starts, idle, peak }))
}
