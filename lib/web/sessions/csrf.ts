import { authenticationCode, isEqual } from '../../keys/secrets.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { Incoming } from '../http/context.ts'
import { formParameters } from '../http/form.ts'
import { type BoundBrowser, bindBrowser, boundBrowser } from './browser-binding.ts'

const forbidden = (received: string): OAuthError =>
  refusal('form_foreign', {
    status: 403,
    explanation: { expected: 'a form of this page, in the browser that opened it', received },
  })

/** Whether the browser says that another site sent the form. `Origin: null` alone proves nothing. */
export const isCrossSite = ({ server, req }: Incoming): boolean => {
  const site = req.headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const { origin } = req.headers
  return origin !== undefined && origin !== 'null' && origin !== new URL(server.issuer).origin
}

/** @throws OAuthError `invalid_request` with status 403 if another site made the browser send the form */
export const assertOwnPage = (incoming: Incoming): void => {
  if (isCrossSite(incoming)) throw forbidden('a form of another site')
}

/** The topic of a form, in words that do not change until it is submitted. */
export type Topic = readonly string[]

/**
 * The hidden field of a form that our page gives to this browser. The form must be posted to the path of that page.
 *
 * @param topic of the form; the token of one form is invalid on every other
 */
export const formToken = (context: Incoming, topic: Topic): string =>
  codeUnder(context.server.options.secrets[0], context, topic, bindBrowser(context))

const codeUnder = (
  secret: string,
  { endpoint }: Incoming,
  topic: Topic,
  browser: Pick<BoundBrowser, 'secret'>,
): string => authenticationCode(secret, 'csrf', [endpoint.path, JSON.stringify(topic), browser.secret])

/**
 * The browser that sends a form. A page that looks up who is signed in calls it before: that can store a login and give the
 * browser a new cookie.
 *
 * @throws OAuthError `invalid_request` with status 403 if another site made the browser send it, or if it has not our cookie
 */
export const sendingBrowser = (context: Incoming): BoundBrowser => {
  // A form of another site carries no cookie. A new cookie would replace the browser's own.
  const browser = boundBrowser(context)
  if (browser === undefined) throw forbidden('a form of a browser without our cookie')
  assertOwnPage(context)
  return browser
}

/**
 * Reads a form that has the token of {@link formToken}.
 *
 * @param topics that the form may have
 * @throws OAuthError `invalid_request` with status 403 if another site made the browser send it, or if it was given to
 *   another browser or is about something else
 */
export const submittedForm = (context: Incoming, ...topics: readonly Topic[]): Parameters => {
  const { server, req } = context
  const form = formParameters(req)
  const browser = sendingBrowser(context)
  const token = form.optional('csrf_token') ?? ''
  const matches = server.options.secrets.flatMap((secret) =>
    topics.map((topic) => isEqual(codeUnder(secret, context, topic, browser), token)),
  )
  if (!matches.includes(true)) throw forbidden('a form with another csrf_token')
  return form
}
