/** How clients present certificates (RFC 8705). Without members, the app's own https server requests them. */
export interface MutualTlsOptions {
  /**
   * The header in which a proxy sends the certificate of the client, such as `Client-Cert` (RFC 9440) or `X-SSL-Client-Cert`.
   * It is read if `trust proxy` of the app trusts the sender. The proxy must remove it from requests of clients.
   * @default the certificate of the TLS connection
   */
  header?: string
  /**
   * PEM certificates of the authorities that issue clients' certificates for `tls_client_auth`. Required for that method with
   * `header`. @default the authorities that the https server trusts
   */
  ca?: string | readonly string[]
  /**
   * The URL of the mount where the server requests certificates, if it is another than the issuer, such as
   * `'https://mtls.example.com/oauth'`; discovery publishes it as `mtls_endpoint_aliases`.
   */
  url?: string
}
