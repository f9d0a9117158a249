import type { Explanation } from './explanation.ts'
import type { SigningAlgorithm } from './signing-algorithms.ts'

/**
 * Every error code that may leave the server, with the HTTP status of a direct answer.
 * RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, OIDC Core §3.1.2.6 and RFC 7009 §2.2.1.
 */
export const errorStatuses = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  invalid_scope: 400,
  // RFC 8707 §2.
  invalid_target: 400,
  // RFC 9396 §5.
  invalid_authorization_details: 400,
  // RFC 7009 §2.2.1.
  unsupported_token_type: 400,
  access_denied: 400,
  // RFC 8628 §3.5.
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  // RFC 9470 §3.
  insufficient_user_authentication: 401,
  // RFC 9449 §5, §8; 401 where an access token is used.
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
  // OpenID Connect Core Error Code unmet_authentication_requirements 1.0.
  unmet_authentication_requirements: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  // RFC 9101 §7.
  invalid_request_object: 400,
  invalid_request_uri: 400,
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  server_error: 500,
  temporarily_unavailable: 503,
} as const

/** A registered error code that may leave the server. */
export type ErrorCode = keyof typeof errorStatuses

/** The page about errors, in the package. */
const errorPage = 'docs/errors.md'

/**
 * Where an error code is explained.
 *
 * @example errorUrl('invalid_grant') // 'docs/errors.md#invalid_grant'
 */
export const errorUrl = (code: ErrorCode): string => `${errorPage}#${code}`

/**
 * The line of the log about a server error. The logger adds the reason.
 *
 * @example failureLine('server_error', '8176-A078-C5') // 'latchkey: server_error 8176-A078-C5 (docs/errors.md#server_error)'
 */
export const failureLine = (code: ErrorCode, errorId: string): string =>
  `latchkey: ${code} ${errorId} (${errorUrl(code)})`

/** Whether a value is an error code. */
export const isErrorCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(errorStatuses, value)

/** The members of an error beside its code and description. */
export interface OAuthErrorOptions {
  /** The underlying error, for the log only. */
  cause?: unknown
  /** HTTP status where it differs from the code's own, such as 405, 413 or 415. */
  status?: number
  /** The registered client that the error is about, for the log and events only. */
  clientId?: string | undefined
  /** The difference between expected and received, for operators only. */
  explanation?: Explanation | undefined
  /** Response headers that belong to the error, such as `Allow`, `Retry-After` or `WWW-Authenticate`. */
  headers?: Readonly<Record<string, string>>
  /** A short name for the cause, for events only: an answer does not tell apart what a client must not know. */
  reason?: string | undefined
  /** The parameter, or the member of client metadata, that the error is about. */
  parameter?: string | undefined
  /** The user that the error is about, for events only. */
  subject?: string | undefined
}

/**
 * An error with a registered code, a description that says what to fix, and a private cause.
 *
 * @example throw new OAuthError('invalid_grant', 'code is expired')
 */
export class OAuthError extends Error {
  override readonly name: string = 'OAuthError'
  /** The `error` of the answer. */
  readonly code: ErrorCode
  /** The HTTP status of a direct answer. */
  readonly status: number
  /** Response headers that belong to the error. */
  readonly headers: Readonly<Record<string, string>>
  /** The registered client that the error is about, for the log and events only. */
  readonly clientId: string | undefined
  /** The difference between expected and received, for operators only. */
  readonly explanation: Explanation | undefined
  /** A short name for the cause, for events only; undefined for an error of the host without one. */
  readonly reason: string | undefined
  /** The parameter, or the member of client metadata, that the error is about. */
  readonly parameter: string | undefined
  /** The user that the error is about, for events only. */
  readonly subject: string | undefined

  /** @param description what to fix; it begins with the name of the parameter */
  constructor(code: ErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(description, { cause: options.cause })
    this.code = code
    this.status = options.status ?? errorStatuses[code]
    this.headers = options.headers ?? {}
    this.clientId = options.clientId
    this.explanation = options.explanation
    this.reason = options.reason
    this.parameter = options.parameter
    this.subject = options.subject
  }
}

/**
 * A copy of an error with other members: the only place where errors are copied.
 *
 * @example withChanges(error, { headers: { 'Retry-After': '1' } })
 */
export const withChanges = (
  error: OAuthError,
  changes: OAuthErrorOptions & { readonly message?: string },
): OAuthError =>
  new OAuthError(error.code, changes.message ?? error.message, { ...error, cause: error.cause, ...changes })

/** Adds the client to an error that names none; any other error stays as it is. */
export const aboutClient = <T>(error: T, clientId: string): T =>
  error instanceof OAuthError && error.clientId === undefined ? Object.assign(error, { clientId }) : error

/** The ways to return an authorization response (OAuth 2.0 Multiple Response Types §2.1, OAuth 2.0 Form Post Response Mode). */
export const plainResponseModes = ['query', 'fragment', 'form_post'] as const
/** The ways to return it as one signed JWT (JARM §2.3). `jwt` stands for one of the others. */
export const signedResponseModes = ['jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'] as const
export const responseModes = [...plainResponseModes, ...signedResponseModes] as const
export type ResponseMode = (typeof responseModes)[number]

/** The way in which one response is returned. */
export type ResponseDelivery = Exclude<ResponseMode, 'jwt'>

/** The signing of a response. */
export interface ResponseSigning {
  readonly clientId: string
  readonly algorithm: SigningAlgorithm
}

/** Where an authorization response goes: created only after client and redirect URI are verified. */
export interface AuthorizationTarget {
  readonly redirectUri: string
  readonly state?: string
  readonly responseMode: ResponseDelivery
  /** Present if the mode is one of a signed response. */
  readonly signing?: ResponseSigning
  /** The user has done nothing yet, and the client described itself: an error is shown, and leads there by a link only. */
  readonly byLink?: boolean
}

/** An error that is returned to the client by redirect (RFC 6749 §4.1.2.1), and so needs a verified target. */
export class AuthorizationResponseError extends OAuthError {
  override readonly name = 'AuthorizationResponseError'
  readonly target: AuthorizationTarget

  constructor(
    target: AuthorizationTarget,
    code: ErrorCode,
    description: string,
    options: OAuthErrorOptions = {},
  ) {
    super(code, description, options)
    this.target = target
  }
}

/** Turns an OAuthError into one that is returned to this verified target; any other error stays as it is. */
export const asAuthorizationError = (target: AuthorizationTarget, error: unknown): unknown =>
  error instanceof OAuthError && !(error instanceof AuthorizationResponseError)
    ? new AuthorizationResponseError(target, error.code, error.message, error)
    : error
