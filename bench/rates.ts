import type { Contestant } from './contestants.ts'
import type { GeneratorAnswers, Measured } from './load/generator.ts'
import type { Ask } from './messages.ts'
import type { Operation } from './operations/index.ts'
import type { RunningServer } from './processes.ts'
import { median, quantile } from './statistics.ts'

export interface RateSettings {
  readonly rounds: number
  /** Of each server in each round. */
  readonly seconds: number
  readonly concurrency: number
}

/** The results of one server for one operation, over all rounds. */
export interface Rate {
  readonly contestant: string
  readonly operation: string
  /** Operations per second in each round. */
  readonly rates: readonly number[]
  /** The median of the rounds. */
  readonly rate: number
  /** Microseconds of the server's processor time for one operation, in each round. */
  readonly processors: readonly number[]
  /** The median of the rounds. */
  readonly processor: number
  /** HTTP requests of one operation. */
  readonly requests: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Bytes, since the server started. */
  readonly peakResident: number
}

interface Round extends Measured {
  readonly processor: number
  readonly requests: number
  readonly peakResident: number
}

/** Runs one round and measures what the server spends on it. */
export const measureRound = async (
  server: RunningServer,
  ask: Ask<GeneratorAnswers>,
  operation: Operation,
  { seconds, concurrency, count }: Omit<RateSettings, 'rounds'> & { readonly count?: number },
): Promise<Round> => {
  const { contestant, base } = server
  const before = await server.ask('usage')
  const load = { contestant: contestant.name, base, operation: operation.name, concurrency, seconds, count }
  const measured = await ask('run', load)
  const after = await server.ask('usage')
  const processor = (after.processor - before.processor) / measured.count
  const requests = (after.requests - before.requests) / measured.count
  return { ...measured, processor, requests, peakResident: after.peakResident }
}

/** Whether a server supports an operation. */
export const offers = ({ paths, openid, asksConsent }: Contestant, operation: Operation): boolean =>
  paths[operation.needs] !== undefined &&
  (openid || !operation.openid) &&
  (asksConsent || !operation.asksConsent)

const summaryOf = (server: RunningServer, operation: Operation, rounds: readonly Round[]): Rate => {
  const latencies = rounds.flatMap((round) => round.latencies)
  const rates = rounds.map((round) => round.count / round.seconds)
  const processors = rounds.map((round) => round.processor)
  return {
    contestant: server.contestant.name,
    operation: operation.name,
    rates,
    rate: median(rates),
    processors,
    processor: median(processors),
    requests: median(rounds.map((round) => round.requests)),
    p50: quantile(latencies, 0.5) / 1000,
    p99: quantile(latencies, 0.99) / 1000,
    peakResident: Math.max(...rounds.map((round) => round.peakResident)),
  }
}

/**
 * Measures one operation on all servers in alternating rounds, so that other load on the machine affects all of them.
 * Each round begins with another server. A warm-up of two rounds does not count.
 */
export const measureOperation = async (
  servers: readonly RunningServer[],
  ask: Ask<GeneratorAnswers>,
  operation: Operation,
  settings: RateSettings,
): Promise<Rate[]> => {
  const able = servers.filter(({ contestant }) => offers(contestant, operation))
  const rounds = new Map<RunningServer, Round[]>(able.map((server) => [server, []]))
  const warmUp = { ...settings, seconds: settings.seconds * 2 }
  for (const server of able) {
    await measureRound(server, ask, operation, warmUp)
    await server.analyze()
  }
  for (let round = 0; round < settings.rounds; round += 1) {
    const first = round % able.length
    for (const server of [...able.slice(first), ...able.slice(0, first)]) {
      rounds.get(server)?.push(await measureRound(server, ask, operation, settings))
    }
  }
  return able.map((server) => summaryOf(server, operation, rounds.get(server) ?? []))
}
