import type { Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import type { AuthorizationTarget } from '../protocol/errors.ts'

const separatorOf = (redirectUri: string, mode: 'query' | 'fragment'): string => {
  if (mode === 'fragment') return '#'
  return redirectUri.includes('?') ? '&' : '?'
}

/**
 * Sends the browser back to the client (RFC 6749 §4.1.2), with `state` as it came and `iss` always (RFC 9207):
 * by redirect, a query on the registered URI kept as it is, in the fragment, or by a form that posts itself.
 *
 * @param target a verified target: nothing else may be answered to
 */
export const sendAuthorizationResponse = (
  server: AuthorizationServer,
  pages: Pages,
  res: Response,
  target: AuthorizationTarget,
  parameters: Readonly<Record<string, string>>,
): void => {
  const { redirectUri, state, responseMode } = target
  const fields = { ...parameters, ...(state === undefined ? {} : { state }), iss: server.issuer }
  if (responseMode === 'form_post') {
    pages.send(res, 'form-post', { action: redirectUri, fields }, { redirectUri })
    return
  }
  sendRedirect(res, `${redirectUri}${separatorOf(redirectUri, responseMode)}${new URLSearchParams(fields)}`)
}
