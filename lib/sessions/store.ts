import type { Request } from 'express'
import session, { type Session, type SessionData } from 'express-session'
import type { AuthorizationServer } from '../authorization-server.ts'
import { hashSecret } from '../keys/secrets.ts'
import { findSession, removeSession, saveSession, touchSession } from '../repositories/index.ts'

type Done<T = void> = (error?: unknown, result?: T) => void

/** Every outcome reaches express-session's callback; a database that is away never becomes an unhandled rejection. */
const settle = <T>(work: Promise<T>, done: Done<T> | undefined): void => {
  work.then(
    (result) => done?.(null, result),
    (error: unknown) => done?.(error),
  )
}

/** The share of the idle lifetime that must be over before a visit is written down: a minute of half an hour. */
const share = 1 / 30

/** Sessions of the kit's own in the kit's database: ids hashed, idle and absolute lifetime enforced here. */
export class DatabaseSessionStore extends session.Store {
  readonly #server: AuthorizationServer
  /** When sessions end by what is stored: by the data that was read, and by the session that was made of it. */
  readonly #ends = new WeakMap<object, number>()

  constructor(server: AuthorizationServer) {
    super()
    this.#server = server
  }

  override get(sid: string, done: Done<SessionData | null>): void {
    settle(this.#find(sid), done)
  }

  override set(sid: string, data: SessionData, done?: Done): void {
    const row = { id: hashSecret(sid), data, now: this.#server.now(), expiresAt: this.#idleEnd() }
    settle(saveSession(this.#server.database, row), done)
  }

  override createSession(req: Request, data: SessionData): Session & SessionData {
    const created = super.createSession(req, data)
    this.#ends.set(created, this.#ends.get(data) ?? 0)
    return created
  }

  /** Comes when the page is made: a visit that cannot be written down is no reason to take it away again. */
  override touch(sid: string, current: SessionData, done?: Done): void {
    const { lifetimes, logger } = this.#server.options
    const values = { id: hashSecret(sid), expiresAt: this.#idleEnd() }
    const isDue = values.expiresAt - (this.#ends.get(current) ?? 0) >= lifetimes.sessionIdle * share
    if (!isDue) {
      done?.()
      return
    }
    const written = touchSession(this.#server.database, values).catch((error: unknown) =>
      logger.warn('latchkey: a session could not be prolonged', error),
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
    this.#ends.set(found.data, found.expiresAt)
    // The data is what express-session itself gave to `set`.
    return found.data as unknown as SessionData
  }
}
