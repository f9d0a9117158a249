import { frontChannelLogoutUrl } from '../../protocol/requests/logout-request.ts'
import { findClientsOfLogin } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { EndedLogin } from './back-channel-logout.ts'
import { sidFor } from './user-claims.ts'

/** The most frames of one page. */
const maxFrames = 50

/**
 * The URLs that the browser opens in frames, so that clients end their own sessions in it (OIDC Front-Channel Logout §3).
 *
 * @returns none if `protocol.frontChannelLogout` is off
 */
export const frontChannelUrls = async (
  server: AuthorizationServer,
  logins: readonly EndedLogin[],
): Promise<string[]> => {
  if (!server.options.protocol.frontChannelLogout) return []
  const urls: string[] = []
  for (const { sid } of logins) {
    for (const client of await findClientsOfLogin(server.database, { sid })) {
      const { frontchannel_logout_uri: uri } = client.metadata
      if (uri === undefined) continue
      urls.push(frontChannelLogoutUrl(uri, { iss: server.issuer, sid: sidFor(server, client, sid) }))
    }
  }
  return urls.slice(0, maxFrames)
}
