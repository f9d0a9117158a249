import type { Check, Finding, StoredSubject, Subject } from '../check.ts'
import { schemaVersion } from '../database/schema-version.ts'
import { migrations } from '../schema.ts'
import { loadTools } from '../tools.ts'
import { clientChecks } from './clients.ts'
import { configurationChecks } from './configuration.ts'
import { databaseChecks, schemaChecks } from './database.ts'
import type { MountedSubject } from './mount.ts'
import { reportChecks } from './report.ts'
import { requestChecks } from './requests.ts'

export type { Finding, Level, StoredSubject, Subject, Versions } from '../check.ts'
export { type Mount, openMount, UnreachableError } from './mount.ts'

/** A finding with the id of its check. */
export interface Diagnosis extends Finding {
  readonly check: string
}

/** The checks of what is stored, of the core and of the features. */
const storedChecks = async (): Promise<readonly Check<StoredSubject>[]> => [
  ...databaseChecks,
  ...(await loadTools()).flatMap(({ checks = [] }) => checks),
  ...clientChecks,
]

/** Runs checks one after another. */
const runAll = async <S extends Subject>(checks: readonly Check<S>[], subject: S): Promise<Diagnosis[]> => {
  const found: Diagnosis[] = []
  for (const { id, run } of checks) {
    for (const finding of await run(subject)) found.push({ check: id, ...finding })
  }
  return found
}

/** Checks the options and the machine. */
export const diagnoseConfiguration = (subject: Subject): Promise<Diagnosis[]> =>
  runAll(configurationChecks, subject)

/**
 * Checks what is stored. Without a current schema, only the schema is checked.
 *
 * @throws OAuthError `temporarily_unavailable` if the database does not answer
 */
export const diagnoseDatabase = async (subject: StoredSubject): Promise<Diagnosis[]> => {
  const { pending } = await schemaVersion(subject.database, migrations)
  const ofSchema = await runAll(schemaChecks, subject)
  return pending.length > 0 ? ofSchema : [...ofSchema, ...(await runAll(await storedChecks(), subject))]
}

/** Checks a running server with requests. */
export const diagnoseMount = (subject: MountedSubject): Promise<Diagnosis[]> =>
  runAll([...requestChecks, ...reportChecks], subject)

/** The checks of the database that a server does not make itself when it starts. */
export const diagnoseStart = async (subject: StoredSubject): Promise<Diagnosis[]> =>
  runAll(await storedChecks(), subject)

/** Every check; the documentation lists them. */
export const allChecks = async (): Promise<readonly Pick<Check<never>, 'id' | 'title'>[]> => [
  ...configurationChecks,
  ...schemaChecks,
  ...(await storedChecks()),
  ...requestChecks,
  ...reportChecks,
]
