import type { Request, Response } from 'express'
import helmet from 'helmet'
import { type RedirectUriKind, redirectUriKind } from '../protocol/redirect-uri.ts'

/**
 * Sources for the `form-action` of a page. Browsers check it on every redirect after a POST, so it must include the
 * scheme of the client's redirect URI: otherwise the Allow button seems to do nothing although the code was issued.
 */
export const formActionFor = (redirectUri: string): string[] => {
  const url = new URL(redirectUri)
  const sources: Readonly<Record<RedirectUriKind, readonly string[]>> = {
    https: ['https:'],
    http: ['https:', 'http:'],
    // CSP has no source for [::1].
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
 * Sets the headers of a page, replacing those of an app-wide helmet.
 *
 * @param formAction sources for `form-action`; only our own origin when no request is pending
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
  // With no-referrer, browsers would send `Origin: null` with our own forms.
  run(helmet.referrerPolicy({ policy: 'same-origin' }), res)
  res.setHeader('Cache-Control', 'no-store')
  // A client may sign users in through a popup, which this header would separate from the client.
  res.removeHeader('Cross-Origin-Opener-Policy')
  res.removeHeader('Content-Security-Policy-Report-Only')
}
