import type { CDPSession, Page } from 'playwright-core'
import { passkeys } from '../../lib/features/index.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'

const ada = people[0]!

describeWith('chromium', 'passkeys in Chromium, with a virtual authenticator', () => {
  const app = useBrowserApp({ options: { features: [passkeys()] } })
  const page = (): string => `${app.origin}/oauth/account/passkeys`
  beforeEach(async () => {
    for (const name of ['passkeys', 'consents', 'throttles']) await app.host.table(name).delete()
  })

  interface Device {
    readonly session: CDPSession
    readonly authenticatorId: string
  }
  /** Gives the tab a device that unlocks whenever it is asked. */
  const withDevice = async (tab: Page): Promise<Device> => {
    const session = await tab.context().newCDPSession(tab)
    await session.send('WebAuthn.enable')
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        automaticPresenceSimulation: true,
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    })
    return { session, authenticatorId }
  }
  const add = async (tab: Page): Promise<Device> => {
    const device = await withDevice(tab)
    await tab.goto(page())
    await signIn(tab)
    await waitForHeading(tab, 'Passkeys')
    await press(tab, 'Add a passkey')
    await tab.getByText('Passkey added.').waitFor()
    return device
  }
  /** The device would answer at once where it is asked without a button. */
  const withoutConditionalMediation = (tab: Page): Promise<unknown> =>
    tab.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')
  const allowedBy = async (tab: Page, email: string): Promise<void> => {
    await tab.waitForSelector('[value=allow]')
    expect(await tab.textContent('.account')).toContain(email)
    const back = await app.toClient(tab, () => tab.click('[value=allow]'))
    expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
  }

  test('a user adds one, signs in with the button, renames it and removes it', () =>
    app.visit(async (tab) => {
      await withoutConditionalMediation(tab)
      const { session, authenticatorId } = await add(tab)
      const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId })
      expect(credentials).toMatchObject([{ rpId: 'localhost', isResidentCredential: true }])
      await waitForHeading(tab, 'Name your passkey')
      await tab.fill('#name', 'My phone')
      await press(tab, 'Save name')
      await waitForHeading(tab, 'Passkeys')
      // The device has one already.
      await press(tab, 'Add a passkey')
      await tab.getByText('No passkey was added.').waitFor()

      await tab.context().clearCookies()
      await tab.goto(app.url())
      await tab.fill('#password', 'half a password')
      const sent = tab.waitForRequest(`${app.origin}/oauth/login`)
      await press(tab, 'Sign in with a passkey')
      await allowedBy(tab, ada.email)
      expect(new URLSearchParams((await sent).postData() ?? '').get('password')).toBe('')

      await tab.goto(page())
      await tab.getByRole('link', { name: 'My phone' }).click()
      await waitForHeading(tab, 'Change “My phone”')
      await tab.fill('#name', 'Old phone')
      await press(tab, 'Save name')
      await tab.getByText('Name changed.').waitFor()
      await tab.getByRole('link', { name: 'Old phone' }).click()
      await press(tab, 'Remove')
      await tab.getByText('Passkey removed.').waitFor()
      expect(await app.host.table('passkeys')).toEqual([])
    }))

  test('the list at the name field signs in without a click on our page', () =>
    app.visit(async (tab) => {
      await add(tab)
      await tab.context().clearCookies()
      await tab.goto(app.url())
      await allowedBy(tab, ada.email)
    }))

  test('one that is not stored here is refused, and the password still works', () =>
    app.visit(async (tab) => {
      await withoutConditionalMediation(tab)
      await add(tab)
      await app.host.table('passkeys').delete()
      await tab.context().clearCookies()
      await tab.goto(app.url())
      await press(tab, 'Sign in with a passkey')
      await tab.getByRole('alert').getByText('That passkey didn’t work').waitFor()
      await signIn(tab)
      await allowedBy(tab, ada.email)
    }))

  test('if the device does not verify the user, no form is sent and the page shows a notice', () =>
    app.visit(async (tab) => {
      await withoutConditionalMediation(tab)
      const { session, authenticatorId } = await add(tab)
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
      await tab.goto(app.url({ prompt: 'login' }))
      await waitForHeading(tab, 'Confirm it’s you')
      await press(tab, 'Sign in with a passkey')
      await tab.getByText('No passkey was used.').waitFor()
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
      await press(tab, 'Sign in with a passkey')
      await allowedBy(tab, ada.email)
    }))
})
