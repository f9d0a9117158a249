import type { Knex } from 'knex'
import { closedAfterFile } from './told.ts'

/** Statements that reached the driver, in order. */
export interface StatementCount {
  /** Ours: without transaction control and without the tables that were to be ignored. */
  readonly ours: string[]
  readonly transactions: string[]
  /** Statements that SQLite compiled, or PostgreSQL and MariaDB were sent without having them prepared. */
  readonly prepared: string[]
  /** Statements that SQLite plans anew each time they run: their LIMIT is bound, or a value of a join is not `+?`. */
  readonly replanned: string[]
  /** On SQLite the number of columns that each statement of ours read: each costs time in the driver. */
  readonly columns: number[]
  reset(): void
}

interface Statement {
  readonly source?: string
  columns?(): readonly unknown[]
}

type Method = (this: Statement, ...values: unknown[]) => unknown

const isControl = /^\s*(BEGIN|COMMIT|ROLLBACK|START TRANSACTION|SAVEPOINT|RELEASE)/i

/** Until the end of the test file: the driver is shared by all files of a worker. */
const wrap = (
  target: Record<string, Method>,
  name: string,
  note: (self: Statement, first: unknown) => void,
): void => {
  const method = target[name]
  if (method === undefined) throw new Error(`the driver has no ${name}`)
  target[name] = function counted(...values) {
    note(this, values[0])
    return method.apply(this, values)
  }
  const unwrap = async (): Promise<void> => {
    target[name] = method
  }
  closedAfterFile.push({ close: unwrap })
}

/** The statements of one call; several that are sent together stand on lines of their own. */
export const statementsOf = (query: unknown): string[] => {
  if (typeof query !== 'object' || query === null) return [String(query)]
  return String('text' in query ? query.text : 'sql' in query ? query.sql : query).split(';\n')
}

/**
 * Counts at the driver, below everything of Knex's and ours.
 *
 * @param ignored names of tables whose statements are not counted
 */
export const countStatements = async (knex: Knex, ignored: readonly string[]): Promise<StatementCount> => {
  const count = {
    ours: [] as string[],
    transactions: [] as string[],
    prepared: [] as string[],
    replanned: [] as string[],
    columns: [] as number[],
  }
  const { driverName } = knex.client
  const replanned = driverName === 'better-sqlite3' ? /limit \?|join .*[^+]\?/i : /limit (\?|\$\d)/i
  // A process reads its keys again after five seconds, whatever is asked.
  const isIgnored = (sql: string): boolean =>
    ['signing_keys', ...ignored].some((table) => sql.includes(table))
  const note = (sql: string): void => {
    if (replanned.test(sql)) count.replanned.push(sql)
    if (isControl.test(sql)) count.transactions.push(sql)
    else if (!isIgnored(sql)) count.ours.push(sql)
  }
  const notePreparation = (sql: string): void => {
    if (!isControl.test(sql) && !isIgnored(sql)) count.prepared.push(sql)
  }
  const connection = await knex.client.acquireConnection()
  if (driverName === 'better-sqlite3') {
    const statement = Object.getPrototypeOf(connection.prepare('SELECT 1'))
    for (const name of ['all', 'run', 'get', 'iterate'])
      wrap(statement, name, (self) => note(String(self.source)))
    wrap(statement, 'all', (self) => {
      if (!isIgnored(String(self.source))) count.columns.push(self.columns?.().length ?? 0)
    })
    wrap(connection, 'prepare', (_, sql) => notePreparation(String(sql)))
  } else {
    // One prototype for every connection of the pool.
    const prototype = Object.getPrototypeOf(connection)
    const names = driverName === 'pg' ? ['query'] : ['query', 'execute']
    for (const name of names) {
      wrap(prototype, name, (_, query) => {
        const statements = statementsOf(query)
        for (const sql of statements) note(sql)
        const isNamed = name === 'execute' || (typeof query === 'object' && query !== null && 'name' in query)
        if (!isNamed) for (const sql of statements) notePreparation(sql)
      })
    }
  }
  await knex.client.releaseConnection(connection)
  return {
    ...count,
    reset: () => {
      for (const list of Object.values(count)) list.length = 0
    },
  }
}
