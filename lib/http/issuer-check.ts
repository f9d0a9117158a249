import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isSecure } from './urls.ts'

const misplaced = (description: string): OAuthError =>
  new OAuthError('temporarily_unavailable', description, { headers: { 'Retry-After': '60' } })

/**
 * A plain-http request under an https issuer is a proxy that Express does not trust: express-session would drop its
 * Secure cookie in silence and no login would ever hold, so the line to set is logged instead.
 *
 * @returns a function that throws OAuthError `temporarily_unavailable` for such a request
 */
export const secureCheck = (server: AuthorizationServer): ((req: Request) => void) => {
  let told = false
  return (req) => {
    if (!isSecure(server) || req.secure) return
    if (!told) {
      server.options.logger.error(
        "latchkey: the issuer is https but requests arrive as http; behind a proxy set: app.set('trust proxy', 1)",
      )
    }
    told = true
    throw misplaced('the request did not arrive by https')
  }
}

/**
 * In development the issuer is a guess; where the guess is wrong, the line to set is the answer.
 *
 * @returns a function that throws OAuthError `temporarily_unavailable` for a request that came elsewhere
 */
export const issuerCheck = (server: AuthorizationServer): ((req: Request) => void) => {
  const issuer = new URL(server.issuer)
  return (req) => {
    const { host = '' } = req.headers
    if (!server.options.issuerIsGuess || (host === issuer.host && req.baseUrl === server.options.basePath))
      return
    const actual = `${req.protocol}://${host}${req.baseUrl}`
    server.options.logger.error(`latchkey: a request came to ${actual}; set issuer: '${actual}'`)
    throw misplaced(`this server takes itself for ${server.issuer}; set issuer: '${actual}'`)
  }
}
