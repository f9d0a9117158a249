import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { services } from './services.ts'

const artifacts = join(__dirname, '../.artifacts')

/** Less than jest's own limit, so that a test which waits in vain fails with the browser's words. */
const timeoutMs = 10_000

/** Starts a headless Chromium that knows the names under `.test` as this machine; close it in `afterAll`. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: services.chromium,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--host-resolver-rules=MAP *.test 127.0.0.1',
    ],
  })

/** What a test may choose of a person's browser. */
export type PageOptions = Pick<
  BrowserContextOptions,
  | 'javaScriptEnabled'
  | 'colorScheme'
  | 'viewport'
  | 'locale'
  | 'reducedMotion'
  | 'extraHTTPHeaders'
  | 'bypassCSP'
  | 'storageState'
>

/**
 * Pages believe that they came to the front a second before they loaded, so that tests need not wait for their buttons. It
 * changes only the first time that a page asks for, and is needed again after `page.clock.install()`.
 */
export const hasLongBeenInFront = `{
  const real = performance.now.bind(performance)
  performance.now = () => {
    performance.now = real
    return -1000
  }
}`

/** A page with cookies of its own, as of a person who comes for the first time. `page.context().close()` ends it. */
export async function newPage(browser: Browser, options: PageOptions = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', ignoreHTTPSErrors: true, ...options })
  context.setDefaultTimeout(timeoutMs)
  await context.addInitScript(hasLongBeenInFront)
  return context.newPage()
}

/**
 * Runs a test in a page of its own and closes it. When the test fails, every open tab is kept as a picture in
 * test/.artifacts, and the error names the pictures and addresses.
 *
 * @example test('signs in', () => withPage(browser, { javaScriptEnabled: false }, async (page) => { … }))
 */
export async function withPage<T>(
  browser: Browser,
  options: PageOptions,
  run: (page: Page) => Promise<T>,
): Promise<T> {
  const page = await newPage(browser, options)
  try {
    return await run(page)
  } catch (error) {
    const pictures = await takePictures(page.context().pages())
    if (error instanceof Error) error.message += `\n\n${pictures.join('\n')}`
    throw error
  } finally {
    await page.context().close()
  }
}

function takePictures(pages: readonly Page[]): Promise<string[]> {
  mkdirSync(artifacts, { recursive: true })
  const name = (expect.getState().currentTestName ?? 'page').toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  return Promise.all(
    pages.map(async (page, index) => {
      const path = join(artifacts, `${name.slice(0, 120)}-${index + 1}.png`)
      const taken = await page.screenshot({ path, fullPage: true, timeout: 5000 }).then(
        () => path,
        (error: Error) => `no picture (${error.message.split('\n')[0]})`,
      )
      return `${page.url()}: ${taken}`
    }),
  )
}
