import type { Check, MountedSubject, StoredSubject, Subject } from '../check.ts'
import { schemaVersion } from '../database/schema-version.ts'
import type { FeatureTools } from '../feature.ts'
import { migrations } from '../schema.ts'
import { configurationChecks } from './configuration.ts'
import { schemaChecks } from './database.ts'
import { type Diagnosis, diagnoseStart, runAll, storedChecks } from './diagnosis.ts'
import { proxyChecks } from './proxy.ts'
import { reportChecks } from './report.ts'
import { requestChecks } from './requests.ts'
import { secretChecks } from './secrets.ts'
import { userSchemaChecks } from './users.ts'

export type { Finding, Level, Mount, StoredSubject, Subject, Versions } from '../check.ts'
export { type Diagnosis, diagnoseConfiguration, withoutConsequences } from './diagnosis.ts'
export { diagnoseMcp, type McpDiagnosis, type PlayedHost } from './mcp.ts'
export { type McpHost, mcpHosts } from './mcp-hosts.ts'
export { openMount, requestAnswer, StoppedError, UnreachableError, untilStopped } from './mount.ts'

/** Checks the way to other servers. */
export const diagnoseProxy = (subject: Subject): Promise<Diagnosis[]> => runAll(proxyChecks, subject)

/**
 * Checks what is stored, or only the schema if it is not up to date.
 *
 * @throws OAuthError `temporarily_unavailable` if the database does not answer
 */
export const diagnoseDatabase = async (subject: StoredSubject): Promise<Diagnosis[]> => {
  const { pending } = await schemaVersion(subject.database, migrations)
  const ofSchema = await runAll([...schemaChecks, ...userSchemaChecks], subject)
  if (pending.length > 0) return ofSchema
  return [...ofSchema, ...(await runAll(secretChecks, subject)), ...(await diagnoseStart(subject))]
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
    [...requestChecks, ...tools.flatMap(({ mountChecks = [] }) => mountChecks), ...reportChecks],
    subject,
  )

/** Every check of what runs here or is stored; the documentation lists them. */
export const allChecks = async (): Promise<readonly Pick<Check<never>, 'id' | 'title'>[]> => [
  ...configurationChecks,
  ...proxyChecks,
  ...schemaChecks,
  ...userSchemaChecks,
  ...secretChecks,
  ...(await storedChecks()),
  { id: 'tls', title: 'TLS works' },
  ...requestChecks,
  ...reportChecks,
]
