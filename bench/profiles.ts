import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Contestant } from './contestants.ts'
import { type Cost, costsOf, type Profile, partsOf } from './costs.ts'
import type { Operation } from './operations/index.ts'
import type { Bench } from './processes.ts'
import { offers } from './rates.ts'
import { table } from './table.ts'

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

const shown = (costs: readonly Cost[], by: 'self' | 'inclusive', title: string): string => {
  const top = costs.toSorted((one, other) => other[by] - one[by]).slice(0, 25)
  const rows = top.map(({ where, self, inclusive }) => [where, percent(self), percent(inclusive)])
  return table([title, 'self', 'inclusive'], rows)
}

const summary = (title: string, costs: readonly Cost[]): string =>
  [
    title,
    shown(partsOf(costs), 'self', 'by part'),
    shown(costs, 'self', 'by function'),
    shown(
      costs.filter(({ where }) => where.startsWith('lib/')),
      'inclusive',
      'of the library, with what it calls',
    ),
  ].join('\n\n')

export interface Profiled {
  readonly contestant: string
  readonly operation: string
  readonly costs: readonly Cost[]
}

/** Profiles each operation after a warm-up. The files open in the developer tools of a browser. */
export const profile = async (
  bench: Bench,
  contestants: readonly Contestant[],
  operations: readonly Operation[],
  { directory, quick }: { readonly directory: string; readonly quick: boolean },
  say: (text: string) => void,
): Promise<Profiled[]> => {
  mkdirSync(directory, { recursive: true })
  const found: Profiled[] = []
  for (const contestant of contestants) {
    const [load, prepared] = [await bench.generator(), await bench.prepare(contestant)]
    const server = await prepared.start()
    for (const operation of operations.filter((one) => offers(contestant, one))) {
      const run = {
        contestant: contestant.name,
        base: server.base,
        operation: operation.name,
        concurrency: 8,
      }
      await load.ask('run', { ...run, seconds: quick ? 2 : 4 })
      await server.ask('startProfile')
      await load.ask('run', { ...run, seconds: quick ? 3 : 8 })
      const made = (await server.ask('stopProfile')) as Profile
      const title = `${contestant.name}, ${operation.name}`
      writeFileSync(join(directory, `${title.replaceAll(/\W+/g, '-')}.cpuprofile`), JSON.stringify(made))
      const costs = costsOf(made)
      found.push({
        contestant: contestant.name,
        operation: operation.name,
        costs: costs.filter(({ inclusive }) => inclusive >= 0.002),
      })
      say(`\n${summary(title, costs)}`)
    }
    await Promise.all([load.stop(), server.stop()])
    await prepared.remove()
  }
  return found
}
