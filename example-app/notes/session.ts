import expressSession from 'express-session'
import { database } from './database.ts'
import { KnexSessionStore } from './session-store.ts'
import { notesUrl, secret } from './settings.ts'

declare module 'express-session' {
  interface SessionData {
    /** Who is signed in to Notes, and since when (epoch seconds). */
    member?: { id: number; since: number }
  }
}

/** What Notes keeps in a session once somebody has signed in. */
export const memberOf = (userId: number) => ({ id: userId, since: Math.floor(Date.now() / 1000) })

/** Notes' sessions. Cookies are shared by all ports of localhost, hence a name of its own. */
export const session = expressSession({
  name: 'notes.sid',
  secret: secret('session'),
  store: new KnexSessionStore(database),
  resave: false,
  saveUninitialized: false,
  cookie: { httpOnly: true, sameSite: 'lax', secure: notesUrl.startsWith('https:'), maxAge: 12 * 3_600_000 },
})
