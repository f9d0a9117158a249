import type { Request, RequestHandler } from 'express'
import session, { type Session } from 'express-session'
import type { AuthorizationServer } from '../authorization-server.ts'
import { cookieName, isSecure } from '../http/urls.ts'
import { deriveKey } from '../keys/secrets.ts'
import { OAuthError } from '../protocol/errors.ts'
import { endInTime, inTime } from './session-deadline.ts'
import { DatabaseSessionStore } from './store.ts'

/** Which request object carries the session of each request: the host's own, or one of ours beside it. */
const holders = new WeakMap<Request, Request>()

const unavailable = (cause?: unknown): OAuthError =>
  new OAuthError('temporarily_unavailable', 'the session store is unavailable', {
    cause,
    headers: { 'Retry-After': '1' },
  })

/** The kit's own session; it lives on a child of the request, so that one of the host's stays untouched. */
const ownSession = (server: AuthorizationServer): RequestHandler => {
  const middleware = session({
    name: cookieName(server, 'session'),
    secret: server.options.secrets.map((secret) => deriveKey(secret, 'session cookie').toString('base64url')),
    store: new DatabaseSessionStore(server),
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax', secure: isSecure(server), path: '/' },
  })
  return (req, res, next) => {
    const child: Request = Object.create(req, {
      session: { value: undefined, writable: true, configurable: true },
      sessionID: { value: undefined, writable: true, configurable: true },
      sessionStore: { value: undefined, writable: true, configurable: true },
    })
    holders.set(req, child)
    inTime(
      (answered) => middleware(child, res, answered),
      (error) => next(error === undefined ? undefined : unavailable(error)),
    )
  }
}

const isUsable = (candidate: Partial<Session> | undefined): boolean =>
  typeof candidate?.regenerate === 'function'

const warnOfMemory = (server: AuthorizationServer, req: Request): void => {
  if (req.sessionStore?.constructor?.name !== 'MemoryStore') return
  server.options.logger.error(
    "latchkey: the app's session is kept in memory: logins vanish at each restart and memory grows; give express-session a store",
  )
}

/**
 * Sees to it that page routes have a session: the host's where it has a real one, else ours.
 * Once the host's has been seen, its absence means that its store is away, and nobody is logged in by mistake.
 */
export const sessionMiddleware = (server: AuthorizationServer): RequestHandler => {
  const { session: choice } = server.options
  const own = ownSession(server)
  let hostHasSession = choice === 'host'
  let warned = false
  const late = (error: Error): void =>
    server.options.logger.error('latchkey: the session of an answer could not be stored', error)
  const host: RequestHandler = (req, res, next) => {
    if (!isUsable(req.session)) return next(unavailable())
    endInTime(res, late)
    if (server.options.production && !warned) warnOfMemory(server, req)
    warned = true
    holders.set(req, req)
    next()
  }
  return (req, res, next) => {
    if (choice === 'own') return own(req, res, next)
    if (typeof choice === 'function') {
      return inTime(
        (answered) => choice(req, res, answered),
        (error) => (error ? next(unavailable(error)) : host(req, res, next)),
      )
    }
    hostHasSession ||= isUsable(req.session)
    return hostHasSession ? host(req, res, next) : own(req, res, next)
  }
}

/** @throws OAuthError `temporarily_unavailable` when the store is away and the request has no session */
export const sessionOf = (req: Request): Session & Record<string, unknown> => {
  const current = holders.get(req)?.session
  if (!isUsable(current)) throw unavailable()
  return current as unknown as Session & Record<string, unknown>
}

/** The session that the host itself keeps, on a route of the host's; empty when there is none. */
export const hostSessionOf = (req: Request): Readonly<Record<string, unknown>> => ({ ...req.session })

/** What could not be kept is let go, or express-session would try once more, and hold back the page that says so. */
const letGo = (req: Request): void => {
  const holder = holders.get(req)
  if (holder) Object.assign(holder, { session: undefined })
}

const settled = (
  req: Request,
  start: (session: Session, done: (error?: unknown) => void) => unknown,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const session = sessionOf(req)
    inTime(
      (answered) => start(session, answered),
      (error) => {
        if (!error) return resolve()
        letGo(req)
        reject(unavailable(error))
      },
    )
  })

/** A new session id, so that one known before the login is worthless after it. */
export const regenerateSession = (req: Request): Promise<void> =>
  settled(req, (session, done) => session.regenerate(done))

/** Awaited before a redirect: express-session would send the redirect first and lose a failed save. */
export const saveSession = (req: Request): Promise<void> =>
  settled(req, (session, done) => session.save(done))
