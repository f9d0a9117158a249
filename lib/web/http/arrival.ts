import type { Request } from 'express'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'
import { isFromTrustedProxy } from './api-request.ts'

/** Why a request did not arrive by https, and the line that mends it. */
export interface InsecureArrival {
  /** Clients see it. */
  readonly reason: string
  readonly fix: string
}

const numberOfProxies =
  "app.set('trust proxy', 1), or trustProxy: 1 with oauth.handler, with the number of your proxies"
const proxyLine = 'nginx: proxy_set_header X-Forwarded-Proto $scheme; Caddy and Traefik send it by themselves'

/** Every way in which a request can arrive by plain http, although the issuer is https. */
export const insecureArrivals = {
  silentProxy: {
    reason: 'the request did not arrive by https: the proxy sends no X-Forwarded-Proto',
    fix: proxyLine,
  },
  untrustedProxy: {
    reason: 'the request did not arrive by https: the app does not trust its proxy',
    fix: numberOfProxies,
  },
  plainBrowser: {
    reason: 'the request did not arrive by https: the proxy says that it came by http',
    fix: 'let the proxy redirect http to https; behind a second proxy, let each pass on X-Forwarded-Proto',
  },
  noTls: {
    reason:
      'the request did not arrive by https: the issuer is https on localhost, but nothing terminates TLS',
    fix: "set the issuer to http://localhost in development, or start a proxy that terminates TLS and sends X-Forwarded-Proto, with app.set('trust proxy', 1)",
  },
  noProxy: {
    reason: 'the request did not arrive by https: no proxy that terminates TLS has sent it',
    fix: `open the server at its issuer; if a proxy did send it: ${numberOfProxies}, and ${proxyLine}`,
  },
} as const satisfies Readonly<Record<string, InsecureArrival>>

/**
 * Why a request did not arrive by https, under an issuer with https.
 *
 * @returns undefined if it did
 */
export const insecureArrival = (req: Request, issuer: string): InsecureArrival | undefined => {
  if (req.secure) return undefined
  const sends = (...names: string[]): boolean => names.some((name) => req.headers[name] !== undefined)
  const saysProtocol = sends('x-forwarded-proto')
  const isProxied =
    saysProtocol || sends('x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via')
  if (!isProxied && isLoopbackHost(new URL(issuer).hostname)) return insecureArrivals.noTls
  if (isFromTrustedProxy(req)) {
    return saysProtocol ? insecureArrivals.plainBrowser : insecureArrivals.silentProxy
  }
  return isProxied ? insecureArrivals.untrustedProxy : insecureArrivals.noProxy
}
