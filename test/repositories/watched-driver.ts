import type { Database, Driver } from '../../lib/storage/database/types.ts'

/** The same database with every statement noted that reaches the driver, in order. */
export const watchedDatabase = (db: Database): { db: Database; statements: string[] } => {
  const statements: string[] = []
  const driver: Driver = {
    ...db.driver,
    execute: (connection, sql, bindings) => {
      statements.push(sql)
      return db.driver.execute(connection, sql, bindings)
    },
  }
  return { db: { ...db, driver }, statements }
}
