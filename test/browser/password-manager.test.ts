import helmet from 'helmet'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { type Gallery, openGallery } from '../support/browser-gallery.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { answerFor, withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, people, pkce, startHost } from '../support/host.ts'
import { describeWith } from '../support/services.ts'

const ada = people[0]!

jest.setTimeout(60_000)

/** What a manager finds, as it looks: the forms with a password, their fields in order, and how each is told. */
const found = `[...document.forms].filter((form) => form.querySelector('[type=password]')).map((form) => ({
  method: form.method,
  fields: [...form.elements].filter(({ type }) => type !== 'hidden').map((field) => ({
    type: field.type,
    name: field.name,
    id: field.id,
    autocomplete: field.autocomplete,
    label: field.labels[0]?.textContent ?? '',
    isSeen: field.checkVisibility(),
    isFixed: field.readOnly === true,
  })),
}))`

const field = (type: string, name: string, autocomplete: string, label: string, more = {}) => ({
  ...{ type, name, id: name, autocomplete, label, isSeen: true, isFixed: false },
  ...more,
})
const password = field('password', 'password', 'current-password', 'Password')
const submit = { ...field('submit', '', '', ''), id: 'submit', autocomplete: undefined }
const signInForm = {
  method: 'post',
  fields: [field('text', 'username', 'username', 'Email or username'), password, submit],
}
const confirmForm = {
  method: 'post',
  fields: [field('text', 'username', 'username', '', { isSeen: false, isFixed: true }), password, submit],
}

/** What a manager does: it sets the values, tells the page so, and sends the form as its button would. */
const fillAndSend = (page: Page, { email, password: secret } = ada): Promise<void> =>
  page.evaluate(`(() => {
    const form = document.querySelector('[type=password]').form
    const values = { username: ${JSON.stringify(email)}, password: ${JSON.stringify(secret)} }
    for (const [name, value] of Object.entries(values)) {
      const field = form.querySelector('[autocomplete=' + (name === 'username' ? name : 'current-password') + ']')
      if (field.readOnly) continue
      field.value = value
      field.dispatchEvent(new Event('input', { bubbles: true }))
      field.dispatchEvent(new Event('change', { bubbles: true }))
    }
    form.requestSubmit()
  })()`)

describeWith('chromium', 'a password manager', () => {
  let browser: Browser
  let gallery: Gallery
  let server: TestServer
  let host: Host
  beforeAll(async () => {
    browser = await launchBrowser()
    gallery = await openGallery()
    server = await openServer()
    host = await startHost({ options: { issuer: `${server.origin}/oauth` }, before: [helmet()] })
    server.serve(host.app)
  })
  afterAll(async () => {
    await browser?.close()
    await gallery?.close()
    await server?.close()
    await host?.close()
  })

  const url = (more: Readonly<Record<string, string>> = {}): string => {
    const challenge = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
    return server.origin + authorizeUrl({ client_id: 'web', scope: 'openid', ...challenge, ...more })
  }
  /** Waits until the browser goes to the client. */
  const atClient = (page: Page): Promise<URL> =>
    page
      .waitForEvent('request', (request) => request.url().startsWith(`${callback}?`))
      .then((request) => new URL(request.url()))

  test('finds one form with name and password, in that order and labelled, in every state', () =>
    withPage(browser, {}, async (page) => {
      for (const name of gallery.names) {
        await gallery.show(page, name)
        const expected = name.startsWith('login-confirm')
          ? [confirmForm]
          : name.startsWith('login')
            ? [signInForm]
            : []
        expect({ name, forms: await page.evaluate(found) }).toEqual({ name, forms: expected })
        expect(await page.locator('[autocomplete=off]').count()).toBe(0)
      }
    }))

  test('fills and sends it; the name is kept after a failure, the password is in no answer', () =>
    withWatchedPage(browser, {}, async ({ page, session }) => {
      await answerFor(session, ['https://client.example.com/*'])
      await page.goto(url())
      expect(await page.evaluate(found)).toEqual([signInForm])
      await fillAndSend(page, { ...ada, password: 'an old password of hers' })
      await page.locator('#error').waitFor()
      expect(await page.evaluate(found)).toEqual([signInForm])
      expect(await page.inputValue('#username')).toBe(ada.email)
      expect(await page.inputValue('#password')).toBe('')
      expect(await page.content()).not.toContain('old password')
      await fillAndSend(page)
      await page.locator('#allow').waitFor()
      expect(await page.locator('[type=password]').count()).toBe(0)
      expect(await page.content()).not.toContain(ada.password)
    }))

  test('knows at “Confirm it’s you” whose password is asked', () =>
    withWatchedPage(browser, {}, async ({ page, session }) => {
      await answerFor(session, ['https://client.example.com/*'])
      await page.goto(url())
      await signIn(page)
      await Promise.all([atClient(page), page.click('#allow')])
      await page.goto(url({ prompt: 'login' }))
      await waitForHeading(page, 'Confirm it’s you')
      expect(await page.evaluate(found)).toEqual([confirmForm])
      expect(await page.inputValue('#username')).toBe(ada.email)
      await fillAndSend(page, { ...ada, password: 'an old password of hers' })
      await page.locator('#error').waitFor()
      expect(await page.evaluate(found)).toEqual([confirmForm])
      expect(await page.inputValue('#username')).toBe(ada.email)
      expect(await page.content()).not.toContain('old password')
      const [back] = await Promise.all([atClient(page), fillAndSend(page)])
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
    }))

  test('may paste: nothing is in the way of the clipboard, a drop, or a long password', () =>
    withWatchedPage(browser, {}, async ({ page }) => {
      await page.goto(url())
      const long = `${'correct horse battery staple '.repeat(8)}ß`
      await page.fill('#username', long)
      await page.focus('#username')
      await page.keyboard.press('Control+A')
      await page.keyboard.press('Control+C')
      await page.focus('#password')
      await page.keyboard.press('Control+V')
      expect(await page.inputValue('#password')).toBe(long)
    }))
})
