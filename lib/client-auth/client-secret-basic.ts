import { parseBasicCredentials } from '../protocol/basic-credentials.ts'
import { OAuthError } from '../protocol/errors.ts'
import { type ClientAuthMethod, matchesSecret } from './client-auth-method.ts'

/** RFC 6749 §2.3.1: the secret in the Authorization header; a client_id in the body may repeat the one there. */
export const clientSecretBasic: ClientAuthMethod = {
  name: 'client_secret_basic',
  isUsed: (request) => request.authorization !== undefined,
  present: ({ authorization = '', parameters }) => {
    const credentials = parseBasicCredentials(authorization)
    const bodyId = parameters.optional('client_id')
    if (credentials && bodyId !== undefined && bodyId !== credentials.clientId) {
      throw new OAuthError('invalid_request', 'client_id differs from the one in the Authorization header')
    }
    return {
      clientId: credentials?.clientId,
      verify: (client) => matchesSecret(client, credentials?.clientSecret ?? ''),
    }
  },
}
