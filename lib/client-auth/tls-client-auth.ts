import type { AuthorizationServer } from '../authorization-server.ts'
import {
  type ClientCertificate,
  hasRegisteredSubject,
  isCurrent,
  isIssuedBy,
} from '../protocol/client-certificate.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'
import { none } from './none.ts'

/** The authorities of the option decide, or those of the https server. */
const isFromAuthority = ({ options }: AuthorizationServer, certificate: ClientCertificate): boolean => {
  const authorities = options.features.mutualTls?.authorities
  return authorities === undefined ? certificate.isAuthorized : isIssuedBy(certificate, authorities)
}

/** RFC 8705 §2.1: a certificate of a trusted authority, with the subject that the client registered. */
export const tlsClientAuth: ClientAuthMethod = {
  name: 'tls_client_auth',
  // Behind a proxy, only the option says which authorities to trust.
  isOn: ({ features: { mutualTls } }) =>
    mutualTls !== undefined && (mutualTls.header === undefined || mutualTls.authorities !== undefined),
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
