import type { Contestant } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import type { Bench } from './processes.ts'
import { offers } from './rates.ts'
import type { Settled } from './server/settled.ts'
import { megabytes, table } from './table.ts'

export interface Endurance extends Settled {
  readonly contestant: string
  /** HTTP requests so far. */
  readonly requests: number
}

/** Operations per thousand; a code flow is two requests. */
const shares: Readonly<Record<string, number>> = {
  'code flow': 100,
  refresh: 150,
  'client credentials': 150,
  userinfo: 200,
  introspection: 150,
  discovery: 50,
  'guarded route': 100,
}

const requestsOf = (name: string): number => (name === 'code flow' ? 2 : 1)

/** Memory and handles of one process over many mixed requests, after a garbage collection each time. */
export const endurance = async (
  bench: Bench,
  contestants: readonly Contestant[],
  operations: readonly Operation[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<Endurance[]> => {
  const found: Endurance[] = []
  const all = quick ? 50_000 : 1_000_000
  for (const contestant of contestants.filter(({ server }) => server === 'latchkey')) {
    const [load, prepared] = [await bench.generator(), await bench.prepare(contestant)]
    const server = await prepared.start()
    const mixed = operations.filter((one) => offers(contestant, one) && shares[one.name] !== undefined)
    let requests = 0
    for (let part = 0; part <= 10; part += 1) {
      while (requests < (all / 10) * part) {
        for (const { name: operation } of mixed) {
          const count = shares[operation] ?? 0
          const run = { contestant: contestant.name, base: server.base, operation, concurrency: 16 }
          await load.ask('run', { ...run, seconds: 600, count })
          requests += count * requestsOf(operation)
        }
      }
      found.push({ contestant: contestant.name, requests, ...(await server.ask('settled')) })
    }
    await Promise.all([load.stop(), server.stop()])
    await prepared.remove()
  }
  const rows = found.map(({ contestant, requests, heap, resident, handles }) => [
    contestant,
    requests.toLocaleString('en'),
    megabytes(heap),
    megabytes(resident),
    String(handles),
  ])
  say(`\n${table(['', 'requests', 'heap, MB', 'RSS, MB', 'handles'], rows)}`)
  return found
}
