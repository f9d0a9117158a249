import type { ServerSetup } from '../authorization-server.ts'
import type { Incoming } from '../http/context.ts'
import { errorRenderer, oauthErrorOf, reportServerError, sendErrorPage } from '../http/errors.ts'
import { languageOf } from '../http/language.ts'
import { readyInTime } from '../http/ready.ts'
import { sendRedirect } from '../http/send.ts'
import { sendPage } from '../http/send-page.ts'
import { signJwt } from '../keys/jwt.ts'
import {
  AuthorizationResponseError,
  type AuthorizationTarget,
  type ResponseDelivery,
  type ResponseSigning,
} from '../protocol/errors.ts'

const separatorOf = (redirectUri: string, mode: ResponseDelivery): string => {
  if (mode.startsWith('fragment')) return '#'
  return redirectUri.includes('?') ? '&' : '?'
}

/**
 * Sends the browser back to the client (RFC 6749 §4.1.2), with `state` unchanged and always with `iss` (RFC 9207): by a
 * redirect that keeps the query of the registered URI, in the fragment, or by a form that posts itself. A signed response is
 * one parameter, `response` (JARM §2.3).
 *
 * @param target verified; nothing else may be answered
 */
export const sendAuthorizationResponse = async (
  incoming: Incoming,
  { redirectUri, state, responseMode, signing }: AuthorizationTarget,
  parameters: Readonly<Record<string, string>>,
): Promise<void> => {
  const { server, req, res, language = languageOf(server, req) } = incoming
  const plain = { ...parameters, ...(state === undefined ? {} : { state }), iss: server.issuer }
  const fields = signing ? { response: await signedResponse(server, signing, plain) } : plain
  if (responseMode === 'form_post' || responseMode === 'form_post.jwt') {
    sendPage(incoming, language, 'form-post', { action: redirectUri, fields }, { redirectUri })
  } else {
    sendRedirect(res, `${redirectUri}${separatorOf(redirectUri, responseMode)}${new URLSearchParams(fields)}`)
  }
}

/** Errors of the page routes: to the client where the target has been verified, else as a page. */
export const renderPageError = errorRenderer((incoming, error) => {
  if (!(error instanceof AuthorizationResponseError)) return sendErrorPage(incoming, error)
  const parameters = { error: error.code, error_description: error.message }
  sendAuthorizationResponse(incoming, error.target, parameters).catch((cause: unknown) => {
    const failure = oauthErrorOf(cause)
    reportServerError(incoming, failure)
    sendErrorPage(incoming, failure)
  })
})

/** Seconds; JARM §2.1 recommends ten minutes at most. */
const lifetime = 600

/**
 * An authorization response as one signed JWT (JARM §2.1).
 *
 * @param parameters of the response, with `iss`
 * @throws OAuthError `temporarily_unavailable` if the keys cannot be read
 */
const signedResponse = async (
  setup: ServerSetup,
  { clientId, algorithm }: ResponseSigning,
  parameters: Readonly<Record<string, string>>,
): Promise<string> => {
  const server = setup.current() ?? (await readyInTime(setup))
  const claims = { ...parameters, aud: clientId, exp: server.now() + lifetime }
  return signJwt(server.keys.signingKey(algorithm), claims)
}
