import type { Attack } from '../attack.ts'
import { codeIn, grant, newRequest } from '../flow.ts'
import { asClient, redemption, tokensIn, withToken } from '../tokens.ts'
import type { Answer } from '../wire.ts'
import { ownPages } from './pages.ts'

const mayBeKept = ({ headers }: Answer): boolean => !/\bno-store\b/i.test(headers['cache-control'] ?? '')

/** Every response that contains a code, a token or a user's data. */
export const caching: Attack = {
  name: 'responses that a cache would store',
  source: 'RFC 6749 §5.1, RFC 9700 §4.3, OpenID Connect Core §3.1.3.3',
  expected: 'Cache-Control: no-store on pages, redirects with a code, tokens and userinfo',
  remedy: 'Do not let middleware, a proxy or a CDN change Cache-Control in responses of the router.',
  run: async (target) => {
    const request = newRequest(target)
    const redirect = await grant(target, target.signedIn(), request)
    const code = codeIn(target, redirect)
    const token = await asClient(target, '/token', redemption({ code, request }))
    const userinfo = await withToken(target, target.path('/userinfo'), tokensIn(token).accessToken)
    const again = await asClient(target, '/token', redemption({ code, request }))
    const pages = Object.entries(await ownPages(target)).map(
      ([name, page]) => [`the ${name} page`, page] as const,
    )
    const others = Object.entries({
      'the redirect with the code': redirect,
      'the token response': token,
      'the error of the token endpoint': again,
      userinfo,
    })
    return [...pages, ...others]
      .filter(([, answer]) => mayBeKept(answer))
      .map(([what, { headers }]) => `${what}: Cache-Control: ${headers['cache-control'] ?? 'none'}`)
  },
}
