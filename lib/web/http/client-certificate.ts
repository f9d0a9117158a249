import type { TLSSocket } from 'node:tls'
import type { WarnOnce } from '../../options/logger.ts'
import type { MutualTls } from '../../options/mutual-tls.ts'
import { type ClientCertificate, parseCertificateHeader } from '../../protocol/clients/client-certificate.ts'
import { type ApiRequest, isFromTrustedProxy } from './api-request.ts'

const ofConnection = ({ socket }: ApiRequest): ClientCertificate | undefined => {
  // A connection of plain http has neither, and a web-standard request does not show its connection.
  const { getPeerX509Certificate, authorized = false } = (socket ?? {}) as Partial<TLSSocket>
  const x509 = getPeerX509Certificate?.call(socket)
  return x509 && { x509, isAuthorized: authorized }
}

const ofHeader = (req: ApiRequest, name: string, warnOnce: WarnOnce): ClientCertificate | undefined => {
  const value = req.headers[name]
  if (value === undefined) return undefined
  if (!isFromTrustedProxy(req)) {
    warnOnce(`the header ${name} is ignored, because the app does not trust its sender; see trust proxy`)
    return undefined
  }
  const x509 = parseCertificateHeader(String(value))
  return x509 && { x509, isAuthorized: false }
}

/**
 * The certificate of the client: of the TLS connection, or as a trusted proxy sends it.
 *
 * @returns undefined if the client presented none
 * @throws OAuthError `invalid_request` if the header is malformed
 */
export const clientCertificate = (
  req: ApiRequest,
  { header }: Pick<MutualTls, 'header'>,
  warnOnce: WarnOnce,
): ClientCertificate | undefined =>
  header === undefined ? ofConnection(req) : ofHeader(req, header.toLowerCase(), warnOnce)
