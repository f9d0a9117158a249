import type { Browser, Page } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { sampleOf, testsAll } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { barriersOf } from './barriers.ts'
import { type Gallery, openGallery } from './gallery.ts'

// Many pages, each examined in many ways: a busy machine takes its time.
jest.setTimeout(180_000)

/** 1280 × 1024 at 400 % (WCAG 2.2 §1.4.10), a phone, a desktop. */
const zoomed = { width: 320, height: 256 }
const desktop = { width: 1280, height: 1024 }

/** What readers may set without losing anything (WCAG 2.2 §1.4.12). */
const spacing = `* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }
  p { margin-bottom: 2em !important }`
/** Text alone at 200 % (WCAG 2.2 §1.4.4). */
const largeText = ':root { font-size: 200% !important }'

const openDetails = `document.querySelectorAll('details').forEach((details) => { details.open = true })`

/** The faults of the page with its details open; after that, those that the reader's own text styles add. */
const layout = `(() => {
  ${openDetails}
  return [...inPage.layoutFaults(), ...inPage.smallTargets(), ...inPage.lostSpaces(), ...inPage.brokenWords()]
})()`
const layoutWithOwnStyles = `({
  spaced: inPage.faultsWith(${JSON.stringify(spacing)}),
  large: inPage.faultsWith(${JSON.stringify(largeText)}),
})`

/** Elements that move or fade, in every state that a style gives them. */
const moving = `[...document.querySelectorAll('*')].flatMap((element) =>
  [undefined, '::before', '::after'].flatMap((part) => {
    const style = getComputedStyle(element, part)
    const lasts = (durations) => durations.split(',').some((duration) => parseFloat(duration) > 0)
    const isAnimated = lasts(style.animationDuration) && style.animationName !== 'none'
    return lasts(style.transitionDuration) || isAnimated || style.scrollBehavior === 'smooth' ? [element.localName] : []
  }))`

/** The forms with a password as a password manager finds them, as short lines. */
const passwordForms = `[...document.forms].filter((form) => form.querySelector('[type=password]')).map((form) =>
  [form.method, ...[...form.elements].filter(({ type }) => type !== 'hidden').map((field) =>
    [field.type, field.name, field.id, field.autocomplete, field.labels[0]?.textContent,
      field.checkVisibility() ? '' : 'unseen', field.readOnly ? 'fixed' : ''].join(' ').trim())])`

/** The buttons of the consent page cover what is below the window until the user scrolls. */
const unstick = `document.querySelector('.floating .buttons, .buttons.stays')?.setAttribute('style', 'position: static')`

const facts = `({
  direction: getComputedStyle(document.querySelector('h1')).direction,
  order: inPage.readingOrder(),
  focus: inPage.focus()?.name ?? '',
  moving: ${moving},
  forms: ${passwordForms},
  withoutAutocomplete: document.querySelectorAll('[autocomplete=off]').length,
})`

interface Facts {
  readonly direction: string
  readonly order: readonly number[]
  readonly focus: string
  readonly moving: readonly string[]
  readonly forms: readonly string[][]
  readonly withoutAutocomplete: number
}

const password = 'password password password current-password Password'
const buttons = ['button  show', 'submit  submit']
const signInForm = (label: string) => [
  'post',
  `text username username username ${label}`,
  password,
  ...buttons,
]
/** States in which users type only an e-mail address or a username. */
const labels: Readonly<Record<string, string>> = {
  'login-providers': 'Email',
  'login-providers-wrong': 'Username',
}
/** The states with a field that a browser has nothing for: a code that is used once, or a name of a passkey. */
const unfilledForms = [
  'device',
  'device-filled',
  'device-wrong',
  'device-throttled',
  'second-factor-recovery',
  'passkey',
]
/** No fault with the reader's own text styles. */
const adjusted = { spaced: [], large: [] }
const unfilled = (name: string): number => (unfilledForms.includes(name) ? 1 : 0)
const isClientForm = (name: string): boolean =>
  /^(developer-(new|edit|client-created)|personal-token|service-account|organization|things|operator)/.test(
    name,
  )
const confirmForm = ['post', 'text username username username  unseen fixed', password, ...buttons]

/** With passkeys, the field that has the focus offers them. */
const passkeyForm = (isConfirmed: boolean): string[] => {
  const form = isConfirmed ? confirmForm : signInForm('Email or username')
  const [known, offered] = isConfirmed
    ? ['current-password', 'current-password webauthn']
    : ['username username username', 'username username username webauthn']
  return form.map((field) => field.replace(known, offered))
}

/** The same fields in a part of the page that is closed at first. */
const closed = (form: readonly string[]): string[] =>
  form.map((field) => {
    if (field === 'post') return field
    return /^(button|submit)/.test(field) ? `${field}   unseen` : `${field} unseen`
  })

const formsIn = (name: string): string[][] => {
  if (name === 'login-passkey-locked') return [closed(passkeyForm(false))]
  if (/^login-throttled(-later|-open)?$/.test(name)) return [closed(signInForm('Email or username'))]
  if (name.startsWith('login-confirm')) return [confirmForm]
  if (name.startsWith('login-passkey')) return [passkeyForm(name === 'login-passkey-confirm')]
  return name.startsWith('login') ? [signInForm(labels[name] ?? 'Email or username')] : []
}

/** On consent pages neither answer has the focus at first, so that no key decides. What the user must see or choose has it. */
const focusOnConsent = (name: string): string => {
  return /^consent-(account|changed|organization-gone)$/.test(name) ? 'div#notice.caution' : ''
}

/** Languages from right to left, with the longest words, and without spaces between words. */
const otherLanguages = ['ar', 'de', 'ja']

/** Every control that the key reaches in one round, from the first control of the page. */
const walkOnce = async (page: Page, key: 'Tab' | 'Shift+Tab', count: number): Promise<number[]> => {
  const found: number[] = []
  // From the last control to the first the focus may pass through the browser itself.
  for (let rounds = 0; rounds < 2 && found.length < count; rounds += 1) {
    for (let presses = 0; presses <= count; presses += 1) await page.keyboard.press(key)
    const trail = (await page.evaluate('inPage.takeTrail()')) as { number: number; isInView: boolean }[]
    for (const { number, isInView } of trail) if (isInView && !found.includes(number)) found.push(number)
  }
  const round = key === 'Tab' ? found : found.reverse()
  const first = round.indexOf(0)
  return [...round.slice(first), ...round.slice(0, first)]
}

/** The same; after a walk out of order, as a busy browser may report a key too late, another two must be in order. */
const walk = async (page: Page, key: 'Tab' | 'Shift+Tab', all: readonly number[]): Promise<number[]> => {
  const isInOrder = (found: number[]): boolean => found.join() === all.join()
  const found = await walkOnce(page, key, all.length)
  if (isInOrder(found)) return found
  const again = await walkOnce(page, key, all.length)
  return isInOrder(again) ? walkOnce(page, key, all.length) : again
}

/** Colours that are forced take the place of our own in either scheme, so one will do; both with TEST_ALL=1. */
const schemesWith = (forcedColors: 'none' | 'active') =>
  (['light', 'dark'] as const).slice(0, testsAll || forcedColors === 'none' ? 2 : 1)

const planted = `button[value="deny"] { position: relative; left: 90px }
  button[value="allow"] { position: relative; left: 40px }
  h1 { height: 1em; overflow: hidden }
  .small-print a { display: inline-block; min-height: 0; height: 20px; line-height: 20px; padding: 0 }
  .consent > h2 { width: 255px; overflow: hidden; white-space: nowrap }`

describeWith('chromium', 'every state of every page', () => {
  let browser: Browser
  let gallery: Gallery
  beforeAll(async () => {
    browser = await launchBrowser()
    gallery = await openGallery()
  })
  afterAll(async () => {
    await browser?.close()
    await gallery?.close()
  })

  /** One state of some pages, the one with most in it; of every page with TEST_ALL=1. */
  const fullest = (): readonly string[] => sampleOf(gallery.fullest, 8)
  /** Some of the states that together have every kind of element; with TEST_ALL=1 all of these. The others repeat them. */
  const sample = (): readonly string[] => sampleOf(gallery.sample, 12)

  test('meets WCAG 2.2 AA, and its layout, order and focus are right, also at 400 % in the dark', () =>
    withPage(browser, { reducedMotion: 'reduce' }, async (page) => {
      for (const name of sample()) {
        await page.setViewportSize(desktop)
        await page.emulateMedia({ colorScheme: 'light' })
        await gallery.show(page, name)
        await page.evaluate(unstick)
        const found: Facts = await page.evaluate(facts)
        const onDesktop = { layout: await page.evaluate(layout), barriers: await barriersOf(page) }
        await page.setViewportSize(zoomed)
        await page.emulateMedia({ colorScheme: 'dark' })
        const inTheDark = {
          layout: await page.evaluate(layout),
          ...(await page.evaluate<object>(layoutWithOwnStyles)),
          barriers:
            testsAll || gallery.fullest.includes(name) ? await barriersOf(page, ['color-contrast']) : [],
        }
        expect({ name, ...found, onDesktop, inTheDark }).toEqual({
          name,
          direction: 'ltr',
          moving: [],
          // A client is not the user.
          withoutAutocomplete: isClientForm(name) ? found.withoutAutocomplete : unfilled(name),
          order: found.order.map((_number, index) => index),
          focus: name.startsWith('consent') ? focusOnConsent(name) : found.focus,
          forms: formsIn(name),
          onDesktop: { layout: [], barriers: [] },
          inTheDark: { layout: [], barriers: [], ...adjusted },
        })
      }
    }))

  test.each(otherLanguages)('at 400 % in %s nothing is cut off, overlaps, or is out of order', (language) =>
    withPage(browser, { reducedMotion: 'reduce', viewport: zoomed }, async (page) => {
      for (const name of fullest().filter((each) => !each.startsWith('operator'))) {
        await gallery.show(page, name, language)
        await page.evaluate(unstick)
        const { direction, order }: Facts = await page.evaluate(facts)
        const faults = await page.evaluate(layout)
        const barriers = testsAll ? await barriersOf(page) : []
        expect({ name, direction, order, faults, barriers }).toEqual({
          name,
          direction: language === 'ar' ? 'rtl' : 'ltr',
          faults: [],
          barriers: [],
          order: order.map((_number, index) => index),
        })
      }
    }),
  )

  test('the links of an account stand in one place on all of its pages', () =>
    withPage(browser, {}, async (page) => {
      const places = `JSON.stringify([...document.querySelectorAll('.account-nav a')].map((link) => {
        const { left, top, width, height } = link.getBoundingClientRect()
        return [left, top, width, height].map(Math.round)
      }))`
      for (const width of [320, 375, 1280]) {
        await page.setViewportSize({ width, height: 1024 })
        const found = new Set<string>()
        for (const name of [
          'devices',
          'passkeys',
          'personal-tokens',
          'developer',
          'second-factor-settings-on',
        ]) {
          await gallery.show(page, name)
          found.add(await page.evaluate<string>(places))
        }
        expect({ width, places: found.size, links: JSON.parse([...found][0] ?? '').length }).toEqual({
          width,
          places: 1,
          links: 6,
        })
      }
    }))

  test('no words touch, although a style or a template drops the space between them', () =>
    withPage(browser, { viewport: desktop }, async (page) => {
      for (const name of gallery.fullest) {
        await gallery.show(page, name)
        await page.evaluate(openDetails)
        const touching = await page.evaluate<string[]>('inPage.lostSpaces()')
        expect({ name, touching }).toEqual({ name, touching: [] })
      }
      await page.evaluate(`document.querySelector('main').innerHTML = '<p>See<a href="/">the page</a></p>'`)
      expect(await page.evaluate('inPage.lostSpaces()')).toEqual(['“See” touches “the page”'])
    }))

  test('a long client name leaves what it asks for in sight, above the buttons', () =>
    withPage(browser, { viewport: { width: 320, height: 568 } }, async (page) => {
      await gallery.show(page, 'consent-long-name', 'de')
      const places = await page.evaluate(
        `['.scope', '[value=allow]'].map((each) => document.querySelector(each).getBoundingClientRect().bottom)`,
      )
      const [first, buttons] = places as [number, number]
      expect(first).toBeLessThan(568)
      expect(buttons).toBeGreaterThan(568)
    }))

  test('otherwise only fields and buttons change gradually', () =>
    withPage(browser, {}, async (page) => {
      await gallery.show(page, 'login')
      expect(await page.evaluate(moving)).toEqual(['input', 'input', 'button', 'button'])
    }))

  test('Tab and Shift+Tab reach every control in reading order, in view and with visible focus', () =>
    withPage(browser, { viewport: zoomed }, async (page) => {
      for (const name of fullest()) {
        await gallery.show(page, name)
        const order = (await page.evaluate('inPage.readingOrder()')) as number[]
        const all = order.map((_number, index) => index)
        // The buttons of the consent page cover what is below them, so there the way back differs.
        const keys =
          testsAll || name.startsWith('consent') ? (['Tab', 'Shift+Tab'] as const) : ['Tab' as const]
        for (const key of keys)
          expect({ name, key, walk: await walk(page, key, all) }).toEqual({ name, key, walk: all })
        for (const forcedColors of ['none', 'active'] as const)
          for (const colorScheme of schemesWith(forcedColors)) {
            await page.emulateMedia({ forcedColors, colorScheme })
            const unseen = await page.evaluate('inPage.unseenFocus()')
            expect({ name, colorScheme, forcedColors, unseen }).toEqual({
              name,
              colorScheme,
              forcedColors,
              unseen: [],
            })
          }
        await page.emulateMedia({ forcedColors: null, colorScheme: null })
      }
    }))

  test('paper is light in the dark scheme too', () =>
    withPage(browser, {}, async (page) => {
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
      const printed = {
        'login-wrong': ['.alert h2', '.alert a', '.primary'],
        'consent-first': ['.risk', '.account bdi', '.disc'],
        'login-unverified': ['.caution .name'],
      }
      for (const [name, selectors] of Object.entries(printed)) {
        await gallery.show(page, name)
        for (const selector of selectors) {
          const contrast = (await page.evaluate(`inPage.contrastOf('${selector}')`)) as number
          expect({ name, selector, isReadable: contrast >= 4.5 }).toEqual({
            name,
            selector,
            isReadable: true,
          })
        }
      }
    }))

  test('planted faults of layout and focus are found', () =>
    withPage(browser, { viewport: zoomed }, async (page) => {
      await gallery.show(page, 'consent-first')
      await page.addStyleTag({ content: planted })
      const found = await page.evaluate<string[]>(layout)
      const { spaced, large } = await page.evaluate<Record<string, string[]>>(layoutWithOwnStyles)
      expect(found).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^scrolls sideways: \d+ of 320$/),
          'button.primary is beyond the edge',
          'button.secondary and button.primary overlap',
          'h1.marked cuts off what it holds',
          'a is 20 high',
        ]),
      )
      expect(found).not.toContain('h2 cuts off what it holds')
      expect(spaced).toContain('h2 cuts off what it holds')
      expect(large).toContain('h2 cuts off what it holds')
      await gallery.show(page, 'things', 'de')
      await page.addStyleTag({ content: '.buttons > * { overflow-wrap: anywhere; max-width: 5rem }' })
      expect(await page.evaluate('inPage.brokenWords()')).toContain('button.primary breaks “Übernehmen”')
      await gallery.show(page, 'login')
      await page.addStyleTag({ content: '#lead { display: flex; white-space: nowrap }' })
      expect(await page.evaluate('inPage.lostSpaces()')).toEqual([
        expect.stringMatching(/^“to continue to” touches /),
        expect.any(String),
      ])
      await page.addStyleTag({
        content: `#username:focus-visible { outline: none !important }
          #password:focus-visible { outline-width: 1px !important }
          #submit:focus-visible { outline-color: rgb(225 225 230) !important }
          a[href="/help"] { outline: 2px solid }`,
      })
      await page.keyboard.press('Tab')
      expect(await page.evaluate('inPage.unseenFocus()')).toEqual([
        'input#username has a ring of 0 px with a contrast of 0',
        expect.stringMatching(/^input#password has a ring of 1 px/),
        expect.stringMatching(/^button#submit.primary has a ring of 2 px with a contrast of 1/),
        'a looks focused when it is not',
      ])
    }))

  test('buttons below each other do not touch, and boxes grow with the text (40)', () =>
    withPage(browser, { viewport: zoomed }, async (page) => {
      await gallery.show(page, 'consent-first')
      const measure = `(() => {
        const [one, other] = [...document.querySelectorAll('.buttons > button')].map((each) => each.getBoundingClientRect())
        return {
          isStacked: other.top > one.top,
          gap: Math.max(other.top - one.bottom, other.left - one.right),
          box: document.querySelector('[type=checkbox]').getBoundingClientRect().width,
        }
      })()`
      const usual = await page.evaluate(measure)
      await page.addStyleTag({ content: largeText })
      expect([usual, await page.evaluate(measure)]).toEqual([
        { isStacked: false, gap: 12, box: 20 },
        { isStacked: true, gap: 12, box: 40 },
      ])
    }))

  test('numbers beside names of any length stand in one column, on a phone below them (40)', () =>
    withPage(browser, { viewport: desktop }, async (page) => {
      const lefts = `[...new Set([...document.querySelectorAll('.facts dt, .facts dd')].map((each) =>
        each.localName + Math.round(each.getBoundingClientRect().left)))].length`
      await gallery.show(page, 'operator-delete-client')
      expect(await page.evaluate(lefts)).toBe(2)
      await page.setViewportSize({ width: 375, height: 720 })
      expect(await page.evaluate(lefts)).toBe(2)
    }))

  test('each connected app has a heading with its name, and below it one for what it can do (40)', () =>
    withPage(browser, {}, async (page) => {
      for (const name of ['account', 'personal-tokens']) {
        await gallery.show(page, name)
        const found = await page.evaluate<string[]>(
          `[...document.querySelectorAll('.clients > li')].flatMap((item) => [...item.querySelectorAll('h2, h3')].map((each) => each.localName))`,
        )
        const clients = await page.locator('.clients > li').count()
        expect(clients).toBeGreaterThan(0)
        expect(found.filter((each) => each === 'h2')).toHaveLength(clients)
        expect(found.slice(0, 2)).toEqual(['h2', 'h3'])
      }
    }))

  test('a button that deletes is red in the dark, too, with text that can be read (40)', () =>
    withPage(browser, {}, async (page) => {
      await page.emulateMedia({ colorScheme: 'dark' })
      await gallery.show(page, 'operator-delete-client')
      const fill = `getComputedStyle(document.querySelector('.danger')).backgroundColor`
      expect(await page.evaluate(fill)).toBe('rgb(214, 57, 63)')
      expect(await page.evaluate<number>(`inPage.contrastOf('.danger')`)).toBeGreaterThanOrEqual(4.5)
    }))

  test('the links at the foot stay where they are on a page without a menu of languages (40)', () =>
    withPage(browser, { viewport: desktop }, async (page) => {
      await gallery.show(page, 'login')
      const right = `document.querySelector('.site-links .links').getBoundingClientRect().right`
      const before = await page.evaluate<number>(right)
      await page.evaluate(`document.querySelector('.languages').remove()`)
      expect(await page.evaluate(right)).toBe(before)
    }))

  test('details open and close by keyboard', () =>
    withPage(browser, {}, async (page) => {
      await gallery.show(page, 'consent-first')
      await page.locator('summary').first().focus()
      const keys = [
        ['Enter', true],
        ['Space', false],
        ['Space', true],
      ] as const
      for (const [key, isOpen] of keys) {
        await page.keyboard.press(key)
        expect(await page.evaluate('document.querySelector("details").open')).toBe(isOpen)
      }
      expect(await page.getByText('Every order of the last five years').isVisible()).toBe(true)
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.id')).toBe('scope-2')
    }))

  describe('in forced colours', () => {
    const picture = async (page: Page, selector: string): Promise<string> => {
      // The pointer changes colours too.
      await page.mouse.move(0, 0)
      const pixels = await page
        .locator(selector)
        .first()
        .screenshot({ animations: 'disabled', caret: 'hide' })
      return pixels.toString('base64')
    }

    test.each(['light', 'dark'] as const)(
      '%s: a tick, a choice, a focus and the primary button are visible',
      (colorScheme) =>
        withPage(browser, {}, async (page) => {
          await page.emulateMedia({ forcedColors: 'active', colorScheme })
          await gallery.show(page, 'consent-first')
          const row = '.scope:has(#scope-2)'
          const ticked = await picture(page, row)
          await page.uncheck('#scope-2')
          await page.evaluate('document.activeElement.blur()')
          const unticked = await picture(page, row)
          await page.keyboard.press('Tab')
          await page.focus('#scope-2')
          expect(new Set([ticked, unticked, await picture(page, row)]).size).toBe(3)
          const contrasts =
            await page.evaluate(`['[value=allow]', '[value=deny]', '.risk', 'a[href]', 'summary', '.icon', '.meta']
          .map((selector) => [selector, inPage.contrastOf(selector)]).filter(([, contrast]) => !(contrast >= 4.5))`)
          expect(contrasts).toEqual([])
          const fill = (value: string) =>
            page.evaluate(`getComputedStyle(document.querySelector('[value=${value}]')).backgroundColor`)
          expect(await fill('allow')).not.toBe(await fill('deny'))
        }),
    )
  })
})
