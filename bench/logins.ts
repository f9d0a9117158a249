import type { Contestant } from './contestants.ts'
import type { Bench } from './processes.ts'
import { quantile } from './statistics.ts'
import { table } from './table.ts'

export interface Logins {
  readonly contestant: string
  readonly during: string
  /** Milliseconds of a client credentials request. */
  readonly p50: number
  readonly p99: number
  /** Sign-ins per second. */
  readonly signIns: number
}

/** Measures the token endpoint while 200 people sign in at once, with bcrypt hashes of cost 10. */
export const logins = async (
  bench: Bench,
  contestants: readonly Contestant[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<Logins[]> => {
  const found: Logins[] = []
  const seconds = quick ? 3 : 8
  for (const contestant of contestants.filter(({ server }) => server === 'latchkey')) {
    const prepared = await bench.prepare(contestant, { passwordCost: 10, throttle: false })
    const [server, clients, people] = [
      await prepared.start(),
      await bench.generator(),
      await bench.generator(),
    ]
    const tokens = { contestant: contestant.name, base: server.base, operation: 'client credentials' }
    const signIns = { ...tokens, operation: 'sign-in', concurrency: 200 }
    const measure = async (during: string, meanwhile: Promise<{ count: number; seconds: number }>) => {
      const { latencies } = await clients.ask('run', { ...tokens, concurrency: 4, seconds })
      const done = await meanwhile
      found.push({
        contestant: contestant.name,
        during,
        p50: quantile(latencies, 0.5) / 1000,
        p99: quantile(latencies, 0.99) / 1000,
        signIns: done.count / done.seconds,
      })
    }
    await clients.ask('run', { ...tokens, concurrency: 4, seconds: 1 })
    await measure('no sign-ins', Promise.resolve({ count: 0, seconds: 1 }))
    await measure('200 sign-ins at once', people.ask('run', { ...signIns, seconds: 60, count: 200 }))
    await Promise.all([clients.stop(), people.stop(), server.stop()])
    await prepared.remove()
  }
  const rows = found.map(({ contestant, during, p50, p99, signIns }) => [
    contestant,
    during,
    p50.toFixed(1),
    p99.toFixed(1),
    signIns.toFixed(0),
  ])
  say(`\n${table(['', '/token while', 'p50, ms', 'p99, ms', 'sign-ins per second'], rows)}`)
  return found
}
