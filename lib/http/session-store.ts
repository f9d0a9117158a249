import session, { type SessionData } from 'express-session'
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

/** Sessions of the kit's own in the kit's database: ids hashed, idle and absolute lifetime enforced here. */
export class DatabaseSessionStore extends session.Store {
  readonly #server: AuthorizationServer

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

  override touch(sid: string, _data: SessionData, done?: Done): void {
    settle(touchSession(this.#server.database, { id: hashSecret(sid), expiresAt: this.#idleEnd() }), done)
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
    // The data is what express-session itself gave to `set`.
    return found.data as unknown as SessionData
  }
}
