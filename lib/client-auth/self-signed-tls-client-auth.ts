import { openWithKeys } from '../outbound/client-jwks.ts'
import { hasRegisteredKey, isCurrent } from '../protocol/client-certificate.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'
import { none } from './none.ts'

/** RFC 8705 §2.2: a certificate whose key the client registered. Its issuer does not matter. */
export const selfSignedTlsClientAuth: ClientAuthMethod = {
  name: 'self_signed_tls_client_auth',
  isOn: ({ features }) => features.mutualTls !== undefined,
  isUsed: (request) => request.certificate !== undefined && none.isUsed(request),
  credentials: (request) => ({
    ...none.credentials(request),
    verify: async ({ metadata: { jwks, jwks_uri: jwksUri } }, server) => {
      const { certificate } = request
      if (certificate === undefined || !isCurrent(certificate, server.now())) return false
      const isKnown = await openWithKeys(server.clientJwks, { jwks, jwksUri }, async ({ keys }) =>
        hasRegisteredKey(certificate, keys) ? true : undefined,
      )
      return isKnown === true
    },
  }),
}
