import { signJwt } from '../../keys/jwt.ts'
import {
  AuthorizationResponseError,
  type AuthorizationTarget,
  type ResponseDelivery,
  type ResponseSigning,
} from '../../protocol/errors.ts'
import type { Incoming, Outcome } from '../../web/http/context.ts'
import { errorRenderer, sendErrorPage } from '../../web/http/errors.ts'
import { languageOf } from '../../web/http/language.ts'
import { readyInTime } from '../../web/http/ready.ts'
import { pagesIn } from '../../web/http/send-page.ts'
import type { ServerSetup } from '../authorization-server.ts'

const separatorOf = (redirectUri: string, mode: ResponseDelivery): string => {
  if (mode.startsWith('fragment')) return '#'
  return redirectUri.includes('?') ? '&' : '?'
}

type Fields = Readonly<Record<string, string>>

/** The fields that the client gets. */
const responseFields = async (
  { server }: Incoming,
  { state, signing }: AuthorizationTarget,
  parameters: Fields,
): Promise<Fields> => {
  const plain = { ...parameters, ...(state === undefined ? {} : { state }), iss: server.issuer }
  return signing ? { response: await signedResponse(server, signing, plain) } : plain
}

const urlOf = ({ redirectUri, responseMode }: AuthorizationTarget, fields: Fields): string =>
  `${redirectUri}${separatorOf(redirectUri, responseMode)}${new URLSearchParams(fields)}`

const isForm = ({ responseMode }: AuthorizationTarget): boolean => responseMode.startsWith('form_post')

/**
 * The way of the browser back to the client (RFC 6749 §4.1.2), with `state` unchanged and always with `iss` (RFC 9207): by a
 * redirect that keeps the query of the registered URI, in the fragment, or by a form that posts itself. A signed response is
 * one parameter, `response` (JARM §2.3).
 *
 * @param target verified; nothing else may be answered
 */
export const authorizationResponse = async (
  incoming: Incoming,
  target: AuthorizationTarget,
  parameters: Fields,
): Promise<Outcome> => {
  const { server, req, language = languageOf(server, req) } = incoming
  const fields = await responseFields(incoming, target, parameters)
  const { redirectUri } = target
  return isForm(target)
    ? pagesIn(incoming, language).page('form-post', { action: redirectUri, fields }, { redirectUri })
    : { redirectTo: urlOf(target, fields) }
}

/**
 * An error page with a link to the client, so that a link to this server does not lead to any site that a stranger has
 * registered (RFC 9700 §4.11.2). The link names the host; the name of such a client could be that of another.
 */
const sendErrorWithLink = async (
  incoming: Incoming,
  error: AuthorizationResponseError,
  parameters: Fields,
): Promise<void> => {
  const { target } = error
  const fields = await responseFields(incoming, target, parameters)
  const name = new URL(target.redirectUri).host
  sendErrorPage(incoming, error, isForm(target) ? {} : { client: { name, uri: urlOf(target, fields) } })
}

/** Errors of the page routes: to the client where the target has been verified, else as a page. */
export const renderPageError = errorRenderer(async (incoming, error) => {
  if (!(error instanceof AuthorizationResponseError)) return sendErrorPage(incoming, error)
  const { server, info } = incoming
  if (!error.target.byLink) server.observe?.({ kind: 'error', info, error })
  const parameters = { error: error.code, error_description: error.message }
  if (error.target.byLink) return sendErrorWithLink(incoming, error, parameters)
  incoming.deliver(incoming, await authorizationResponse(incoming, error.target, parameters))
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
