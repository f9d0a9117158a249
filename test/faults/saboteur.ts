import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestHandler } from 'express'
import type { DatabaseKind } from '../support/fault-databases.ts'
import type { Verdict, Watch } from '../support/fault-statements.ts'

/** A way for a statement to fail. */
export interface Way {
  readonly name: string
  /** What becomes of the statement that is meant, and of those after it. */
  readonly verdict: (error: Error) => Verdict
  readonly after: (error: Error) => Verdict
  /** Whether the request then ends as if nothing had been. */
  readonly heals?: boolean
  /** Whether the same statement fails again. PostgreSQL gets it alone after it has failed together with others. */
  readonly lasts?: boolean
  /** Whether the statement has done its work all the same. */
  readonly loses?: boolean
  readonly codes: Readonly<Record<DatabaseKind, string>>
}

const ioErrors = { SQLite: 'SQLITE_IOERR', PostgreSQL: '53100', MariaDB: 'ER_DISK_FULL' }
const losses = { SQLite: 'SQLITE_BUSY', PostgreSQL: '40001', MariaDB: 'ER_LOCK_DEADLOCK' }

export const ways: Way[] = [
  { name: 'fails', verdict: (fails) => ({ fails }), after: () => 'run', lasts: true, codes: ioErrors },
  {
    name: 'fails and so does all after it, the roll-back too',
    verdict: (fails) => ({ fails }),
    after: (fails) => ({ fails }),
    codes: ioErrors,
  },
  {
    name: 'runs and its answer is lost',
    verdict: (error) => ({ loses: () => error }),
    after: () => 'run',
    loses: true,
    // A connection that breaks has no code of PostgreSQL's.
    codes: { ...ioErrors, PostgreSQL: 'ECONNRESET' },
  },
  {
    name: 'loses against other work, once',
    verdict: (fails) => ({ fails }),
    after: () => 'run',
    heals: true,
    codes: losses,
  },
]

/** SQLite does not begin a transaction and then say that it has not; on PostgreSQL BEGIN just fails with its connection. */
const isImpossible = (kind: DatabaseKind, way: Way, sql: string): boolean =>
  sql.startsWith('BEGIN') && (kind === 'PostgreSQL' || (kind === 'SQLite' && way.loses === true))

/** One request, or call, under observation. */
interface Observed {
  readonly way: Way | undefined
  toGo: number
  statements: number
  /** The statements before its answer was settled. */
  decidedAt: number | undefined
  struck: string | undefined
}

/** How a request went whose statement of some number was to fail. */
export interface Outcome<T> extends Pick<Observed, 'statements' | 'struck'> {
  readonly result: T
  /** What comes later, such as a session that is prolonged, cannot change the answer. */
  readonly decidedAt: number
}

/** Makes statements fail: those of one request at a time, and none that the server runs by itself meanwhile. */
export interface Saboteur {
  readonly watch: Watch
  /** Goes before the router. */
  readonly middleware: RequestHandler
  during<T>(way: Way | undefined, statement: number, work: () => Promise<T>): Promise<Outcome<T>>
}

export const createSaboteur = (kind: DatabaseKind): Saboteur => {
  const context = new AsyncLocalStorage<Observed>()
  let current: Observed | undefined
  let open = 0

  const watch: Watch = (sql) => {
    const observed = context.getStore()
    if (observed === undefined || observed !== current) return 'run'
    observed.statements += 1
    observed.toGo -= 1
    const { way, toGo } = observed
    if (way === undefined || toGo > 0 || (toGo < 0 && observed.struck === undefined)) return 'run'
    if (isImpossible(kind, way, sql)) return 'run'
    const error = Object.assign(new Error(`${sql} - no space left on /var/lib/secret-place`), {
      code: way.codes[kind],
    })
    if (toGo < 0) return way.lasts && sql === observed.struck ? way.verdict(error) : way.after(error)
    observed.struck = sql
    return way.verdict(error)
  }

  const middleware: RequestHandler = (_req, res, next) => {
    const observed = current
    open += 1
    res.once('close', () => {
      open -= 1
    })
    if (observed === undefined) return next()
    const writeHead = res.writeHead
    res.writeHead = ((...parameters: Parameters<typeof writeHead>) => {
      observed.decidedAt ??= observed.statements
      return writeHead.apply(res, parameters)
    }) as typeof writeHead
    context.run(observed, next)
  }

  /** A redirect is out before the session of its request is prolonged. */
  const settled = async (): Promise<void> => {
    while (open > 0) await new Promise(setImmediate)
  }

  return {
    watch,
    middleware,
    during: async (way, statement, work) => {
      await settled()
      const observed: Observed = {
        way,
        toGo: statement,
        statements: 0,
        decidedAt: undefined,
        struck: undefined,
      }
      current = observed
      try {
        const result = await context.run(observed, work)
        await settled()
        const { statements, struck, decidedAt = statements } = observed
        return { result, statements, struck, decidedAt }
      } finally {
        current = undefined
      }
    },
  }
}
