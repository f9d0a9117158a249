import type { PageContext } from '../http/context.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { authenticationCode, openUnder, sealUnder } from '../keys/secrets.ts'
import { boundBrowser } from './browser-binding.ts'

/** Seconds in which the next page must be opened. */
const lifetime = 300

/** What is kept is readable with this browser, for this page, and by this server only. */
const keyOf = ({ server, req }: PageContext, about: string): string | undefined => {
  const browser = boundBrowser({ server, req })
  return browser && authenticationCode(server.options.secrets[0], 'shown once', [about, browser.secret])
}

/**
 * Keeps what the next page about the same subject shows once, such as a new secret: sealed, in a cookie. So it is in no
 * URL, in no row, and not on the page after a reload.
 *
 * @param about what the page is about
 */
export const showOnce = (
  context: PageContext,
  about: string,
  value: Readonly<Record<string, string>>,
): void => {
  const key = keyOf(context, about)
  if (key === undefined) return
  const sealed = sealUnder(key, JSON.stringify(value))
  setCookie(context.server, context.res, { purpose: 'once', value: sealed, maxAge: lifetime })
}

/** What was kept for a page about this subject; a second call finds nothing. */
export const takeShownOnce = (context: PageContext, about: string): Readonly<Record<string, string>> => {
  const value = readCookie(context.server, context.req, 'once')
  const key = keyOf(context, about)
  if (value === undefined || value === '' || key === undefined) return {}
  try {
    // Only this function's counterpart can have sealed it.
    const kept = JSON.parse(openUnder(key, value)) as Readonly<Record<string, string>>
    setCookie(context.server, context.res, { purpose: 'once', value: '', maxAge: 0 })
    return kept
  } catch {
    return {}
  }
}
