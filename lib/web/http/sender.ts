import type { WarnOnce } from '../../options/logger.ts'
import type { MutualTls } from '../../options/mutual-tls.ts'
import { certificateThumbprint } from '../../protocol/clients/client-certificate.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type KeyBinding, type TokenBinding, tokenType } from '../../protocol/tokens/token-binding.ts'
import type { ApiRequest } from './api-request.ts'
import { clientCertificate } from './client-certificate.ts'
import type { PresentedToken, SenderCheck } from './presented-token.ts'

/** The proofs that a resource server can check, by type of binding. */
export type SenderChecks = Readonly<Partial<Record<KeyBinding['type'], SenderCheck>>>

/** Requires the certificate that a token is bound to (RFC 8705 §3). */
const certificateCheck =
  (options: Pick<MutualTls, 'header'>, warnOnce: WarnOnce): SenderCheck =>
  (req, _token, thumbprint) => {
    const certificate = clientCertificate(req, options, warnOnce)
    if (certificate === undefined || certificateThumbprint(certificate) !== thumbprint) {
      throw refusal('token_certificate_differs')
    }
  }

/** The proofs that a resource server with these options can check. */
export const senderChecks = (
  { mutualTls }: { readonly mutualTls?: Pick<MutualTls, 'header'> | undefined },
  warnOnce: WarnOnce,
): SenderChecks => ({
  ...(mutualTls && { certificate: certificateCheck(mutualTls, warnOnce) }),
})

/**
 * Requires the sender of a token to prove what its binding requires. A bearer token passes at once, unless it is sent with
 * another scheme.
 *
 * @throws OAuthError `invalid_token` for the wrong scheme or certificate, and for a proof that cannot be checked here
 */
export const assertSender = async (
  checks: SenderChecks,
  req: ApiRequest,
  token: PresentedToken,
  binding: TokenBinding,
): Promise<void> => {
  const scheme = tokenType(binding)
  if (token.scheme !== scheme) {
    throw refusal('token_scheme_wrong', { values: { scheme } })
  }
  if (binding.type === 'bearer') return
  const check = checks[binding.type]
  if (check === undefined) {
    throw refusal('token_proof_unsupported')
  }
  await check(req, token, binding.thumbprint)
}
