import type { Request } from 'express'
import type { ServerSetup } from '../authorization-server.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isSecure } from './urls.ts'

const misplaced = (description: string): OAuthError =>
  new OAuthError('temporarily_unavailable', description, { headers: { 'Retry-After': '60' } })

/**
 * Refuses plain-http requests under an https issuer. They come through a proxy that Express does not trust, where
 * express-session silently drops its Secure cookie and no login would last. The log says which line to set, once.
 *
 * @returns a function that throws OAuthError `temporarily_unavailable` for such a request
 */
export const secureCheck = (server: ServerSetup): ((req: Request) => void) => {
  let logged = false
  return (req) => {
    if (!isSecure(server) || req.secure) return
    if (!logged) {
      server.options.logger.error(
        "latchkey: the issuer is https but requests arrive as http; behind a proxy set: app.set('trust proxy', 1)",
      )
    }
    logged = true
    throw misplaced('the request did not arrive by https')
  }
}

/**
 * Refuses requests that arrive elsewhere than at the issuer that we guessed in development, and says what to set.
 *
 * @returns a function that throws OAuthError `temporarily_unavailable` for such a request
 */
export const issuerCheck = (server: ServerSetup): ((req: Request) => void) => {
  const issuer = new URL(server.issuer)
  return (req) => {
    const { host = '' } = req.headers
    if (!server.options.issuerIsGuess || (host === issuer.host && req.baseUrl === server.options.basePath))
      return
    const actual = `${req.protocol}://${host}${req.baseUrl}`
    server.options.logger.error(`latchkey: a request arrived at ${actual}; set issuer: '${actual}'`)
    throw misplaced(`the issuer of this server is ${server.issuer}; set issuer: '${actual}'`)
  }
}
