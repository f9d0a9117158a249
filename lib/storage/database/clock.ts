import { numberOf, query } from './statement.ts'
import type { Database, Dialect } from './types.ts'

const select = (sql: string) => query<Record<never, never>>((_table, _values, _name, raw) => raw(sql))

const statements: Readonly<Record<Dialect, ReturnType<typeof select>>> = {
  sqlite: select("SELECT CAST(strftime('%s', 'now') AS INTEGER) AS seconds"),
  postgresql: select('SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp())) AS seconds'),
  mysql: select('SELECT UNIX_TIMESTAMP() AS seconds'),
}

/** The clock of the database server, in epoch seconds. */
export const databaseTime = async (db: Database): Promise<number> => {
  const [row] = await statements[db.driver.dialect](db, {})
  return numberOf(row ?? {}, 'seconds')
}
