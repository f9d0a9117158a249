import type { ClaimsAsked } from '../../lib/options/users.ts'
import { parseClientMetadata } from '../../lib/protocol/clients/client-metadata.ts'

/** What UserInfo asks for with these scopes. */
export const askedFor = (
  scopes: readonly string[],
  target: ClaimsAsked['for'] = 'userinfo',
): ClaimsAsked => ({
  client: { client_id: 'web', ...parseClientMetadata({ grant_types: [] }) },
  scopes,
  for: target,
})
