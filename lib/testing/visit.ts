import type { Browser } from './browser.ts'
import { grant, isAtClient, newRequest } from './flow.ts'
import { described } from './outcome.ts'
import type { Credentials, Target } from './target.ts'
import { asClient, newCode, redemption, tokensIn } from './tokens.ts'

/** A target at which the honest user and client have been. */
export interface VisitedTarget extends Target {
  /** A browser in which the user is signed in, with a session that attacks may share but not end. */
  signedIn(): Browser
}

const unless = (cause: unknown): Error =>
  new Error(
    `latchkey/testing: an honest sign-in must work before it is attacked, but ${cause instanceof Error ? cause.message : cause}. ` +
      'Look at client and user, at login if the page is your own, and at limits on requests, which must be off here.',
    { cause },
  )

/** Each copy is a browser of its own: one has room for ten waiting requests. */
const bindingsOf = (browser: Browser): string[] =>
  browser.cookieNames().filter((name) => /latchkey_[0-9a-f]{8}_browser$/.test(name))

/** The way in which the client authenticates, found out by redeeming a code. */
const provenCredentials = async (target: Target, browser: Browser): Promise<Credentials> => {
  const { client } = target.options
  const granted = redemption(await newCode(target, browser))
  if (client.client_secret === undefined) {
    tokensIn(await asClient(target, '/token', granted))
    return target.credentials
  }
  const byHeader = await asClient(target, '/token', granted)
  if (byHeader.status === 200) return { ...target.credentials, method: 'basic' }
  const credentials: Credentials = { ...target.credentials, method: 'post' }
  const byForm = await asClient(target, '/token', granted, credentials)
  if (byForm.status === 200) return credentials
  throw new Error(`the client was refused: ${described(byHeader)}`)
}

/**
 * Signs in once as an honest user of an honest client: what does not work then would pass for a defence later.
 *
 * @throws Error telling where it stopped
 */
export const visit = async (target: Target): Promise<VisitedTarget> => {
  try {
    const browser = target.browser()
    const credentials = await provenCredentials(target, browser)
    const again = await grant(target, browser, newRequest(target))
    if (!isAtClient(target, again)) throw new Error(`the second time came ${described(again)}`)
    return { ...target, credentials, signedIn: () => browser.copy(bindingsOf(browser)) }
  } catch (error) {
    throw unless(error)
  }
}
