import type { Request, RequestHandler, Response } from 'express'
import type { ServerSetup } from '../authorization-server.ts'

/** What the session of the host is made of, without its data. */
export interface HostSession {
  /** The class of its store, such as `MemoryStore`. */
  readonly store: string
  /** The attributes of its cookie. */
  readonly cookie: {
    readonly httpOnly: boolean
    readonly secure: boolean
    readonly sameSite: string
  }
}

const run = (middleware: RequestHandler, req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) =>
    middleware(req, res, (error?: unknown) => (error ? reject(error) : resolve())),
  )

/** Describes the host's session, as express-session makes it; undefined if the pages do not use one. */
export const describeHostSession = async (
  { options: { session } }: ServerSetup,
  req: Request,
  res: Response,
): Promise<HostSession | undefined> => {
  if (session === 'own') return undefined
  if (typeof session === 'function') await run(session, req, res)
  const cookie = req.session?.cookie
  if (cookie === undefined || typeof req.session.regenerate !== 'function') return undefined
  const { httpOnly = false, secure = false, sameSite = false } = cookie
  return {
    store: req.sessionStore?.constructor?.name ?? 'unknown',
    // express-session decides `auto` by the request.
    cookie: { httpOnly, secure: secure === 'auto' ? req.secure : secure, sameSite: String(sameSite) },
  }
}
