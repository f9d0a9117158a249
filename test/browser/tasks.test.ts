import { Secret, TOTP } from 'otpauth'
import type { Locator, Page } from 'playwright-core'
import { admin, authenticatorApps, developers } from '../../lib/features/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'

const [ada, bob] = people as [(typeof people)[0], (typeof people)[0]]
/** A person at work, whose clicks are counted. Typing texts and sending them counts as one. */
interface Worker {
  readonly page: Page
  click(target: string | Locator): Promise<void>
  submit(field: string, text: string): Promise<void>
}

/** What a person does, from the page where it begins, and the clicks that it takes. */
type Task = readonly [clicks: number, act: (worker: Worker) => Promise<Locator>]
type Tasks = Readonly<Record<string, Task>>

describeWith('chromium', 'what a help desk and developers do most, in clicks', () => {
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
  let errorId = ''

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
      errorId = String(await page.locator('#error-id').textContent())
    })
    await serverBehind(app.host.oauth)!.eventLog!.settled()
  }

  beforeAll(async () => {
    await livesOfBob()
    await appOfAda()
  })

  const expectClicks = async (page: Page, [expected, act]: Task): Promise<void> => {
    let clicks = 0
    const answer = await act({
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
    expect(clicks).toBe(expected)
  }

  const openUser = ({ submit }: Worker): Promise<void> => submit('#q', bob.email)

  const ofHelpDesk: Tasks = {
    'why can’t Mira sign in': [
      1,
      async (worker) => {
        await openUser(worker)
        return worker.page.getByText(/\d+ wrong passwords for/)
      },
    ],
    'who approved this app': [
      3,
      async ({ page, click }) => {
        await click('.sections a[href$="/clients"]')
        await click(page.getByRole('link', { name: 'Trail Maps' }))
        await click(page.getByRole('link', { name: 'Events of this client' }))
        return page.getByText('Trail Maps was approved by carol')
      },
    ],
    'which app fails since this morning': [
      0,
      async ({ page }) => page.getByText('Trail Maps: 1 person saw an error page'),
    ],
    'tell its owner': [
      0,
      async ({ page }) => page.locator(`a[href^="mailto:${ada.email}?"]`, { hasText: 'Tell its owner' }),
    ],
    'find the client of this host': [
      2,
      async ({ page, click, submit }) => {
        await click('.sections a[href$="/clients"]')
        await submit('#q', 'trail.example')
        return page.locator('.list', { hasText: 'trail.example' }).getByRole('link', { name: 'Trail Maps' })
      },
    ],
    'lift a lock': [
      2,
      async (worker) => {
        await openUser(worker)
        await worker.click(worker.page.getByRole('button', { name: /^Unlock/ }))
        return worker.page.getByRole('status').filter({ hasText: 'Unlocked.' })
      },
    ],
    'take an app from this user': [
      2,
      async (worker) => {
        await openUser(worker)
        await worker.click(worker.page.getByRole('button', { name: /^Remove access/ }))
        return worker.page.getByRole('status')
      },
    ],
    'what does this error ID mean': [
      2,
      async ({ page, click, submit }) => {
        await click('.sections a[href$="/events"]')
        await submit('#error_id', errorId)
        return page.locator('.timeline', { hasText: 'on the way to Trail Maps' })
      },
    ],
    'what did administrators change since yesterday': [
      3,
      async ({ page, click }) => {
        await click('.sections a[href$="/events"]')
        await page.selectOption('#type', { label: 'All: Admin' })
        await click('form.find [type=submit]')
        await click(page.getByRole('link', { name: 'Last 24 hours' }))
        return page.locator('.timeline', { hasText: 'Trail Maps was approved by carol' })
      },
    ],
    'end this device': [
      2,
      async (worker) => {
        await openUser(worker)
        await worker.click(worker.page.getByRole('button', { name: /^End / }).first())
        return worker.page.getByRole('status').filter({ hasText: 'The login has ended.' })
      },
    ],
    'reset a second factor': [
      3,
      async (worker) => {
        await openUser(worker)
        await worker.click(worker.page.getByRole('link', { name: /^Reset/ }))
        await worker.click('button.danger')
        return worker.page.getByText('Off.', { exact: true })
      },
    ],
  }

  // It comes last, because the app cannot be used afterwards.
  const stops: Tasks = {
    'stop an app at once': [
      4,
      async ({ page, click }) => {
        await click('.sections a[href$="/clients"]')
        await click(page.getByRole('link', { name: 'Web client' }))
        await click(page.getByRole('link', { name: /^Disable/ }))
        await click('button.danger')
        return page.locator('h1 .tag', { hasText: 'Disabled' })
      },
    ],
  }

  test.each(Object.entries({ ...ofHelpDesk, ...stops }))('help desk: %s', (_, task) =>
    app.visit(async (page) => {
      await page.goto(`${app.origin}/oauth/admin`)
      await expectClicks(page, task)
    }, asCarol),
  )

  const openApp = ({ page, click }: Worker): Promise<void> =>
    click(page.getByRole('link', { name: 'Trail Maps' }))

  const ofDeveloper: Tasks = {
    'which ID and issuer do I use': [
      1,
      async (worker) => {
        await openApp(worker)
        expect(await worker.page.locator('#client-id').textContent()).toBe(clientId)
        return worker.page.locator('#issuer', { hasText: `${app.origin}/oauth` })
      },
    ],
    'code for my library': [
      3,
      async (worker) => {
        await openApp(worker)
        await worker.click('#code')
        await worker.click('.sections:not(.account-nav) li:last-child a')
        return worker.page.locator('#source', { hasText: clientId })
      },
    ],
    'why does my app fail': [
      1,
      async (worker) => {
        await openApp(worker)
        return worker.page.locator('#refused', { hasText: 'redirect_uri is not registered for this client' })
      },
    ],
    'add a redirect URI': [
      3,
      async (worker) => {
        await openApp(worker)
        await worker.click('#edit')
        await worker.submit(
          '#field-redirect_uris',
          'https://trail.example/callback\nhttps://trail.example/callback/',
        )
        return worker.page.getByRole('status').first()
      },
    ],
    'is my app approved': [
      0,
      ({ page }) => Promise.resolve(page.locator('.own-client', { hasText: 'Active' })),
    ],
    'how many people use it': [
      1,
      async (worker) => {
        await openApp(worker)
        return worker.page.locator('.own-facts > div', { hasText: 'People using it' })
      },
    ],
    'has a sign-in worked': [
      1,
      async (worker) => {
        await openApp(worker)
        return worker.page.locator('.steps li', { hasText: 'First request received' })
      },
    ],
    'register an app': [
      2,
      async ({ page, click, submit }) => {
        await click(page.getByRole('link', { name: 'Register an app' }))
        await page.fill('#field-client_name', 'Weather Maps')
        await submit('#field-redirect_uris', 'https://weather.example/callback')
        return page.locator('#secret', { hasText: 'lk_cs_' })
      },
    ],
    'from the error page to what is wrong with my app': [
      1,
      async ({ page, click }) => {
        const uri = 'https://trail.example/callback/?'
        await page.goto(app.url({ client_id: clientId, redirect_uri: uri }))
        await click('#manage')
        return page.locator('#refused', { hasText: uri })
      },
    ],
    'change its name': [
      3,
      async (worker) => {
        await openApp(worker)
        await worker.click('#edit')
        await worker.submit('#field-client_name', 'Trail Maps 2')
        return worker.page.getByRole('status').first()
      },
    ],
    'delete an app': [
      3,
      async ({ page, click }) => {
        await click(page.getByRole('link', { name: 'Weather Maps' }))
        await click('#delete')
        await click('button.danger')
        return page.getByRole('status').filter({ hasText: 'The app is deleted.' })
      },
    ],
    'renew the secret': [
      3,
      async (worker) => {
        await openApp(worker)
        await worker.click('#rotate')
        await worker.click('button.primary, button.danger')
        return worker.page.locator('#secret', { hasText: 'lk_cs_' })
      },
    ],
  }

  test.each(Object.entries(ofDeveloper))('developer: %s', (_, task) =>
    app.visit(async (page) => {
      await page.goto(`${app.origin}/oauth/developer`)
      await signIn(page, ada)
      await waitForHeading(page, 'Your apps')
      await expectClicks(page, task)
    }),
  )
})
