import { clientAuthMethodsOf } from '../../client-auth/index.ts'
import type { ClientFieldChoices, ClientFieldNames } from '../../clients/client-form.ts'
import type { OperatorContext } from '../../endpoints/operator-page.ts'
import { grantsOf } from '../../grants/index.ts'

/** The fields of a registered client. */
export const editFields: ClientFieldNames = [
  'client_name',
  'redirect_uris',
  'post_logout_redirect_uris',
  'scope',
  'token_endpoint_auth_method',
  'jwks_uri',
  'grant_types',
  'first_party',
  'require_pkce',
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'contacts',
  'other',
]

/** The fields of a new client. */
export const newFields: ClientFieldNames = ['client_id', ...editFields]

/** What a client may be registered for: what is turned on, and what it has already. */
export const choicesFor = (
  { server }: OperatorContext,
  registered: readonly string[] = [],
): ClientFieldChoices => ({
  token_endpoint_auth_method: ['', ...clientAuthMethodsOf(server).map(({ name }) => name)],
  grant_types: [
    ...new Set([
      ...grantsOf(server).map(({ grantType }) => grantType),
      ...(server.options.features.implicit ? ['implicit'] : []),
      ...registered,
    ]),
  ],
})
