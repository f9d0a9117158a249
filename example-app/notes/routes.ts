import { type Request, type RequestHandler, Router, urlencoded } from 'express'
import { listNotes, readNote, writeNote } from './notes.ts'
import { listPage, loginPage, newNotePage } from './pages.ts'
import { memberOf } from './session.ts'
import { authenticate, findUser, type User } from './users.ts'

/** Accepts forms from Notes' own pages only. Journal is another origin, because it uses another port. */
const sameOrigin: RequestHandler = (req, res, next) => {
  const site = req.get('sec-fetch-site') ?? 'same-origin'
  if (site === 'same-origin' || site === 'none') next()
  else res.status(403).send('This form was sent from another site.')
}

const form: RequestHandler[] = [sameOrigin, urlencoded({ extended: false, limit: '40kb' })]

const signedIn = async (req: Request): Promise<User | undefined> =>
  req.session.member && findUser(req.session.member.id)

/** Changes the session id at sign-in, to prevent session fixation. */
const regenerate = (req: Request): Promise<void> =>
  new Promise((resolve, reject) => req.session.regenerate((error) => (error ? reject(error) : resolve())))

/** Notes' pages: sign in, sign out, read and write notes. */
export const pages = (): Router => {
  const router = Router()

  router.get('/login', async (req, res) => {
    if (await signedIn(req)) res.redirect('/')
    else res.send(loginPage())
  })

  router.post('/login', ...form, async (req, res) => {
    const { email = '', password = '' } = (req.body ?? {}) as Record<string, string | undefined>
    const user = await authenticate(String(email), String(password))
    if (!user) return void res.status(401).send(loginPage(String(email), 'Email or password is wrong.'))
    await regenerate(req)
    req.session.member = memberOf(user.id)
    res.redirect(303, '/')
  })

  router.post('/logout', sameOrigin, (req, res, next) => {
    req.session.destroy((error) => {
      if (error) return next(error)
      res.clearCookie('notes.sid').redirect(303, '/login')
    })
  })

  router.get('/', async (req, res) => {
    const user = await signedIn(req)
    if (user) res.send(listPage(user, await listNotes(user.id)))
    else res.redirect('/login')
  })

  router.get('/notes/new', async (req, res) => {
    const user = await signedIn(req)
    if (user) res.send(newNotePage(user))
    else res.redirect('/login')
  })

  router.post('/notes', ...form, async (req, res) => {
    const user = await signedIn(req)
    if (!user) return res.redirect(303, '/login')
    const note = readNote(req.body)
    if (note.problem) return void res.status(422).send(newNotePage(user, note))
    await writeNote(user.id, note)
    res.redirect(303, '/')
  })

  return router
}
