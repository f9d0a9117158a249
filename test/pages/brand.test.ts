import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { theme } from '../../example-app/theme/theme.ts'
import { createViews, look } from '../support/views.ts'
import { fontOfBars } from '../support/woff2.ts'

const folder = mkdtempSync(join(tmpdir(), 'brand-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = (name: string, content: string | Buffer): URL => {
  mkdirSync(join(folder, name, '..'), { recursive: true })
  writeFileSync(join(folder, name), content)
  return pathToFileURL(join(folder, name))
}
const regular = file('regular.woff2', fontOfBars(500))
const bold = file('bold.woff2', fontOfBars(600))

const viewsOf = (pages: object) => createViews({ pages: look(pages), basePath: '/oauth' })
const styleOf = (pages: object): string => viewsOf(pages).asset('style.css')?.body.toString() ?? ''
const facesIn = (css: string) =>
  [...css.matchAll(/@font-face \{([^}]*)\}/g)].map(([, body = '']) => ({
    url: /url\("([^"]*)"\)/.exec(body)?.[1],
    weight: /font-weight: ([\d ]+);/.exec(body)?.[1],
    display: /font-display: (\w+);/.exec(body)?.[1],
  }))
const metaOf = (pages: object): string[] =>
  [
    ...viewsOf(pages)
      .render('return', { url: '/' })
      .matchAll(/<meta name="(?:theme-color|color-scheme)"[^>]*>/g),
  ].map(([tag]) => tag)

describe('pages.font', () => {
  it('is served beside the stylesheet at an address with its hash, and shown once it is there', () => {
    const views = viewsOf({ font: regular })
    const [face, ...more] = facesIn(styleOf({ font: regular }))
    expect(more).toEqual([])
    const [, name = '', hash] = /^([\w.]+)\?v=([\w-]{16})$/.exec(face?.url ?? '') ?? []
    expect(views.asset(name)).toMatchObject({ type: 'font/woff2', etag: `"${hash}"`, body: fontOfBars(500) })
    expect(face).toMatchObject({ weight: '100 900', display: 'swap' })
    expect(styleOf({ font: regular })).toContain('--font: Brand, system-ui')
    expect(styleOf({})).not.toContain('@font-face')
  })

  it('may have a file for each weight, or a path on the same origin (38)', () => {
    const faces = facesIn(styleOf({ font: { regular, bold: '/fonts/bold.woff2' } }))
    expect(faces.map(({ weight }) => weight)).toEqual(['400', '600'])
    expect(faces[1]?.url).toBe('/fonts/bold.woff2')
    const urls = facesIn(styleOf({ font: { regular, bold } })).map(({ url }) => url)
    expect(new Set(urls).size).toBe(2)
  })

  it.each([
    [new URL('file:///nowhere.woff2'), 'does not exist'],
    [file('font.ttf', 'x'), 'must be a file: URL that ends with .woff2'],
    ['https://fonts.example.com/a.woff2', 'the pages load nothing from other origins'],
    ['fonts/a.woff2', 'must be a path on your own origin'],
    [7, 'must be a path on your own origin'],
  ])('refuses %s (38)', (font, error) => {
    expect(() => look({ font })).toThrow(error)
  })

  it('lets pages load fonts, as one in assets does, and nothing else does (38)', () => {
    file('views/assets/mine.woff2', fontOfBars(500))
    expect(viewsOf({ views: join(folder, 'views') }).asset('mine.woff2')?.type).toBe('font/woff2')
    const having = [
      {},
      { accent: '#123' },
      { font: regular },
      { font: '/a.woff2' },
      { views: join(folder, 'views') },
    ]
    expect(having.map((pages) => viewsOf(pages).hasFonts())).toEqual([false, false, true, true, true])
  })
})

describe('pages.radius', () => {
  it.each([0, 12, 22])('of %i px is that of every box (39)', (radius) => {
    expect(styleOf({ radius })).toContain(`:root { --radius: ${radius}px; }`)
  })
  it.each([-1, 23, 1.5, '8'])('refuses %p (39)', (radius) => {
    expect(() => look({ radius })).toThrow('pages.radius must be a whole number, from 0 to 22')
  })
})

describe('pages.scheme', () => {
  const logo = { light: '/light.svg', dark: '/dark.svg' }

  it.each(['light', 'dark'] as const)('%s: nothing depends on what the system prefers (39)', (scheme) => {
    const views = viewsOf({ scheme, logo, views: theme.pages.views })
    for (const name of ['style.css', 'management.css', 'operator.css'])
      expect(views.asset(name)?.body.toString()).not.toMatch(
        /prefers-color-scheme|color-scheme:\s*light dark/,
      )
    const html = views.render('return', { url: '/' })
    expect(html).toContain(`<meta name="color-scheme" content="${scheme}">`)
    expect(html).toContain(`/${scheme}.svg`)
    expect(html).not.toContain(scheme === 'light' ? '/dark.svg' : '/light.svg')
    expect(html).not.toContain('media=')
  })

  it('is that of the system by default (39)', () => {
    expect(styleOf({})).toContain('(prefers-color-scheme:dark)')
    expect(viewsOf({ logo }).render('return', { url: '/' })).toMatch(/dark\.svg" media="screen and \(prefers/)
    expect(() => look({ scheme: 'system' })).toThrow("pages.scheme must be 'auto', 'light' or 'dark'")
  })
})

describe('theme-color', () => {
  const [light, dark] = [
    '<meta name="color-scheme" content="light">',
    '<meta name="color-scheme" content="dark">',
  ]
  const auto = '<meta name="color-scheme" content="light dark">'
  const views = (css: string) => {
    file('themed/assets/theme.css', css)
    return join(folder, 'themed')
  }

  it('is the page’s background in each scheme; without a theme the browser decides', () => {
    expect(metaOf({})).toEqual([auto])
    expect(metaOf({ views: theme.pages.views })).toEqual([
      auto,
      '<meta name="theme-color" content="#fffdf7" media="(prefers-color-scheme: light)">',
      '<meta name="theme-color" content="#211f1a" media="(prefers-color-scheme: dark)">',
    ])
    expect(metaOf({ views: theme.pages.views, scheme: 'dark' })).toEqual([
      dark,
      '<meta name="theme-color" content="#211f1a">',
    ])
    expect(metaOf({ views: theme.pages.views, scheme: 'light' })).toEqual([
      light,
      '<meta name="theme-color" content="#fffdf7">',
    ])
  })

  it.each([
    [
      'one colour for both',
      ':root{--surface:rgb(1 2 3)}',
      ['<meta name="theme-color" content="rgb(1 2 3)">'],
    ],
    ['a comment', '/* :root { --surface: red } */', []],
    ['no colour', ':root { --surface: var(--x) }', ['']],
    ['markup', ':root { --surface: "><script> }', []],
  ])('with %s in theme.css (39)', (_what, css, expected) => {
    const found = metaOf({ views: views(css) }).slice(1)
    expect(found).toEqual(expected.filter((tag) => tag !== ''))
  })
})

describe('the custom properties', () => {
  it('stand for every font, corner and width, so that a theme changes all of them (39)', () => {
    const css = ['style.css', 'management.css', 'operator.css'].map(
      (name) => viewsOf({}).asset(name)?.body.toString() ?? '',
    )
    const [, ...rest] = (css[0] ?? '').split('}')
    const rules = [...rest, css[1]].join('}')
    expect(css[0]).toMatch(/--font:.*--mono:.*--radius:.*--radius-card:.*--width:.*--space:/s)
    expect(rules).not.toMatch(/system-ui|monospace|border-radius:(?!50%|999px|0|var|min)|max-width:26rem/)
    for (const name of ['font', 'mono', 'radius', 'radius-card', 'width', 'space'])
      expect(rules).toContain(`var(--${name})`)
  })
})
