import type { Attack } from '../attack.ts'
import { newRequest } from '../flow.ts'
import { described } from '../outcome.ts'
import { isAnswer } from '../wire.ts'

const foreign = [
  'https://attacker.example/',
  '//attacker.example/',
  '/\\attacker.example/',
  'https:attacker.example',
]

/** The host's own login page gets the next address in a parameter, which anyone can forge. */
export const returnTo: Attack = {
  name: 'the host’s login page as an open redirector',
  source: 'RFC 9700 §4.11, CWE-601',
  expected: 'no redirect to another origin after the sign-in',
  remedy:
    "Follow return_to only if new URL(return_to, origin).origin is the app's own origin, whatever it looks like.",
  run: async (target) => {
    const { login } = target.options
    if (!login) return { skipped: 'the login page is Latchkey’s' }
    const deviations: string[] = []
    for (const address of foreign) {
      const browser = target.browser()
      const sent = await browser.get(newRequest(target).url)
      if (!sent.location?.searchParams.has('return_to')) return [`no return_to in ${described(sent)}`]
      sent.location.searchParams.set('return_to', address)
      const answer = await login(browser, await browser.open(sent.location.href))
      if (isAnswer(answer) && answer.location?.host === 'attacker.example') {
        deviations.push(`return_to=${address}: ${described(answer)}`)
      }
    }
    return deviations
  },
}
