import type { Attack } from '../attack.ts'
import { newRequest } from '../flow.ts'
import type { VisitedTarget } from '../visit.ts'
import type { Answer } from '../wire.ts'

/** Pages read cookies, so no script of another origin may read them. */
const pagesOf = (target: VisitedTarget): string[] => [
  newRequest(target, { prompt: 'none' }).url,
  ...['/authorize', '/login', '/consent', '/logout', '/introspect'].map((path) => target.path(path)),
  ...(target.options.frontEnd ? [target.path('/interaction?step=login')] : []),
]

const openOf = (target: VisitedTarget): string[] =>
  ['/token', '/userinfo', '/revoke', '/jwks', '/.well-known/openid-configuration'].map((path) =>
    target.path(path),
  )

const origins = ['https://attacker.example', 'null']

const flawsOf = ({ headers }: Answer, isPage: boolean): string[] => {
  const allowed = headers['access-control-allow-origin']
  const credentials = headers['access-control-allow-credentials']
  return [
    ...(credentials === undefined ? [] : [`Access-Control-Allow-Credentials: ${credentials}`]),
    ...(isPage && allowed !== undefined ? [`Access-Control-Allow-Origin: ${allowed}`] : []),
  ]
}

/** A script of any site, in the browser of a signed-in user. */
export const crossOrigin: Attack = {
  name: 'scripts of other origins with the user’s cookies',
  source: 'RFC 9700 §2.6, OWASP ASVS 5 §3.4.2',
  expected: 'no Access-Control-Allow-Credentials, and no Access-Control-Allow-Origin where cookies are read',
  remedy:
    'Mount cors() after the router, or only on the paths of your API, and never with credentials for every origin. Latchkey sets the CORS headers of its own endpoints.',
  run: async (target) => {
    const browser = target.signedIn()
    const [pages, open] = [pagesOf(target), openOf(target)]
    const deviations: string[] = []
    for (const path of [...pages, ...open]) {
      for (const origin of origins) {
        const headers = { origin, 'sec-fetch-site': 'cross-site' }
        const asked = { ...headers, 'access-control-request-method': 'POST' }
        const answers = {
          GET: await browser.get(path, headers),
          OPTIONS: await browser.send('OPTIONS', path, { headers: asked }),
        }
        for (const [method, answer] of Object.entries(answers)) {
          const flaws = flawsOf(answer, pages.includes(path))
          if (flaws.length > 0)
            deviations.push(`${method} ${path.split('?')[0]} from ${origin}: ${flaws.join(', ')}`)
        }
      }
    }
    return [...new Set(deviations)]
  },
}
