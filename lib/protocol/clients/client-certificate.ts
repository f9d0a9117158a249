import { createHash, X509Certificate } from 'node:crypto'
import type { OAuthError } from '../errors.ts'
import { refusal } from '../refusal.ts'

/** The certificate that a client used for its TLS connection. TLS proves that it holds the key. */
export interface ClientCertificate {
  readonly x509: X509Certificate
  /** Whether TLS verified that a trusted authority issued it. */
  readonly isAuthorized: boolean
}

/** SHA-256 of the certificate in base64url: `x5t#S256` (RFC 8705 §3.1). */
export const certificateThumbprint = ({ x509 }: ClientCertificate): string =>
  createHash('sha256').update(x509.raw).digest('base64url')

const base64 = /^[A-Za-z0-9+/]+=*$/
const pem = /^-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----\s*$/
const byteSequence = /^:([^:]*):$/

const malformed = (): OAuthError => refusal('certificate_malformed')

const percentDecoded = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    throw malformed()
  }
}

/**
 * Parses the header in which a proxy sends the certificate: `:…:` with the DER in base64 (RFC 9440 §2.1), PEM, also
 * percent-encoded as nginx and AWS send it, or the DER in base64 alone.
 *
 * @param value undefined, empty or `(null)`, as Apache writes it, if the client has none
 * @throws OAuthError `invalid_request` if it is not exactly one certificate
 */
export const parseCertificateHeader = (value: string | undefined): X509Certificate | undefined => {
  if (value === undefined || value === '' || value === '(null)') return undefined
  const text = percentDecoded(value)
  const encoded = ((byteSequence.exec(text) ?? pem.exec(text))?.[1] ?? text).replace(/\s/g, '')
  if (!base64.test(encoded)) throw malformed()
  const der = Buffer.from(encoded, 'base64')
  try {
    const certificate = new X509Certificate(der)
    // OpenSSL ignores what follows the certificate.
    if (certificate.raw.length === der.length) return certificate
  } catch {
    // Not a certificate.
  }
  throw malformed()
}

/** @param now epoch seconds */
export const isCurrent = ({ x509 }: ClientCertificate, now: number): boolean =>
  Date.parse(x509.validFrom) <= now * 1000 && now * 1000 <= Date.parse(x509.validTo)
