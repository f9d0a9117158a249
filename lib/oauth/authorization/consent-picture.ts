import type { Client } from '../../protocol/clients/client.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { clientCard } from './consent.ts'
import { consentRows } from './consent-rows.ts'
import { consentScopes } from './consent-scopes.ts'

/** The consent page that a picture shows. */
export interface PicturedConsent {
  readonly scopes: readonly string[]
  readonly redirectUri: string | undefined
  /** Of the user who looks at it. */
  readonly username: string
  readonly language: string
}

/**
 * The consent page of a client. Nothing in it can be pressed, and it has no scripts.
 *
 * @returns an HTML document
 */
export const consentPicture = (
  server: AuthorizationServer,
  client: Client,
  { scopes, redirectUri, username, language }: PicturedConsent,
): string => {
  const card = clientCard(server, client, redirectUri, language)
  const rows = consentScopes(server, client, { scopes, resources: {} }, undefined, language)
  const model = {
    action: '/',
    hidden: {},
    client: card,
    username,
    scopes: consentRows(server, rows, {}, language),
    redirectTo: card.host || undefined,
  }
  return server.views
    .render('consent', model, { language, choices: [] })
    .split('<script')
    .map((part, place) => (place === 0 ? part : part.slice(part.indexOf('</script>') + '</script>'.length)))
    .join('')
    .replace('<body', '<body inert')
}
