import type { RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isSecure } from './names.ts'

const misplaced = (description: string): OAuthError =>
  new OAuthError('temporarily_unavailable', description, { headers: { 'Retry-After': '60' } })

/**
 * A plain-http request under an https issuer is a proxy that Express does not trust: express-session would drop its
 * Secure cookie in silence and no login would ever hold, so the line to set is logged instead.
 */
export const requireSecure = (server: AuthorizationServer): RequestHandler => {
  let told = false
  return (req, _res, next) => {
    if (!isSecure(server) || req.secure) return next()
    if (!told) {
      server.options.logger.error(
        "latchkey: the issuer is https but requests arrive as http; behind a proxy set: app.set('trust proxy', 1)",
      )
    }
    told = true
    next(misplaced('the request did not arrive by https'))
  }
}

/** In development the issuer is a guess; where the guess is wrong, the line to set is the answer. */
export const requireIssuer = (server: AuthorizationServer): RequestHandler => {
  const issuer = new URL(server.issuer)
  return (req, _res, next) => {
    const host = req.headers.host ?? ''
    if (!server.options.issuerIsGuess || (host === issuer.host && req.baseUrl === server.options.basePath))
      return next()
    const actual = `${req.protocol}://${host}${req.baseUrl}`
    server.options.logger.error(`latchkey: a request came to ${actual}; set issuer: '${actual}'`)
    next(misplaced(`this server takes itself for ${server.issuer}; set issuer: '${actual}'`))
  }
}
