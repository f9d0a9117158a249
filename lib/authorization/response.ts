import type { Incoming } from '../http/context.ts'
import { errorRenderer, sendErrorPage } from '../http/errors.ts'
import { languageOf } from '../http/language.ts'
import { sendRedirect } from '../http/send.ts'
import { sendPage } from '../http/send-page.ts'
import { AuthorizationResponseError, type AuthorizationTarget } from '../protocol/errors.ts'

const separatorOf = (redirectUri: string, mode: 'query' | 'fragment'): string => {
  if (mode === 'fragment') return '#'
  return redirectUri.includes('?') ? '&' : '?'
}

/**
 * Sends the browser back to the client (RFC 6749 §4.1.2), with `state` unchanged and always with `iss` (RFC 9207): by a
 * redirect that keeps the query of the registered URI, in the fragment, or by a form that posts itself.
 *
 * @param target verified; nothing else may be answered
 */
export const sendAuthorizationResponse = (
  incoming: Incoming,
  { redirectUri, state, responseMode }: AuthorizationTarget,
  parameters: Readonly<Record<string, string>>,
): void => {
  const { server, req, res, language = languageOf(server, req) } = incoming
  const fields = { ...parameters, ...(state === undefined ? {} : { state }), iss: server.issuer }
  if (responseMode === 'form_post') {
    sendPage(incoming, language, 'form-post', { action: redirectUri, fields }, { redirectUri })
  } else {
    sendRedirect(res, `${redirectUri}${separatorOf(redirectUri, responseMode)}${new URLSearchParams(fields)}`)
  }
}

/** Errors of the page routes: to the client where the target has been verified, else as a page. */
export const renderPageError = errorRenderer((incoming, error) => {
  if (!(error instanceof AuthorizationResponseError)) return sendErrorPage(incoming, error)
  const parameters = { error: error.code, error_description: error.message }
  sendAuthorizationResponse(incoming, error.target, parameters)
})
