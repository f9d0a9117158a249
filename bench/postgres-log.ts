import { readFileSync, statSync } from 'node:fs'
import createKnex from 'knex'
import type { Contestant } from './contestants.ts'
import type { Operation } from './operations/index.ts'
import { type Bench, postgresUrl } from './processes.ts'
import { offers } from './rates.ts'
import { kindOf } from './statements.ts'
import { table } from './table.ts'

export interface LoggedStatements {
  readonly contestant: string
  readonly operation: string
  /** The server's own, with BEGIN and COMMIT. */
  readonly own: number
  /** Reads of the host's table of users. */
  readonly users: number
  /** Executions per operation, by statement. */
  readonly statements: Readonly<Record<string, number>>
}

const times = 10

/** The process ids of the connections with this `application_name`. */
const processesOf = async (name: string): Promise<string[]> => {
  const knex = createKnex({ client: 'pg', connection: postgresUrl })
  const rows = await knex('pg_stat_activity').where('application_name', name).pluck('pid')
  await knex.destroy()
  return rows.map(String)
}

/** Finds statements in a part of the log. A line that begins with a tab continues the line before. */
const statementsIn = (log: string, processes: readonly string[]): string[] =>
  log
    .replaceAll('\n\t', ' ')
    .split('\n')
    .flatMap((line) => {
      const [, pid = '', kind, text = ''] =
        /\[(\d+)\].*?LOG: {2}(statement|execute [^:]+): (.*)/.exec(line) ?? []
      if (!processes.includes(pid)) return []
      // Only a simple query can hold several statements.
      return kind === 'statement' ? text.split(';').filter((part) => part.trim() !== '') : [text]
    })

/**
 * Counts the statements of each operation in PostgreSQL's own log, without concurrency. The user of
 * `BENCH_POSTGRES_URL` must be a superuser, because only a superuser can turn on `log_statement`.
 *
 * @param file the log of the PostgreSQL server; `log_line_prefix` must contain `[%p]`
 */
export const postgresLog = async (
  bench: Bench,
  file: string,
  contestants: readonly Contestant[],
  operations: readonly Operation[],
  say: (text: string) => void,
): Promise<LoggedStatements[]> => {
  const found: LoggedStatements[] = []
  for (const contestant of contestants.filter(({ storage }) => storage === 'postgresql')) {
    const name = `latchkey-bench-${process.pid}`
    const url = new URL(postgresUrl)
    url.searchParams.set('options', '-c log_statement=all')
    url.searchParams.set('application_name', name)
    const [load, prepared] = [await bench.generator(), await bench.prepare(contestant)]
    const server = await prepared.start({ postgres: { url: url.href, schema: prepared.schema } })
    for (const operation of operations.filter((one) => offers(contestant, one))) {
      const run = { contestant: contestant.name, base: server.base, operation: operation.name }
      await load.ask('run', { ...run, concurrency: 1, seconds: 60, count: 10 })
      const from = statSync(file).size
      await load.ask('run', { ...run, concurrency: 1, seconds: 60, count: times })
      // Work after the response counts too.
      await server.ask('settled')
      const part = readFileSync(file).subarray(from).toString()
      const all = statementsIn(part, await processesOf(name))
      const statements: Record<string, number> = {}
      for (const text of all) statements[text] = (statements[text] ?? 0) + 1 / times
      const of = { contestant: contestant.name, operation: operation.name }
      const users = all.filter((text) => kindOf(text) === 'users').length / times
      found.push({ ...of, own: all.length / times - users, users, statements })
    }
    await Promise.all([load.stop(), server.stop()])
    await prepared.remove()
  }
  for (const { operation, statements } of found) {
    const rows = Object.entries(statements).map(([text, count]) => [text.slice(0, 130), count.toFixed(1)])
    say(`\n${table([operation, 'times'], rows)}`)
  }
  const rows = found.map(({ operation, own, users }) => [operation, own.toFixed(1), users.toFixed(1)])
  const head = ['statements in the log of PostgreSQL', 'own, with BEGIN and COMMIT', "the host's users"]
  say(`\n${table(head, rows)}`)
  return found
}
