import type { Request, RequestHandler, Response } from 'express'
import { hashAtIssuer } from '../../keys/secrets.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import { type Problem, problemInWords } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import { withTimeout } from '../../storage/database/with-timeout.ts'
import type { BrowserSession, Incoming } from '../http/context.ts'
import { sessionKey } from '../http/cookies.ts'

// The only file that touches `req.session`. It uses only what express-session documents.

/** A session as express-session makes it. */
interface ExpressSession {
  readonly id?: unknown
  readonly cookie?: { readonly httpOnly?: boolean; readonly secure?: unknown; readonly sameSite?: unknown }
  regenerate(done: (error?: unknown) => void): unknown
  save(done: (error?: unknown) => void): unknown
  [key: string]: unknown
}

/** A session that can be regenerated; that of cookie-session, for example, cannot. */
const sessionOf = (req: Request): ExpressSession | undefined => {
  const session: unknown = Reflect.get(req, 'session')
  const isUsable = typeof Object(session).regenerate === 'function'
  return isUsable ? (session as ExpressSession) : undefined
}

/** Whether the app gave this request a session that Latchkey could use. */
export const hasHostSession = (req: Request): boolean => sessionOf(req) !== undefined

/**
 * Why a request has no session that Latchkey could use.
 *
 * @returns undefined if the request has one
 * @example hostSessionProblem(req) // { problem: "session: 'host', but the request has no req.session", fix: … }
 */
export const hostSessionProblem = (req: Request): Problem | undefined => {
  if (hasHostSession(req)) return undefined
  return typeof Reflect.get(req, 'session') === 'object' && Reflect.get(req, 'session') !== null
    ? {
        problem: 'req.session has no regenerate(), as that of cookie-session',
        fix: "use express-session, or set session: 'own'",
      }
    : {
        problem: "session: 'host', but the request has no req.session",
        fix: "mount express-session above the router, with a cookie for path '/' and a store that is connected",
      }
}

/** The middleware of the app, as Express 5 and Express 4 name it, which throws at the other name. */
const layersOf = ({ app }: Request): readonly unknown[] =>
  Object(Reflect.get(app, '_router') ?? app.router).stack ?? []

/** `passport.session()` is a function of this name, mounted for every path. */
const isPassport = (layer: unknown): boolean => {
  const { name, slash, regexp } = Object(layer)
  return name === 'authenticate' && (slash === true || Object(regexp).fast_slash === true)
}

/** Why a request has no login of Passport, although the app uses it. */
export const passportProblem = (req: Request): Problem | undefined =>
  'logIn' in req || !layersOf(req).some(isPassport)
    ? undefined
    : {
        problem:
          'passport.session() comes after the router, so req.user and req.logIn are not set in the functions of login',
        fix: 'move app.use(passport.session()) above the router',
      }

/** Milliseconds that a session store may take; as many as the database. */
const timeoutMs = 5000

const noAnswer = (): Error => new Error(`the session store did not answer within ${timeoutMs} ms`)

/** @returns the error of a page without its session */
export const unavailable = (
  cause?: unknown,
  reason: 'session_unavailable' | 'session_missing' = 'session_unavailable',
): OAuthError => refusal(reason, { cause, headers: { 'Retry-After': '1' } })

/**
 * Waits for a session store. The store may call back twice, throw, or never answer.
 *
 * @param start calls the store
 * @throws OAuthError `temporarily_unavailable`
 */
const storeAnswer = (start: (done: (error?: unknown) => void) => unknown): Promise<void> => {
  const answer = new Promise<void>((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()))
  })
  return withTimeout(answer, timeoutMs, () => {
    throw noAnswer()
  }).catch((error: unknown) => {
    throw unavailable(error)
  })
}

/** Runs the session middleware of the option `session`. */
export const runSession = (middleware: RequestHandler, { req, res }: Incoming): Promise<void> =>
  storeAnswer((done) => middleware(req, res, done))

/** Calls a method of the session that reports by callback. */
const finished = async (
  req: Request,
  start: (session: ExpressSession, done: (error?: unknown) => void) => unknown,
): Promise<void> => {
  const session = sessionOf(req)
  if (session === undefined) throw unavailable()
  try {
    await storeAnswer((done) => start(session, done))
  } catch (error) {
    // Otherwise express-session would try to store it again, and hold back the error page.
    Object.assign(req, { session: undefined })
    throw error
  }
}

/**
 * Closes the connection if the session store does not answer at the end of a response. express-session holds back the
 * end until the session is stored, so the browser would wait for ever.
 */
const endInTime = (res: Response, onTimeout: (error: Error) => void): void => {
  const { end } = res
  const endWithTimeout = (...parameters: unknown[]): Response => {
    const timer = setTimeout(() => {
      if (res.writableEnded) return
      onTimeout(noAnswer())
      res.destroy()
    }, timeoutMs)
    res.once('close', () => clearTimeout(timer))
    return Reflect.apply(end, res, parameters)
  }
  res.end = endWithTimeout as typeof end
}

/** The secret that the host's session holds for us. */
export const heldByHost = (server: ServerSetup, req: Request): string | undefined => {
  const held: unknown = Object(Reflect.get(req, 'session'))[sessionKey(server)]
  return typeof held === 'string' ? held : undefined
}

/**
 * The session of the host, which holds the secret of our login under a key of its own.
 *
 * @throws OAuthError `temporarily_unavailable` if the request has none: the middleware is missing, or its store is unavailable
 */
export const hostSession = ({ server, req, res }: Incoming): BrowserSession => {
  const problem = hostSessionProblem(req)
  if (problem !== undefined) throw unavailable(problemInWords(problem), 'session_missing')
  const { logger } = server.options
  endInTime(res, (error) => logger.error('latchkey: the session could not be stored', error))
  const renew = async (): Promise<Readonly<Record<string, unknown>>> => {
    const { cookie: _, [sessionKey(server)]: __, ...data } = { ...sessionOf(req) }
    await finished(req, (session, done) => session.regenerate(done))
    return data
  }
  const save = (): Promise<void> => finished(req, (session, done) => session.save(done))
  return {
    id: () => {
      const id = sessionOf(req)?.id
      return typeof id === 'string' ? id : undefined
    },
    secretHash: () => {
      const secret = heldByHost(server, req)
      return secret === undefined ? undefined : hashAtIssuer(server.issuer, secret)
    },
    renew,
    begin: async (secret) => {
      Object.assign(sessionOf(req) ?? {}, { [sessionKey(server)]: secret })
      // express-session would send a redirect first.
      await save()
    },
    end: async () => {
      // The host may have destroyed it.
      if (!hasHostSession(req)) return
      await renew()
      await save()
    },
  }
}

/** The class of the host's session store, such as `MemoryStore`. */
const storeOf = (req: Request): string =>
  Object(Reflect.get(req, 'sessionStore')).constructor?.name ?? 'unknown'

/** @returns a function that logs once, in production, that the host keeps its sessions in memory */
export const warnOfMemory = ({ options: { production, logger } }: ServerSetup): ((req: Request) => void) => {
  let isDone = !production
  return (req) => {
    if (isDone) return
    isDone = true
    if (storeOf(req) !== 'MemoryStore') return
    logger.error(
      "latchkey: the app's session is kept in memory: logins vanish at each restart and memory grows; give express-session a store",
    )
  }
}

/** The parts of the host's session, without its data. */
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

/** Describes the session of the host that the pages use; undefined if there is none. */
export const describeHostSession = async (incoming: Incoming): Promise<HostSession | undefined> => {
  const { server, req } = incoming
  const { session } = server.options
  if (typeof session === 'function') await runSession(session, incoming)
  const cookie = sessionOf(req)?.cookie
  if (cookie === undefined) return undefined
  const { httpOnly = false, secure = false, sameSite = false } = cookie
  return {
    store: storeOf(req),
    cookie: {
      httpOnly,
      // express-session decides `auto` by the request.
      secure: secure === 'auto' ? req.secure : secure === true,
      sameSite: String(sameSite),
    },
  }
}
