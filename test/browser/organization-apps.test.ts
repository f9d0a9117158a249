// An administrator and a member in Chromium, with JavaScript and without: each does what the pages say.
import type { Page } from 'playwright-core'
import { organizationApps } from '../../lib/features/index.ts'
import type { Organization } from '../../lib/index.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { barriersOf } from './barriers.ts'

const [ada, bob] = [people[0]!, people[1]!]
const nordlys: Organization = { id: 'nordlys', name: 'Nordlys AS' }

describeWith('chromium', 'apps of an organization in Chromium', () => {
  const app = useBrowserApp({
    options: {
      organizations: ({ id }) => [{ ...nordlys, ...(Number(id) === 1 && { role: 'admin' as const }) }],
      scopes: {
        'notes:read': { description: 'Read your notes', group: 'read' },
        'notes:write': { description: 'Write notes for you', group: 'change' },
      },
      features: [organizationApps()],
    },
  })
  const url = (): string => app.url({ scope: 'openid notes:read notes:write' })

  /** From the pages of the account to those of administrators. */
  const openApps = async (page: Page): Promise<void> => {
    await page.goto(new URL('/oauth/account', url()).href)
    if (page.url().includes('/account') && (await page.locator('#password').count()) > 0)
      await signIn(page, ada)
    await page.getByRole('link', { name: 'Workspaces you manage' }).click()
    await waitForHeading(page, 'Apps')
  }

  test.each([
    ['with', true],
    ['without', false],
  ])(
    '%s script: a rule, a request, its approval and the sign-in; then the app is blocked',
    (_, javaScriptEnabled) => {
      // Without script nothing can look into the page.
      const assertNoBarriers = async (page: Page): Promise<void> =>
        expect(javaScriptEnabled ? await barriersOf(page) : []).toEqual([])
      return app.visit(
        (admin) =>
          app.visit(
            async (member) => {
              await app.host.oauth.organizations.erase('nordlys')
              await openApps(admin)
              await admin.getByRole('link', { name: 'Change the rule' }).click()
              await admin
                .getByRole('group', { name: 'When a member connects a new app' })
                .getByLabel('Ask an administrator')
                .check()
              await assertNoBarriers(admin)
              await press(admin, 'Save')
              await admin.getByText('The rule is saved.').waitFor()

              await member.goto(url())
              await signIn(member, bob)
              await waitForHeading(member, 'Ask to use Web client')
              await member.getByLabel('Why you need it (optional)').fill('For the report')
              await assertNoBarriers(member)
              await press(member, 'Request access')
              await waitForHeading(member, 'Request sent')

              await admin.reload()
              await admin.getByRole('link', { name: /^Requests 1$/ }).click()
              await admin.getByRole('link', { name: 'bob@example.com asks for Web client' }).click()
              await admin.getByText('For the report').waitFor()
              await assertNoBarriers(admin)
              await press(admin, 'Approve for everybody')
              await admin.getByText('Everybody may use it now.').waitFor()

              await member.goto(url())
              await press(member, 'Allow')
              await member.waitForURL(/[?&]code=/)

              await admin.getByRole('link', { name: 'Apps', exact: true }).click()
              await admin.getByRole('link', { name: 'Web client' }).click()
              await admin.getByLabel('Can’t use it').check()
              await admin.getByLabel('Words for members').fill('Use Notes instead.')
              await assertNoBarriers(admin)
              await press(admin, 'Save')
              await admin.getByText('Saved.').waitFor()

              await member.goto(url())
              await waitForHeading(member, 'Nordlys AS has blocked Web client')
              await member.getByText('Use Notes instead.').waitFor()
              await press(member, 'Back to Web client')
              await member.waitForURL(/error=access_denied/)
            },
            { javaScriptEnabled },
          ),
        { javaScriptEnabled },
      )
    },
  )
})
