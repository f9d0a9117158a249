import { exportJWK, generateKeyPair } from 'jose'
import * as openid from 'openid-client'
import type { Page } from 'playwright-core'
import { serviceAccounts } from '../../lib/features/index.ts'
import type { Organization } from '../../lib/index.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { barriersOf, tabTo } from './barriers.ts'

/** Opens a link or presses a button, as users without a mouse do. */
const press = async (page: Page, selector: string): Promise<void> => {
  await tabTo(page, selector)
  await page.keyboard.press('Enter')
}

const acme: Organization = { id: 'acme', name: 'Acme & Sons', role: 'admin' }

describeWith('chromium', 'service accounts in Chromium, in an app with helmet()', () => {
  const projects = [
    { id: 'p1', name: 'Hiring plan' },
    { id: 'p2', name: 'Office move' },
  ]
  const app = useBrowserApp({
    options: {
      features: [serviceAccounts()],
      organizations: () => [acme],
      choices: {
        project: {
          name: { one: 'project', other: 'projects' },
          scopes: ['notes:read'],
          list: () => ({ items: projects, total: 2 }),
          find: (_user, { ids }) => projects.filter(({ id }) => ids.includes(id)),
        },
      },
    },
    before: [],
  })
  beforeAll(() => {
    app.host.app.get(
      '/api/who',
      app.host.oauth.requireToken('notes:read', { user: false }),
      ({ auth }, res) => {
        res.json({ organization: auth.organization, projects: auth.chosen('project') })
      },
    )
  })

  const expectNoBarriers = async (page: Page): Promise<void> => expect(await barriersOf(page)).toEqual([])
  const open = async (page: Page): Promise<void> => {
    await page.goto(`${app.origin}/oauth/organization/accounts?organization=acme`)
    if (await page.locator('#password').count()) await signIn(page)
    await waitForHeading(page, 'Service accounts')
  }
  const fillIn = async (page: Page): Promise<void> => {
    await page.locator('#name').fill('Nightly export')
    await page.locator('#scope-0').check()
    await page.locator('#these-project').check()
    await page.getByLabel('Hiring plan').check()
  }
  const secretOf = async (page: Page): Promise<string> => (await page.locator('#secret').textContent()) ?? ''
  const idOf = async (page: Page): Promise<string> => (await page.locator('#client-id').textContent()) ?? ''

  /** What an API learns of a program that uses openid-client. */
  const call = async (clientId: string, auth: openid.ClientAuth): Promise<unknown> => {
    const config = await openid.discovery(new URL(`${app.origin}/oauth`), clientId, undefined, auth, {
      execute: [openid.allowInsecureRequests],
    })
    const tokens = await openid.clientCredentialsGrant(config)
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    return (await fetch(`${app.origin}/api/who`, { headers })).json()
  }
  const known = { organization: 'acme', projects: ['p1'] }

  test('an account is made and its secret replaced without a gap, with the keyboard and a stock client', () =>
    app.visit(
      async (page) => {
        await open(page)
        await press(page, '#new')
        await waitForHeading(page, 'New service account')
        await expectNoBarriers(page)
        await fillIn(page)
        await press(page, 'button.primary')
        await page.getByText('The service account is ready.').waitFor()
        await expectNoBarriers(page)
        const [clientId, old] = [await idOf(page), await secretOf(page)]
        expect(await call(clientId, openid.ClientSecretBasic(old))).toEqual(known)
        await press(page, '#replace')
        await waitForHeading(page, 'Replace the secret of Nightly export?')
        await expectNoBarriers(page)
        await press(page, 'button.primary')
        await page.getByText('There’s a new secret.').waitFor()
        const next = await secretOf(page)
        for (const secret of [old, next])
          expect(await call(clientId, openid.ClientSecretPost(secret))).toEqual(known)
        await press(page, '#previous a')
        await waitForHeading(page, 'Revoke the old secret of Nightly export?')
        await press(page, 'button.danger')
        await page.getByText('The secret no longer works.').waitFor()
        await expectNoBarriers(page)
        await expect(call(clientId, openid.ClientSecretPost(old))).rejects.toThrow()
        expect(await call(clientId, openid.ClientSecretPost(next))).toEqual(known)
        await app.host.oauth.users.erase(1)
        expect(await call(clientId, openid.ClientSecretPost(next))).toEqual(known)
      },
      { viewport: { width: 320, height: 640 } },
    ))

  test('without JavaScript an account with a key is made, which openid-client signs in with', () =>
    app.visit(
      async (page) => {
        const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
        await open(page)
        await page.locator('#new').click()
        await fillIn(page)
        await page.locator('#method-key').check()
        await page.locator('#key').fill(JSON.stringify(await exportJWK(publicKey)))
        await page.locator('button.primary').click()
        await page.getByText('The service account is ready.').waitFor()
        expect(await page.locator('#secret').count()).toBe(0)
        expect(await call(await idOf(page), openid.PrivateKeyJwt(privateKey))).toEqual(known)
        await page.locator('#remove').click()
        await page.locator('button.danger').click()
        await page.getByText('The service account is removed.').waitFor()
      },
      { javaScriptEnabled: false },
    ))
})
