import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { isPoolClosed } from '../../storage/database/connection.ts'
import { installedSqlite } from '../../storage/database/sqlite-version.ts'
import { diagnoseConfiguration, diagnoseStart } from './diagnosis.ts'

/**
 * Logs what the checks find that need no request, each as one line, when the server has started. It reads a few rows, once.
 * Notes are for `latchkey doctor` only.
 */
export const warnAtStart = async (setup: ServerSetup): Promise<void> => {
  // If the server is not ready, the start logs the reason.
  const server = await setup.ready().catch(() => undefined)
  if (server === undefined) return
  const { options, database, now } = server
  const subject = { options, now, versions: { node: process.versions.node, sqlite: installedSqlite() } }
  const stored = await diagnoseStart({ ...subject, database, hostKnex: database.knex })
  // The app has ended, and so each check failed.
  if (isPoolClosed(database)) return
  const found = [...(await diagnoseConfiguration(subject)), ...stored]
  for (const { level, message, fix } of found) {
    if (level !== 'note') options.logger.warn(`latchkey: ${message}; ${fix}`)
  }
}
