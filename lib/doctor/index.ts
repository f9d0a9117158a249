import type { Check, StoredSubject } from '../check.ts'
import { schemaVersion } from '../database/schema-version.ts'
import { migrations } from '../schema.ts'
import { configurationChecks } from './configuration.ts'
import { schemaChecks } from './database.ts'
import { type Diagnosis, diagnoseStart, runAll, storedChecks } from './diagnosis.ts'
import type { MountedSubject } from './mount.ts'
import { reportChecks } from './report.ts'
import { requestChecks } from './requests.ts'

export type { Finding, Level, StoredSubject, Subject, Versions } from '../check.ts'
export { type Diagnosis, diagnoseConfiguration } from './diagnosis.ts'
export { type Mount, openMount, UnreachableError } from './mount.ts'

/**
 * Checks what is stored. Without a current schema, only the schema is checked.
 *
 * @throws OAuthError `temporarily_unavailable` if the database does not answer
 */
export const diagnoseDatabase = async (subject: StoredSubject): Promise<Diagnosis[]> => {
  const { pending } = await schemaVersion(subject.database, migrations)
  const ofSchema = await runAll(schemaChecks, subject)
  return pending.length > 0 ? ofSchema : [...ofSchema, ...(await diagnoseStart(subject))]
}

/** Checks a running server with requests. */
export const diagnoseMount = (subject: MountedSubject): Promise<Diagnosis[]> =>
  runAll([...requestChecks, ...reportChecks], subject)

/** Every check; the documentation lists them. */
export const allChecks = async (): Promise<readonly Pick<Check<never>, 'id' | 'title'>[]> => [
  ...configurationChecks,
  ...schemaChecks,
  ...(await storedChecks()),
  ...requestChecks,
  ...reportChecks,
]
