import type { IRouter, Request, RequestHandler } from 'express'
import { OAuthError } from '../protocol/errors.ts'
import { sendEmpty } from './send.ts'

type Method = 'get' | 'post'

export interface Route {
  readonly get?: RequestHandler
  readonly post?: RequestHandler
  /** Whether HEAD may be answered as GET; never where GET issues or changes anything. */
  readonly head?: boolean
  /** Middleware before the handler, in order. */
  readonly before?: readonly RequestHandler[]
  /** Readable by scripts of any origin; only for endpoints that read no cookie. */
  readonly cors?: boolean
}

const methodsOf = (route: Route): string[] => [
  ...(route.get ? ['GET'] : []),
  ...(route.get && route.head ? ['HEAD'] : []),
  ...(route.post ? ['POST'] : []),
]

const methodOf = (req: Request, route: Route): Method | undefined => {
  if (req.method === 'GET' || (req.method === 'HEAD' && route.head)) return 'get'
  return req.method === 'POST' ? 'post' : undefined
}

/**
 * One path with all its methods: wrong ones get 405 with `Allow`, a preflight its answer, and a rejected promise
 * reaches the error handler, which Express 4 does not see to.
 */
export const route = (router: IRouter, path: string, handlers: Route): void => {
  router.all(path, methodGuard(handlers), ...(handlers.before ?? []), (req, res, next) => {
    const method = methodOf(req, handlers)
    Promise.resolve(method && handlers[method]?.(req, res, next)).catch(next)
  })
}

/** Answers what no handler is for, before anything is read or looked up. */
const methodGuard = (handlers: Route): RequestHandler => {
  const allow = methodsOf(handlers).join(', ')
  return (req, res, next) => {
    if (handlers.cors) res.setHeader('Access-Control-Allow-Origin', '*')
    if (handlers.cors && req.method === 'OPTIONS') {
      return sendEmpty(res, 204, {
        'Access-Control-Allow-Methods': allow,
        'Access-Control-Allow-Headers': 'Authorization, Content-Type',
        'Access-Control-Max-Age': '600',
      })
    }
    if (handlers.cors) res.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate')
    const method = methodOf(req, handlers)
    if (method !== undefined && handlers[method]) return next()
    throw new OAuthError('invalid_request', 'the method is not allowed here', {
      status: 405,
      headers: { Allow: allow },
    })
  }
}
