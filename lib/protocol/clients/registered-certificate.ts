import type { X509Certificate } from 'node:crypto'
import type { ClientCertificate } from './client-certificate.ts'
import { isSubject } from './distinguished-name.ts'
import { type PublicJwk, parsePublicJwk } from './jwks.ts'

// Which certificates authenticate a client (RFC 8705 §2).

/** id-kp-clientAuth and anyExtendedKeyUsage (RFC 5280 §4.2.1.12). */
const clientUsages = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']

/**
 * Whether one of these authorities issued the certificate itself, for the authentication of clients. A certificate of another
 * authority below them does not count.
 */
export const isIssuedBy = ({ x509 }: ClientCertificate, authorities: readonly X509Certificate[]): boolean => {
  // Undefined in a certificate for every purpose.
  const usages: readonly string[] | undefined = x509.keyUsage
  if (usages !== undefined && !usages.some((usage) => clientUsages.includes(usage))) return false
  return authorities.some((authority) => x509.checkIssued(authority) && x509.verify(authority.publicKey))
}

/** URIs of the subject alternative name. Node writes a value as JSON if it could be mistaken for several. */
const uris = ({ subjectAltName = '' }: X509Certificate): readonly string[] =>
  [...subjectAltName.matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/gy)]
    .filter(([, type]) => type === 'URI')
    .map(([, , value = '']) => (value.startsWith('"') ? String(JSON.parse(value)) : value))

/** Never the common name, and no wildcards: a client has one name. */
const exactly = { subject: 'never', wildcards: false } as const

/** The members of client metadata that name the subject, and how (RFC 8705 §2.1.2). */
export const certificateSubjects = {
  tls_client_auth_subject_dn: (x509, name) => isSubject(name, x509.subject),
  tls_client_auth_san_dns: (x509, name) => x509.checkHost(name, exactly) !== undefined,
  tls_client_auth_san_uri: (x509, name) => uris(x509).includes(name),
  tls_client_auth_san_ip: (x509, name) => x509.checkIP(name) !== undefined,
  tls_client_auth_san_email: (x509, name) => x509.checkEmail(name, exactly) !== undefined,
} satisfies Readonly<Record<string, (x509: X509Certificate, name: string) => boolean>>

export type CertificateSubjectName = keyof typeof certificateSubjects

/** The member that names the subject of a client's certificates; a client has exactly one. */
export const certificateSubjectNames = Object.keys(certificateSubjects) as readonly CertificateSubjectName[]

/** Whether the certificate is that of the subject which a client registered. */
export const hasRegisteredSubject = (
  { x509 }: ClientCertificate,
  registered: Readonly<Partial<Record<CertificateSubjectName, string>>>,
): boolean =>
  certificateSubjectNames.some((name) => {
    const value = registered[name]
    return value !== undefined && certificateSubjects[name](x509, value)
  })

/** Undefined for a kind of key that no client can register. */
const publicKeyOf = ({ publicKey }: X509Certificate): PublicJwk | undefined => {
  try {
    const key = parsePublicJwk(publicKey.export({ format: 'jwk' }))
    return typeof key === 'string' ? undefined : key
  } catch {
    return undefined
  }
}

/** Whether the key of the certificate is one of these (RFC 8705 §2.2). */
export const hasRegisteredKey = ({ x509 }: ClientCertificate, keys: readonly PublicJwk[]): boolean => {
  const key = publicKeyOf(x509)
  if (key === undefined) return false
  const own = JSON.stringify([key.kty, key.crv, key.x, key.y, key.n, key.e])
  return keys
    .filter(({ use = 'sig' }) => use === 'sig')
    .some((key) => JSON.stringify([key.kty, key.crv, key.x, key.y, key.n, key.e]) === own)
}
