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

/** An error that went to the client, with exactly one of each parameter and no code. */
export const expectErrorRedirect = (
  answer: Answer,
  error: string,
  { state, redirectUri = callback }: { state?: string | undefined; redirectUri?: string } = {},
): void => {
  const location = answer.headers.location ?? `${answer.status} ${answer.html}`
  expect(location.slice(0, redirectUri.length + 1)).toMatch(/[?&]$/)
  expect(location.slice(0, redirectUri.length)).toBe(redirectUri)
  const pairs = [...new URLSearchParams(location.slice(redirectUri.length + 1))]
  expect(pairs.sort()).toEqual(
    [
      ['error', error],
      ['error_description', expect.stringMatching(/^[ -~]+$/)],
      ['iss', issuer],
      ...(state === undefined ? [] : [['state', state]]),
    ].sort(),
  )
  expect(answer.status).toBe(303)
  expect(answer.headers['cache-control']).toBe('no-store')
}

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
