import { clientCard } from '../../oauth/authorization/consent.ts'
import { consentRows } from '../../oauth/authorization/consent-rows.ts'
import { consentScopes } from '../../oauth/authorization/consent-scopes.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { standardScopes } from '../../protocol/scope.ts'
import type { OperatorContext } from '../../web/endpoints/operator-page.ts'

/**
 * The consent page of a client, as users see it if the client asks for all its scopes. Nothing in it can be pressed, and it has
 * no scripts.
 *
 * @param username of the user who looks at it
 * @returns an HTML document
 */
export const consentPicture = ({ server }: OperatorContext, client: Client, username: string): string => {
  const language = 'en'
  const { redirect_uris: uris, scope } = client.metadata
  const scopes = scope?.split(' ') ?? standardScopes
  const [redirectUri] = uris
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
