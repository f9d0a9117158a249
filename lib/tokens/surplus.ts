import type { AuthorizationServer } from '../authorization-server.ts'
import type { RequestInfo } from '../protocol/requests/request-info.ts'
import { type NewAuthorization, revokeSurplusAuthorizations } from '../repositories/index.ts'

/**
 * Ends the oldest authorizations of this user for this client, beyond the option `maxAuthorizationsPerClient`, in the
 * background. Call it when `server.isSurplusCheckDue()`: most authorizations then need no further statement.
 */
export const endSurplus = (
  server: AuthorizationServer,
  issued: Pick<NewAuthorization, 'subject' | 'clientId' | 'offline'>,
  info: RequestInfo,
): void => {
  const { maxAuthorizationsPerClient: max } = server.options
  if (max === false) return
  const { subject, clientId } = issued
  const work = async (): Promise<void> => {
    const values = { ...issued, max, now: server.now() }
    let ended: readonly string[]
    do {
      ended = await revokeSurplusAuthorizations(server.database, values)
      for (const authorizationId of ended) {
        const reason = 'too_many'
        server.events.announce('authorization.revoked', info, { authorizationId, clientId, subject, reason })
      }
    } while (ended.length > 0)
  }
  server.runInBackground(work())
}
