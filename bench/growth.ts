import type { Contestant } from './contestants.ts'
import type { Bench } from './processes.ts'
import { megabytes, table } from './table.ts'

export interface Growth {
  readonly contestant: string
  readonly operation: string
  readonly count: number
  /** For 10,000 operations. */
  readonly bytes: number
}

const measured = ['code flow', 'client credentials']

/** Measures the growth of the database, after a checkpoint. */
export const growth = async (
  bench: Bench,
  contestants: readonly Contestant[],
  { quick }: { readonly quick: boolean },
  say: (text: string) => void,
): Promise<Growth[]> => {
  const count = quick ? 2000 : 10_000
  const found: Growth[] = []
  for (const contestant of contestants.filter(({ storage }) => storage !== 'memory')) {
    const [load, prepared] = [await bench.generator(), await bench.prepare(contestant)]
    const server = await prepared.start()
    for (const operation of measured) {
      const run = { contestant: contestant.name, base: server.base, operation, concurrency: 8, seconds: 300 }
      await load.ask('run', { ...run, count: 16 })
      const before = await server.ask('size')
      const { count: done } = await load.ask('run', { ...run, count })
      const bytes = (((await server.ask('size')) - before) / done) * 10_000
      found.push({ contestant: contestant.name, operation, count: done, bytes })
    }
    await Promise.all([load.stop(), server.stop()])
    await prepared.remove()
  }
  const names = [...new Set(found.map(({ contestant }) => contestant))]
  const rows = names.map((name) => [
    name,
    ...found.filter(({ contestant }) => contestant === name).map(({ bytes }) => megabytes(bytes)),
  ])
  say(`\n${table(['MB of database for 10,000', ...measured], rows)}`)
  return found
}
