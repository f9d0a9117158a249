import helmet from 'helmet'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, type PageOptions } from '../support/browser.ts'
import { answerFor, withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, type HostSettings, pkce, startHost } from '../support/host.ts'

/** Chromium, and an app with helmet() and Latchkey that listens on localhost. */
interface BrowserApp {
  readonly browser: Browser
  readonly host: Host
  readonly origin: string
  /** The address of an authorization request of `web`, with PKCE. */
  url(parameters?: Readonly<Record<string, string>>): string
  /** Runs a test in a page of its own where no policy may block anything; the client at `callback` answers. */
  visit(run: (page: Page) => Promise<void>, options?: PageOptions): Promise<void>
  /** Does something that ends at the client, and returns the address that the browser requests there. */
  toClient(page: Page, act: () => Promise<unknown>, redirectUri?: string): Promise<URL>
}

/** Starts both before the tests of a `describe`, and closes them afterwards. */
export const useBrowserApp = (settings: HostSettings = {}): BrowserApp => {
  let browser: Browser
  let server: TestServer
  let host: Host
  beforeAll(async () => {
    browser = await launchBrowser()
    server = await openServer()
    const options = { ...settings.options, issuer: `${server.origin}/oauth` }
    host = await startHost({ ...settings, options, before: [helmet(), ...(settings.before ?? [])] })
    server.serve(host.app)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await host?.close()
  })
  return {
    get browser() {
      return browser
    },
    get host() {
      return host
    },
    get origin() {
      return server.origin
    },
    url: (parameters = {}) => {
      const proof = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
      return (
        server.origin + authorizeUrl({ client_id: 'web', scope: 'openid email', ...proof, ...parameters })
      )
    },
    visit: (run, options = {}) =>
      withWatchedPage(browser, options, async ({ page, session }) => {
        await answerFor(session, [`${new URL(callback).origin}/*`])
        await run(page)
      }),
    toClient: async (page, act, redirectUri = callback) => {
      const isClient = (url: string): boolean => url.startsWith(`${redirectUri}?`)
      const [request] = await Promise.all([
        page.waitForEvent('request', (each) => isClient(each.url())),
        act(),
      ])
      return new URL(request.url())
    },
  }
}
