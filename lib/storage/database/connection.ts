import { inSpan, type SpanDescription } from '../../events/tracing.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { errorOfStatement, isRetryable, needsReconnect, SilenceError } from './errors.ts'
import type { Database, Result, Value } from './types.ts'
import { withTimeout } from './with-timeout.ts'

/** Milliseconds to wait for a connection, and then for the answer; both together stay below ten seconds. */
const timeoutMs = 5000

/** Borrows a connection from the pool. One that arrives after the timeout goes straight back. */
const acquire = ({ knex: { client } }: Database): Promise<unknown> => {
  const acquiring: Promise<unknown> = client.acquireConnection()
  return withTimeout(acquiring, timeoutMs, () => {
    acquiring.then((connection) => client.releaseConnection(connection)).catch(() => {})
    throw new Error(`no connection to the database was free within ${timeoutMs} ms`)
  })
}

/** Whether the pool is closed for good, as by a host that closes its database before it closes Latchkey. */
export const isPoolClosed = ({ knex: { client } }: Database): boolean => client.pool?.destroyed !== false

/**
 * Runs work on a connection borrowed from the pool. A connection that can no longer serve us is closed.
 *
 * @throws the driver's error, or the error of the work
 */
export const onConnection = async <T>(
  db: Database,
  work: (connection: unknown) => Promise<T>,
): Promise<T> => {
  const connection = await acquire(db)
  try {
    return await work(connection)
  } catch (error) {
    if (needsReconnect(error)) await db.driver.close(connection)
    throw error
  } finally {
    void db.knex.client.releaseConnection(connection)
  }
}

/**
 * A server that a firewall has cut off would keep TCP waiting for a quarter of an hour, so we wait a few seconds. SQLite needs no
 * timer: it runs in this process.
 */
const answerOf = (
  { driver }: Database,
  connection: unknown,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  const answer = driver.execute(connection, sql, bindings)
  if (driver.dialect === 'sqlite') return answer
  return withTimeout(answer, timeoutMs, () => {
    throw new SilenceError(`the database did not answer within ${timeoutMs} ms`)
  })
}

/** The span of a statement: what it does to which table, without its text and values. */
const spanOf = ({ driver }: Database, sql: string): SpanDescription => {
  const operation = /^\s*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? 'SQL'
  const table = /\b(?:from|into|update)\s+[`"]?(\w+)/i.exec(sql)?.[1]
  return {
    name: table === undefined ? operation : `${operation} ${table}`,
    kind: 'client',
    attributes: {
      'db.system.name': driver.dialect,
      'db.operation.name': operation,
      ...(table !== undefined && { 'db.collection.name': table }),
    },
  }
}

/**
 * Runs a statement on this connection.
 *
 * @throws the driver's error, or SilenceError if the server does not answer
 */
export const execute = (
  db: Database,
  connection: unknown,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> =>
  inSpan(
    db.tracing,
    () => spanOf(db, sql),
    () => answerOf(db, connection, sql, bindings),
  )

const maxAttempts = 4

/**
 * Runs work. If it loses a race, tries again up to three times, after growing random pauses.
 *
 * @param mayRetry whether an error means that the work lost
 * @throws OAuthError `temporarily_unavailable` with the last error as its cause, `invalid_request` if the database lacks a
 *   character, or an OAuthError of the work
 */
export const withRetry = async <T>(work: () => Promise<T>, mayRetry = isRetryable): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === maxAttempts || !mayRetry(error)) {
        throw error instanceof OAuthError ? error : errorOfStatement(error)
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 25 * 2 ** attempt))
    }
  }
}
