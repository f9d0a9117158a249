import type { TokenRequest } from '../protocol/token-request.ts'
import type { Context } from './context.ts'
import { formParameters } from './form.ts'

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
