import type { Page } from 'playwright-core'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { tabTo } from './barriers.ts'

const ada = people[0]!
const scope = 'openid profile email notes:read notes:write'
const withoutScripts = { javaScriptEnabled: false }

/** What a password manager does: it sets the values, tells the page, and sends the form as its button would. */
const fillAndSend = (page: Page, secret: string): Promise<void> =>
  page.evaluate(`(() => {
    const form = document.querySelector('[type=password]').form
    const values = { username: ${JSON.stringify(ada.email)}, 'current-password': ${JSON.stringify(secret)} }
    for (const [purpose, value] of Object.entries(values)) {
      const field = form.querySelector('[autocomplete=' + purpose + ']')
      if (field.readOnly) continue
      field.value = value
      field.dispatchEvent(new Event('input', { bubbles: true }))
      field.dispatchEvent(new Event('change', { bubbles: true }))
    }
    form.requestSubmit()
  })()`)

/** Collects the POSTs that a page sends from now on. */
const postsOf = (page: Page): URLSearchParams[] => {
  const posts: URLSearchParams[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(new URLSearchParams(request.postData() ?? ''))
  })
  return posts
}

describeWith('chromium', 'login and consent in Chromium, in an app with helmet()', () => {
  const app = useBrowserApp()
  const asked = (): string => app.url({ prompt: 'consent', scope })

  test('a locked password says until when, by the device’s clock, and then has its field again', () =>
    app.visit(async (page) => {
      await page.clock.install()
      await page.goto(asked())
      for (let failures = 0; failures < 6; failures += 1) {
        await page.fill('#username', 'locked@example.com')
        await page.fill('#password', 'mistyped')
        await page.locator('#submit').click()
        await page.locator('#error').waitFor()
      }
      const until = await page.evaluate(
        "new Intl.DateTimeFormat('en', { timeStyle: 'short' }).format(Date.now() + 900_000)",
      )
      expect(await page.locator('#error p').textContent()).toBe(`Try again at ${until}.`)
      expect(await page.locator('#password').isVisible()).toBe(false)
      const again = page.waitForEvent('framenavigated')
      await page.clock.fastForward(900_000)
      await again
    }))

  test('by keyboard alone, from a mistyped password through its error and consent to the client', () =>
    app.visit(async (page) => {
      const type = (text: string): Promise<void> => page.keyboard.insertText(text)
      await page.goto(asked())
      await page.locator('#username:focus').waitFor()
      await type(ada.email)
      await page.keyboard.press('Tab')
      await type('mistyped')
      await page.keyboard.press('Enter')
      await page.locator('#error').waitFor()
      await page.locator('#password:focus').waitFor()
      await type(ada.password)
      await tabTo(page, '#submit')
      await page.keyboard.press('Space')
      await waitForHeading(page, 'Web client wants to access your Latchkey account')
      await tabTo(page, '[value=switch]')
      await tabTo(page, '[type=checkbox]')
      const box = page.getByRole('checkbox')
      const before = await box.isChecked()
      const posts = postsOf(page)
      // Enter on a checkbox decides nothing.
      await page.keyboard.press('Enter')
      expect(await box.isChecked()).toBe(before)
      await page.keyboard.press('Space')
      expect(await box.isChecked()).toBe(!before)
      await tabTo(page, '[value=allow]')
      await tabTo(page, '[value=deny]', 'Shift+Tab')
      await tabTo(page, '[value=allow]')
      expect(posts).toEqual([])
      const back = await app.toClient(page, () => page.keyboard.press('Space'))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      expect(posts).toHaveLength(1)
      expect(posts[0]?.get('decision')).toBe('allow')
      expect(posts[0]?.has('scope:notes:write')).toBe(!before)
    }))

  test('without JavaScript a failed login shows its error, and Allow sends the ticked scopes', () =>
    app.visit(async (page) => {
      await page.setContent('<title>off</title><script>document.title = "on"</script>')
      expect(await page.title()).toBe('off')
      await page.goto(asked())
      await signIn(page, { ...ada, password: 'mistyped' })
      await page.locator('#error').waitFor()
      expect(await page.inputValue('#username')).toBe(ada.email)
      await signIn(page)
      const box = page.getByRole('checkbox')
      await page.locator('label', { has: box }).click()
      expect(await box.isChecked()).toBe(false)
      const posts = postsOf(page)
      const back = await app.toClient(page, () => page.click('[value=allow]'))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      expect(posts[0]?.has('scope:notes:write')).toBe(false)
    }, withoutScripts))

  test('a language chosen in the footer stays through login and consent', () =>
    app.visit(
      async (page) => {
        await page.goto(asked())
        await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
        const requestOf = () => new URL(page.url()).searchParams.get('authorization_request')
        const request = requestOf()
        await page.locator('.languages summary').click()
        await page.getByRole('link', { name: 'العربية' }).click()
        await page.getByRole('heading', { name: 'تسجيل الدخول' }).waitFor()
        expect(requestOf()).toBe(request)
        await signIn(page)
        await page.waitForSelector('[value=allow]')
        expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
        const [allow, deny] = await Promise.all(
          ['[value=allow]', '[value=deny]'].map((id) => page.locator(id).boundingBox()),
        )
        expect(allow!.x).toBeLessThan(deny!.x)
        const back = await app.toClient(page, () => page.click('[value=allow]'))
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      },
      { locale: 'de-AT' },
    ))

  test('a password manager fills both login forms; only the username stays after a failure', () =>
    app.visit(async (page) => {
      const expectFailure = async (): Promise<void> => {
        await fillAndSend(page, 'an old password of hers')
        await page.locator('#error').waitFor()
        expect(await page.inputValue('#username')).toBe(ada.email)
        expect(await page.inputValue('#password')).toBe('')
        expect(await page.content()).not.toContain('old password')
      }
      await page.goto(asked())
      await expectFailure()
      await fillAndSend(page, ada.password)
      await page.locator('[value=allow]').waitFor()
      expect(await page.locator('[type=password]').count()).toBe(0)
      expect(await page.content()).not.toContain(ada.password)
      await app.toClient(page, () => page.click('[value=allow]'))
      await page.goto(app.url({ prompt: 'login' }))
      await waitForHeading(page, 'Confirm it’s you')
      await expectFailure()
      const back = await app.toClient(page, () => fillAndSend(page, ada.password))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
    }))

  test('a long password can be pasted', () =>
    app.visit(async (page) => {
      await page.goto(app.url())
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
