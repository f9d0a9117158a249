import type { Request } from 'express'
import session, { type Session, type SessionData } from 'express-session'
import type { ServerSetup } from '../authorization-server.ts'
import { hashSecret } from '../keys/secrets.ts'
import { findSession, removeSession, saveSession, touchSession } from '../repositories/index.ts'

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
export class DatabaseSessionStore extends session.Store {
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
