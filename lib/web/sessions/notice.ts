import { authenticationCode, openUnder, sealUnder } from '../../keys/secrets.ts'
import type { PageContext } from '../http/context.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { boundBrowser } from './browser-binding.ts'

/**
 * The outcome of a form. The browser is redirected to a page that shows it, so a reload does not send the form again.
 */
export interface Notice {
  /** Such as `saved`; each page has its own. */
  readonly kind: string
  /** The client or the way to sign in that it mentions. */
  readonly about?: string
  /** The name that was typed. */
  readonly username?: string
  /** One more failure pauses the sign-in. */
  readonly isLastTry?: boolean
  /** When the next attempt is checked, in epoch seconds. */
  readonly retryAt?: number
  /** The id of the failure in the log. */
  readonly errorId?: string
  /** A new secret, which is shown once. Only the server can read the cookie. */
  readonly secret?: string
  /** Epoch seconds until which the secret before it stays valid. */
  readonly previousUntil?: number
  /** New recovery codes, which are shown once. */
  readonly codes?: readonly string[]
}

/** Seconds. */
const lifetime = 300

/** Bytes; a cookie may have 4,096. */
const maxUsername = 1024

/** The notice is readable with this browser, for this page, and by this server only. */
const keyOf = ({ server, req }: PageContext, topic: string): string | undefined => {
  const browser = boundBrowser({ server, req })
  return browser && authenticationCode(server.options.secrets[0], 'notice', [topic, browser.secret])
}

/**
 * Leaves a notice for the next page about the same subject, in a cookie: it needs no session and no row, and the URL
 * does not contain what was typed. A browser has one notice, the newest.
 *
 * @param topic of the page: the id of a pending request, or the page itself
 */
export const leaveNotice = (context: PageContext, topic: string, { username, ...notice }: Notice): void => {
  const key = keyOf(context, topic)
  if (key === undefined) return
  const isKept = username !== undefined && Buffer.byteLength(username) <= maxUsername
  const value = sealUnder(key, JSON.stringify({ ...notice, ...(isKept && { username }) }), 'notice')
  setCookie(context.server, context.res, { purpose: 'notice', value, maxAge: lifetime })
}

/** The notice for a page about this subject. It stays until {@link clearNotice}, so that a reload shows it again. */
export const readNotice = (context: PageContext, topic: string): Notice | undefined => {
  const value = readCookie(context.server, context.req, 'notice')
  const key = value && keyOf(context, topic)
  if (!value || key === undefined) return undefined
  try {
    // Only this function's counterpart can have sealed it.
    return JSON.parse(openUnder(key, value, 'notice')) as Notice
  } catch {
    return undefined
  }
}

/** Removes the notice once its form has succeeded. */
export const clearNotice = ({ server, req, res }: PageContext): void => {
  if (readCookie(server, req, 'notice') !== undefined)
    setCookie(server, res, { purpose: 'notice', value: '', maxAge: 0 })
}

/** Which of these notices it is, if it is one of them. */
export const noticeOf = <Kind extends string>(
  notice: Notice | undefined,
  kinds: readonly Kind[],
): Kind | undefined => kinds.find((kind) => kind === notice?.kind)
