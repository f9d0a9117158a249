import type { Browser } from './browser.ts'
import { grant, isAtClient, newRequest } from './flow.ts'
import { described } from './outcome.ts'
import type { Credentials, Target } from './target.ts'
import { asClient, newCode, redemption, tokensIn } from './tokens.ts'

/** A target where an honest user and client have signed in. */
export interface VisitedTarget extends Target {
  /** A browser where the user is signed in. Attacks may share its session but must not end it. */
  signedIn(): Browser
}

const unless = (cause: unknown): Error =>
  new Error(
    `latchkey/testing: a normal sign-in must work before the attacks, but ${cause instanceof Error ? cause.message : cause}. ` +
      'Check client and user, set login if you have your own login page, and turn off your rate limits.',
    { cause },
  )

/** Each copy is a separate browser, because one browser can have ten pending requests only. */
const bindingsOf = (browser: Browser): string[] =>
  browser.cookieNames().filter((name) => /latchkey_[0-9a-f]{8}_browser$/.test(name))

/** The client's authentication method, found by redeeming a code. */
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
 * Signs in once as an honest user of an honest client, because a broken sign-in would later look like a defence.
 *
 * @throws Error that says where it stopped
 */
export const visit = async (target: Target): Promise<VisitedTarget> => {
  try {
    const browser = target.browser()
    const credentials = await provenCredentials(target, browser)
    const again = await grant(target, browser, newRequest(target))
    if (!isAtClient(target, again)) throw new Error(`the second request got ${described(again)}`)
    return { ...target, credentials, signedIn: () => browser.copy(bindingsOf(browser)) }
  } catch (error) {
    throw unless(error)
  }
}
