import type { Attack } from '../attack.ts'
import type { Browser } from '../browser.ts'
import { grant, isLoginPage, isSignedIn, newRequest, signIn } from '../flow.ts'
import { described } from '../outcome.ts'
import type { Target } from '../target.ts'

const remedy =
  'Give the session a new id at sign-in: let req.session.regenerate() be that of express-session, and call it in a login page of your own.'

/** What somebody can do who knows the cookies of before. */
const stolen = async (target: Target, thief: Browser, when: string): Promise<string[]> =>
  (await isSignedIn(target, thief))
    ? [`the cookies of ${when} (${thief.cookieNames().join(', ')}) are those of a signed-in user`]
    : []

/** The attacker opens the page first, and has the victim sign in under the same session id. */
const fixation: Attack = {
  name: 'session fixation: cookies from before the sign-in',
  source: 'OWASP ASVS 5 §7.2.4, CWE-384',
  expected: 'nobody is signed in with them afterwards',
  remedy,
  run: async (target) => {
    const browser = target.browser()
    const request = newRequest(target)
    // Twice, since some session middleware sets its cookie with the second answer.
    await browser.open(request.url)
    await browser.open(request.url)
    const thief = browser.copy()
    await grant(target, browser, request)
    return stolen(target, thief, 'before the sign-in')
  },
}

/** Where sessions begin only with a login, the attacker plants one of their own; the victim signs in over it. */
const takeover: Attack = {
  name: 'session fixation: cookies of an earlier sign-in',
  source: 'OWASP ASVS 5 §7.2.4, CWE-384',
  expected: 'nobody is signed in with them after the next one',
  remedy,
  run: async (target) => {
    if (target.options.login)
      return { skipped: 'whether the login page of the host asks again is its own affair' }
    const browser = target.browser()
    await grant(target, browser)
    const thief = browser.copy()
    const request = newRequest(target, { prompt: 'login' })
    const page = await browser.open(request.url)
    if (!isLoginPage(target, page)) return [`prompt=login came to ${described(page)}`]
    await signIn(target, browser, page, request)
    return stolen(target, thief, 'the earlier sign-in')
  },
}

export const loginSessionAttacks = [fixation, takeover]
