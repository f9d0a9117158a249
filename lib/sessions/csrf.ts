import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { authenticationCode, isEqual } from '../keys/secrets.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import type { Browser } from './browser-binding.ts'

/** What a form is for; a token of one form fails on every other. */
export interface FormPurpose {
  readonly action: 'login' | 'select-account' | 'consent' | 'logout' | 'account'
  /** What the form is about: hash of the waiting request's id, where a logout will end, whose client is removed. */
  readonly pendingId: string
  readonly browser: Browser
}

const tokenUnder = (secret: string, { action, pendingId, browser }: FormPurpose): string =>
  authenticationCode(secret, 'csrf', [action, pendingId, browser.secret])

/** The hidden field that proves a form is ours and was given to this browser for this request. */
export const csrfToken = (server: AuthorizationServer, purpose: FormPurpose): string =>
  tokenUnder(server.options.secrets[0], purpose)

const forbidden = (): OAuthError =>
  new OAuthError('invalid_request', 'the form was not sent by our own page', { status: 403 })

/**
 * Refuses a form that another site made the browser send. A bare `Origin: null` proves nothing, so the token decides.
 *
 * @param purpose undefined for a browser that has never been here: it was given no form
 * @throws OAuthError `invalid_request` with status 403
 */
export const assertCsrf = (
  server: AuthorizationServer,
  req: Request,
  form: Parameters,
  purpose: FormPurpose | undefined,
): void => {
  if (purpose === undefined) throw forbidden()
  const site = req.headers['sec-fetch-site']
  const origin = req.headers.origin
  if (site !== undefined ? site !== 'same-origin' && site !== 'none' : isForeign(server, origin))
    throw forbidden()
  const token = form.optional('csrf_token') ?? ''
  const matches = server.options.secrets.map((secret) => isEqual(tokenUnder(secret, purpose), token))
  if (!matches.includes(true)) throw forbidden()
}

const isForeign = (server: AuthorizationServer, origin: string | undefined): boolean =>
  origin !== undefined && origin !== 'null' && origin !== new URL(server.issuer).origin
