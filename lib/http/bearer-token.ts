import type { Request } from 'express'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { bearer as bearerBinding, tokenType } from '../protocol/token-binding.ts'

/** The challenge of RFC 6750 §3; values are ours and hold no quotes. */
export const bearerChallenge = (fields: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  'WWW-Authenticate': [
    `${tokenType(bearerBinding)} realm="api"`,
    ...Object.entries(fields).map(([name, value]) => `${name}="${value}"`),
  ].join(', '),
})

/** The same error with the challenge that belongs to it (RFC 6750 §3.1). */
export const withBearerChallenge = (error: unknown): unknown => {
  if (!(error instanceof OAuthError) || error.status >= 500 || error.headers['WWW-Authenticate']) return error
  const headers = {
    ...error.headers,
    ...bearerChallenge({ error: error.code, error_description: error.message }),
  }
  return new OAuthError(error.code, error.message, { cause: error.cause, status: error.status, headers })
}

// RFC 6750 §2.1: b64token; the scheme in any letter case (RFC 9110 §11.1).
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

const fromHeader = (authorization: string | undefined): string | undefined => {
  if (authorization === undefined || !/^bearer\b/i.test(authorization)) return undefined
  const token = bearer.exec(authorization)?.[1]
  if (token === undefined) throw new OAuthError('invalid_request', 'the Authorization header is malformed')
  return token
}

/**
 * The access token of a request: from the header, or where a form body is given from there (RFC 6750 §2.1, §2.2);
 * never from the query.
 *
 * @throws OAuthError `invalid_token` with a bare challenge when there is none, `invalid_request` when there are two
 */
export const bearerToken = (req: Request, form?: Parameters): string => {
  const header = fromHeader(req.headers.authorization)
  const field = form?.optional('access_token')
  if (header !== undefined && field !== undefined) {
    throw new OAuthError('invalid_request', 'the access token must be sent in one way only')
  }
  const token = header ?? field
  if (token === undefined) {
    throw new OAuthError('invalid_token', 'an access token is required', { headers: bearerChallenge() })
  }
  return token
}
