import type { Database, Driver } from '../../lib/database/types.ts'

/** The same database with every statement noted that reaches the driver, in order. */
export const watchedDatabase = (db: Database): { db: Database; statements: string[] } => {
  const statements: string[] = []
  const { execute, executeNow, executeTogether } = db.driver
  const driver: Driver = {
    ...db.driver,
    execute: (connection, sql, bindings) => {
      statements.push(sql)
      return execute(connection, sql, bindings)
    },
    ...(executeNow && {
      executeNow: (connection, sql, bindings) => {
        statements.push(sql)
        return executeNow(connection, sql, bindings)
      },
    }),
    ...(executeTogether && {
      executeTogether: (connection, together, first) => {
        const answers = executeTogether(connection, together, first)
        if (answers)
          statements.push(...(first === undefined ? [] : [first]), ...together.map(({ sql }) => sql))
        return answers
      },
    }),
  }
  return { db: { ...db, driver }, statements }
}
