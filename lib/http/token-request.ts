import type { Request } from 'express'
import type { TokenRequest } from '../protocol/token-request.ts'
import { formParameters } from './form.ts'
import { requestInfo } from './request-info.ts'

/**
 * What a client sends to an endpoint of its own, converted from the wire (RFC 6749 §3.2).
 *
 * @throws OAuthError `invalid_request`
 */
export const tokenRequest = (req: Request): TokenRequest => {
  const parameters = formParameters(req)
  parameters.assertEachOnce()
  return { parameters, authorization: req.headers.authorization, info: requestInfo(req) }
}
