import { createRequire } from 'node:module'
import { HostError, type Problem } from '../../protocol/problem.ts'

const majorOf = (version: string): number => Number.parseInt(version, 10)

/**
 * Why this version of better-sqlite3 cannot run on this version of Node: since 13 it needs Node 22, and up to 12 it
 * aborts the process on Node 24 and newer.
 *
 * @returns undefined if it can
 * @example sqliteProblem('12.9.0', '24.21.0') // { problem: 'better-sqlite3 12.9.0 aborts on Node 24', fix: 'run: npm …' }
 */
export const sqliteProblem = (sqlite: string, node: string): Problem | undefined => {
  const nodeMajor = majorOf(node)
  const isNew = majorOf(sqlite) >= 13
  const mended = (harm: string, major: number): Problem => ({
    problem: `better-sqlite3 ${sqlite} ${harm} Node ${nodeMajor}`,
    fix: `run: npm install better-sqlite3@${major}`,
  })
  if (isNew && nodeMajor < 22) return mended('crashes', 12)
  return !isNew && nodeMajor >= 24 ? mended('aborts on', 13) : undefined
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

/** @throws HostError naming the command that installs a version of better-sqlite3 that runs on this Node */
export const assertSqliteRuns = (
  sqlite: string | undefined = installedSqlite(),
  node: string = process.versions.node,
): void => {
  const found = sqlite === undefined ? undefined : sqliteProblem(sqlite, node)
  if (found !== undefined) throw new HostError(found.problem, found)
}
