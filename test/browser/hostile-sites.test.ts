import type { BrowserContext, Frame, Page } from 'playwright-core'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { people } from '../support/host.ts'
import { testsAll } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { useShop } from './shop.ts'
import { type Received, sendPage } from './web.ts'

const bob = people[1]!

type Fields = Readonly<Record<string, string>>

/** Where attackers are: browsers send cookies with a sibling’s requests, and mostly not with those of another site. */
const another = ['another site', 'attacker.test'] as const
const sibling = ['a sibling domain', 'blog.shop.test'] as const

/** The site whose requests carry cookies; both with TEST_ALL=1. */
const attackers = testsAll ? [another, sibling] : [sibling]

/** Attackers with forms, and the token in them: a sibling has cookies but no token, another site could even have that. */
const formAttackers = testsAll
  ? [another, sibling].flatMap(([is, site]) =>
      (['no', 'own', 'stolen'] as const).map((token) => [is, token, site] as const),
    )
  : ([
      [another[0], 'stolen', another[1]],
      [sibling[0], 'stolen', sibling[1]],
    ] as const)

/** What a page of ours carries in its form. */
interface Loot {
  readonly login: Fields
  readonly consent: Fields
  readonly logout: Fields
}

const nothing: Loot = { login: {}, consent: {}, logout: {} }

const hiddenFields = `Object.fromEntries(
  [...[...document.forms].at(-1).querySelectorAll('input[type=hidden]')]
    .map(({ name, value }) => [name, value]))`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')

describeWith('chromium', 'pages of other sites in Chromium, in an app without helmet()', () => {
  const shop = useShop()
  const { issuer, callback, inBrowser, authorizeAt, atConsent, atClient, comeToConsent } = shop

  /** What the forms of this person’s pages carry; the tab stays at the consent page. */
  const lootOf = async (page: Page): Promise<Loot> => {
    const consent: Fields = await page.evaluate(hiddenFields)
    const tab = await page.context().newPage()
    await tab.goto(authorizeAt({ prompt: 'login' }))
    await tab.waitForSelector('#password')
    const login: Fields = await tab.evaluate(hiddenFields)
    await tab.goto(`${issuer()}/logout`)
    await waitForHeading(tab, 'Sign out?')
    const logout: Fields = await tab.evaluate(hiddenFields)
    await tab.close()
    return { login, consent, logout }
  }

  interface Standing {
    readonly cookies: readonly string[]
    readonly waiting: readonly Record<string, unknown>[]
    readonly tables: Readonly<Record<string, unknown>>
  }

  /** All that an attack could change: stored rows, and cookies of the browser. */
  const standingOf = async (context: BrowserContext): Promise<Standing> => {
    const rowsOf = async (table: string): Promise<Record<string, unknown>[]> => {
      const rows: Record<string, unknown>[] = await shop.host.table(table)
      // Any visit may postpone it.
      return rows.map(({ idle_ends_at: _, last_seen_at: __, ...row }) => row)
    }
    const names = ['logins', 'authorizations', 'access_tokens', 'refresh_tokens', 'consents']
    const tables = names.map(async (name) => [name, await rowsOf(name)] as const)
    const cookies = await context.cookies()
    return {
      cookies: cookies.map(({ name, domain, value }) => `${domain} ${name}=${value}`).sort(),
      waiting: await rowsOf('pending_requests'),
      tables: {
        ...Object.fromEntries(await Promise.all(tables)),
      },
    }
  }

  /** Requests that others begin may be added; those that wait stay as they are. */
  const expectUnchanged = async (context: BrowserContext, before: Standing, by: string): Promise<void> => {
    const after = await standingOf(context)
    const ids = before.waiting.map(({ id }) => id)
    const waiting = after.waiting.filter(({ id }) => ids.includes(id))
    expect({ by, ...after, waiting }).toEqual({ by, ...before })
  }

  /** The person goes on where they were: the tab still works, and ends at the client. */
  const expectGoesOn = async (page: Page): Promise<void> => {
    await press(page, 'Allow')
    await atClient(page)
    const { searchParams } = new URL(page.url())
    expect(Object.fromEntries(searchParams)).toEqual({
      code: expect.stringMatching(/^lk_ac_/),
      state: 'of-the-person',
      iss: issuer(),
    })
  }

  const attackAt = (site: string, body: string): string => {
    const address = `${shop.web.origin(site)}/attack`
    shop.web.answer(address, (_req, res) => sendPage(res, body))
    return address
  }

  /** A tab of the same browser in which the attacker’s page is open. */
  const visit = async (context: BrowserContext, site: string, body = ''): Promise<Page> => {
    const tab = await context.newPage()
    await tab.goto(attackAt(site, body))
    return tab
  }

  interface Form {
    readonly path: string
    readonly fields: Fields
    readonly enctype?: string
    readonly method?: 'get' | 'post'
  }

  /** Opens the attacker’s page, whose form sends itself, in this tab and waits where it ends. */
  const submitFrom = async (tab: Page, site: string, form: Form): Promise<void> => {
    const { path, fields, enctype = 'application/x-www-form-urlencoded', method = 'post' } = form
    const inputs = Object.entries(fields).map(
      ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
    )
    const attack = attackAt(
      site,
      `<form method="${method}" action="${issuer()}/${path}" enctype="${enctype}">${inputs.join('')}</form>
      <script>document.forms[0].submit()</script>`,
    )
    await tab.goto(attack, { waitUntil: 'commit' })
    await tab.waitForURL((url) => url.origin !== shop.web.origin(site))
  }

  /** Every form of ours, and what would be won by it. */
  const forms = ({ login, consent, logout }: Loot): Form[] => [
    { path: 'login', fields: { ...login, username: bob.email, password: bob.password } },
    { path: 'consent', fields: { ...consent, decision: 'allow' } },
    { path: 'consent', fields: { ...consent, decision: 'deny' } },
    { path: 'consent', fields: { ...consent, decision: 'switch' } },
    { path: 'consent', fields: { ...consent, decision: 'allow' }, enctype: 'text/plain' },
    { path: 'logout', fields: logout },
    { path: 'authorize', fields: { ...consent, decision: 'allow' } },
    {
      path: 'authorize',
      fields: {
        response_type: 'code',
        client_id: 'notes',
        redirect_uri: callback(),
        scope: 'openid',
        prompt: 'none',
      },
    },
  ]

  test.each(formAttackers)(
    'forms of %s that send themselves with %s token change nothing',
    (_, token, site) =>
      inBrowser(async (page) => {
        let loot = nothing
        if (token === 'own') {
          await inBrowser(async (attacker) => {
            await comeToConsent(attacker, bob)
            loot = await lootOf(attacker)
          })
        }
        await comeToConsent(page)
        if (token === 'stolen') loot = await lootOf(page)
        const before = await standingOf(page.context())
        const tab = await page.context().newPage()
        for (const form of forms(loot)) {
          await submitFrom(tab, site, form)
          const by = [form.path, form.fields.decision, form.enctype].join(' ')
          await expectUnchanged(page.context(), before, by)
        }
        await expectGoesOn(page)
      }),
  )

  describe.each(attackers)('%s', (_, site) => {
    test('links, pictures and requests of scripts change nothing and cannot be read', () =>
      inBrowser(async (page) => {
        await comeToConsent(page)
        const loot = await lootOf(page)
        const before = await standingOf(page.context())
        const query = new URLSearchParams(loot.consent)
        const readable = `${shop.web.origin('client.test')}/readable`
        shop.web.answer(readable, (_req, res) => {
          res.setHeader('Access-Control-Allow-Origin', shop.web.origin(site))
          res.setHeader('Access-Control-Allow-Credentials', 'true')
          sendPage(res, 'for everybody')
        })
        const gets = [
          readable,
          authorizeAt({}),
          authorizeAt({ prompt: 'none' }),
          ...['authorize', 'login', 'consent', 'logout'].map((path) => `${issuer()}/${path}?${query}`),
          ...['userinfo', 'jwks', '.well-known/openid-configuration'].map((path) => `${issuer()}/${path}`),
        ]
        const api = ['token', 'introspect', 'revoke', 'userinfo']
        const posts: Form[] = [...forms(loot), ...api.map((path) => ({ path, fields: {} }))]
        const tab = await visit(page.context(), site)
        const outcomes: string[] = await tab.evaluate(`(async () => {
          const posts = ${JSON.stringify(posts)}.map(({ path, fields }) =>
            ['${issuer()}/' + path, { method: 'POST', body: new URLSearchParams(fields) }])
          const requests = [...${JSON.stringify(gets)}.map((url) => [url, {}]), ...posts]
          const read = async (url, options) => {
            try {
              const answer = await fetch(url, { credentials: 'include', ...options })
              const text = await answer.text()
              return answer.type.startsWith('opaque') && text === '' && answer.status === 0 ? 'nothing' : url
            } catch (error) {
              return error.name === 'TypeError' ? 'nothing' : String(error)
            }
          }
          const outcomes = []
          for (const [url, options] of requests) {
            outcomes.push(await read(url, options))
            outcomes.push(await read(url, { ...options, mode: 'no-cors' }))
          }
          for (const url of ${JSON.stringify(gets)}) {
            outcomes.push(await read(url, { mode: 'no-cors', redirect: 'manual' }))
            for (const [name, property] of [['img', 'src'], ['script', 'src'], ['link', 'href']]) {
              const element = Object.assign(document.createElement(name), { [property]: url, rel: 'stylesheet' })
              await new Promise((done) => {
                Object.assign(element, { onload: done, onerror: done })
                document.head.append(element)
              })
            }
          }
          return outcomes
        })()`)
        // The attempt is a fair one: a site that lets itself be read is read.
        expect(outcomes.filter((outcome) => outcome !== 'nothing')).toEqual([readable])
        expect(outcomes.length).toBeGreaterThan(40)
        await expectUnchanged(page.context(), before, 'requests of scripts')
        for (const form of forms(loot)) await submitFrom(tab, site, { ...form, method: 'get' })
        await expectUnchanged(page.context(), before, 'links')
        await expectGoesOn(page)
      }))

    test('a site that opens the consent page in a window can neither read it nor receive messages', () =>
      inBrowser(async (page) => {
        await comeToConsent(page)
        const tab = await visit(page.context(), site, '<button>Open</button>')
        const url = authorizeAt({ prompt: 'consent', state: 'of-the-person' })
        await tab.evaluate(`{
          globalThis.heard = []
          addEventListener('message', ({ data, origin }) => heard.push([origin, data]))
          document.querySelector('button').onclick = () => { globalThis.opened = open(${JSON.stringify(url)}, 'w') }
        }`)
        const [popup] = await Promise.all([tab.waitForEvent('popup'), tab.click('button')])
        await atConsent(popup)
        const before = await standingOf(page.context())
        const seen = await tab.evaluate(`(() => {
          const attempt = (look) => {
            try { return String(look()) } catch (error) { return error.name }
          }
          for (const data of ['allow', { decision: 'allow' }, { type: 'submit' }]) opened.postMessage(data, '*')
          return {
            document: attempt(() => opened.document.title),
            address: attempt(() => opened.location.href),
            storage: attempt(() => opened.localStorage.length),
            name: attempt(() => opened.name),
            form: attempt(() => opened.document.forms[1].submit()),
            frames: attempt(() => opened.length),
          }
        })()`)
        const refused = 'SecurityError'
        expect(seen).toEqual({
          document: refused,
          address: refused,
          storage: refused,
          name: refused,
          form: refused,
          frames: '0',
        })
        await expectUnchanged(page.context(), before, 'the opener')
        await expectGoesOn(popup)
        expect(await tab.evaluate('heard')).toEqual([])
      }))
  })

  test.each([another, sibling])('frames of %s show no page', (_, site) =>
    inBrowser(async (page) => {
      await comeToConsent(page)
      const { consent, login } = await lootOf(page)
      const addresses = [
        `${issuer()}/consent?${new URLSearchParams(consent)}`,
        `${issuer()}/login?${new URLSearchParams(login)}`,
        authorizeAt({ prompt: 'consent' }),
        authorizeAt({ client_id: 'unknown' }),
        authorizeAt({ prompt: 'none', response_mode: 'form_post' }),
        `${issuer()}/logout`,
      ]
      const statuses = new Map<string, number>()
      page.context().on('response', (answer) => statuses.set(answer.url(), answer.status()))
      const control = `${shop.web.origin('client.test')}/framed`
      const tags = [control, ...addresses].flatMap((url) => [
        `<iframe src="${escaped(url)}"></iframe>`,
        `<object data="${escaped(url)}" type="text/html"></object>`,
        `<embed src="${escaped(url)}" type="text/html">`,
      ])
      const tab = await visit(page.context(), site, tags.join(''))
      await tab.waitForLoadState('load')
      const shown = await shownInFrames(tab)
      const ofControl = `This is ${new URL(control).host}`
      // Chromium says in words of its own, sooner or later, that it shows nothing.
      const isShown = (text: string) => text !== '' && !text.includes('refused to connect')
      expect(shown.filter(isShown)).toEqual([ofControl, ofControl, ofControl])
      expect(addresses.filter((address) => !statuses.has(address))).toEqual([])
      // It is the header that keeps the page out of the frame: to a sibling's frame it was sent.
      expect(statuses.get(addresses[0]!)).toBe(site === 'blog.shop.test' ? 200 : 400)
      await expectGoesOn(page)
    }),
  )

  test('a sibling domain cannot plant cookies of the same names', () =>
    inBrowser(async (page) => {
      await comeToConsent(page)
      const before = await standingOf(page.context())
      const names = (await page.context().cookies()).map(({ name }) => name)
      expect(names).toHaveLength(3)
      const tab = await visit(page.context(), 'blog.shop.test')
      await tab.evaluate(`for (const name of ${JSON.stringify(names)}) {
        document.cookie = name + '=planted; Domain=shop.test; Path=/; Secure'
        document.cookie = name + '=planted; Domain=shop.test; Path=/oauth; Secure'
      }`)
      await tab.evaluate(`document.cookie = 'control=planted; Domain=shop.test; Path=/; Secure'`)
      const after = await standingOf(page.context())
      expect(after.cookies.filter((cookie) => !before.cookies.includes(cookie))).toEqual([
        '.shop.test control=planted',
      ])
      await expectGoesOn(page)
    }))

  describe('what other sites receive', () => {
    /** What came to other sites during some work. */
    const receivedDuring = async (work: () => Promise<void>): Promise<Received[]> => {
      const before = shop.web.received.length
      await work()
      return shop.web.received.slice(before)
    }

    /** Not an address, an id, a token or a cookie of ours stands in the headers of any request. */
    const expectDiscreet = (requests: readonly Received[]): void => {
      expect(requests.length).toBeGreaterThan(0)
      for (const { headers } of requests) {
        expect(JSON.stringify(headers)).not.toMatch(/id\.shop\.test|lk_[a-z]{2}_|csrf/)
        expect(headers.cookie).toBeUndefined()
      }
    }

    /** The client’s own page with a link, as a person begins. */
    const begin = async (page: Page, parameters: Fields): Promise<void> => {
      const start = `${shop.web.origin('client.test')}/start`
      shop.web.answer(start, (_req, res) =>
        sendPage(res, `<a href="${escaped(authorizeAt(parameters))}">Sign in</a>`),
      )
      await page.goto(start)
      await page.click('a')
    }

    test('no error, code or form_post response sends the client anything but its answer', () =>
      inBrowser(async (page) => {
        const allow = async (): Promise<void> => {
          if (new URL(page.url()).pathname.endsWith('/login')) await signIn(page)
          await press(page, 'Allow')
        }
        const answers: [Fields, () => Promise<void>][] = [
          [{ prompt: 'none' }, async () => {}],
          [{ prompt: 'consent' }, allow],
          [{ prompt: 'consent', response_mode: 'form_post' }, allow],
          // The consent is remembered, so the login form itself ends at the client.
          [{ prompt: 'login' }, () => signIn(page)],
        ]
        for (const [parameters, act] of answers) {
          const requests = await receivedDuring(async () => {
            await begin(page, parameters)
            await act()
            await atClient(page)
          })
          expectDiscreet(requests)
          expect(await page.evaluate('document.referrer')).not.toContain('id.shop.test')
        }
      }))

    test('a client’s privacy policy opens without a referrer or an opener', () =>
      inBrowser(async (page) => {
        await page.goto(authorizeAt({ client_id: 'hostile', prompt: 'consent' }))
        await signIn(page)
        await atConsent(page)
        const requests = await receivedDuring(async () => {
          const link = page.locator('a[href*="/privacy"]')
          const [policy] = await Promise.all([page.context().waitForEvent('page'), link.click()])
          await waitForHeading(policy, `This is ${new URL(shop.web.origin('attacker.test')).host}`)
          expect(await policy.evaluate('[window.opener, document.referrer]')).toEqual([null, ''])
        })
        expectDiscreet(requests)
        expect(requests.map(({ headers }) => headers.referer)).toEqual([undefined])
      }))
  })
})

/** The text of a frame; an error page of the browser's own has nothing to say. */
const shownIn = async (frame: Frame): Promise<string> => {
  if (frame.url().startsWith('chrome-error:')) return ''
  return String(await frame.evaluate('document.body.innerText.trim()'))
}

/** That of every frame of a tab, read anew when Chromium has meanwhile put its error page in the place of a frame. */
const shownInFrames = async (tab: Page): Promise<string[]> => {
  for (;;) {
    const frames = tab.frames().slice(1)
    try {
      return await Promise.all(frames.map(shownIn))
    } catch (error) {
      if (!frames.some((frame) => frame.isDetached())) throw error
    }
  }
}
