import type { FeatureTools } from '../../features/feature.ts'
import { databaseTime } from '../../storage/database/clock.ts'
import type { Check, Diagnosis, MountedSubject, StoredSubject, Subject } from '../check.ts'
import { strangerChecks } from './clients.ts'
import { configurationChecks } from './configuration.ts'
import { schemaChecks } from './database.ts'
import { runAll, storedChecks } from './diagnosis.ts'
import { formChecks } from './forms.ts'
import { proxyChecks } from './proxy.ts'
import { reportChecks } from './report.ts'
import { requestChecks } from './requests.ts'
import { secretChecks } from './secrets.ts'
import { serviceWorkerChecks } from './service-worker.ts'
import { nameChecks, userSchemaChecks } from './users.ts'

export {
  type CheckFinding,
  type Diagnosis,
  type Level,
  type Mount,
  StoppedError,
  type StoredSubject,
  type Subject,
  type Versions,
} from '../check.ts'
export { diagnoseConfiguration, withoutConsequences } from './diagnosis.ts'
export { diagnoseMcp, type McpDiagnosis, type PlayedHost } from './mcp.ts'
export { type McpHost, mcpHosts } from './mcp-hosts.ts'
export { openMount, requestAnswer, UnreachableError, untilStopped } from './mount.ts'

/** Checks the way to other servers. */
export const diagnoseProxy = (subject: Subject): Promise<Diagnosis[]> => runAll(proxyChecks, subject)

/**
 * Checks what is stored, or only the schema and the user table if the schema is not that of this version.
 *
 * @throws OAuthError `temporarily_unavailable` if the database does not answer
 */
export const diagnoseDatabase = async (subject: StoredSubject): Promise<Diagnosis[]> => {
  await databaseTime(subject.database)
  const ofSchema = await runAll(schemaChecks, subject)
  const found = [...ofSchema, ...(await runAll(userSchemaChecks, subject))]
  if (ofSchema.length > 0) return found
  const further = [...secretChecks, ...storedChecks, ...nameChecks, ...strangerChecks]
  return [...found, ...(await runAll(further, subject))]
}

/**
 * Checks a running server with requests.
 *
 * @param tools of the features, which may have checks of their own
 */
export const diagnoseMount = (
  subject: MountedSubject,
  tools: readonly FeatureTools[],
): Promise<Diagnosis[]> =>
  runAll(
    [
      ...requestChecks,
      ...formChecks,
      ...serviceWorkerChecks,
      ...tools.flatMap(({ mountChecks = [] }) => mountChecks),
      ...reportChecks,
    ],
    subject,
  )

/** Every check of what runs here or is stored; the documentation lists them. */
export const allChecks = async (): Promise<readonly Pick<Check<never>, 'id' | 'title'>[]> => [
  ...configurationChecks,
  ...proxyChecks,
  ...schemaChecks,
  ...userSchemaChecks,
  ...secretChecks,
  ...storedChecks,
  ...nameChecks,
  { id: 'tls', title: 'TLS works' },
  ...requestChecks,
  ...formChecks,
  ...serviceWorkerChecks,
  ...reportChecks,
]
