import type { Attack } from '../attack.ts'
import { newRequest, requestIdIn } from '../flow.ts'
import { described, isRefused } from '../outcome.ts'

/** An attacker starts a request and gets somebody else to finish it, or the reverse. */
export const anotherBrowser: Attack = {
  name: 'a waiting request in another browser',
  source: 'RFC 6749 §10.12, RFC 9700 §4.7',
  expected: 'a page with status 400 for everybody but the browser that began it',
  remedy: 'Let each browser keep its cookies apart: no cache, proxy or session of yours may share them.',
  run: async (target) => {
    const id = requestIdIn(await target.browser().get(newRequest(target).url))
    if (id === '') return ['the authorization request did not wait for anybody to sign in']
    const others = {
      'a browser that has never been here': target.browser(),
      'a browser in which the user is signed in': target.signedIn(),
    }
    const deviations: string[] = []
    for (const [who, browser] of Object.entries(others)) {
      await browser.get(newRequest(target).url)
      for (const page of ['/login', '/consent', '/authorize']) {
        const answer = await browser.get(`${target.path(page)}?authorization_request=${id}`)
        if (!isRefused(answer)) deviations.push(`${page} for ${who}: ${described(answer)}`)
      }
    }
    return deviations
  },
}
