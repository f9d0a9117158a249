import type { ErrorRequestHandler, Response } from 'express'
import { ExpiredRequestError } from '../authorization/expired-request.ts'
import { sendAuthorizationResponse } from '../authorization/response.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { AuthorizationResponseError, OAuthError } from '../protocol/errors.ts'
import type { Pages } from './pages.ts'
import { requestInfo } from './request-info.ts'
import { sendJson } from './send.ts'

const statusOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined

/** Every error as an OAuthError: ours as it is, one of Express by its status, anything else without a word of what it was. */
const oauthErrorOf = (error: unknown): OAuthError => {
  if (error instanceof OAuthError) return error
  const status = statusOf(error)
  if (status !== undefined && status >= 400 && status < 500) {
    return new OAuthError('invalid_request', 'the request cannot be read', { status, cause: error })
  }
  return new OAuthError('server_error', 'the server met an unexpected condition', { cause: error })
}

const sendError = (res: Response, error: OAuthError): void =>
  sendJson(
    res,
    { error: error.code, error_description: error.message },
    { status: error.status, headers: error.headers },
  )

const pageKind = (error: OAuthError): 'error' | 'expired' | 'unavailable' => {
  if (error instanceof ExpiredRequestError) return 'expired'
  return error.status === 503 ? 'unavailable' : 'error'
}

/**
 * The one place where errors become answers: a redirect where a verified target exists, else JSON or a page.
 *
 * @param pages the pages of the browser routes; absent on the API side
 */
export const errorHandler =
  (server: AuthorizationServer, pages?: Pages): ErrorRequestHandler =>
  (thrown, req, res, next) => {
    const error = oauthErrorOf(thrown)
    const info = requestInfo(req)
    const errorId = info.requestId
    if (error.status >= 500) {
      // What we turn away ourselves, under load, needs a line and no stack.
      const reason = error.cause ?? (error.status === 503 ? error.message : error)
      server.options.logger.error(`latchkey: ${error.code} ${errorId}`, reason)
      server.events.announce('request.failed', info, { code: error.code, status: error.status })
    }
    if (res.headersSent) return next(thrown)
    if (pages === undefined) return sendError(res, error)
    if (error instanceof AuthorizationResponseError) {
      const parameters = { error: error.code, error_description: error.message }
      return sendAuthorizationResponse(server, pages, res, error.target, parameters)
    }
    const detail = server.options.production ? undefined : error.message
    const time = new Date(server.now() * 1000).toISOString()
    const model = { kind: pageKind(error), code: error.code, errorId, time, detail }
    pages.send(res, 'error', model, { status: error.status, headers: error.headers })
  }
