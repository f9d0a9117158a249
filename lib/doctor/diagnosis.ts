import type { Check, Finding, Found, StoredSubject, Subject } from '../check.ts'
import { features } from '../features/index.ts'
import { clientChecks } from './clients.ts'
import { configurationChecks } from './configuration.ts'
import { databaseChecks } from './database.ts'
import { userChecks } from './users.ts'

/** A finding with the id of its check. */
export interface Diagnosis extends Finding {
  readonly check: string
}

const findingsIn = (found: Found): readonly Finding[] => {
  if (!found) return []
  return 'level' in found ? [found] : found.flatMap(findingsIn)
}

/** Runs checks one after another. */
export const runAll = async <S extends Subject>(
  checks: readonly Check<S>[],
  subject: S,
): Promise<Diagnosis[]> => {
  const found: Diagnosis[] = []
  for (const { id, run } of checks) {
    for (const finding of findingsIn(await run(subject))) found.push({ check: id, ...finding })
  }
  return found
}

/** Checks the options and the machine. */
export const diagnoseConfiguration = (subject: Subject): Promise<Diagnosis[]> =>
  runAll(configurationChecks, subject)

/** The checks of what is stored, of the core and of the features. */
export const storedChecks = async (): Promise<readonly Check<StoredSubject>[]> => {
  const ofFeatures = await Promise.all(features.map((feature) => feature.checks?.() ?? []))
  return [...userChecks, ...databaseChecks, ...ofFeatures.flat(), ...clientChecks]
}

/** The checks of the database that a server does not make itself when it starts. */
export const diagnoseStart = async (subject: StoredSubject): Promise<Diagnosis[]> =>
  runAll(await storedChecks(), subject)

/** Checks whose finding explains those of others. */
const causes: Readonly<Record<string, readonly string[]>> = {
  database: ['available'],
  migrations: ['available'],
  users: ['available', 'claims', 'usernames'],
  // A server with the same secrets does not start, and one with others does not report.
  secrets: ['available', 'report'],
  authorization: ['report'],
}

/**
 * Leaves out what follows from another finding, so that one mistake is one finding.
 *
 * @example withoutConsequences([{ check: 'secrets', … }, { check: 'report', … }]) // the first
 */
export const withoutConsequences = (found: readonly Diagnosis[]): Diagnosis[] => {
  const explained = new Set(
    found.flatMap(({ check, level }) => (level === 'error' ? (causes[check] ?? []) : [])),
  )
  return found.filter(({ check }) => !explained.has(check))
}
