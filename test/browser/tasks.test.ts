import { Secret, TOTP } from 'otpauth'
import type { Locator, Page } from 'playwright-core'
import { admin, authenticatorApps, developers } from '../../lib/features/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'

const [ada, bob] = people as [(typeof people)[0], (typeof people)[0]]
const maxClicks = 4

/** A person at work, whose clicks are counted. Typing a text and sending it counts as one. */
interface Worker {
  readonly page: Page
  click(target: string | Locator): Promise<void>
  submit(field: string, text: string): Promise<void>
}

describeWith(
  'chromium',
  'what a help desk and developers do most takes four clicks at most (pages 26 to 33)',
  () => {
    const app = useBrowserApp({
      options: {
        storedEvents: true,
        features: [
          admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
          authenticatorApps(),
          developers({ allow: () => 'approval' }),
        ],
      },
    })
    const asCarol = { extraHTTPHeaders: { 'x-admin': 'carol' } }
    let clientId = ''

    /** Bob signs in to a client and turns on two-step sign-in; then wrong passwords lock his name. */
    const livesOfBob = (): Promise<void> =>
      app.visit(async (page) => {
        await page.goto(`${app.origin}/oauth/account/second-factor`)
        await signIn(page, bob)
        await waitForHeading(page, 'Two-step sign-in')
        const secret = String(await page.locator('#secret').textContent()).replaceAll(' ', '')
        await page.fill('#code', new TOTP({ secret: Secret.fromBase32(secret) }).generate())
        await press(page, 'Turn on')
        await waitForHeading(page, 'Save your recovery codes')
        await page.goto(app.url())
        await app.toClient(page, () => press(page, 'Allow'))
        await page.context().clearCookies()
        await page.goto(app.url())
        for (let tries = 0; tries < 30 && (await page.locator('#password').isVisible()); tries += 1)
          await signIn(page, { ...bob, password: 'wrong' })
        await page.getByText('Too many attempts').waitFor()
      })

    /** Ada registers an app, Carol approves it, and people come to it with an address that is not registered. */
    const appOfAda = async (): Promise<void> => {
      await app.visit(async (page) => {
        await page.goto(`${app.origin}/oauth/developer/new`)
        await signIn(page, ada)
        await waitForHeading(page, 'Register an app')
        await page.fill('#field-client_name', 'Trail Maps')
        await page.fill('#field-redirect_uris', 'https://trail.example/callback')
        await press(page, 'Register')
        await waitForHeading(page, 'Trail Maps')
        clientId = String(await page.locator('#client-id').textContent())
      })
      await app.visit(async (page) => {
        await page.goto(`${app.origin}/oauth/admin/requests`)
        await page.locator('.list a').first().click()
        await press(page, 'Approve')
        await waitForHeading(page, 'Requests')
      }, asCarol)
      await app.visit(async (page) => {
        await page.goto(app.url({ client_id: clientId, redirect_uri: 'https://trail.example/callback/' }))
      })
      await serverBehind(app.host.oauth)!.eventLog!.settled()
    }

    beforeAll(async () => {
      await livesOfBob()
      await appOfAda()
    })

    /** Does a task from the page where it begins, and fails if it takes more clicks than it may. */
    const does = async (page: Page, task: (worker: Worker) => Promise<Locator>): Promise<number> => {
      let clicks = 0
      const answer = await task({
        page,
        click: async (target) => {
          clicks += 1
          await (typeof target === 'string' ? page.locator(target) : target).click()
          await page.waitForLoadState()
        },
        submit: async (field, text) => {
          clicks += 1
          await page.fill(field, text)
          await page.locator('form:has(:focus) [type=submit]').first().click()
          await page.waitForLoadState()
        },
      })
      await answer.first().waitFor()
      expect(await answer.first().isVisible()).toBe(true)
      expect(clicks).toBeLessThanOrEqual(maxClicks)
      return clicks
    }

    const openUser = async ({ click, submit }: Worker): Promise<void> => {
      await click('.sections a[href$="/users"]')
      await submit('#q', bob.email)
    }

    const ofHelpDesk: Readonly<Record<string, (worker: Worker) => Promise<Locator>>> = {
      'why can’t Mira sign in': async (worker) => {
        await openUser(worker)
        return worker.page.getByText(/\d+ wrong passwords for/)
      },
      'who approved this app': async ({ page, click }) => {
        await click('.sections a[href$="/clients"]')
        await click(page.getByRole('link', { name: 'Trail Maps' }))
        await click(page.getByRole('link', { name: 'Events of this client' }))
        return page.getByText('Trail Maps was approved by carol')
      },
      'which app fails since this morning': async ({ page }) =>
        page.getByText('Trail Maps: 1 person saw an error page'),
      'tell its owner': async ({ page }) =>
        page.locator(`a[href^="mailto:${ada.email}?"]`, { hasText: 'Tell its owner' }),
      'find the client of this host': async ({ page, click, submit }) => {
        await click('.sections a[href$="/clients"]')
        await submit('#q', 'trail.example')
        return page.locator('.list', { hasText: 'trail.example' }).getByRole('link', { name: 'Trail Maps' })
      },
      'lift a lock': async (worker) => {
        await openUser(worker)
        await worker.click(worker.page.getByRole('button', { name: /^Unlock/ }))
        return worker.page.getByRole('status').filter({ hasText: 'Unlocked.' })
      },
      'end this device': async (worker) => {
        await openUser(worker)
        await worker.click(worker.page.getByRole('button', { name: /^End / }).first())
        return worker.page.getByRole('status').filter({ hasText: 'The login has ended.' })
      },
      'reset a second factor': async (worker) => {
        await openUser(worker)
        await worker.click(worker.page.getByRole('link', { name: /^Reset/ }))
        await worker.click('button.danger')
        return worker.page.getByText('Off.', { exact: true })
      },
    }

    test.each(Object.entries(ofHelpDesk))('help desk: %s', (_, task) =>
      app.visit(async (page) => {
        await page.goto(`${app.origin}/oauth/admin`)
        await does(page, task)
      }, asCarol),
    )

    const openApp = ({ page, click }: Worker): Promise<void> =>
      click(page.getByRole('link', { name: 'Trail Maps' }))

    const ofDeveloper: Readonly<Record<string, (worker: Worker) => Promise<Locator>>> = {
      'which ID and issuer do I use': async (worker) => {
        await openApp(worker)
        expect(await worker.page.locator('#client-id').textContent()).toBe(clientId)
        return worker.page.locator('#issuer', { hasText: `${app.origin}/oauth` })
      },
      'code for my library': async (worker) => {
        await openApp(worker)
        await worker.click('#code')
        await worker.click('.sections:not(.account-nav) li:last-child a')
        return worker.page.locator('#source', { hasText: clientId })
      },
      'why does my app fail': async (worker) => {
        await openApp(worker)
        return worker.page.locator('#refused', { hasText: 'redirect_uri is not registered for this client' })
      },
      'add a redirect URI': async (worker) => {
        await openApp(worker)
        await worker.click('#edit')
        await worker.submit(
          '#field-redirect_uris',
          'https://trail.example/callback\nhttps://trail.example/callback/',
        )
        return worker.page.getByRole('status').first()
      },
      'renew the secret': async (worker) => {
        await openApp(worker)
        await worker.click('#rotate')
        await worker.click('button.primary, button.danger')
        return worker.page.locator('#secret', { hasText: 'lk_cs_' })
      },
    }

    test.each(Object.entries(ofDeveloper))('developer: %s', (_, task) =>
      app.visit(async (page) => {
        await page.goto(`${app.origin}/oauth/developer`)
        await signIn(page, ada)
        await waitForHeading(page, 'Your apps')
        await does(page, task)
      }),
    )
  },
)
