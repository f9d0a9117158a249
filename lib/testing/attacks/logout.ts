import type { Attack } from '../attack.ts'
import { grant, isSignedIn } from '../flow.ts'
import { described } from '../outcome.ts'

/** An image or a form of another site would be enough. */
export const logoutFromElsewhere: Attack = {
  name: 'signing somebody out from another site',
  source: 'OpenID Connect RP-Initiated Logout §2 and §6',
  expected:
    'nothing ends until the user has confirmed it, and nobody is sent to an address that is not registered',
  remedy: 'Let no route or middleware of yours before the router end sessions on GET or without a token.',
  run: async (target) => {
    const browser = target.browser()
    await grant(target, browser)
    const path = target.path('/logout')
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://attacker.example' }
    const uri = 'post_logout_redirect_uri=https%3A%2F%2Fattacker.example%2F'
    const attempts = {
      'GET /logout': await browser.get(path, { 'sec-fetch-site': 'cross-site' }),
      'GET /logout with a foreign address': await browser.get(`${path}?${uri}`),
      'POST /logout': await browser.post(path, {}, foreign),
      'POST /logout with a made-up token': await browser.post(path, { csrf_token: 'x' }, foreign),
    }
    const redirected = Object.entries(attempts)
      .filter(([, { location }]) => location?.hostname === 'attacker.example')
      .map(([what, answer]) => `${what}: ${described(answer)}`)
    return (await isSignedIn(target, browser)) ? redirected : [...redirected, 'the user is signed out']
  },
}
