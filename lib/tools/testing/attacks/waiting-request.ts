import type { Attack } from '../attack.ts'
import type { Browser } from '../browser.ts'
import { newRequest, requestIdIn } from '../flow.ts'
import { described, isRefused } from '../outcome.ts'
import type { Target } from '../target.ts'
import type { Answer } from '../wire.ts'

/** A page, also if the front end of the host shows it. */
const shown = async (target: Target, browser: Browser, path: string): Promise<Answer> => {
  const answer = await browser.get(path)
  const isFrontEnd = answer.location !== undefined && answer.location.pathname === target.options.frontEnd
  return isFrontEnd ? browser.get(answer.location.href) : answer
}

/** An attacker starts a request and makes the victim finish it, or the reverse. */
export const anotherBrowser: Attack = {
  name: 'a pending request in another browser',
  source: 'RFC 6749 §10.12, RFC 9700 §4.7',
  expected: 'a page with status 400, except in the browser that started it',
  remedy: 'Do not share cookies between browsers in a cache, a proxy or your session.',
  run: async (target) => {
    const id = requestIdIn(await target.browser().get(newRequest(target).url))
    if (id === '') return ['the authorization request did not wait for a sign-in']
    const others = {
      'a new browser': target.browser(),
      'a browser in which the user is signed in': target.signedIn(),
    }
    const deviations: string[] = []
    for (const [who, browser] of Object.entries(others)) {
      await browser.get(newRequest(target).url)
      for (const page of ['/login', '/consent', '/authorize']) {
        const answer = await shown(target, browser, `${target.path(page)}?authorization_request=${id}`)
        if (!isRefused(answer)) deviations.push(`${page} for ${who}: ${described(answer)}`)
      }
    }
    return deviations
  },
}
