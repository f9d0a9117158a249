import { parseBasicCredentials } from '../protocol/basic-credentials.ts'
import { OAuthError } from '../protocol/errors.ts'
import { type ClientAuthMethod, matchesSecret } from './client-auth-method.ts'

/** RFC 6749 §2.3.1: the secret in the Authorization header; the body may repeat the client_id. */
export const clientSecretBasic: ClientAuthMethod = {
  name: 'client_secret_basic',
  isUsed: (request) => request.authorization !== undefined,
  credentials: ({ authorization = '', parameters }) => {
    const basic = parseBasicCredentials(authorization)
    const bodyId = parameters.optional('client_id')
    if (basic && bodyId !== undefined && bodyId !== basic.clientId) {
      throw new OAuthError('invalid_request', 'client_id differs from the one in the Authorization header')
    }
    return {
      clientId: basic?.clientId,
      verify: (client) => matchesSecret(client, basic?.clientSecret ?? ''),
    }
  },
}
