import express, { type Express, type RequestHandler } from 'express'
import session from 'express-session'
import { Passport } from 'passport'
import { secret } from '../support/host.ts'

/**
 * A web app that signs in by a strategy of Passport's: `/login`, or `/login-anew` with all questions asked again,
 * and `/callback`, which shows the user as the strategy found them.
 */
export const passportApp = (strategy: object): Express => {
  const passport = new Passport()
  passport.use('latchkey', strategy)
  const user: RequestHandler = (req, res) => void res.json((req as { user?: unknown }).user)
  return express()
    .use(session({ secret, resave: false, saveUninitialized: false }))
    .get('/login', passport.authenticate('latchkey', { session: false }))
    .get('/login-anew', passport.authenticate('latchkey', { session: false, prompt: 'login consent' }))
    .get('/callback', passport.authenticate('latchkey', { session: false }), user)
}
