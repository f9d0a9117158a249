import type { Knex } from 'knex'
import { driverName, privateClient } from './driver.ts'

/** Milliseconds; less than we wait for an answer, so that no statement goes on at the server after we gave it up. */
const milliseconds = 4500
const seconds = milliseconds / 1000

/**
 * The statement that bounds all later ones of a connection, by Knex's name of the driver; a bound that the connection has is
 * kept. Only MariaDB runs what is in `M!`. MySQL runs what is in `!50708`, and bounds statements that read.
 */
const bounds: Readonly<Record<string, string>> = {
  // A pooler's process has another number; its sessions also serve others, so they get no bound.
  pg: `select case when pg_backend_pid() = $1 and current_setting('statement_timeout') = '0'
    then set_config('statement_timeout', '${milliseconds}', false) end`,
  mysql2: `set @latchkey_bound = 0
    /*M! , session max_statement_time = if(@@max_statement_time = 0, ${seconds}, @@max_statement_time) */
    /*!50708 , session max_execution_time = if(@@max_execution_time = 0, ${milliseconds}, @@max_execution_time) */`,
}

/** A new connection of `pg` or `mysql2`. */
export interface DriverConnection {
  /** The number of the server's process, of `pg`. */
  readonly processID?: number
  query(sql: string, values: readonly unknown[], done: (error: Error | null) => void): unknown
}

/** Bounds every statement of a new connection. It calls back with the error of the driver. */
export const boundStatements = (
  driver: string,
  connection: DriverConnection,
  done: (error: Error | null) => void,
): void => {
  const sql = bounds[driver]
  if (sql === undefined) done(null)
  else connection.query(sql, driver === 'pg' ? [connection.processID ?? 0] : [], done)
}

/** Lifts the bound for changes of the schema, which may take long. On PostgreSQL the transaction ends it. */
export const withoutBound = async (knex: Knex, work: () => PromiseLike<unknown>): Promise<void> => {
  const raw = (sql: string): Promise<unknown> => Promise.resolve(privateClient(knex).raw(sql))
  const driver = driverName(knex)
  if (driver === 'pg') await raw('set local statement_timeout = 0')
  if (driver === 'mysql2')
    await raw('set @latchkey_bound = 0 /*M! + @@max_statement_time, session max_statement_time = 0 */')
  await work()
  if (driver === 'mysql2')
    await raw('set @latchkey_ended = 1 /*M! , session max_statement_time = @latchkey_bound */')
}
