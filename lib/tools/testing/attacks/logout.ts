import type { Attack } from '../attack.ts'
import { grant, isSignedIn } from '../flow.ts'
import { wrongAnswers } from '../outcome.ts'

/** An image or a form of another site can send these requests. */
export const logoutFromElsewhere: Attack = {
  name: 'signing a user out from another site',
  source: 'OpenID Connect RP-Initiated Logout §2 and §6',
  expected: 'nothing ends until the user confirms, and there is no redirect to an unregistered address',
  remedy: 'Do not end sessions in your own routes or middleware on GET or without a token.',
  run: async (target) => {
    const browser = target.browser()
    await grant(target, browser)
    const path = target.path('/logout')
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://attacker.example' }
    const uri = 'post_logout_redirect_uri=https%3A%2F%2Fattacker.example%2F'
    const attempts = {
      'GET /logout': await browser.get(path, { 'sec-fetch-site': 'cross-site' }),
      'GET /logout with another address': await browser.get(`${path}?${uri}`),
      'POST /logout': await browser.post(path, {}, foreign),
      'POST /logout with a forged token': await browser.post(path, { csrf_token: 'x' }, foreign),
    }
    const redirected = wrongAnswers(attempts, ({ location }) => location?.hostname !== 'attacker.example')
    return (await isSignedIn(target, browser)) ? redirected : [...redirected, 'the user is signed out']
  },
}
