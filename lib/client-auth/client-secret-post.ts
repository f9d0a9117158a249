import type { ClientAuthMethod } from './client-auth-method.ts'
import { verifySecrets } from './client-secret.ts'

/** RFC 6749 §2.3.1: the secret in the request body. */
export const clientSecretPost: ClientAuthMethod = {
  name: 'client_secret_post',
  isUsed: ({ parameters }) => parameters.has('client_secret'),
  credentials: ({ parameters }) => {
    const secret = parameters.required('client_secret')
    return {
      clientId: parameters.optional('client_id'),
      verify: (client, server) => verifySecrets(client, [secret], server),
    }
  },
}
