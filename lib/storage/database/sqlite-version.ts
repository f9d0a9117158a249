import { createRequire } from 'node:module'

const majorOf = (version: string): number => Number.parseInt(version, 10)

/**
 * Why this version of better-sqlite3 cannot run on this version of Node: since 13 it needs Node 22, and up to 12 it
 * aborts the process on Node 24 and newer.
 *
 * @returns the problem and the command that solves it; undefined if there is none
 * @example sqliteProblem('12.9.0', '24.21.0') // 'better-sqlite3 12.9.0 aborts on Node 24; run: npm install better-sqlite3@13'
 */
export const sqliteProblem = (sqlite: string, node: string): string | undefined => {
  const nodeMajor = majorOf(node)
  const isNew = majorOf(sqlite) >= 13
  if (isNew && nodeMajor < 22) {
    return `better-sqlite3 ${sqlite} crashes Node ${nodeMajor}; run: npm install better-sqlite3@12`
  }
  if (!isNew && nodeMajor >= 24) {
    return `better-sqlite3 ${sqlite} aborts on Node ${nodeMajor}; run: npm install better-sqlite3@13`
  }
  return undefined
}

/** The version of better-sqlite3 that Knex loads, read without loading it; undefined if it is not installed. */
export const installedSqlite = (
  from = createRequire(import.meta.url).resolve('knex'),
): string | undefined => {
  try {
    return String(createRequire(from)('better-sqlite3/package.json').version)
  } catch {
    return undefined
  }
}

/** @throws Error naming the command that installs a version of better-sqlite3 that runs on this Node */
export const assertSqliteRuns = (
  sqlite: string | undefined = installedSqlite(),
  node: string = process.versions.node,
): void => {
  const problem = sqlite === undefined ? undefined : sqliteProblem(sqlite, node)
  if (problem !== undefined) throw new Error(`latchkey: ${problem}`)
}
