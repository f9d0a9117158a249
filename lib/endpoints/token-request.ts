import type { Context } from '../http/context.ts'
import { formParameters } from '../http/form.ts'
import type { TokenRequest } from '../protocol/token-request.ts'

/**
 * A request from a client, read from its form (RFC 6749 §3.2).
 *
 * @throws OAuthError `invalid_request`
 */
export const tokenRequest = ({ req, info }: Context): TokenRequest => {
  const parameters = formParameters(req)
  parameters.assertEachOnce()
  return { parameters, authorization: req.headers.authorization, info }
}
