/** A key as JSON, public or private (RFC 7517 §4). The types of Node have no such name in every version. */
export interface Jwk {
  readonly kty?: string
  /** Of a symmetric key (RFC 7518 §6.4). */
  readonly k?: string
  readonly [parameter: string]: unknown
}
