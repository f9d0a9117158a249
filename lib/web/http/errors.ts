import type { EventDetails } from '../../events/event.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { clientName, homePage, signInUrl } from '../../protocol/clients/client.ts'
import {
  AuthorizationResponseError,
  type ErrorCode,
  errorUrl,
  failureLine,
  type OAuthError,
} from '../../protocol/errors.ts'
import { splitAtDifference } from '../../protocol/explanation.ts'
import { hostLink } from '../../protocol/links.ts'
import { HostError, problemInWords } from '../../protocol/problem.ts'
import { EndedRequestError, type EndedState } from '../../protocol/requests/ended-request.ts'
import { StoppedClientError, type StoppedState } from '../../protocol/requests/stopped-client.ts'
import type { PageModels } from '../pages/page-models.ts'
import type { Incoming } from './context.ts'
import { jsonError, oauthErrorOf } from './json-error.ts'
import { languageOf } from './language.ts'
import { sendJson, sendJsonAnswer } from './send.ts'
import { pagesIn } from './send-page.ts'
import { homeUrl } from './urls.ts'

/**
 * Why a request failed, without words of the host or of a driver, which may be a statement with its values.
 *
 * @example failureOf(error) // 'login.remember failed: TypeError'
 */
const failureOf = ({ message, cause }: OAuthError): string => {
  if (cause === undefined) return message
  const { cause: inner, code, name = typeof cause } = Object(cause)
  if (!(cause instanceof HostError)) return String(code ?? name)
  const { code: innerCode, name: innerName = typeof inner } = Object(inner)
  return [problemInWords(cause), ...(inner === undefined ? [] : [innerCode ?? innerName])].join(': ')
}

/** Logs and announces a server error under the id of the request. */
export const reportServerError = (
  { server, info }: Pick<Incoming, 'server' | 'info'>,
  error: OAuthError,
): void => {
  if (error.status < 500) return
  // A request that is turned away under load needs a line and no stack.
  const reason = error.cause ?? (error.status === 503 ? error.message : error)
  server.options.logger.error(failureLine(error.code, info.requestId), reason)
  const failure = { code: error.code, status: error.status, description: failureOf(error).slice(0, 200) }
  server.events.announce('request.failed', info, failure)
}

/** The details of an event about a refusal. */
const refusalOf = (
  { endpoint }: Incoming,
  { code, status, reason, message, clientId, explanation }: OAuthError,
): EventDetails['request.refused'] => ({
  code,
  status,
  path: endpoint.path.slice(0, 100),
  ...(reason !== undefined && { reason }),
  description: message,
  ...(clientId !== undefined && { clientId }),
  ...explanation,
})

/** Logs why something is refused. @returns what an event says about it */
const logRefusal = (incoming: Incoming, error: OAuthError, outcome: string): ReturnType<typeof refusalOf> => {
  const { server, info } = incoming
  const refusal = refusalOf(incoming, error)
  const { code, path, description, clientId } = refusal
  const client = clientId === undefined ? '' : ` for client ${clientId}`
  server.options.logger.warn(
    `latchkey: ${code} ${info.requestId} at ${path}${client}: ${description}; ${outcome}`,
  )
  return refusal
}

/** Logs and announces why a person sees an error page, under the id on that page. */
const reportRefusal = (incoming: Incoming, error: OAuthError): void =>
  incoming.server.events.announce(
    'request.refused',
    incoming.info,
    logRefusal(incoming, error, `see ${errorUrl(error.code)}`),
  )

/** Logs and announces a mistake of a client that costs the person nothing: what it sent is not used. */
export const reportUnused = (incoming: Incoming, error: OAuthError): void =>
  incoming.server.events.announce(
    'api.refused',
    incoming.info,
    logRefusal(incoming, error, 'it is not used, and the person goes on'),
  )

/** Renders one error; the response has not begun. Server errors have been logged. */
type Renderer = (incoming: Incoming, error: OAuthError) => void | Promise<void>

/** @throws the error if the response has begun, or what the renderer throws */
const renderOnce = async (render: Renderer, incoming: Incoming, thrown: unknown): Promise<void> => {
  const error = oauthErrorOf(thrown)
  reportServerError(incoming, error)
  if (incoming.res.headersSent) throw thrown
  await render(incoming, error)
}

/**
 * The one place where errors become answers. If rendering fails, the failure is rendered instead, once.
 *
 * @param render how they leave: as JSON, as a page, or to the client
 */
export const errorRenderer =
  (render: Renderer) =>
  (incoming: Incoming, thrown: unknown): Promise<void> =>
    renderOnce(render, incoming, thrown).catch((failure: unknown) => {
      if (failure === thrown) throw thrown
      return renderOnce(render, incoming, failure)
    })

/** Sends an error as JSON. By default a server error has the id of the request, under which it is in the log. */
export const sendJsonError = (
  { res, info }: Pick<Incoming, 'res' | 'info'>,
  error: OAuthError,
  errorId: string | undefined = error.status >= 500 ? info.requestId : undefined,
): void => sendJsonAnswer(res, jsonError(error, errorId))

/** Errors that are a normal step of the protocol, after which the client continues. */
const steps: readonly ErrorCode[] = ['authorization_pending', 'slow_down', 'use_dpop_nonce']

/** An error of an API endpoint. If events are stored, it has the id by which `latchkey explain` finds the reason. */
export const sendApiError: Renderer = (incoming, error) => {
  const { server, info } = incoming
  if (error.status >= 500 || steps.includes(error.code)) return sendJsonError(incoming, error)
  server.events.announce('api.refused', info, refusalOf(incoming, error))
  const isExplained = server.options.storedEvents && error.status !== 429
  sendJsonError(incoming, error, isExplained ? info.requestId : undefined)
}

type ErrorModel = PageModels['error']

/** Pages about requests that have ended show no error; each offers a way on. */
const endedKinds: Readonly<Record<EndedState, ErrorModel['kind']>> = {
  unknown: 'expired',
  expired: 'expired',
  used: 'finished',
  without_cookie: 'cookies',
}

/** Who looks after a client learns whether it waits or was refused; others need not. */
const stoppedKind = (state: StoppedState, isManager: boolean): ErrorModel['kind'] => {
  if (state === 'unknown') return 'unknown-client'
  return state === 'disabled' || isManager ? state : 'unapproved'
}

const pageKind = (error: OAuthError, isManager: boolean): ErrorModel['kind'] => {
  if (error instanceof StoppedClientError) return stoppedKind(error.state, isManager)
  if (error instanceof EndedRequestError) return endedKinds[error.state]
  if (error.status === 429) return 'busy'
  if (error.status === 503) return 'unavailable'
  if (error.status === 404) return 'not-found'
  if (error.code === 'unauthorized_client' && !(error instanceof AuthorizationResponseError))
    return 'unknown-client'
  return error.code === 'access_denied' && error.status === 403 ? 'forbidden' : 'error'
}

/** Details for the people who write clients, outside production, and for those who look after the client. */
const forDevelopers = (
  { server, info }: Incoming,
  { message, explanation }: OAuthError,
): Pick<ErrorModel, 'detail' | 'explanation' | 'command'> => ({
  detail: message,
  explanation: explanation && {
    expected: explanation.expected,
    received: splitAtDifference(explanation),
  },
  command:
    server.options.storedEvents && !server.options.production
      ? `npx latchkey explain ${info.requestId}`
      : undefined,
})

/** The client whose request has ended, with the page where the user can go on. */
const clientOf = (
  server: ServerSetup,
  { client, state }: EndedRequestError,
  language: string,
): ErrorModel['client'] => {
  if (client === undefined) return undefined
  const [home, start] = [homePage(client, language), signInUrl(client, server.issuer)]
  const uri = state === 'used' ? (home ?? start) : (start ?? home)
  return { name: clientName(client, language), uri }
}

/** Whether a program such as `latchkey doctor` asks, rather than a browser. */
const asksForJson = (req: Incoming['req']): boolean => req.accepts(['html', 'json']) === 'json'

/**
 * An error page; in JSON, which has no more than the page, for a request that prefers it. Outside production it also shows what was expected and received.
 *
 * @param ways where links lead: to a client, to a sign-in, or to where this user looks after the client
 */
export const sendErrorPage = (
  incoming: Incoming,
  error: OAuthError,
  ways: Pick<ErrorModel, 'client' | 'account' | 'signInUrl' | 'manageUrl'> = {},
): void => {
  const { server, req, res, info, language = languageOf(server, req) } = incoming
  const hasEnded = error instanceof EndedRequestError
  const { status, headers } = error
  if (status < 500) reportRefusal(incoming, error)
  const isManager = ways.manageUrl !== undefined
  const isForDevelopers = isManager || !server.options.production
  if (asksForJson(req)) {
    const words = isForDevelopers && { error_description: error.message, reason: error.reason }
    sendJson(res, { error: error.code, ...words, error_id: info.requestId }, { status, headers })
    return
  }
  const kind = pageKind(error, isManager)
  const leadsHome = hasEnded || ['forbidden', 'not-found', 'disabled', 'unapproved'].includes(kind)
  const model = {
    ...ways,
    kind,
    code: error.code,
    errorId: info.requestId,
    time: new Date(server.now() * 1000).toISOString(),
    ...(isForDevelopers && forDevelopers(incoming, error)),
    mayRetry: req.method === 'GET',
    texts: hasEnded ? error.texts : undefined,
    ...(hasEnded && { client: clientOf(server, error, language) }),
    homeUrl: leadsHome ? homeUrl(server) : hostLink(server.options.pages.home),
  }
  pagesIn(incoming, language).send('error', model, { status, headers })
}
