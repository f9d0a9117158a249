import { type SessionData, Store } from 'express-session'
import type { Knex } from 'knex'

const dayInMilliseconds = 86_400_000

const expiry = (session: SessionData): number => Date.now() + (session.cookie.maxAge ?? dayInMilliseconds)

/** Stores sessions in the `sessions` table, so that they survive a restart. Removes expired rows once an hour. */
export class KnexSessionStore extends Store {
  readonly #database: Knex

  constructor(database: Knex) {
    super()
    this.#database = database
    setInterval(() => this.#prune(), 3_600_000).unref()
  }

  override get(sid: string, callback: (error: unknown, session?: SessionData | null) => void): void {
    this.#database('sessions')
      .where({ sid })
      .andWhere('expires_at', '>', Date.now())
      .first('data')
      .then((row) => callback(null, row ? JSON.parse(row.data) : null))
      .catch(callback)
  }

  override set(sid: string, session: SessionData, callback?: (error?: unknown) => void): void {
    this.#database('sessions')
      .insert({ sid, data: JSON.stringify(session), expires_at: expiry(session) })
      .onConflict('sid')
      .merge()
      .then(() => callback?.())
      .catch(callback)
  }

  override touch(sid: string, session: SessionData, callback?: (error?: unknown) => void): void {
    this.#database('sessions')
      .where({ sid })
      .update({ expires_at: expiry(session) })
      .then(() => callback?.())
      .catch(callback)
  }

  override destroy(sid: string, callback?: (error?: unknown) => void): void {
    this.#database('sessions')
      .where({ sid })
      .delete()
      .then(() => callback?.())
      .catch(callback)
  }

  #prune(): void {
    this.#database('sessions')
      .where('expires_at', '<=', Date.now())
      .delete()
      .catch((error) => console.error('expired sessions could not be removed', error))
  }
}
