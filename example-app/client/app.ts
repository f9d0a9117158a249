import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express'
import session from 'express-session'
import helmet from 'helmet'
import { homePage, type Outcome, privacyPage, problemPage, televisionPage, welcomePage } from './pages.ts'
import { problemOf } from './problem.ts'
import {
  discoverOnce,
  fetchNotes,
  finishSignIn,
  type JournalSettings,
  type PendingSignIn,
  refresh,
  type SignedIn,
  startSignIn,
} from './sign-in.ts'
import { startTelevision, type Television } from './television.ts'

declare module 'express-session' {
  interface SessionData {
    /** By `state`: each tab has its own. */
    pending?: Record<string, PendingSignIn>
    signedIn?: SignedIn
    /** The result of the last action, shown once. */
    outcome?: Outcome
    /** Keeps the session of a browser that has only opened `/tv`. */
    isTelevision?: boolean
  }
}

/** Sign-ins that one browser has begun, one for each tab. */
const maxPending = 10

const sameOrigin: RequestHandler = (req, res, next) => {
  const site = req.get('sec-fetch-site') ?? 'same-origin'
  if (site === 'same-origin' || site === 'none') next()
  else res.status(403).send('This form was sent from another site.')
}

const regenerate = (req: Request): Promise<void> =>
  new Promise((resolve, reject) => req.session.regenerate((error) => (error ? reject(error) : resolve())))

/** Journal, a web app that signs people in with Notes. Its sessions are in memory, so a restart ends them. */
export const journalApp = (settings: JournalSettings): Express => {
  const app = express()
  const provider = discoverOnce(settings)
  // By session: each browser is a television of its own.
  const televisions = new Map<string, Television>()

  app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }))
  app.use(express.static(join(import.meta.dirname, 'public')))
  app.use(
    session({
      // All ports of localhost share cookies, so the name differs from that of Notes.
      name: 'journal.sid',
      secret: randomBytes(32).toString('base64url'),
      resave: false,
      saveUninitialized: false,
      cookie: { httpOnly: true, sameSite: 'lax', secure: settings.url.startsWith('https:') },
    }),
  )

  app.get('/', (req, res) => {
    const { signedIn, outcome } = req.session
    delete req.session.outcome
    res.set('Cache-Control', 'no-store').send(signedIn ? homePage(signedIn, outcome) : welcomePage())
  })

  app.get('/sign-in', async (req, res) => {
    const { url, pending } = await startSignIn(await provider(), settings)
    const others = Object.entries(req.session.pending ?? {}).slice(1 - maxPending)
    req.session.pending = { ...Object.fromEntries(others), [pending.state]: pending }
    res.redirect(url.href)
  })

  app.get('/callback', async (req, res) => {
    const { state } = req.query
    const waiting = req.session.pending ?? {}
    const pending = typeof state === 'string' && Object.hasOwn(waiting, state) ? waiting[state] : undefined
    if (pending) delete waiting[pending.state]
    if (!pending) throw new Error('this sign-in was not started here, or it is finished already')
    const signedIn = await finishSignIn(await provider(), new URL(req.originalUrl, settings.url), pending)
    await regenerate(req)
    req.session.pending = waiting
    req.session.signedIn = signedIn
    res.redirect('/')
  })

  app.post('/refresh', sameOrigin, async (req, res) => {
    if (req.session.signedIn) {
      req.session.signedIn = await refresh(await provider(), req.session.signedIn)
      req.session.outcome = { message: 'The token was refreshed.' }
    }
    res.redirect(303, '/')
  })

  app.post('/notes', sameOrigin, async (req, res) => {
    if (req.session.signedIn) {
      const notes = await fetchNotes(await provider(), settings, req.session.signedIn)
      req.session.outcome = { message: `The Notes API gave ${notes.length} notes.`, notes }
    }
    res.redirect(303, '/')
  })

  app.post('/sign-out', sameOrigin, (req, res, next) => {
    req.session.destroy((error) => {
      if (error) return next(error)
      res.clearCookie('journal.sid').redirect(303, '/')
    })
  })

  app.get('/tv', async (req, res) => {
    const television = televisions.get(req.sessionID) ?? (await startTelevision(settings))
    televisions.set(req.sessionID, television)
    req.session.isTelevision = true
    res.set('Cache-Control', 'no-store').send(televisionPage(television.screen()))
  })

  app.post('/tv', sameOrigin, (req, res) => {
    televisions.delete(req.sessionID)
    res.redirect(303, '/tv')
  })

  app.get('/privacy', (_req, res) => {
    res.send(privacyPage())
  })

  const showProblem: ErrorRequestHandler = (error, _req, res, next) => {
    if (res.headersSent) return next(error)
    const problem = problemOf(error)
    res.status(problem.code === 'access_denied' ? 200 : 502).send(problemPage(problem))
  }
  app.use(showProblem)

  return app
}
