import type { NextFunction } from 'express'
import { ExpiredRequestError, OAuthError } from '../protocol/errors.ts'
import type { Incoming } from './context.ts'
import { languageOf } from './language.ts'
import { sendJson } from './send.ts'
import { sendPage } from './send-page.ts'

const statusOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined

/** Every error as an OAuthError: ours unchanged, one of Express by its status, any other as `server_error`. */
const oauthErrorOf = (error: unknown): OAuthError => {
  if (error instanceof OAuthError) return error
  const status = statusOf(error)
  if (status !== undefined && status >= 400 && status < 500) {
    return new OAuthError('invalid_request', 'the request cannot be read', { status, cause: error })
  }
  return new OAuthError('server_error', 'the server met an unexpected condition', { cause: error })
}

/** Logs and announces a server error under the id of the request. */
const report = ({ server, info }: Incoming, error: OAuthError): void => {
  if (error.status < 500) return
  // A request that we turn away under load needs a line and no stack.
  const reason = error.cause ?? (error.status === 503 ? error.message : error)
  server.options.logger.error(`latchkey: ${error.code} ${info.requestId}`, reason)
  server.events.announce('request.failed', info, { code: error.code, status: error.status })
}

/** Renders one error that has been logged; the response has not begun. */
type Renderer = (incoming: Incoming, error: OAuthError) => void

/**
 * The one place where errors become answers.
 *
 * @param render how they leave: as JSON, as a page, or to the client
 */
export const errorRenderer =
  (render: Renderer) =>
  (incoming: Incoming, thrown: unknown, next: NextFunction): void => {
    const error = oauthErrorOf(thrown)
    report(incoming, error)
    if (incoming.res.headersSent) next(thrown)
    else render(incoming, error)
  }

/** RFC 6749 §5.2. */
export const sendJsonError: Renderer = ({ res }, { code, message, status, headers }) =>
  sendJson(res, { error: code, error_description: message }, { status, headers })

const pageKind = (error: OAuthError): 'error' | 'expired' | 'unavailable' => {
  if (error instanceof ExpiredRequestError) return 'expired'
  return error.status === 503 ? 'unavailable' : 'error'
}

/** An error page. Outside production it also shows the description to the developer. */
export const sendErrorPage: Renderer = (incoming, error) => {
  const { server, req, info, language = languageOf(server, req) } = incoming
  const model = {
    kind: pageKind(error),
    code: error.code,
    errorId: info.requestId,
    time: new Date(server.now() * 1000).toISOString(),
    detail: server.options.production ? undefined : error.message,
  }
  const { status, headers } = error
  sendPage(incoming, language, 'error', model, { status, headers })
}
