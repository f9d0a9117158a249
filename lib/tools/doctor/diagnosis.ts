import { OAuthError } from '../../protocol/errors.ts'
import { HostError } from '../../protocol/problem.ts'
import { reasonOf } from '../../storage/database/errors.ts'
import {
  type Check,
  type CheckFinding,
  type Diagnosis,
  error,
  type Found,
  StoppedError,
  type StoredSubject,
  type Subject,
} from '../check.ts'
import { clientChecks } from './clients.ts'
import { configurationChecks } from './configuration.ts'
import { databaseChecks } from './database.ts'
import { secondFactorCheck } from './second-factor.ts'
import { userChecks } from './users.ts'

const findingsIn = (found: Found): readonly CheckFinding[] => {
  if (!found) return []
  return 'level' in found ? [found] : found.flatMap(findingsIn)
}

/** The finding about a check that failed. Our own errors say what mends them. */
const failureOf = (thrown: unknown): CheckFinding => {
  const cause = thrown instanceof OAuthError ? thrown.cause : thrown
  return cause instanceof HostError && cause.fix !== undefined
    ? error(cause.problem, cause.fix)
    : error(
        `could not be checked: ${reasonOf(thrown)}`,
        'remove the cause that the message names, such as a missing permission',
      )
}

/** Runs checks one after another. One that fails is a finding; several that fail for the same reason are one. */
export const runAll = async <S extends Subject>(
  checks: readonly Check<S>[],
  subject: S,
): Promise<Diagnosis[]> => {
  const found: Diagnosis[] = []
  for (const { id, run } of checks) {
    try {
      for (const finding of findingsIn(await run(subject))) found.push({ check: id, ...finding })
    } catch (cause) {
      if (cause instanceof StoppedError) return [...found, cause.diagnosis]
      const failure = failureOf(cause)
      if (!found.some(({ message }) => message === failure.message)) found.push({ check: id, ...failure })
    }
  }
  return found
}

/** Checks the options and the machine. */
export const diagnoseConfiguration = (subject: Subject): Promise<Diagnosis[]> =>
  runAll(configurationChecks, subject)

/** The checks of what is stored. */
export const storedChecks: readonly Check<StoredSubject>[] = [
  ...userChecks,
  ...databaseChecks,
  secondFactorCheck,
  ...clientChecks,
]

/** The checks of the database that a server does not make itself when it starts. */
export const diagnoseStart = (subject: StoredSubject): Promise<Diagnosis[]> => runAll(storedChecks, subject)

/** Checks whose finding explains those of others. */
const causes: Readonly<Record<string, readonly string[]>> = {
  database: ['available'],
  migrations: ['available'],
  users: ['available', 'usernames', 'capitals'],
  // A server with the same secrets does not start, and one with others does not report.
  secrets: ['available', 'report'],
  authorization: ['report'],
  processes: ['report'],
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
