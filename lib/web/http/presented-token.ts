import { type ErrorCode, OAuthError, withChanges } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { proofAlgorithms } from '../../protocol/tokens/dpop-proof.ts'
import { bearer, type TokenType, tokenType } from '../../protocol/tokens/token-binding.ts'
import type { ApiRequest } from './api-request.ts'

const bearerScheme = tokenType(bearer)
const dpopScheme = tokenType({ type: 'dpop' })

/** An access token, and the scheme that it was sent with. */
export interface PresentedToken {
  readonly value: string
  readonly scheme: TokenType
}

/**
 * Requires a request to prove that its sender has a key or a certificate.
 *
 * @param thumbprint of the key or certificate that the token is bound to
 * @throws OAuthError `invalid_token`, `invalid_dpop_proof` or `use_dpop_nonce` unless it does
 */
export type SenderCheck = (req: ApiRequest, token: PresentedToken, thumbprint: string) => void | Promise<void>

/** The fields of a challenge. */
export interface ChallengeFields {
  readonly error?: string
  readonly error_description?: string
  /** The scopes that the request needs (RFC 6750 §3). */
  readonly scope?: string
  /** The login must have one of these authentication levels (RFC 9470 §3). */
  readonly acr_values?: string
  /** Seconds since the login that the request needs at most (RFC 9470 §3). */
  readonly max_age?: string
  /** The kind of the things that the user must choose; a parameter of our own. */
  readonly choice?: string
  /** The URL of the document about the resource (RFC 9728 §5.1). */
  readonly resource_metadata?: string
}

/** The schemes that an API accepts, that of the request first; without DPoP only Bearer. */
export const schemesFor = (req: ApiRequest, acceptsDpop: boolean): readonly TokenType[] => {
  if (!acceptsDpop) return [bearerScheme]
  return isScheme(dpopScheme, req.headers.authorization)
    ? [dpopScheme, bearerScheme]
    : [bearerScheme, dpopScheme]
}

/** The characters of a description that RFC 6749 §5.2 and RFC 6750 §3 allow, without those that end a header or a quoted text. */
const plain = (text: string): string => text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?')

const challenge = (scheme: TokenType, fields: ChallengeFields): string => {
  // RFC 9449 §7.1.
  const algs = scheme === dpopScheme ? proofAlgorithms.join(' ') : undefined
  const all: Readonly<Record<string, string | undefined>> = { realm: 'api', ...fields, algs }
  const parts = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${plain(value)}"`],
  )
  return `${scheme} ${parts.join(', ')}`
}

/** RFC 9449 §7.1, §9: where an access token is used, these are 401. */
const isAboutProof = (code: ErrorCode): boolean => code === 'invalid_dpop_proof' || code === 'use_dpop_nonce'

/**
 * Adds a challenge for each scheme to an error (RFC 6750 §3.1, RFC 9449 §7.1). The first names the error.
 *
 * @param fields the needs of the request
 * @param schemes from {@link schemesFor}
 */
export const withChallenge = (
  error: unknown,
  fields: ChallengeFields = {},
  [used = bearerScheme, ...others]: readonly TokenType[] = [],
): unknown => {
  // Another token would not help where there are too many requests.
  if (!(error instanceof OAuthError) || error.status >= 500 || error.status === 429) return error
  const { code, message, reason } = error
  // Without a token a challenge names no error (RFC 6750 §3.1).
  const about = reason === 'token_missing' ? {} : { error: code, error_description: message }
  const challenges = [
    challenge(used, { ...about, ...fields }),
    ...others.map((scheme) => challenge(scheme, {})),
  ]
  const headers = { ...error.headers, 'WWW-Authenticate': challenges.join(', ') }
  return withChanges(error, { status: isAboutProof(code) ? 401 : error.status, headers })
}

// In any letter case (RFC 9110 §11.1).
const schemePatterns: Readonly<Record<TokenType, RegExp>> = { Bearer: /^bearer\b/i, DPoP: /^dpop\b/i }

const isScheme = (scheme: TokenType, authorization = ''): boolean =>
  schemePatterns[scheme].test(authorization)

// RFC 6750 §2.1: b64token. RFC 9449 §7.1 has the same form.
const credentials = /^[a-z]+ +([A-Za-z0-9\-._~+/]+=*)$/i

const fromHeader = (req: ApiRequest, acceptsDpop: boolean): PresentedToken | undefined => {
  const { authorization } = req.headers
  const scheme = schemesFor(req, acceptsDpop).find((known) => isScheme(known, authorization))
  if (scheme === undefined || authorization === undefined) return undefined
  const value = credentials.exec(authorization)?.[1]
  if (value === undefined) throw refusal('authorization_header_malformed')
  return { value, scheme }
}

/** The token of a header `Authorization: Bearer …`, which is not an access token everywhere. */
export const bearerToken = (req: ApiRequest): string => presentedToken(req).value

/**
 * The access token of a request: from the header, or where a form body is given from there (RFC 6750 §2.1, §2.2);
 * never from the query.
 *
 * @param from.form the parameters of the form body, if tokens are accepted there
 * @param from.dpop whether the scheme DPoP is accepted (RFC 9449 §7.1)
 * @throws OAuthError `invalid_token` when there is none, `invalid_request` when there are two
 */
export const presentedToken = (
  req: ApiRequest,
  { form, dpop = false }: { readonly form?: Parameters | undefined; readonly dpop?: boolean } = {},
): PresentedToken => {
  const header = fromHeader(req, dpop)
  const field = form?.optional('access_token')
  if (header !== undefined && field !== undefined) {
    throw refusal('token_sent_twice')
  }
  if (header !== undefined) return header
  if (field === undefined) throw refusal('token_missing')
  return { value: field, scheme: bearerScheme }
}
