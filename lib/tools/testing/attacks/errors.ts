import type { Attack } from '../attack.ts'
import type { Sent } from '../browser.ts'
import { newRequest } from '../flow.ts'
import type { Target } from '../target.ts'
import type { Answer } from '../wire.ts'

/** Stack frames, file names and SQL, which no response may contain. */
const leaks = [
  /\bat (?:async )?[\w.<>$ [\]]+ \((?:file:|node:|\/|[A-Z]:\\)/,
  /\bnode_modules\b/,
  /\.[cm]?[jt]s:\d+:\d+/,
  /\b(?:select|insert into|update|delete from)\b.{1,80}\b(?:where|values|set|from)\b.{0,20}(?:[`"]\w+[`"]|\?|\$1)/i,
  /\bSQLITE_|\bER_[A-Z_]{4,}|\bsqlState\b/,
]

const form = { 'content-type': 'application/x-www-form-urlencoded' }

type Request = readonly [method: string, path: string, sent?: Sent]

/** Requests that middleware often does not expect. */
const requestsOf = (target: Target): Request[] => {
  const authorize = target.path('/authorize')
  const post = (path: string, body: string, headers = form): Request => [
    'POST',
    target.path(path),
    { body, headers },
  ]
  return [
    ['GET', `${authorize}?client_id=%00`],
    ['GET', `${authorize}?client_id=%E0%A4%A`],
    ['GET', `${authorize}?client_id[]=a&client_id[toString]=b&__proto__[x]=1&constructor=x`],
    ['GET', newRequest(target, { scope: 'openid "\\', state: undefined }).url],
    ['GET', newRequest(target, { max_age: '-1', prompt: 'none' }).url],
    ['GET', newRequest(target, { id_token_hint: 'a.b.c', prompt: 'none' }).url],
    ['GET', `${authorize}?${'a=1&'.repeat(200)}`],
    ['GET', target.path('/assets/..%2f..%2fpackage.json')],
    ['GET', target.path('/login?authorization_request[]=x')],
    ['GET', target.path('/logout?id_token_hint=a.b.c')],
    post('/token', 'grant_type=%00'),
    post('/token', `grant_type=x&code=${'x'.repeat(100_000)}`),
    post('/token', 'grant_type[]=x&client_id[a]=b&__proto__[x]=1'),
    post('/introspect', 'token=%E0%A4'),
    post('/revoke', 'token[]=x'),
    post('/login', 'authorization_request=%00&csrf_token[]=x'),
    post('/consent', 'decision[]=allow'),
  ]
}

const flawOf = ({ status, body }: Answer): string | undefined => {
  const leak = leaks.map((pattern) => pattern.exec(body)?.[0]).find((found) => found !== undefined)
  if (leak !== undefined) return `${status} with ${JSON.stringify(leak.slice(0, 100))}`
  return status >= 500 ? `${status}` : undefined
}

export const errors: Attack = {
  name: 'requests that make middleware throw',
  source: 'OWASP ASVS 5 §16.5.1, CWE-209',
  expected: 'a status below 500, and no stack, path or SQL in the answer',
  remedy:
    'Add an error handler to your app that shows no details, and mount the router before middleware that throws on malformed input.',
  run: async (target) => {
    const deviations: string[] = []
    for (const [method, path, sent] of requestsOf(target)) {
      const flaw = flawOf(await target.browser().send(method, path, sent))
      if (flaw !== undefined)
        deviations.push(`${method} ${path.slice(0, 100)} ${sent?.body?.slice(0, 40) ?? ''}: ${flaw}`)
    }
    return deviations
  },
}
