import type { Contestant } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import type { Bench } from './processes.ts'
import { offers } from './rates.ts'
import { table } from './table.ts'

/** Classifies statements: transactions, sessions, the host's users; all others are the server's own. */
const kinds = {
  transaction: /^(begin|commit|rollback)/i,
  session: /\b(latchkey_sessions|sessions)\b/,
  users: /\bpeople\b/,
} as const

type Kind = keyof typeof kinds | 'own'

export const kindOf = (sql: string): Kind => {
  // A join with the users table is the server's own statement.
  if (/access_tokens/.test(sql)) return 'own'
  const [kind] = Object.entries(kinds).find(([, pattern]) => pattern.test(sql)) ?? ['own']
  return kind as Kind
}

export interface StatementsOf {
  readonly contestant: string
  readonly operation: string
  /** For one operation. */
  readonly counts: Readonly<Record<Kind, number>>
  readonly prepared: number
  readonly ran: Readonly<Record<string, number>>
}

const times = 40

/** Counts the statements of each operation at the driver, after a warm-up, without concurrency. */
export const statements = async (
  bench: Bench,
  contestants: readonly Contestant[],
  operations: readonly Operation[],
  say: (text: string) => void,
): Promise<StatementsOf[]> => {
  const found: StatementsOf[] = []
  for (const contestant of contestants.filter(({ storage }) => storage !== 'memory')) {
    const [load, prepared] = [await bench.generator(), await bench.prepare(contestant)]
    const server = await prepared.start()
    await server.ask('statements')
    for (const operation of operations.filter((one) => offers(contestant, one))) {
      const run = {
        contestant: contestant.name,
        base: server.base,
        operation: operation.name,
        concurrency: 1,
      }
      await load.ask('run', { ...run, seconds: 60, count: 20 })
      await server.ask('statements')
      await load.ask('run', { ...run, seconds: 60, count: times })
      const { ran, prepared: made } = await server.ask('statements')
      const counts: Record<Kind, number> = { own: 0, users: 0, session: 0, transaction: 0 }
      const each = Object.entries(ran).map(([sql, count]): [string, number] => [sql, count / times])
      for (const [sql, count] of each) counts[kindOf(sql)] += count
      const of = { contestant: contestant.name, operation: operation.name }
      found.push({ ...of, counts, prepared: made / times, ran: Object.fromEntries(each) })
    }
    await Promise.all([load.stop(), server.stop()])
    await prepared.remove()
  }
  const rows = found.map(({ contestant, operation, counts, prepared }) => {
    const aim = operations.find(({ name }) => name === operation)?.statements
    const numbers = [counts.own, counts.users, counts.session, counts.transaction, prepared]
    const shown = contestant.startsWith('Latchkey') && aim !== undefined ? `≤ ${aim}` : ''
    return [contestant, operation, ...numbers.map((number) => number.toFixed(1)), shown]
  })
  const head = ['', 'operation', 'own', 'users', 'session', 'BEGIN, COMMIT', 'prepared', 'goal (own)']
  say(`\n${table(head, rows)}`)
  return found
}
