import type { Socket } from 'node:net'
import type { Knex } from 'knex'
import { statementsOf } from './statement-count.ts'

/**
 * What happens to a statement: it runs, it fails instead of running, or it runs and this error is all that is heard of
 * it, because the connection breaks under the answer.
 */
export type Verdict = 'run' | { readonly fails: Error } | { readonly loses: () => Error }

/** Is shown every statement before it reaches the database. */
export type Watch = (sql: string) => Verdict

// biome-ignore lint/suspicious/noExplicitAny: drivers are called as Knex and Latchkey call them, in every form.
type AnyFunction = (...parameters: any[]) => unknown
type Methods = Record<string, AnyFunction>

/** better-sqlite3 answers at once, from statements that are prepared once and run often. */
const watchPreparing = (connection: Methods, watch: Watch): void => {
  const prepare = connection.prepare!.bind(connection)
  connection.prepare = (sql: string) => {
    const statement = prepare(sql) as Methods
    for (const name of ['all', 'run']) {
      const real = statement[name]!.bind(statement)
      statement[name] = (...bindings: unknown[]) => {
        const verdict = watch(sql)
        if (verdict === 'run') return real(...bindings)
        if ('fails' in verdict) throw verdict.fails
        real(...bindings)
        throw verdict.loses()
      }
    }
    return statement
  }
}

/** pg and mysql2 take a callback; pg gives a promise where there is none. */
const watchMethod = (connection: Methods, name: string, watch: Watch): void => {
  const real = connection[name]!.bind(connection)
  connection[name] = (...parameters: unknown[]) => {
    // Of statements that are sent together, the first that fails decides.
    const verdict = statementsOf(parameters[0])
      .map(watch)
      .find((each) => each !== 'run')
    if (verdict === undefined) return real(...parameters)
    const done = parameters.at(-1)
    if ('fails' in verdict) {
      if (typeof done !== 'function') return Promise.reject(verdict.fails)
      return void setImmediate(() => done(verdict.fails))
    }
    const lost = (): Promise<Error> => {
      // At once: what was sent after it may be answered any moment.
      const error = verdict.loses()
      return breaking(connection).then(() => error)
    }
    if (typeof done !== 'function') {
      return Promise.resolve(real(...parameters))
        .then(lost)
        .then((error) => Promise.reject(error))
    }
    return real(...parameters.slice(0, -1), () => void lost().then((error) => done(error)))
  }
}

/** Settles when driver and pool have noticed. */
const breaking = (connection: unknown): Promise<void> => {
  const { stream, connection: inner } = connection as { stream?: Socket; connection?: { stream: Socket } }
  const socket = stream ?? inner?.stream
  return new Promise((noticed) => {
    socket?.once('close', () => setImmediate(noticed))
    socket?.destroy()
  })
}

interface Pragmas {
  pragma(text: string): unknown
}

const watchConnection = (connection: unknown, watch: Watch): void => {
  const methods = connection as Methods
  if (methods.pragma !== undefined) watchPreparing(methods, watch)
  for (const name of ['query', 'execute']) if (methods[name] !== undefined) watchMethod(methods, name, watch)
}

/**
 * The same database, with every statement of every connection shown to `watch` first. It stands where a host's own
 * `afterCreate` would, so kit and Knex run as they always do.
 *
 * @param pragmas for SQLite, where the pool is opened
 */
export const watched = (config: Knex.Config, watch: Watch, pragmas: readonly string[] = []): Knex.Config => ({
  ...config,
  pool: {
    ...(config.client === 'better-sqlite3' ? { min: 1, max: 1 } : {}),
    ...config.pool,
    afterCreate: (connection: unknown, done: (error: Error | null, connection: unknown) => void) => {
      if (config.client === 'better-sqlite3') {
        for (const pragma of pragmas) (connection as Pragmas).pragma(pragma)
      }
      watchConnection(connection, watch)
      done(null, connection)
    },
  },
})
