import express, { type Express, type Request } from 'express'
import session from 'express-session'
import { attacks } from '../../lib/tools/testing/attacks/index.ts'
import type { AttackOptions } from '../../lib/tools/testing/index.ts'
import { type AttackedHost, attackHost, expectFindings } from '../support/attacked-host.ts'

interface HostSession {
  user?: { id: number; time: number }
}
const sessionOf = (req: Request): HostSession => req.session as unknown as HostSession

interface LoginPage {
  /** Where the page goes on to, of what it was told. */
  readonly safe: (returnTo: string) => string
  readonly renews: boolean
}

const origin = 'http://localhost:3000'

const onlyOwn = (returnTo: string): string =>
  URL.canParse(returnTo, origin) && new URL(returnTo, origin).origin === origin ? returnTo : '/'

/** A login page as hosts have them: a form, their own session, and the address to go on to. */
const withLoginPage =
  ({ safe, renews }: LoginPage) =>
  (app: Express): void => {
    app.get('/sign-in', (req, res) => {
      const returnTo = String(req.query.return_to ?? '/').replaceAll('"', '')
      res.send(
        `<form action=/search><input name=q></form><form method='POST'><input type=hidden name='return_to' value="${returnTo}"><input name=email><input type="password" name="password"></form>`,
      )
    })
    app.post('/sign-in', express.urlencoded({ extended: false }), (req, res, next) => {
      const { email, password, return_to: returnTo } = req.body
      if (email !== 'ada@example.com' || password !== 'ada’s password') return void res.sendStatus(401)
      const remember = (): void => {
        sessionOf(req).user = { id: 1, time: Math.floor(Date.now() / 1000) }
        req.session.save((error) => (error ? next(error) : res.redirect(safe(String(returnTo)))))
      }
      if (renews) req.session.regenerate((error) => (error ? next(error) : remember()))
      else remember()
    })
  }

const credentials = { email: 'ada@example.com', password: 'ada’s password' }

const host = (page: LoginPage, login?: AttackOptions['login']): AttackedHost => ({
  before: [
    session({
      secret: 'of the host',
      resave: false,
      saveUninitialized: true,
      name: 'host.sid',
      cookie: { sameSite: 'lax' },
    }),
  ],
  options: {
    session: 'host',
    login: {
      url: '/sign-in',
      current: ({ req }) => {
        const { user } = sessionOf(req)
        return user && { subject: user.id, authTime: user.time }
      },
    },
  },
  after: withLoginPage(page),
  told: { login: login ?? ((browser, shown) => browser.submit(shown, credentials)) },
})

/** The host without a fault withstands all attacks; here those that must succeed are enough. */
const expectFound = async (host: AttackedHost, found: Record<string, RegExp>): Promise<void> =>
  expectFindings(
    await attackHost(
      host,
      attacks.filter(({ name }) => name in found),
    ),
    found,
  )

describe('a host with a login page of its own', () => {
  test('passes, and the report lists what was skipped', async () => {
    const report = await attackHost(host({ safe: onlyOwn, renews: true }))
    expectFindings(report, {})
    expect(report.passed).toContain('the host’s login page as an open redirector')
    expect(report.passed).toContain('session fixation: cookies from before the sign-in')
    expect(report.skipped.map(({ attack }) => attack)).toEqual([
      'session fixation: cookies of an earlier sign-in',
      'the sign-in form, forged',
      'plain http under an https issuer',
      'a sign-in as JSON',
      'guessing passwords',
      'guessing passwords from forged addresses',
    ])
  })

  test('may sign in by other means than a form', async () => {
    const login: AttackOptions['login'] = async (browser) => {
      await browser.post('/sign-in', credentials)
    }
    const some = attacks.filter(({ name }) => /state and iss|fixation/.test(name))
    const report = await attackHost(host({ safe: () => '/', renews: true }, login), some)
    expectFindings(report, {})
    expect(report.passed).toContain('state and iss in answers to the client')
  })

  test('whose session keeps its id at sign-in is found out', async () => {
    await expectFound(host({ safe: onlyOwn, renews: false }), {
      'session fixation: cookies from before the sign-in': /^the cookies of before the sign-in \(.*host\.sid/,
    })
  })

  test.each<[string, (returnTo: string) => string, RegExp]>([
    ['redirects to any address', (to) => to, /return_to=https:\/\/attacker\.example\/: 302/],
    [
      'accepts everything that begins with a slash',
      (to) => (to.startsWith('/') ? to : '/'),
      /^return_to=\/\/attacker\.example\/: 302/,
    ],
    [
      'refuses two slashes, but not a backslash',
      (to) => (/^\/(?!\/)/.test(to) ? to : '/'),
      /^return_to=\/\\attacker\.example\/: 302[^\n]*$/,
    ],
  ])('that %s is found out', async (_, safe, came) => {
    await expectFound(host({ safe, renews: true }), {
      'the host’s login page as an open redirector': came,
    })
  })

  test('is not attacked without a way to sign in', async () => {
    const { told: _, ...others } = host({ safe: onlyOwn, renews: true })
    await expect(attackHost(others)).rejects.toThrow(
      /expected a code from \/sign-in, .*set login if you have your own login page/,
    )
  })
})
