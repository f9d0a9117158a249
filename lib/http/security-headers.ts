import type { Request, Response } from 'express'
import helmet from 'helmet'
import { type RedirectUriKind, redirectUriKind } from '../protocol/redirect-uri.ts'

/**
 * Where forms of a page may end. Browsers check `form-action` on every hop of the redirect after a POST, so the
 * scheme of the client's redirect URI must be in it, or Allow looks dead although the code was issued.
 */
export const formActionFor = (redirectUri: string): string[] => {
  const url = new URL(redirectUri)
  const sources: Readonly<Record<RedirectUriKind, readonly string[]>> = {
    https: ['https:'],
    http: ['https:', 'http:'],
    // No host source can name [::1].
    loopback:
      url.hostname === '[::1]' ? ['https:', 'http:'] : ['https:', 'http://127.0.0.1:*', 'http://localhost:*'],
    'private-use': ['https:', url.protocol],
  }
  return ["'self'", ...sources[redirectUriKind(redirectUri)]]
}

const run = (
  middleware: (req: Request, res: Response, next: (error?: unknown) => void) => void,
  res: Response,
): void =>
  middleware(res.req, res, (error) => {
    if (error) throw error
  })

/**
 * The headers of every page, in spite of what an app-wide helmet has set before.
 *
 * @param formAction sources for `form-action`; just ourselves when no request waits
 */
export const setPageHeaders = (res: Response, formAction: readonly string[] = ["'self'"]): void => {
  run(
    helmet.contentSecurityPolicy({
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        scriptSrc: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
        formAction: [...formAction],
      },
    }),
    res,
  )
  run(helmet.frameguard({ action: 'deny' }), res)
  run(helmet.noSniff(), res)
  // With no-referrer browsers would send `Origin: null` on our own forms.
  run(helmet.referrerPolicy({ policy: 'same-origin' }), res)
  res.setHeader('Cache-Control', 'no-store')
  // Clients may log in through a popup, which this would cut off from them.
  res.removeHeader('Cross-Origin-Opener-Policy')
  res.removeHeader('Content-Security-Policy-Report-Only')
}
