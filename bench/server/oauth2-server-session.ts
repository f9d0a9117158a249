import type Database from 'better-sqlite3'
import type { RequestHandler } from 'express'
import session, { type SessionData } from 'express-session'

declare module 'express-session' {
  interface SessionData {
    user?: { readonly id: number }
  }
}

type Done<T = void> = (error?: unknown, result?: T) => void

const lifetime = 43_200_000

export const createSessions = (database: Database): void =>
  database.exec('CREATE TABLE sessions (sid TEXT PRIMARY KEY, data TEXT NOT NULL, expires INTEGER NOT NULL)')

class SqliteStore extends session.Store {
  readonly #database: Database
  readonly #find
  readonly #save
  readonly #touch
  readonly #remove

  constructor(database: Database) {
    super()
    this.#database = database
    this.#find = this.#database.prepare('SELECT data FROM sessions WHERE sid = ? AND expires > ?')
    this.#save = this.#database.prepare('INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)')
    this.#touch = this.#database.prepare('UPDATE sessions SET expires = ? WHERE sid = ?')
    this.#remove = this.#database.prepare('DELETE FROM sessions WHERE sid = ?')
  }

  override get(sid: string, done: Done<SessionData | null>): void {
    const row = this.#find.get(sid, Date.now())
    done(null, row ? JSON.parse(String(row.data)) : null)
  }

  override set(sid: string, data: SessionData, done?: Done): void {
    this.#save.run(sid, JSON.stringify(data), Date.now() + lifetime)
    done?.()
  }

  override touch(sid: string, _data: SessionData, done?: Done): void {
    this.#touch.run(Date.now() + lifetime, sid)
    done?.()
  }

  override destroy(sid: string, done?: Done): void {
    this.#remove.run(sid)
    done?.()
  }
}

/** express-session, as in an app with its own login. */
export const browserSession = (database: Database): RequestHandler =>
  session({
    secret: 'a secret of the benchmark that is long enough',
    store: new SqliteStore(database),
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax' },
  })
