import type { Request, RequestHandler, Response } from 'express'
import session, { type Session, type SessionData } from 'express-session'
import type { ServerSetup } from '../authorization-server.ts'
import { withTimeout } from '../database/connection.ts'
import type { BrowserSession, Incoming } from '../http/context.ts'
import { cookieName, isSecure, readCookie } from '../http/cookies.ts'
import { deriveKey, hashSecret } from '../keys/secrets.ts'
import { OAuthError } from '../protocol/errors.ts'
import { findSession, removeSession, saveSession, touchSession } from '../repositories/index.ts'

/** Milliseconds that a session store may take; as many as the database. */
const timeoutMs = 5000

const noAnswer = (): Error => new Error(`the session store did not answer within ${timeoutMs} ms`)

/**
 * Waits for a session store. The store may call back twice, throw, or never answer.
 *
 * @param start calls the store
 * @throws the error that the store reports, or one after the timeout
 */
const storeAnswer = (start: (done: (error?: unknown) => void) => unknown): Promise<void> => {
  const answer = new Promise<void>((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()))
  })
  return withTimeout(answer, timeoutMs, () => {
    throw noAnswer()
  })
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

const unavailable = (cause?: unknown): OAuthError =>
  new OAuthError('temporarily_unavailable', 'the session store is unavailable', {
    cause,
    headers: { 'Retry-After': '1' },
  })

const isUsable = (candidate: Partial<Session> | undefined): candidate is Session =>
  typeof candidate?.regenerate === 'function'

/** Calls a method of the session that reports by callback. */
const finished = async (
  holder: Request,
  start: (session: Session, done: (error?: unknown) => void) => unknown,
): Promise<void> => {
  const { session } = holder
  if (!isUsable(session)) throw unavailable()
  try {
    await storeAnswer((done) => start(session, done))
  } catch (error) {
    // Otherwise express-session would try to store it once more, and hold back the error page.
    Object.assign(holder, { session: undefined })
    throw unavailable(error)
  }
}

/** Runs express-session or the host's session middleware. */
const runMiddleware = (middleware: RequestHandler, req: Request, res: Response): Promise<void> =>
  storeAnswer((done) => middleware(req, res, done)).catch((error: unknown) => {
    throw unavailable(error)
  })

/** The session that lives on this request object. */
const sessionOn = (holder: Request, isOwn: boolean): BrowserSession => ({
  isOwn,
  id: () => {
    const id: unknown = holder.session?.id
    return typeof id === 'string' ? id : undefined
  },
  data: () => {
    const { session } = holder
    if (!isUsable(session)) throw unavailable()
    return session as unknown as Record<string, unknown>
  },
  regenerate: () => finished(holder, (session, done) => session.regenerate(done)),
  save: () => finished(holder, (session, done) => session.save(done)),
  clear: async () => {
    if (!isUsable(holder.session)) return
    await finished(holder, (session, done) => session.regenerate(done))
    await finished(holder, (session, done) => session.save(done))
  },
})

/** For a request that must neither read nor start a session, such as a form of another site. */
export const noSession: BrowserSession = {
  isOwn: true,
  id: () => undefined,
  data: () => {
    throw unavailable()
  },
  regenerate: () => Promise.reject(unavailable()),
  save: () => Promise.reject(unavailable()),
  clear: () => Promise.reject(unavailable()),
}

const warnOfMemory = (server: ServerSetup, req: Request): void => {
  if (req.sessionStore?.constructor?.name !== 'MemoryStore') return
  server.options.logger.error(
    "latchkey: the app's session is kept in memory: logins vanish at each restart and memory grows; give express-session a store",
  )
}

/**
 * What express-session reads of a request, and where it leaves its session, so that a session of the host stays untouched.
 * An object whose prototype is the request would have the same effect, but Node would make a hidden class for each request.
 */
const holderFor = ({ headers, url, originalUrl, socket, secure }: Request): Request =>
  ({
    ...{ headers, url, originalUrl, connection: socket, secure },
    ...{ session: undefined, sessionID: undefined, sessionStore: undefined },
  }) as unknown as Request

/** Our own session of a browser that has none: empty until it begins. */
const laterSession = (begin: () => Promise<BrowserSession>): BrowserSession => {
  let begun: BrowserSession | undefined
  return {
    isOwn: true,
    id: () => begun?.id(),
    data: () => begun?.data() ?? Object.freeze({}),
    regenerate: async () => {
      if (begun) await begun.regenerate()
      else begun = await begin()
    },
    save: async () => {
      begun ??= await begin()
      await begun.save()
    },
    clear: async () => {
      await begun?.clear()
    },
  }
}

/** Our own session. */
const ownSession = (server: ServerSetup): ((incoming: Incoming) => Promise<BrowserSession>) => {
  const middleware = session({
    name: cookieName(server, 'session'),
    secret: server.options.secrets.map((secret) => deriveKey(secret, 'session cookie').toString('base64url')),
    store: new DatabaseSessionStore(server),
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax', secure: isSecure(server), path: '/' },
  })
  return async ({ req, res }) => {
    const open = async (): Promise<BrowserSession> => {
      const holder = holderFor(req)
      await runMiddleware(middleware, holder, res)
      return sessionOn(holder, true)
    }
    return readCookie(server, req, 'session') === undefined ? laterSession(open) : open()
  }
}

/**
 * Opens the session of a page request: the host's where it has one that can be regenerated, else our own. Once a
 * session of the host has been seen, its absence means that its store is unavailable.
 */
export const sessionOpener = (server: ServerSetup): ((incoming: Incoming) => Promise<BrowserSession>) => {
  const { session: choice, production, logger } = server.options
  const own = ownSession(server)
  let hostHasSession = choice === 'host'
  let warned = false

  const host = ({ req, res }: Incoming): BrowserSession => {
    if (!isUsable(req.session)) throw unavailable()
    endInTime(res, (error) => logger.error('latchkey: the session could not be stored', error))
    if (production && !warned) warnOfMemory(server, req)
    warned = true
    return sessionOn(req, false)
  }

  return async (incoming) => {
    if (choice === 'own') return own(incoming)
    if (typeof choice === 'function') {
      await runMiddleware(choice, incoming.req, incoming.res)
      return host(incoming)
    }
    hostHasSession ||= isUsable(incoming.req.session)
    return hostHasSession ? host(incoming) : own(incoming)
  }
}

/** The data of the host's own session on a route of the host; empty if it has none. */
export const hostSessionData = (req: Request): Readonly<Record<string, unknown>> => ({ ...req.session })

type Done<T = void> = (error?: unknown, result?: T) => void

/** Reports every outcome to express-session's callback, so that a failing database is never an unhandled rejection. */
const settle = <T>(work: Promise<T>, done: Done<T> | undefined): void => {
  work.then(
    (result) => done?.(null, result),
    (error: unknown) => done?.(error),
  )
}

/** The share of the idle lifetime after which a visit is written: one minute of half an hour. */
const share = 1 / 30

/** Stores our own sessions in the database: ids hashed, idle and absolute lifetime enforced here. */
class DatabaseSessionStore extends session.Store {
  readonly #server: ServerSetup
  /** When stored sessions expire, in epoch seconds, by the session object or the data it was made from. */
  readonly #expiry = new WeakMap<object, number>()
  /** What this request has stored, as JSON: express-session stores a regenerated session once more at the end. */
  readonly #stored = new WeakMap<object, string>()

  constructor(server: ServerSetup) {
    super()
    this.#server = server
  }

  override get(sid: string, done: Done<SessionData | null>): void {
    settle(this.#find(sid), done)
  }

  override set(sid: string, data: SessionData, done?: Done): void {
    const json = JSON.stringify([sid, data])
    if (this.#stored.get(data) === json) {
      done?.()
      return
    }
    const expiresAt = this.#idleEnd()
    const row = { id: hashSecret(sid), data, now: this.#server.now(), expiresAt }
    const saved = saveSession(this.#server.database, row).then(() => {
      this.#expiry.set(data, expiresAt)
      this.#stored.set(data, json)
    })
    settle(saved, done)
  }

  override createSession(req: Request, data: SessionData): Session & SessionData {
    const created = super.createSession(req, data)
    this.#expiry.set(created, this.#expiry.get(data) ?? 0)
    return created
  }

  /** A session that was never stored needs no DELETE. */
  override regenerate(req: Request, done: (error?: unknown) => unknown): void {
    if (this.#expiry.has(req.session)) return void super.regenerate(req, done)
    // express-session adds `generate` to its store.
    const { generate } = this as unknown as { generate(req: Request): void }
    generate(req)
    done()
  }

  /** Extends a session at a visit. A failure is logged only: the page has been made already. */
  override touch(sid: string, current: SessionData, done?: Done): void {
    const { lifetimes, logger } = this.#server.options
    const values = { id: hashSecret(sid), expiresAt: this.#idleEnd() }
    const isDue = values.expiresAt - (this.#expiry.get(current) ?? 0) >= lifetimes.sessionIdle * share
    if (!isDue) {
      done?.()
      return
    }
    const written = touchSession(this.#server.database, values).catch((error: unknown) =>
      logger.warn('latchkey: a session could not be extended', error),
    )
    settle(written, done)
  }

  override destroy(sid: string, done?: Done): void {
    settle(removeSession(this.#server.database, { id: hashSecret(sid) }), done)
  }

  #idleEnd(): number {
    return this.#server.now() + this.#server.options.lifetimes.sessionIdle
  }

  async #find(sid: string): Promise<SessionData | null> {
    const now = this.#server.now()
    const found = await findSession(this.#server.database, { id: hashSecret(sid), now })
    if (!found || found.createdAt + this.#server.options.lifetimes.sessionAbsolute <= now) return null
    this.#expiry.set(found.data, found.expiresAt)
    // express-session itself passed this data to `set`.
    return found.data as unknown as SessionData
  }
}
