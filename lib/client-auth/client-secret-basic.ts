import { parseBasicCredentials, publicClientOf } from '../protocol/basic-credentials.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'
import { verifySecrets } from './client-secret.ts'

/** Whether the body has credentials too. */
export const hasBodyCredentials = (parameters: Parameters): boolean =>
  ['client_secret', 'client_assertion', 'client_assertion_type'].some((name) => parameters.has(name))

/** @throws OAuthError `invalid_request` if the body names another client than the Authorization header */
export const assertSameClient = (parameters: Parameters, clientId: string | undefined): void => {
  const bodyId = parameters.optional('client_id')
  if (clientId !== undefined && bodyId !== undefined && bodyId !== clientId) {
    throw new OAuthError('invalid_request', 'client_id differs from the one in the Authorization header')
  }
}

/** RFC 6749 §2.3.1: the secret in the Authorization header; the body may repeat the client_id. */
export const clientSecretBasic: ClientAuthMethod = {
  name: 'client_secret_basic',
  isUsed: ({ authorization, parameters }) =>
    authorization !== undefined &&
    (publicClientOf(authorization) === undefined || hasBodyCredentials(parameters)),
  credentials: ({ authorization = '', parameters }) => {
    const basic = parseBasicCredentials(authorization)
    assertSameClient(parameters, basic?.clientId)
    return {
      clientId: basic?.clientId,
      verify: (client, server) => verifySecrets(client, basic?.clientSecrets ?? [], server),
    }
  },
}
