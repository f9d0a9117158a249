import type { Client } from '../clients/client.ts'
import { OAuthError } from '../errors.ts'

/**
 * Checks where a browser may be sent after a logout: exactly a URI that this client registered (RP-Initiated Logout §3).
 *
 * @throws OAuthError `invalid_request`
 */
export const assertPostLogoutRedirectUri = (uri: string, client: Client | undefined): void => {
  if (client === undefined) {
    throw new OAuthError('invalid_request', 'post_logout_redirect_uri belongs to no registered client')
  }
  if (!client.metadata.post_logout_redirect_uris?.includes(uri)) {
    const about = { clientId: client.clientId }
    throw new OAuthError(
      'invalid_request',
      'post_logout_redirect_uri is not registered for this client',
      about,
    )
  }
}

/** A client's logout page, with the login that has ended (OIDC Front-Channel Logout §2). */
export const frontChannelLogoutUrl = (uri: string, login: Readonly<Record<'iss' | 'sid', string>>): string =>
  `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(login)}`
