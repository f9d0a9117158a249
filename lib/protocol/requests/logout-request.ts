import type { Client } from '../clients/client.ts'
import { readable } from '../explanation.ts'
import type { Parameters } from '../parameters.ts'
import { refusal } from '../refusal.ts'

/**
 * Where a request wants the browser sent after a logout: exactly a URI that this client registered (RP-Initiated Logout §3).
 *
 * @throws OAuthError `invalid_request`
 */
export const postLogoutRedirectUri = (
  parameters: Parameters,
  { clientId, metadata: { post_logout_redirect_uris: registered = [] } }: Client,
): string | undefined => {
  const uri = parameters.optional('post_logout_redirect_uri')
  if (uri === undefined || registered.includes(uri)) return uri
  const explanation = { expected: registered.map(readable).join(' or ') || 'none', received: readable(uri) }
  throw refusal('logout_uri_unregistered', {
    clientId,
    explanation,
  })
}

/** A client's logout page, with the login that has ended (OIDC Front-Channel Logout §2). */
export const frontChannelLogoutUrl = (uri: string, login: Readonly<Record<'iss' | 'sid', string>>): string =>
  `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(login)}`
