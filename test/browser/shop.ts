import type { Page } from 'playwright-core'
import type { ClientSeed } from '../../lib/index.ts'
import { withPage } from '../support/browser.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { authorizeUrl, type Host, people, secret, startHost } from '../support/host.ts'
import { openWeb, type Web } from './web.ts'

type Fields = Readonly<Record<string, string>>

/** Text that runs scripts if it is treated as markup. */
const alive = (name: string): string =>
  `"'><script>alert('${name}')</script><img src="https://attacker.test/${name}" onerror="alert('${name}')">`

const hostileName = `Notes</title></bdi></style>${alive('name')}`

/** A provider at `id.shop.test` in an app without helmet(), two clients at `client.test`, and Chromium. */
interface Shop {
  readonly web: Web
  readonly host: Host
  issuer(): string
  callback(): string
  /** Runs a test in a browser where no injected script may open a dialog. */
  inBrowser(run: (page: Page) => Promise<void>): Promise<void>
  authorizeAt(parameters: Fields): string
  atConsent(page: Page): Promise<unknown>
  atClient(page: Page): Promise<void>
  /** Signs in and stops where the consent page asks. */
  comeToConsent(page: Page, person?: (typeof people)[number]): Promise<void>
}

/** Starts all of it before the tests of a `describe`, and closes it afterwards. */
export const useShop = (): Shop => {
  let web: Web
  let host: Host
  const issuer = (): string => `${web.origin('id.shop.test')}/oauth`
  const callback = (): string => `${web.origin('client.test')}/callback`

  beforeAll(async () => {
    web = await openWeb()
    const redirect_uris = [callback()]
    const elsewhere = web.origin('attacker.test')
    const clients: ClientSeed[] = [
      { client_id: 'notes', client_name: 'Notes', client_secret: secret, redirect_uris },
      {
        client_id: 'hostile',
        client_name: hostileName,
        client_secret: secret,
        redirect_uris,
        client_uri: `${elsewhere}/home`,
        logo_uri: `${elsewhere}/logo.png`,
        policy_uri: `${elsewhere}/privacy?"><script>alert('policy')</script>`,
        tos_uri: `${elsewhere}/terms`,
      },
    ]
    host = await startHost({ options: { issuer: issuer() }, clients })
    web.serve('id.shop.test', host.app)
  })
  afterAll(async () => {
    await web?.close()
    await host?.close()
  })

  // What was allowed in one test is not remembered in the next.
  beforeEach(async () => void (await host.table('consents').delete()))

  const inBrowser = (run: (page: Page) => Promise<void>): Promise<void> =>
    withPage(web.browser, {}, async (page) => {
      const dialogs: string[] = []
      page.context().on('dialog', (dialog) => {
        dialogs.push(dialog.message())
        dialog.dismiss().catch(() => {})
      })
      await run(page)
      expect(dialogs).toEqual([])
    })

  const authorizeAt = (parameters: Fields): string =>
    web.origin('id.shop.test') +
    authorizeUrl({ client_id: 'notes', redirect_uri: callback(), scope: 'openid email', ...parameters })

  const atConsent = (page: Page): Promise<unknown> => page.waitForSelector('[value=allow]')
  const atClient = (page: Page): Promise<void> => waitForHeading(page, `This is ${new URL(callback()).host}`)

  const comeToConsent = async (page: Page, person = people[0]!): Promise<void> => {
    await page.goto(authorizeAt({ prompt: 'consent', state: 'of-the-person' }))
    await signIn(page, person)
    await atConsent(page)
  }

  return {
    get web() {
      return web
    },
    get host() {
      return host
    },
    issuer,
    callback,
    inBrowser,
    authorizeAt,
    atConsent,
    atClient,
    comeToConsent,
  }
}
