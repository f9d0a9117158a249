import { type ClientAuthMethod, matchesSecret } from './client-auth-method.ts'

/** RFC 6749 §2.3.1: the secret in the request body. */
export const clientSecretPost: ClientAuthMethod = {
  name: 'client_secret_post',
  isUsed: ({ parameters }) => parameters.has('client_secret'),
  credentials: ({ parameters }) => {
    const secret = parameters.required('client_secret')
    return {
      clientId: parameters.optional('client_id'),
      verify: (client, server) => matchesSecret(client, secret, server.now()),
    }
  },
}
