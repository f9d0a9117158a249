import { createRequire } from 'node:module'

/** Executions by statement, and the number of prepared statements. */
export interface StatementCounts {
  readonly ran: Readonly<Record<string, number>>
  readonly prepared: number
}

type Method = (this: { source?: string }, ...parameters: never[]) => unknown

const require = createRequire(import.meta.url)
const load = (name: string): unknown => {
  try {
    return require(name)
  } catch {
    return undefined
  }
}

const createCounter = () => {
  const ran = new Map<string, number>()
  let prepared = 0
  return {
    add: (sql: string): void => void ran.set(sql, (ran.get(sql) ?? 0) + 1),
    prepare: (): void => {
      prepared += 1
    },
    take: (): StatementCounts => {
      const counts = { ran: Object.fromEntries(ran), prepared }
      ran.clear()
      prepared = 0
      return counts
    },
  }
}

type Counter = ReturnType<typeof createCounter>

const around = (of: Record<string, Method>, names: readonly string[], before: Method): void => {
  for (const name of names) {
    const original = of[name]
    of[name] = function (...parameters) {
      before.apply(this, parameters)
      return original?.apply(this, parameters)
    }
  }
}

const watchSqlite = (counter: Counter): void => {
  const Database = load('better-sqlite3') as (new (name: string) => Record<string, Method>) | undefined
  if (Database === undefined) return
  const statement = new Database(':memory:').prepare?.('SELECT 1' as never) as object
  around(Object.getPrototypeOf(statement), ['run', 'get', 'all'], function () {
    counter.add(this.source ?? '')
  })
  around(Database.prototype, ['prepare'], counter.prepare)
}

interface PostgresQuery {
  readonly name?: string
  readonly text: string
}

const watchPostgres = (counter: Counter): void => {
  const postgres = load('pg') as { Client: { prototype: Record<string, Method> } } | undefined
  const named = new Set<string>()
  if (postgres === undefined) return
  around(postgres.Client.prototype, ['query'], ((query: string | PostgresQuery) => {
    const { name, text } = typeof query === 'string' ? { name: undefined, text: query } : query
    counter.add(text)
    if (name !== undefined && !named.has(name)) counter.prepare()
    if (name !== undefined) named.add(name)
  }) as Method)
}

let counter: Counter | undefined

/** Counts statements at the driver. The first call starts counting; each call returns the counts since the last. */
export const countStatements = async (): Promise<StatementCounts> => {
  if (counter === undefined) {
    counter = createCounter()
    watchSqlite(counter)
    watchPostgres(counter)
  }
  return counter.take()
}
