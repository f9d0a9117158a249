import { openWithKeys } from '../../outbound/client-jwks.ts'
import { reachOf } from '../../outbound/reach.ts'
import { type ClientCertificate, isCurrent } from '../../protocol/clients/client-certificate.ts'
import {
  hasRegisteredKey,
  hasRegisteredSubject,
  isIssuedBy,
} from '../../protocol/clients/registered-certificate.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'
import { none } from './client-secret.ts'

/** The authorities of the option decide, or those of the https server. */
const isFromAuthority = ({ options }: AuthorizationServer, certificate: ClientCertificate): boolean => {
  const authorities = options.protocol.mutualTls?.ca
  return authorities === undefined ? certificate.isAuthorized : isIssuedBy(certificate, authorities)
}

/** RFC 8705 §2.1: a certificate of a trusted authority, with the subject that the client registered. */
export const tlsClientAuth: ClientAuthMethod = {
  name: 'tls_client_auth',
  // Behind a proxy, only the option says which authorities to trust.
  isOn: ({ protocol: { mutualTls } }) =>
    mutualTls !== undefined && (mutualTls.header === undefined || mutualTls.ca !== undefined),
  isUsed: (request) => request.certificate !== undefined && none.isUsed(request),
  credentials: (request) => ({
    ...none.credentials(request),
    verify: ({ metadata }, server) => {
      const { certificate } = request
      if (certificate === undefined || !isCurrent(certificate, server.now())) return false
      return isFromAuthority(server, certificate) && hasRegisteredSubject(certificate, metadata)
    },
  }),
}

/** RFC 8705 §2.2: a certificate whose key the client registered. Its issuer does not matter. */
export const selfSignedTlsClientAuth: ClientAuthMethod = {
  name: 'self_signed_tls_client_auth',
  isOn: ({ protocol }) => protocol.mutualTls !== undefined,
  isUsed: (request) => request.certificate !== undefined && none.isUsed(request),
  credentials: (request) => ({
    ...none.credentials(request),
    verify: async (client, server) => {
      const { jwks, jwks_uri: jwksUri } = client.metadata
      const { certificate, info } = request
      if (certificate === undefined || !isCurrent(certificate, server.now())) return false
      const reach = reachOf(server, client, info.address)
      const isKnown = await openWithKeys(reach.jwks, { jwks, jwksUri }, async ({ keys }) =>
        hasRegisteredKey(certificate, keys) ? true : undefined,
      )
      return isKnown === true
    },
  }),
}
