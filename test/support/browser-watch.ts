import type { Browser, CDPSession, Page } from 'playwright-core'
import { type PageOptions, withPage } from './browser.ts'

/** A page under watch; what the browser itself says to a developer, so it works without JavaScript too. */
interface WatchedPage {
  readonly page: Page
  readonly session: CDPSession
  /** Each violation of a Content-Security-Policy so far. */
  readonly violations: readonly string[]
}

const policyText = /content security policy|refused to/i

const watch = async (page: Page): Promise<WatchedPage> => {
  const violations: string[] = []
  const session = await page.context().newCDPSession(page)
  session.on('Audits.issueAdded', ({ issue }) => {
    const details = issue.details.contentSecurityPolicyIssueDetails
    if (details) violations.push(`${details.violatedDirective}: ${details.blockedURL ?? 'inline'}`)
  })
  page.on('console', (message) => {
    if (policyText.test(message.text())) violations.push(message.text())
  })
  await session.send('Audits.enable')
  return { page, session, violations }
}

/**
 * `withPage` that fails when the browser has blocked anything by a Content-Security-Policy.
 *
 * @example test('signs in', () => withWatchedPage(browser, {}, async ({ page }) => { … }))
 */
export const withWatchedPage = (
  browser: Browser,
  options: PageOptions,
  run: (watched: WatchedPage) => Promise<void>,
): Promise<void> =>
  withPage(browser, options, async (page) => {
    const watched = await watch(page)
    await run(watched)
    // One round trip, so that all that the browser has said before has received.
    await watched.session.send('Audits.enable')
    expect(watched.violations).toEqual([])
  })

/**
 * Answers for hosts that do not exist, such as a client's; other than `page.route` also at the end of redirects.
 *
 * @param patterns with `*`, as `https://client.example.com/*`
 */
export const answerFor = async (session: CDPSession, patterns: readonly string[]): Promise<void> => {
  session.on('Fetch.requestPaused', ({ requestId }) => {
    const body = Buffer.from('<!doctype html><title>Client</title><h1>Back at the client</h1>')
    const headers = [{ name: 'Content-Type', value: 'text/html' }]
    const answer = { requestId, responseCode: 200, responseHeaders: headers, body: body.toString('base64') }
    // The page may be closed meanwhile; who waits for the answer fails by itself.
    session.send('Fetch.fulfillRequest', answer).catch(() => {})
  })
  await session.send('Fetch.enable', { patterns: patterns.map((urlPattern) => ({ urlPattern })) })
}
