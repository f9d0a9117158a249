// The React page of docs/front-end.md in Chromium.

import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { device, secondFactor } from '../../lib/features/index.ts'
import { press, waitForHeading } from '../support/browser-person.ts'
import { codesFor, deviceClients, poll } from '../support/device.ts'
import { reactFrontEnd } from '../support/front-end.ts'
import { clients, people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { answerOf, redeem } from '../support/tokens.ts'
import { useBrowserApp } from './app.ts'
import { barriersOf } from './barriers.ts'

const ada = people[0]!
const projects = Array.from({ length: 120 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` }))
const secret = new Secret({ size: 20 }).base32
const codeNow = (step = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 })

describeWith('chromium', 'a front end of the host in Chromium', () => {
  let needsCode = false
  const app = useBrowserApp({
    clients: [...clients, ...deviceClients],
    before: reactFrontEnd(),
    options: {
      pages: { url: '/sign-in' },
      scopes: {
        'notes:read': { description: 'Read your notes', group: 'read' },
        'notes:write': { description: 'Write notes for you', group: 'change', optional: true },
      },
      choices: {
        project: {
          name: { one: 'project', other: 'projects' },
          scopes: ['notes:read', 'notes:write'],
          list: (_user, { after = '0', limit }) => ({
            items: projects.slice(Number(after), Number(after) + limit),
            next: String(Number(after) + limit),
          }),
          find: (_user, { ids }) => projects.filter(({ id }) => ids.includes(id)),
        },
      },
      features: [
        device(),
        secondFactor({
          find: () => needsCode && { kind: 'code', verify: (code) => [codeNow(), codeNow(1)].includes(code) },
        }),
      ],
      organizations: () => [
        { id: 'acme', name: 'Acme' },
        { id: 'globex', name: 'Globex' },
      ],
    },
  })
  beforeEach(async () => {
    needsCode = false
    for (const name of ['consents', 'throttles', 'replays']) await app.host.table(name).delete()
  })

  const signIn = async (page: Page, password = ada.password): Promise<void> => {
    await page.getByLabel('Email').fill(ada.email)
    await page.getByLabel('Password').fill(password)
    await press(page, 'Sign in')
  }

  test('a wrong password, a wrong code, an organization and consent, without a barrier', () =>
    app.visit(async (page) => {
      /** What keeps anybody from using this page, and its title. */
      const found = async () => [await page.title(), ...(await barriersOf(page))]
      needsCode = true
      await page.goto(app.url({ scope: 'openid email notes:write' }))
      await waitForHeading(page, 'Sign in')
      expect(await found()).toEqual(['Sign in'])
      expect(await page.getByLabel('Email').getAttribute('autocomplete')).toBe('username')
      expect(new URL(page.url()).pathname).toBe('/sign-in')
      await signIn(page, 'wrong')
      await page.getByRole('alert').getByText('do not match').waitFor()
      await signIn(page)
      await waitForHeading(page, 'Enter your code')
      await page.getByLabel('Code').fill('000000')
      await press(page, 'Continue')
      await page.getByRole('alert').getByText('not right').waitFor()
      await page.reload()
      await page.getByLabel('Code').fill(codeNow())
      await press(page, 'Continue')
      await waitForHeading(page, 'Choose an organization')
      expect(await found()).toEqual(['Choose an organization'])
      await press(page, 'Acme')
      await waitForHeading(page, 'Allow Web client?')
      expect(await found()).toEqual(['Allow Web client?'])
      await page.getByLabel('Write notes for you').uncheck()
      await press(page, 'Change')
      await press(page, 'Globex')
      await page.getByText('For Globex').waitFor()
      const url = await app.toClient(page, () => press(page, 'Allow'))
      expect(url.searchParams.get('code')).toMatch(/^lk_ac_/)
      expect(await app.host.table('consents').pluck('organization')).toEqual(['globex'])
    }))

  test('“Not you?”, Back and Deny', () =>
    app.visit(async (page) => {
      await page.goto(app.url())
      await signIn(page)
      await waitForHeading(page, 'Choose an organization')
      await press(page, 'Not you?')
      await waitForHeading(page, 'Sign in')
      await page.getByRole('link', { name: /^Stay signed in as/ }).click()
      await press(page, 'Acme')
      await waitForHeading(page, 'Allow Web client?')
      const url = await app.toClient(page, () => press(page, 'Deny'))
      expect(url.searchParams.get('error')).toBe('access_denied')
    }))

  test('projects are chosen among many, with presets and an end', () =>
    app.visit(async (page) => {
      const withoutPkce = { code_challenge: '', code_challenge_method: '' }
      await page.goto(app.url({ scope: 'openid notes:read notes:write offline_access', ...withoutPkce }))
      await signIn(page)
      await press(page, 'Acme')
      await waitForHeading(page, 'Allow Web client?')
      await page.getByLabel('Read only').check()
      await page.getByLabel('For 24 hours').check()
      await press(page, 'Choose projects')
      await waitForHeading(page, 'Choose projects')
      expect(await barriersOf(page)).toEqual([])
      await page.getByLabel('Project 7', { exact: true }).check()
      await press(page, 'Next')
      await page.getByLabel('Project 60', { exact: true }).check()
      await press(page, 'Use these')
      await page.getByText('Project 7, Project 60').waitFor()
      expect(await page.getByLabel('For 24 hours').isChecked()).toBe(true)
      expect(await barriersOf(page)).toEqual([])
      await page.getByLabel('Read only').check()
      const url = await app.toClient(page, () => press(page, 'Allow'))
      const tokens = await answerOf(redeem(app.host, String(url.searchParams.get('code'))))
      expect(tokens).toMatchObject({
        scope: 'openid notes:read offline_access',
        authorization_details: [{ actions: ['notes:read'], identifiers: ['p7', 'p60'] }],
      })
    }))

  test('a device', () =>
    app.visit(async (page) => {
      const codes = await codesFor(app.host)
      await page.goto(`${app.origin}/oauth/device`)
      await waitForHeading(page, 'Connect a device')
      await page.getByLabel('Code').fill('BCDF-GHJK')
      await press(page, 'Continue')
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Code').fill(codes.user_code)
      await press(page, 'Continue')
      await signIn(page)
      await waitForHeading(page, 'Is this your device?')
      await page.getByText(codes.user_code).waitFor()
      await press(page, 'Yes')
      await press(page, 'Acme')
      await press(page, 'Allow')
      await waitForHeading(page, 'Your device is connected')
      await answerOf(poll(app.host, codes))
    }))

  test('a response by form_post reaches the client', () =>
    app.visit(async (page) => {
      await page.goto(app.url({ response_mode: 'form_post' }))
      await signIn(page)
      await press(page, 'Acme')
      const [sent] = await Promise.all([
        page.waitForRequest(
          (each) => each.method() === 'POST' && each.url().startsWith('https://client.example.com/'),
        ),
        press(page, 'Allow'),
      ])
      expect(new URLSearchParams(sent.postData() ?? '').get('code')).toMatch(/^lk_ac_/)
    }))
})
