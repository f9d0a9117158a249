import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Browser, Frame, Page } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { program } from '../support/command-line.ts'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { describeWith } from '../support/services.ts'
import { fontOfBars } from '../support/woff2.ts'

const config = (imports: string, look: string) => `import { authenticatorApps } from 'latchkey/features'
${imports}
const ada = { id: 1, name: 'Ada' }
export default {
  pages: { name: 'Juniper', views: './views'${look} },
  database: { client: 'better-sqlite3', connection: { filename: './host.sqlite' } },
  users: { find: (id) => (id === '1' ? ada : undefined), authenticate: () => ada },
  features: [authenticatorApps()],
}
`
const app = `import express from 'express'
import session from 'express-session'
import { authRouter } from 'latchkey'
import config from './latchkey.config.mjs'
const app = express()
app.use(session({ secret: 'of this test', resave: false, saveUninitialized: false }))
const oauth = authRouter({ ...config, issuer: 'http://localhost:' + process.env.PORT + '/oauth' })
app.use('/oauth', oauth)
const { client_id } = await oauth.clients.create({ client_name: 'Desk', redirect_uris: ['https://desk.test/'], scope: 'openid' })
const request = new URLSearchParams({ client_id, redirect_uri: 'https://desk.test/', response_type: 'code', scope: 'openid',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' })
app.get('/', (req, res) => res.redirect('/oauth/authorize?' + request))
app.listen(process.env.PORT)
`
const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" width="96" height="32"><path fill="#b00020" d="M0 0h96v32H0z"/></svg>'

/** A port that no one listens on: the issuer of the app names it. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** What a person sees of the look. */
const seen = `(async () => {
  await document.fonts.ready
  const styleOf = (selector) => getComputedStyle(document.querySelector(selector))
  const root = styleOf(':root')
  return {
    accent: root.getPropertyValue('--accent').trim(),
    scheme: root.colorScheme,
    page: styleOf('body').backgroundColor,
    corners: styleOf('.card').borderRadius,
    fonts: [...document.fonts].map(({ family, status }) => family + ' ' + status),
    family: styleOf('h1').fontFamily,
    logo: document.querySelector('img.mark')?.naturalWidth ?? 0,
  }
})()`

/** Every change has reached the frame of the state `error`. */
const isApplied = `(() => {
  const page = document.querySelector('#state-error iframe').contentDocument
  if (page?.readyState !== 'complete') return false
  const style = getComputedStyle(page.documentElement)
  const [mark] = page.querySelectorAll('img.mark')
  return style.colorScheme === 'light' && mark?.complete &&
    style.getPropertyValue('--radius').trim() === '16px' && [...page.fonts].some(({ status }) => status === 'loaded')
})()`

describeWith('chromium', 'the panel of latchkey preview', () => {
  let browser: Browser
  let host: HostFolder
  let preview: ReturnType<typeof spawn>
  let url = ''
  beforeAll(async () => {
    browser = await launchBrowser()
    host = openHostFolder({
      'latchkey.config.mjs': config('', ''),
      'app.mjs': app,
      'logo.svg': logo,
      'bars.woff2': '',
      'views/assets/theme.css': '',
    })
    writeFileSync(join(host.path, 'bars.woff2'), fontOfBars(700))
    preview = spawn(process.execPath, [program(), 'preview', '--port', '0'], { cwd: host.path })
    const [line] = await once(preview.stdout!, 'data')
    url = String(line).trim()
  })
  afterAll(async () => {
    preview?.kill('SIGKILL')
    host?.remove()
    await browser?.close()
  })

  const frameOf = async (page: Page, state: string): Promise<Frame> => {
    const frame = page.locator(`#state-${state} iframe`)
    await frame.scrollIntoViewIfNeeded()
    const found = await (await frame.elementHandle())?.contentFrame()
    await found?.waitForSelector('h1')
    return found as Frame
  }

  test('a brand that is set up from nothing looks in the restarted app as it did in the preview', () =>
    withPage(browser, { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }, async (page) => {
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })
      await page.goto(`${url}?width=768`, { waitUntil: 'domcontentloaded' })
      const before = await (await frameOf(page, 'error')).evaluate<Record<string, unknown>>(seen)
      expect(before).toMatchObject({ fonts: [], logo: 0, corners: '12px', scheme: 'light dark' })

      await page.fill('#accent', '#b00020')
      await page.fill('#radius', '16')
      await page.setInputFiles('#logo', join(host.path, 'logo.svg'))
      await page.setInputFiles('#font', join(host.path, 'bars.woff2'))
      await page.selectOption('[name=brand-scheme]', 'light')
      const expected = {
        accent: '#b00020',
        scheme: 'light',
        page: 'rgb(243, 244, 247)',
        corners: '24px',
        fonts: ['Brand loaded'],
        family: 'Brand, system-ui, sans-serif',
        logo: 96,
      }
      await page.evaluate(`new Promise((done) => {
        const look = () => (${isApplied} ? done() : requestAnimationFrame(look))
        look()
      })`)
      expect(await (await frameOf(page, 'error')).evaluate(seen)).toEqual(expected)

      await page.click('#plan')
      await page.waitForSelector('#dialog[open]')
      expect(await page.locator('#diff .added').allTextContents()).toEqual(
        expect.arrayContaining(["+   accent: '#b00020',\n", '+   radius: 16,\n']),
      )
      await page.click('#write')
      const said = page.locator('#said', { hasText: 'Wrote' })
      await said.waitFor()
      expect(await said.textContent()).toContain("import branding from './latchkey.branding.mjs'")
      writeFileSync(
        join(host.path, 'latchkey.config.mjs'),
        config("import branding from './latchkey.branding.mjs'", ', ...branding'),
      )

      const port = await freePort()
      await host.start('app.mjs', { PORT: String(port) })
      const response = await page.goto(`http://localhost:${port}/oauth/authorize`)
      expect(response?.headers()['content-security-policy']).toContain("font-src 'self'")
      expect(await page.evaluate(seen)).toEqual(expected)
      await page.goto(`http://localhost:${port}/`)
      expect(await page.locator('h1').textContent()).toContain('Sign in to')
      expect(await page.evaluate(seen)).toEqual(expected)
      await page.fill('#username', 'ada')
      await page.fill('#password', 'any')
      await page.click('#submit')
      await page.getByRole('button', { name: 'Allow' }).waitFor()
      expect(await page.evaluate(seen)).toEqual(expected)
      expect(complaints.filter((text) => !/responded with a status of (400|503)/.test(text))).toEqual([])
    }))

  test('only the frames near the view load, and none takes the keyboard from the panel', () =>
    withPage(browser, { viewport: { width: 1280, height: 900 } }, async (page) => {
      const opened = new Set<string>()
      page.on('request', (request) => {
        if (request.frame() !== page.mainFrame() && request.isNavigationRequest()) opened.add(request.url())
      })
      await page.goto(url, { waitUntil: 'load' })
      await frameOf(page, 'login')
      const first = opened.size
      const all = await page.locator('figure').count()
      expect({ first, few: first < all / 4 }).toEqual({ first, few: true })
      expect(await page.evaluate('document.activeElement.localName')).toBe('body')
      const last = await page.locator('figure').last().getAttribute('data-name')
      await frameOf(page, last ?? '')
      expect(opened.size).toBeGreaterThan(first)
      expect(await page.evaluate('document.activeElement.localName')).toBe('body')
      await page.getByRole('button', { name: 'Remove logo' }).click()
    }))

  test('states are found and measured, and low contrast and texts cut in one language are marked', () =>
    withPage(browser, { viewport: { width: 1280, height: 900 } }, async (page) => {
      const measured = async (state: string): Promise<string | null> => {
        await page.goto(url, { waitUntil: 'domcontentloaded' })
        await page.fill('#find', state)
        const shown = page.locator('figure:visible')
        expect(await shown.count()).toBe(1)
        // It measures in every language.
        await shown.locator('output span').first().waitFor({ timeout: 60_000 })
        return shown.locator('output').textContent()
      }
      const name = 'second-factor-settings-codes'
      expect(await measured(name)).toMatch(/^(?:[5-9]|1\d)\.\d : 1$/)
      // German words are long, and this grey is 2.3 to 1 on white.
      const planted = `:lang(de) h1 { width: 4rem; overflow: hidden; white-space: nowrap }
        .lead { color: #aaa !important }`
      writeFileSync(join(host.path, 'views/assets/theme.css'), planted)
      expect(await measured(name)).toBe('2.2 : 1cut: de')
      expect(await page.locator('figure:visible .bad').count()).toBe(2)
    }))

  test('the states of a template that was ejected from another version are marked (studio)', () =>
    withPage(browser, { viewport: { width: 1280, height: 900 } }, async (page) => {
      const ran = spawnSync(
        process.execPath,
        [program(), 'eject-views', '--to', 'views', 'login', 'consent'],
        {
          cwd: host.path,
          encoding: 'utf8',
        },
      )
      expect(ran).toMatchObject({ status: 0 })
      const file = join(host.path, 'views/login.eta')
      writeFileSync(file, readFileSync(file, 'utf8').replace(/From Latchkey \S+/, 'From Latchkey 0.0.1'))
      await page.goto(url, { waitUntil: 'domcontentloaded' })
      const old = page.locator('figure', { hasText: 'template of 0.0.1' })
      const pages = await old.evaluateAll((figures) => figures.map((each) => each.getAttribute('data-page')))
      expect([...new Set(pages)]).toEqual(['login'])
      expect(
        await page.getByRole('region', { name: 'Your templates' }).locator('li').allTextContents(),
      ).toEqual([expect.stringMatching(/^login\.eta 0\.0\.1/)])
    }))
})
