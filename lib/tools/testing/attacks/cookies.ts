import type { Attack } from '../attack.ts'
import type { Browser } from '../browser.ts'
import type { SetCookie } from '../cookies.ts'
import { grant, isSignedIn, newRequest } from '../flow.ts'
import type { Target } from '../target.ts'

/** Whether this is one of Latchkey's own cookies. */
const isOwnCookie = (name: string): boolean => /^(?:__Host-)?latchkey_[0-9a-f]{8}_/.test(name)

/** The cookies that identify a user: Latchkey's own, and those without which the user is not signed in. */
const identifying = async (target: Target, browser: Browser): Promise<SetCookie[]> => {
  const found: SetCookie[] = []
  for (const cookie of browser.receivedCookies().filter(({ name }) => browser.cookieNames().includes(name))) {
    if (isOwnCookie(cookie.name) || !(await isSignedIn(target, browser.copy([cookie.name]))))
      found.push(cookie)
  }
  return found
}

const flawsOf = ({ name, attributes }: SetCookie, isSecure: boolean): string[] => {
  const { samesite, domain, path } = attributes
  const flaws = [
    'httponly' in attributes ? '' : 'is not HttpOnly, so any script can read it',
    /^(?:lax|strict)$/i.test(samesite ?? '')
      ? ''
      : `has SameSite=${samesite ?? '(none given)'}, so the browser sends it with requests from other sites`,
    isSecure && !('secure' in attributes) ? 'is not Secure, although the issuer is https' : '',
    isSecure && isOwnCookie(name) && !name.startsWith('__Host-') ? 'lost its __Host- prefix' : '',
    isOwnCookie(name) && (domain !== undefined || path !== '/') ? 'has another Domain or Path' : '',
  ]
  return flaws.filter((flaw) => flaw !== '').map((flaw) => `${name} ${flaw}`)
}

const attributes: Attack = {
  name: 'the attributes of cookies that identify a user',
  source: 'RFC 6265 §8, RFC 9700 §4.7, OWASP ASVS 5 §3.3',
  expected:
    'HttpOnly and SameSite=Lax; with an https issuer also Secure, and the __Host- prefix on Latchkey’s own cookies',
  remedy:
    "Set them where you create the cookie: session({ cookie: { httpOnly: true, sameSite: 'lax', secure: 'auto' } }), which is Secure on https. Do not let a proxy rewrite Set-Cookie.",
  run: async (target) => {
    const browser = target.browser()
    await grant(target, browser)
    const cookies = await identifying(target, browser)
    if (cookies.length === 0) return ['no cookie keeps the user signed in']
    return cookies.flatMap((cookie) => flawsOf(cookie, target.isSecure))
  },
}

/** A request without TLS, as the proxy of an https site forwards it. */
const plainHttp: Attack = {
  name: 'plain http under an https issuer',
  source: 'RFC 6749 §3.1, RFC 9700 §2.6',
  expected: 'no cookie that identifies a user, and no sign-in page',
  remedy:
    "Redirect http to https before the router, keep the session cookie Secure, and trust X-Forwarded-Proto from your own proxy only: app.set('trust proxy', 1).",
  run: async (target) => {
    if (!target.isSecure) return { skipped: 'the issuer is http' }
    if (target.place.base.protocol === 'https:') return { skipped: 'the app listens in https itself' }
    const signedIn = target.browser()
    await grant(target, signedIn)
    const names = (await identifying(target, signedIn)).map(({ name }) => name)
    const browser = target.browser()
    const deviations: string[] = []
    const without = Object.fromEntries(Object.keys(target.place.headers).map((name) => [name, undefined]))
    for (const headers of [without, { ...without, 'x-forwarded-proto': 'http' }]) {
      const answer = await browser.get(newRequest(target).url, headers)
      if (answer.location?.pathname === target.path('/login')) deviations.push('a sign-in page was served')
      const set = browser.receivedCookies().filter(({ name }) => names.includes(name))
      deviations.push(...set.map(({ name }) => `${name} was set`))
    }
    return [...new Set(deviations)]
  },
}

export const cookieAttacks = [attributes, plainHttp]
