import { createLanguages, createViews, look, samples } from '../support/views.ts'

/**
 * What a page may weigh with its stylesheet and script, as a host without compression sends it: the page as it is,
 * because it contains secrets (BREACH), and its files as Latchkey compresses them.
 */
const most = 12_200
/** What more is in them: a QR code, the stylesheet of the admin pages. */
const heavier: readonly [pages: RegExp, most: number][] = [
  [/^(passkeys|second-factor-settings)/, 12_700],
  // Two stylesheets beside the common one, and both are counted.
  [/^service-account-form-things/, 13_750],
  [/^(developer|service-account|organization-app(-|$))/, 13_600],
  [/^consent-things-presets/, 14_000],
  [/^(consent-things|personal-token-form-things)/, 13_600],
]
const mostFor = (page: string): number => heavier.find(([pages]) => pages.test(page))?.[1] ?? most

const secret = (prefix: string): string => prefix.padEnd(49, 'x')
/** The same page with fields as long as real ones. */
const real = (model: object): object =>
  'hidden' in model
    ? {
        ...model,
        hidden: {
          authorization_request: secret('lk_ar_'),
          locale: 'ar',
          csrf_token: secret(''),
          ...('scopes' in model && { account: 'x'.repeat(43), shown: 'x'.repeat(43) }),
        },
      }
    : model

const links = { help: '/help', privacy: '/privacy' }
const appearance = { name: 'Acme', accent: '#ffd400', links }
const views = createViews({ pages: look(appearance), basePath: '' })

/** The languages that Latchkey brings. */
const { tags } = createLanguages({ pages: look(), scopes: {} })
const urlIn = (tag: string) => `/oauth/consent?authorization_request=${secret('lk_ar_')}&language=${tag}`
const choices = tags.map((tag) => ({ tag, name: 'Deutsch', url: urlIn(tag) }))

describe.each(tags)('every page in every state, in the language %s', (language) => {
  const pages = new Map(
    samples.map(({ name, page, model }) => {
      const offered = choices.filter(({ tag }) => tag !== language)
      return [name, views.render(page, real(model) as never, { language, choices: offered })]
    }),
  )
  const style = views.asset('style.css')?.body ?? Buffer.of()
  const passkey = /^(passkeys(?!-full)|login-passkey)/
  const codeEntry = /^second-factor(?!-settings|-recovery)/
  const scripts = {
    'code-entry': codeEntry,
    'form-post': /^form-post/,
    login: /^login(?!-passkey-needed)/,
    leave: /^return-frames/,
    organization: /^organization-(search|none)/,
    passkey,
  }
  const scriptsOf = (page: string): string[] =>
    [pages.get(page)?.includes('method="post"') ? 'decision.js' : []]
      .flat()
      .concat(Object.entries(scripts).flatMap(([name, names]) => (names.test(page) ? [`${name}.js`] : [])))
      .concat(pages.get(page)?.includes(' data-copy=') ? 'copy.js' : [])
  const styles: readonly [string, RegExp][] = [
    ['second-factor.css', /^second-factor-settings/],
    [
      'management.css',
      /^(developer|personal-token|revoke-token|passkeys|organizations|organization-(apps|policy|app|remove|requests?|activity)(-|$)|service-account)/,
    ],
    ['choices.css', /^((consent-)?things|narrow-client|(personal-token|service-account)-form-things)/],
  ]
  /** The stylesheets of a page beside the one of all pages. */
  const stylesOf = (page: string): string[] =>
    styles.flatMap(([style, names]) => (names.test(page) ? [style] : []))
  const assetWeight = (name: string): number => views.asset(name)?.encoded('br')?.byteLength ?? 0
  const scriptWeight = (page: string): number =>
    scriptsOf(page).reduce((sum, name) => sum + assetWeight(name), 0)

  /** Whatever a browser fetches by itself, that is all but links that a person follows and forms. */
  const loaded = (html: string): string[] =>
    [
      ...html.matchAll(
        /<(?!a\b|form\b|button\b|bdi\b)[a-z]+\b[^>]*?\s(?:src|srcset|href|data|poster)="([^"#][^"]*)"/g,
      ),
    ].map(([, address = '']) => address)

  test('there are many, and each is whole', () => {
    expect(pages.size).toBeGreaterThan(25)
    for (const html of pages.values()) expect(html).toContain(`<html lang="${language}"`)
    for (const [name, html] of pages)
      expect({ name, end: html.trimEnd().slice(-7) }).toEqual({ name, end: '</html>' })
  })

  test(`weighs with stylesheet and script at most ${most} bytes`, () => {
    expect(assetWeight('style.css')).toBeGreaterThan(1000)
    const heavy = [...pages]
      .map(([name, html]) => ({
        name,
        bytes:
          Buffer.byteLength(html) +
          assetWeight('style.css') +
          stylesOf(name).reduce((sum, style) => sum + assetWeight(style), 0) +
          scriptWeight(name),
      }))
      .filter(({ name, bytes }) => bytes > mostFor(name))
    expect(heavy).toEqual([])
  })

  test('loads a stylesheet, a small picture, no script but its own, and nothing from elsewhere', () => {
    for (const [name, html] of pages) {
      const files = loaded(html).map((address) => address.replace(/\?v=[\w-]{16}$/, ''))
      const own = [...stylesOf(name), ...scriptsOf(name)].map((file) => `/assets/${file}`)
      const frames = [...html.matchAll(/<iframe src="([^"]+)"/g)].map(([, address]) => address)
      expect(frames).toHaveLength(name.endsWith('-frames') ? 1 : 0)
      const expected = ['/assets/icon.svg', '/assets/style.css', ...own, ...frames]
      expect({ name, files: [...new Set(files)] }).toEqual({ name, files: expected })
      expect(html).not.toMatch(/<(?:object|embed|base|style)\b|\sstyle=|\son[a-z]+=|@import|url\(/)
    }
    expect(style.toString()).not.toMatch(/@import|url\(|https?:/)
  })
})
