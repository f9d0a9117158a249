import { X509Certificate } from 'node:crypto'
import { type Checked, custom, type FeatureSchema, feature, text } from './schema.ts'

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

const authoritiesIn = (pem: unknown): readonly X509Certificate[] => {
  const blocks = typeof pem === 'string' ? (pem.match(pemBlock) ?? []) : []
  try {
    const authorities = blocks.map((block) => new X509Certificate(block))
    return authorities.every(({ ca }) => ca) ? authorities : []
  } catch {
    return []
  }
}

const header = text("the name of a header, such as 'Client-Cert'", (value) =>
  /^[A-Za-z0-9-]{1,100}$/.test(value),
)

/** How an API in another process gets the certificates of clients. */
export const remoteMutualTls = feature({
  /** The header in which a proxy sends the certificate of the client, as `protocol.mutualTls.header` is. */
  header,
})

const members = {
  /**
   * The header in which a proxy sends the client's certificate, such as `X-SSL-Client-Cert`. It is read if `trust proxy`
   * trusts the sender. The proxy must remove it from requests of clients. @default the certificate of the TLS connection
   */
  header,
  /**
   * PEM certificates of the authorities that issue clients' certificates for `tls_client_auth`. Required for that method with
   * `header`. @default the authorities that the https server trusts
   */
  ca: custom<string | readonly string[], readonly X509Certificate[]>(
    'PEM certificates of authorities',
    (value) => {
      const found = [value].flat().map(authoritiesIn)
      return found.every(({ length }) => length > 0) ? found.flat() : undefined
    },
  ),
  /**
   * The URL of the mount where the server requests certificates, if it is another than the issuer, such as
   * `'https://mtls.example.com/oauth'`; discovery publishes it as `mtls_endpoint_aliases`. @default none
   */
  url: text(
    'an https URL without a slash at the end',
    (value) => URL.canParse(value) && /^https:\/\/[^?#@]*[^/?#@]$/.test(value),
  ),
}

type MutualTlsSchemasMembers = typeof members

/** The members of `protocol.mutualTls`. */
export interface MutualTlsSchemas extends MutualTlsSchemasMembers {}

export const mutualTls: FeatureSchema<MutualTlsSchemas> = feature(members)

/** Checked options of mutual TLS. */
export type MutualTls = NonNullable<Checked<typeof mutualTls>>
