import type { Request } from 'express'
import { isLoopbackHost } from '../../protocol/clients/redirect-uri.ts'
import type { Problem } from '../../protocol/problem.ts'
import { isFromTrustedProxy } from './api-request.ts'

const numberOfProxies =
  "app.set('trust proxy', 1), or trustProxy: 1 with oauth.handler, with the number of your proxies"
const proxyLine = 'nginx: proxy_set_header X-Forwarded-Proto $scheme; Caddy and Traefik send it by themselves'

/** Every way in which a request can arrive by plain http, although the issuer is https. Clients see the problem. */
export const insecureArrivals = {
  silentProxy: {
    problem: 'the request did not arrive by https: the proxy sends no X-Forwarded-Proto',
    fix: proxyLine,
  },
  untrustedProxy: {
    problem: 'the request did not arrive by https: the app does not trust its proxy',
    fix: numberOfProxies,
  },
  plainBrowser: {
    problem: 'the request did not arrive by https: the proxy says that it came by http',
    fix: 'let the proxy redirect http to https; behind a second proxy, let each pass on X-Forwarded-Proto',
  },
  noTls: {
    problem:
      'the request did not arrive by https: the issuer is https on localhost, but nothing terminates TLS',
    fix: "set the issuer to http://localhost in development, or start a proxy that terminates TLS and sends X-Forwarded-Proto, with app.set('trust proxy', 1)",
  },
  noProxy: {
    problem: 'the request did not arrive by https: no proxy that terminates TLS has sent it',
    fix: `open the server at its issuer; if a proxy did send it: ${numberOfProxies}, and ${proxyLine}`,
  },
} as const satisfies Readonly<Record<string, Problem>>

/** The header in which a refusal says how the request arrived, for `latchkey doctor`. */
export const arrivalHeader = 'Latchkey-Arrival'

/**
 * Why a request did not arrive by https, under an issuer with https.
 *
 * @returns the name of the reason; undefined if it did
 */
export const insecureArrival = (req: Request, issuer: string): keyof typeof insecureArrivals | undefined => {
  if (req.secure) return undefined
  const sends = (...names: string[]): boolean => names.some((name) => req.headers[name] !== undefined)
  const saysProtocol = sends('x-forwarded-proto')
  const isProxied =
    saysProtocol || sends('x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via')
  if (!isProxied && isLoopbackHost(new URL(issuer).hostname)) return 'noTls'
  if (isFromTrustedProxy(req)) {
    return saysProtocol ? 'plainBrowser' : 'silentProxy'
  }
  return isProxied ? 'untrustedProxy' : 'noProxy'
}
