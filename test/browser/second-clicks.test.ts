import type { Page } from 'playwright-core'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { sampleOf } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { useShop } from './shop.ts'

describeWith(
  'chromium',
  'a click or a key that was not meant for the page, in an app without helmet()',
  () => {
    const shop = useShop()
    const { issuer, callback, inBrowser, authorizeAt, atConsent, atClient, comeToConsent } = shop

    describe('a click meant for a window on top of the consent page, which closed at the first click', () => {
      const clickAsItComesToFront = `dispatchEvent(new Event('focus')); document.querySelector('[value=allow]').click()`
      const clickAsItIsUncovered = `document.dispatchEvent(new Event('visibilitychange')); document.querySelector('[value=allow]').click()`

      /** Presses Allow again and again until the browser leaves; a click that is refused is simply gone. */
      const pressUntilAtClient = async (page: Page): Promise<void> => {
        const received = atClient(page).then(() => true)
        const pause = () => new Promise<false>((resolve) => setTimeout(resolve, 50, false))
        while (!(await Promise.race([received, pause()])))
          await page.evaluate(`document.querySelector('[value=allow]')?.click()`).catch(() => {})
      }

      test.each([
        ['comes to the front', clickAsItComesToFront],
        ['is uncovered', clickAsItIsUncovered],
      ])('is ignored when the page %s; a later one counts', (_, click) =>
        inBrowser(async (page) => {
          await comeToConsent(page)
          const sent: string[] = []
          page.on('request', (request) => sent.push(request.method()))
          await page.evaluate(click)
          // What the click had set going would have been sent before this is.
          await page.evaluate(`new Promise((onload) =>
          Object.assign(new Image(), { onload: () => onload(), src: '/oauth/assets/icon.svg?later' }))`)
          expect(sent).toEqual(['GET'])
          await pressUntilAtClient(page)
        }),
      )

      test.each([320, 375, 768, 1280])(
        'at %i px is ignored just after the page loads or comes to the front, and Allow stays put',
        (width) =>
          inBrowser(async (page) => {
            await page.setViewportSize({ width, height: 800 })
            await comeToConsent(page)
            const posted: string[] = []
            page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()))
            // With the true time. A busy machine that is late does not click, and the page is opened again.
            await page.addInitScript(`
            performance.now = Performance.prototype.now.bind(performance)
            const allow = () => document.querySelector('[value=allow]')
            window.placeOfAllow = () => JSON.stringify(allow().getBoundingClientRect())
            window.clickSoon = () => new Promise((resolve) => {
              const [begun, place] = [performance.now(), placeOfAllow()]
              setTimeout(() => {
                if (performance.now() - begun > 400) return resolve()
                allow().click()
                resolve([place, placeOfAllow()])
              }, 100)
            })
            addEventListener('DOMContentLoaded', () => { window.clicked = allow() && clickSoon() })`)
            const clickAt = async (moment: string): Promise<string[]> => {
              for (let attempt = 0; attempt < 5; attempt += 1) {
                await page.goto(authorizeAt({ prompt: 'consent', state: 'of-the-person' }))
                const places = await page.evaluate<string[] | undefined>(moment)
                if (places) return [...places, await page.evaluate<string>('placeOfAllow()')]
              }
              throw new Error('the machine was too busy for five clicks')
            }
            const loaded = await clickAt('window.clicked')
            const focused = await clickAt(
              `window.clicked.then(() => { dispatchEvent(new Event('focus')); return clickSoon() })`,
            )
            expect([...loaded, ...focused]).toEqual(Array(6).fill(loaded[0]))
            expect(posted).toEqual([])
            await pressUntilAtClient(page)
          }),
      )

      test('is ignored on a page that has just loaded', () =>
        inBrowser(async (page) => {
          await comeToConsent(page)
          // With the true time, and a click as soon as there is a button.
          await page.addInitScript(`
          performance.now = Performance.prototype.now.bind(performance)
          const begun = performance.now()
          addEventListener('DOMContentLoaded', () => {
            const allow = document.querySelector('[value=allow]')
            allow?.click()
            window.clickedAfter = allow ? performance.now() - begun : undefined
          })`)
          let clickedAfter: number | undefined
          // On a machine that is so busy that the page takes longer to come, the click may count.
          for (
            let attempt = 0;
            attempt < 5 && !(clickedAfter !== undefined && clickedAfter < 700);
            attempt += 1
          ) {
            await page.goto(authorizeAt({ prompt: 'consent', state: 'of-the-person' })).catch(() => {})
            clickedAfter = await page.evaluate<number>('window.clickedAfter').catch(() => undefined)
          }
          expect(clickedAfter).toBeLessThan(700)
          await atConsent(page)
          await pressUntilAtClient(page)
        }))
    })

    describe('a second click while the answer is under way', () => {
      /** How long the answer to a form takes, in milliseconds. */
      const slow = 1500
      beforeAll(() => {
        const { web, host } = shop
        web.serve('id.shop.test', (req, res) => {
          if (req.method === 'POST') {
            const { end } = res
            res.end = ((...given: unknown[]) => {
              setTimeout(() => Reflect.apply(end, res, given), slow)
              return res
            }) as typeof end
          }
          host.app(req, res)
        })
      })
      afterAll(() => shop.web.serve('id.shop.test', shop.host.app))

      const clicks = (pause: number): string => `
        const press = (name) => document.querySelector('[value=' + name + ']').click()
        press('allow')
        setTimeout(() => press('allow'), ${pause})
        setTimeout(() => press('deny'), ${pause})`

      test.each([0, 300])('after %i ms costs nothing: the client receives the code', (pause) =>
        inBrowser(async (page) => {
          await comeToConsent(page)
          const posted: string[] = []
          page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()))
          await page.evaluate(clicks(pause))
          await atClient(page)
          expect(new URL(page.url()).searchParams.get('code')).toMatch(/^lk_ac_/)
          expect(posted).toHaveLength(1)
        }),
      )

      test('a form that lacks something is stopped by the browser alone, and can be sent then', () =>
        inBrowser(async (page) => {
          await page.goto(authorizeAt({ prompt: 'login' }))
          await page.click('#submit')
          await signIn(page)
          await atConsent(page)
        }))

      test('a page that stays or comes back can be used again, after ten seconds or at once', () =>
        inBrowser(async (page) => {
          await comeToConsent(page)
          const sent = await page.evaluate<boolean[]>(`(() => {
            const form = document.querySelector('form.consent')
            const submit = (timeStamp) => {
              const event = new SubmitEvent('submit', { bubbles: true, cancelable: true })
              Object.defineProperty(event, 'timeStamp', { value: timeStamp })
              return form.dispatchEvent(event)
            }
            const sent = [5000, 14_000, 15_000, 16_000].map(submit)
            dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))
            return [...sent, submit(17_000)]
          })()`)
          expect(sent).toEqual([true, false, true, false, true])
        }))
    })

    describe('a key that the person holds since an earlier page', () => {
      const remove = (): string => `${issuer()}/account?client_id=notes`
      const atEnd = (): string => `This is ${new URL(callback()).host}`
      const toConsent = (): string => authorizeAt({ prompt: 'consent' })
      const appList = (): string => 'Connected apps'
      const keys: [string, string, () => string, () => string][] = [
        ['Enter', 'Allow', toConsent, atEnd],
        ['Space', 'Remove', remove, appList],
        ['Space', 'Allow', toConsent, atEnd],
        ['Enter', 'Remove', remove, appList],
      ]
      test.each(sampleOf(keys, 2))(
        '%s does not press “%s”, which a link has no name for; one that is pressed there does',
        (key, name, url, heading) =>
          inBrowser(async (page) => {
            await comeToConsent(page)
            await press(page, 'Allow')
            await atClient(page)
            const posted: string[] = []
            page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()))
            await page.keyboard.down(key)
            await page.goto(url())
            const button = page.getByRole('button', { name })
            expect(await button.getAttribute('id')).toBeNull()
            await button.focus()
            // Some browsers press a button when a key is released there, wherever it was pressed.
            const release = `new KeyboardEvent('keyup', { code: 'Space', bubbles: true, cancelable: true })`
            expect(await page.evaluate(`document.activeElement.dispatchEvent(${release})`)).toBe(false)
            // While a key is down, each further press is a repetition.
            for (let times = 0; times < 3; times += 1) await page.keyboard.down(key)
            await page.keyboard.up(key)
            // What the key had set going would have been sent before this is.
            await page.evaluate(`new Promise((onload) =>
          Object.assign(new Image(), { onload: () => onload(), src: '/oauth/assets/icon.svg?' + Math.random() }))`)
            expect(posted).toEqual([])
            await button.focus()
            // Not awaited: the page that would report the end of the press may be gone.
            page.keyboard.press(key).catch(() => {})
            await waitForHeading(page, heading())
          }),
      )

      test('the fragment of a link does not reach the page at the end of our redirects', () =>
        inBrowser(async (page) => {
          await page.goto(`${authorizeAt({ prompt: 'consent' })}#password`)
          expect(new URL(page.url()).hash).toBe('#_')
          await signIn(page)
          await atConsent(page)
          expect(new URL(page.url()).hash).toBe('#_')
          await page.goto(`${issuer()}/account?language=de#x`)
          expect(new URL(page.url()).hash).toBe('#_')
        }))
    })
  },
)
