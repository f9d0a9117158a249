import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { type NewAuthorization, revokeSurplusAuthorizations } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'

/**
 * Ends the oldest authorizations of this user for this client, beyond the option `limits.authorizationsPerClient`, in the
 * background. Call it when `server.isSurplusCheckDue()`: most authorizations then need no further statement.
 */
export const endSurplus = (
  server: AuthorizationServer,
  issued: Pick<NewAuthorization, 'subject' | 'clientId' | 'offline'>,
  info: RequestInfo,
): void => {
  const { authorizationsPerClient: max } = server.options.limits
  if (max === false) return
  const { subject, clientId } = issued
  const work = async (): Promise<void> => {
    const values = { ...issued, max, now: server.now() }
    let ended: readonly string[]
    do {
      ended = await server.events.change(server.database, async (tx, tell) => {
        const ids = await revokeSurplusAuthorizations(tx, values)
        for (const authorizationId of ids)
          await tell('authorization.revoked', info, {
            authorizationId,
            clientId,
            subject,
            reason: 'too_many',
          })
        return ids
      })
    } while (ended.length > 0)
  }
  server.runInBackground(work())
}
