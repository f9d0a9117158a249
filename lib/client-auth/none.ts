import { publicClientOf } from '../protocol/basic-credentials.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'
import { assertSameClient, hasBodyCredentials } from './client-secret-basic.ts'

/**
 * A public client only names itself (RFC 6749 §3.2.1), in the body or by a Basic header with an empty secret; PKCE and
 * rotation protect its codes and tokens.
 */
export const none: ClientAuthMethod = {
  name: 'none',
  isUsed: ({ authorization, parameters }) =>
    !hasBodyCredentials(parameters) &&
    (authorization === undefined || publicClientOf(authorization) !== undefined),
  credentials: ({ authorization, parameters }) => {
    const named = publicClientOf(authorization)
    assertSameClient(parameters, named)
    return { clientId: named ?? parameters.required('client_id'), verify: () => true }
  },
}
