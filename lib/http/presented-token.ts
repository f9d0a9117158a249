import type { Request } from 'express'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { bearer as bearerBinding, type TokenType, tokenType } from '../protocol/token-binding.ts'

/** An access token, and the scheme that it was sent with. */
export interface PresentedToken {
  readonly value: string
  readonly scheme: TokenType
}

/** The fields of a challenge. The values are ours and contain no quotes. */
export interface ChallengeFields {
  readonly error?: string
  readonly error_description?: string
  /** The scopes that the request needs (RFC 6750 §3). */
  readonly scope?: string
  /** Levels of authentication, of which the request needs one (RFC 9470 §3). */
  readonly acr_values?: string
  /** Seconds since the login that the request needs at most (RFC 9470 §3). */
  readonly max_age?: string
  /** The URL of the document about the resource (RFC 9728 §5.1). */
  readonly resource_metadata?: string
}

/** The challenge of RFC 6750 §3. */
const bearerChallenge = (fields: ChallengeFields): Record<string, string> => ({
  'WWW-Authenticate': [
    `${tokenType(bearerBinding)} realm="api"`,
    ...Object.entries(fields).map(([name, value]) => `${name}="${value}"`),
  ].join(', '),
})

/** The request has no token. Its challenge names no error (RFC 6750 §3.1). */
class MissingTokenError extends OAuthError {
  constructor() {
    super('invalid_token', 'an access token is required')
  }
}

/**
 * The same error with the challenge that belongs to it (RFC 6750 §3.1).
 *
 * @param fields what the request needs
 */
export const withBearerChallenge = (error: unknown, fields: ChallengeFields = {}): unknown => {
  if (!(error instanceof OAuthError) || error.status >= 500) return error
  const { code, message, status, cause } = error
  const about = error instanceof MissingTokenError ? {} : { error: code, error_description: message }
  const headers = { ...error.headers, ...bearerChallenge({ ...about, ...fields }) }
  return new OAuthError(code, message, { cause, status, headers })
}

// RFC 6750 §2.1: b64token; the scheme in any letter case (RFC 9110 §11.1).
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

const fromHeader = (authorization: string | undefined): string | undefined => {
  if (authorization === undefined || !/^bearer\b/i.test(authorization)) return undefined
  const token = bearer.exec(authorization)?.[1]
  if (token === undefined) throw new OAuthError('invalid_request', 'the Authorization header is malformed')
  return token
}

/** The token of a header `Authorization: Bearer …`, which is not an access token everywhere. */
export const bearerToken = (req: Request): string => presentedToken(req).value

/**
 * The access token of a request: from the header, or where a form body is given from there (RFC 6750 §2.1, §2.2);
 * never from the query.
 *
 * @throws OAuthError `invalid_token` when there is none, `invalid_request` when there are two
 */
export const presentedToken = (req: Request, form?: Parameters): PresentedToken => {
  const header = fromHeader(req.headers.authorization)
  const field = form?.optional('access_token')
  if (header !== undefined && field !== undefined) {
    throw new OAuthError('invalid_request', 'the access token must be sent in one way only')
  }
  const value = header ?? field
  if (value === undefined) throw new MissingTokenError()
  return { value, scheme: tokenType(bearerBinding) }
}
