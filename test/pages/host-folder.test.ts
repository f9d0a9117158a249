import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PageModels } from '../../lib/web/pages/page-models.ts'
import { createViews, look } from '../support/views.ts'

const client = { name: 'Order Desk', host: 'desk.example.com', unverified: false }
const login: PageModels['login'] = { action: '/login', hidden: {}, client, username: '', confirm: false }
const appearance = { name: 'Acme' }
const views = createViews({ pages: look(appearance), basePath: '/oauth' })
const title = (html: string): string => /<title>(.*)<\/title>/.exec(html)?.[1] ?? ''

describe('assets', () => {
  it('are found by exact name, with type and entity tag', () => {
    const etag = expect.stringMatching(/^"[\w-]{16}"$/)
    expect(views.asset('style.css')).toMatchObject({ type: 'text/css; charset=utf-8', etag })
    expect(views.asset('icon.svg')?.type).toBe('image/svg+xml')
  })

  it.each(['../login.eta', '..', '', '/etc/passwd', './style.css', 'STYLE.css', '__proto__', 'constructor'])(
    'refuses %j',
    (name) => {
      expect(views.asset(name)).toBeUndefined()
    },
  )

  it('ask for nothing from elsewhere', () => {
    expect(views.asset('style.css')?.body.toString()).not.toMatch(/url\(|@import|https?:/)
  })
})

describe("the host's folder", () => {
  const folder = mkdtempSync(join(tmpdir(), 'views-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const write = (name: string, content: string) => {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  const hosted = () => createViews({ pages: look({ ...appearance, views: folder }), basePath: '/oauth' })

  beforeEach(() => {
    rmSync(folder, { recursive: true })
    mkdirSync(folder)
  })

  it('replaces a page, a partial and the layout; the rest stays ours', () => {
    write('signed-out.eta', `<% layout('layout', { title: 'Bye' }) %><h1>Bye from <%= it.brand.name %></h1>`)
    write('partials/footer.eta', '<footer>ours & yours</footer>')
    const first = hosted()
    expect(first.render('signed-out', {})).toContain('<h1>Bye from Acme</h1>')
    expect(title(first.render('signed-out', {}))).toBe('Bye · Acme')
    expect(first.render('login', login)).toContain('<footer>ours & yours</footer>')
    expect(first.render('login', login)).toContain('id="password"')
    write(
      'layout.eta',
      `<!doctype html><b>Mine</b><%~ include('partials/head') %><%~ include('partials/main') %>`,
    )
    expect(hosted().render('login', login)).toMatch(/^<!doctype html><b>Mine<\/b><meta/)
  })

  it('escapes in its templates too, and prints nothing for what is missing', () => {
    write('return.eta', '<%= it.model.url %>|<%= it.model.missing %>|<%~ it.model.missing %>')
    expect(hosted().render('return', { url: '<b>' })).toBe('&lt;b&gt;||')
  })

  it('adds theme.css to our stylesheet, under a new address', () => {
    write('assets/theme.css', ':root { --accent: #123456 }')
    const style = hosted().asset('style.css')
    expect(style?.body.toString()).toMatch(/--page[\s\S]*--accent: #123456/)
    expect(style?.etag).not.toBe(views.asset('style.css')?.etag)
    expect(hosted().render('login', login)).toContain(style?.etag.replaceAll('"', ''))
  })

  it('serves its logo and nothing that is not an asset', () => {
    write('assets/logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>')
    write('assets/notes.txt', 'private')
    expect(hosted().asset('logo.svg')?.type).toBe('image/svg+xml')
    expect(hosted().asset('notes.txt')).toBeUndefined()
  })

  it('is read again for each page unless cached', () => {
    write('return.eta', 'one')
    const fresh = hosted()
    const cached = createViews({ pages: look({ ...appearance, views: folder }), basePath: '', cache: true })
    expect([fresh, cached].map((each) => each.render('return', { url: '/' }))).toEqual(['one', 'one'])
    write('return.eta', 'two')
    expect([fresh, cached].map((each) => each.render('return', { url: '/' }))).toEqual(['two', 'one'])
  })

  it('has our own pages beside it, for a template that fails', () => {
    write('return.eta', '<%= it.model.client.name %>')
    const failing = hosted()
    expect(() => failing.render('return', { url: '/' })).toThrow()
    expect(failing.renderBuiltIn?.('return', { url: '/' })).toContain('http-equiv')
    expect(views.renderBuiltIn).toBeUndefined()
  })

  it('fails at start-up when it does not exist or a template is broken', () => {
    const directory = join(folder, 'nowhere')
    expect(() => createViews({ pages: look({ ...appearance, views: directory }), basePath: '' })).toThrow(
      'pages.views must be an existing folder',
    )
    write('error.eta', '<% if ( { %>')
    expect(hosted).toThrow(/error\.eta/)
  })
})
