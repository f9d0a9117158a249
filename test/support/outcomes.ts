import { callback, issuer } from './host.ts'
import type { Answer } from './raw-browser.ts'

const errorId = /id="error-id">[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{2}</

/** Of stacks and statements. */
const internals = /node_modules|\.ts:\d+|\bat \S+ \(|select |insert /

/** A page without its own scripts, which pages with forms have. */
export const withoutOwnScript = (html: string): string =>
  html.replace(/<script src="[^"]*\/assets\/(?:decision|login)\.js\?v=[\w-]{16}"><\/script>\n/g, '')

/** An error page: nothing is redirected, cached or given away. */
export const expectErrorPage = (answer: Answer, status: number, holds: RegExp | string = errorId): void => {
  expect({ status: answer.status, location: answer.headers.location, html: answer.html }).toEqual({
    status,
    location: undefined,
    html: expect.stringMatching(holds),
  })
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.html).not.toMatch(internals)
  expect(answer.html).not.toMatch(/lk_[a-z]{2}_/)
}

/** The headings of pages for requests that have ended. */
export const headings = {
  /** Expired, unknown or of another browser. */
  expired: 'This sign-in has expired',
  finished: 'You’ve already finished here',
  /** A pushed request that has led to an answer. */
  used: 'This link was already used',
  cookies: 'Your browser is blocking cookies',
} as const

/** The page for a request that has ended, by default in any way. */
export const expectExpiredPage = (answer: Answer, kind?: keyof typeof headings): void => {
  const allowed = kind === undefined ? Object.values(headings) : [headings[kind]]
  expectErrorPage(answer, 400, new RegExp(`<h1>(?:${allowed.join('|')})</h1>`))
}

/** The sign-in form after an attempt that a service did not let finish. */
export const expectUnavailable = ({ status, headers, html }: Answer): void => {
  expect({ status, retry: headers['retry-after'] }).toEqual({ status: 503, retry: '1' })
  expect(headers['cache-control']).toBe('no-store')
  expect(html).toContain('We’ll be right back')
  expect(html).toContain('name="password"')
  expect(html).toMatch(/<code>[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{2}</)
  expect(html).not.toMatch(internals)
}

/** Asserts an error of RFC 6749 §5.2, with headers that forbid caches to store it and browsers to run it. */
export const expectJsonError = (
  { status, html, headers }: Pick<Answer, 'status' | 'html' | 'headers'>,
  expected: number,
  error: string,
): void => {
  // Of an error of the server the log has a line under this id.
  const id = expected >= 500 ? ',"error_id":"[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{2}"' : ''
  const body = new RegExp(`^\\{"error":"${error}","error_description":"[ !#-\\[\\]-~]+"${id}\\}$`)
  expect({ status, body: html }).toEqual({ status: expected, body: expect.stringMatching(body) })
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'",
  })
  expect(headers).not.toHaveProperty('location')
}

/** Where a client is answered, by whom, and with which `state`. */
export interface Place {
  readonly state?: string | undefined
  readonly redirectUri?: string | undefined
  readonly iss?: string
  /** The answer is in the fragment. */
  readonly fragment?: boolean
}

/** What stands behind the redirect URI of an answer, pair by pair, before `state` and `iss`; no cache may keep it. */
export const pairsFor = (answer: Answer, place: Place = {}): string[][] => {
  const { redirectUri = callback, fragment = false, state, iss = issuer } = place
  const location = answer.headers.location ?? `${answer.status} ${answer.html}`
  const start = `${redirectUri}${fragment ? '#' : redirectUri.includes('?') ? '&' : '?'}`
  expect(location.slice(0, start.length)).toBe(start)
  const { status, html, headers } = answer
  const cache = headers['cache-control']
  expect({ status, html, cache }).toEqual({ status: 303, html: '', cache: 'no-store' })
  const usual = [...(state === undefined ? [] : [['state', state]]), ['iss', iss]]
  const pairs = [...new URLSearchParams(location.slice(start.length))]
  expect(pairs.slice(-usual.length)).toEqual(usual)
  return pairs.slice(0, -usual.length)
}

/** An error that went to the client, with exactly one of each parameter and nothing else. */
export const expectErrorRedirect = (answer: Answer, error: string, place?: Place): void =>
  expect(pairsFor(answer, place)).toEqual([
    ['error', error],
    ['error_description', expect.stringMatching(/^[ -~]+$/)],
  ])

/** The code of a successful answer; `state` and `iss` stand beside it and nothing else. */
export const codeOf = (answer: Answer, { redirectUri = callback, iss = issuer } = {}): string => {
  const { location } = answer
  if (location === undefined) throw new Error(`no redirect but ${answer.status}: ${answer.html}`)
  const { code, iss: said, state, ...others } = Object.fromEntries(location.searchParams)
  expect({ said, others }).toEqual({ said: iss, others: {} })
  expect(location.href.startsWith(redirectUri)).toBe(true)
  expect(code).toMatch(/^lk_ac_[\w-]{43}$/)
  return String(code)
}

/** The claims of a JWT, unverified. */
export const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
