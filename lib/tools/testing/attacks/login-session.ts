import type { Attack } from '../attack.ts'
import type { Browser } from '../browser.ts'
import { grant, isLoginPage, isSignedIn, newRequest, signIn } from '../flow.ts'
import { described } from '../outcome.ts'
import type { Target } from '../target.ts'

const remedy =
  'Change the session id at sign-in: use express-session’s req.session.regenerate(), and call it in your own login page.'

/** For a cookie that contains the login itself, which no later sign-in changes. */
const remedyOfCookies = `${remedy} If your login is a signed cookie without a session on the server, a copy of it stays valid until it expires: keep that time short, compare it with a version that you store with the user, or accept it and set statelessLogin: true.`

/** Whether an attacker who knows the earlier cookies is signed in. */
const stolen = async (target: Target, thief: Browser, when: string): Promise<string[]> =>
  (await isSignedIn(target, thief))
    ? [`the cookies of ${when} (${thief.cookieNames().join(', ')}) are those of a signed-in user`]
    : []

/** The attacker opens the page first and makes the victim sign in with the same session id. */
const fixation: Attack = {
  name: 'session fixation: cookies from before the sign-in',
  source: 'OWASP ASVS 5 §7.2.4, CWE-384',
  expected: 'they are not signed in afterwards',
  remedy,
  run: async (target) => {
    const browser = target.browser()
    const request = newRequest(target)
    // Twice, because some session middleware sets its cookie with the second response.
    await browser.open(request.url)
    await browser.open(request.url)
    const thief = browser.copy()
    await grant(target, browser, request)
    return stolen(target, thief, 'before the sign-in')
  },
}

/** The attacker plants the cookies of their own session; the victim then signs in. */
const takeover: Attack = {
  name: 'session fixation: cookies of an earlier sign-in',
  source: 'OWASP ASVS 5 §7.2.4, CWE-384',
  expected: 'they are not signed in after the next sign-in',
  remedy: remedyOfCookies,
  run: async (target) => {
    if (target.options.statelessLogin)
      return { skipped: 'statelessLogin: a stolen copy of the cookie stays valid until it expires' }
    if (target.options.login) return { skipped: 'the host’s login page decides whether to ask again' }
    const browser = target.browser()
    await grant(target, browser)
    const thief = browser.copy()
    const request = newRequest(target, { prompt: 'login' })
    const page = await browser.open(request.url)
    if (!isLoginPage(target, page)) return [`prompt=login was answered with ${described(page)}`]
    await signIn(target, browser, page, request)
    return stolen(target, thief, 'the earlier sign-in')
  },
}

export const loginSessionAttacks = [fixation, takeover]
