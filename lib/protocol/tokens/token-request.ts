import type { Client } from '../clients/client.ts'
import { type ClientCertificate, certificateThumbprint } from '../clients/client-certificate.ts'
import type { Parameters } from '../parameters.ts'
import { refusal } from '../refusal.ts'
import type { AuthorizationDetail } from '../requests/authorization-details.ts'
import type { RequestInfo } from '../requests/request-info.ts'
import type { ProofRecord } from './dpop-proof.ts'
import { bearer, type KeyBinding, type TokenBinding, type TokenType } from './token-binding.ts'

/** A request that a client sends directly, as client authentication and grants read it. */
export interface TokenRequest {
  readonly parameters: Parameters
  /** The Authorization header as sent. */
  readonly authorization: string | undefined
  /** Absent if the client presented none, or mutual TLS is off. */
  readonly certificate?: ClientCertificate
  readonly info: RequestInfo
  /** The binding of the tokens that the client requests. */
  readonly binding: TokenBinding
  /** The DPoP proof of that, which the grant uses up last; absent without one. */
  readonly proof?: ProofRecord
}

/** A successful response of the token endpoint (RFC 6749 §5.1, OIDC Core §3.1.3.3). */
export interface TokenResponse {
  readonly access_token: string
  readonly token_type: TokenType
  /** Seconds. */
  readonly expires_in: number
  /** Absent if no scope was granted. */
  readonly scope?: string
  readonly refresh_token?: string
  readonly id_token?: string
  /** After a token exchange (RFC 8693 §2.2.1). */
  readonly issued_token_type?: string
  /** RFC 9396 §7. */
  readonly authorization_details?: readonly AuthorizationDetail[]
}

/**
 * The binding of the tokens of a request: for a client with `tls_client_certificate_bound_access_tokens` its certificate
 * (RFC 8705 §3), and otherwise the key that the request proved.
 *
 * @param key of the DPoP proof; undefined if there is none
 * @throws OAuthError `invalid_dpop_proof` without a proof if the client requires one (`dpop_bound_access_tokens`,
 *   RFC 9449 §5.2), `invalid_request` without a certificate that the tokens need
 */
export const tokenBinding = (
  { metadata }: Client,
  { certificate }: { readonly certificate?: ClientCertificate },
  key: KeyBinding | undefined,
): TokenBinding => {
  if (key === undefined && metadata.dpop_bound_access_tokens) {
    const how = 'this client has dpop_bound_access_tokens'
    throw refusal('proof_missing', { values: { how } })
  }
  if (!metadata.tls_client_certificate_bound_access_tokens) return key ?? bearer
  if (certificate !== undefined)
    return { type: 'certificate', thumbprint: certificateThumbprint(certificate) }
  throw refusal('certificate_missing')
}
