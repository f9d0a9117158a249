import expressSession from 'express-session'
import { database } from './database.ts'
import { KnexSessionStore } from './session-store.ts'
import { notesUrl, secret } from './settings.ts'

declare module 'express-session' {
  interface SessionData {
    /** The signed-in user, the time of the sign-in (epoch seconds), and how they signed in, if not with the password. */
    member?: { id: number; since: number; amr?: readonly string[] }
  }
}

/** What a session contains after a sign-in. */
export const memberOf = (userId: number) => ({ id: userId, since: Math.floor(Date.now() / 1000) })

/** Notes' sessions. All ports of localhost share cookies, so the cookie has its own name. */
export const session = expressSession({
  name: 'notes.sid',
  secret: secret('session'),
  store: new KnexSessionStore(database),
  resave: false,
  saveUninitialized: false,
  cookie: { httpOnly: true, sameSite: 'lax', secure: notesUrl.startsWith('https:'), maxAge: 12 * 3_600_000 },
})
