import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { theme } from '../../example-app/theme/theme.ts'
import { allSamples, createViews, look } from '../support/views.ts'

const ours = createViews({ pages: look(), basePath: '/oauth' })
const themed = createViews({ pages: look(theme.pages), basePath: '/oauth', cache: true })

/** The files that a document loads, and the elements that scripts and styles look for. */
const partsOf = (html: string) => ({
  styles: [...html.matchAll(/<link rel="stylesheet" href="[^"]*\/([\w.-]+)\?/g)].map(([, name]) => name),
  scripts: [...html.matchAll(/<script src="[^"]*\/([\w.-]+)\?/g)].map(([, name]) => name),
  refresh: /<meta http-equiv="refresh" content="([^"]*)"/.exec(html)?.[1],
  card: /<main class="([^"]*)"/.exec(html)?.[1],
  page: /<body data-page="([^"]*)"/.exec(html)?.[1],
})

describe('the theme of the example', () => {
  test.each(allSamples.map(({ name, page, model }) => ({ name, page, model })))(
    'loads for $name what our own pages load (37)',
    ({ page, model }) => {
      const parts = partsOf(themed.render(page, model as never))
      expect(parts).toEqual(partsOf(ours.render(page, model as never)))
      expect(parts).toMatchObject({ styles: expect.arrayContaining(['style.css']), page })
    },
  )

  it('has a cover on every page, and pages in Dutch (37)', () => {
    for (const { page, model } of allSamples)
      expect(themed.render(page, model as never)).toContain('<aside class="cover">')
  })
})

describe('a layout of the host', () => {
  const folder = mkdtempSync(join(tmpdir(), 'layout-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const own = join(__dirname, '../../views')
  const start = (layout: string) => {
    rmSync(folder, { recursive: true })
    cpSync(join(own, 'partials'), join(folder, 'partials'), { recursive: true })
    writeFileSync(join(folder, 'layout.eta'), layout)
    return createViews({ pages: look({ views: folder }), basePath: '/oauth' })
  }
  const head = "<head><%~ include('partials/head') %></head>"

  // As the example had it.
  const outdated = `<head><title>Mine</title><link rel="stylesheet" href="<%= it.asset('style.css') %>">
    <% if (it.script) { %><script src="<%= it.asset(it.script) %>" defer></script><% } %></head>
    <body><main class="card"><%~ it.body %></main></body>`

  it.each([
    ['an old copy', outdated, /layout\.eta leaves out it\.refresh, .*management\.css.*it\.wide/],
    ['no head', "<%~ include('partials/main') %>", /leaves out .*style\.css, .*form-post\.js/],
    ['no page', head, /leaves out it\.wide, .*it\.body/],
  ])('stops the start if it has %s, and the error says what it leaves out (37)', (_what, layout, error) => {
    expect(() => start(layout)).toThrow(error)
    expect(() => start(layout)).toThrow("include('partials/head')")
  })

  it.each([
    ['with both partials', `${head}<body><b>Mine</b><%~ include('partials/main') %></body>`],
    [
      'that writes out what pages need',
      `<link href='<%= it.asset('style.css') %>' rel=stylesheet><b>Mine</b>
      <script src="<%= it.asset('decision.js') %>"></script><output id="again"></output>
      <% if (it.style) { %><link rel="stylesheet" href="<%= it.asset(it.style) %>"><% } %>
      <% if (it.script) { %><script defer src="<%= it.asset(it.script) %>"></script><% } %>
      <% if (it.refresh) { %><meta content="0; url=<%= it.refresh %>" http-equiv="refresh"><% } %>
      <div class="panel <%= it.wide ? 'wide' : '' %>"><%~ it.body %></div>`,
    ],
  ])('%s is used (37)', (_what, layout) => {
    expect(start(layout).render('return', { url: '/' })).toContain('<b>Mine</b>')
  })

  it('can fill three partials of its own, and style one page by its name (39)', () => {
    start(`${head}<%~ include('partials/main') %>`)
    rmSync(join(folder, 'layout.eta'))
    writeFileSync(
      join(folder, 'partials/head-extra.eta'),
      '<meta name="apple-mobile-web-app-title" content="N">',
    )
    writeFileSync(join(folder, 'partials/above.eta'), '<p>Above <%= it.page %></p>')
    writeFileSync(join(folder, 'partials/below.eta'), '<p>Below</p>')
    const html = createViews({ pages: look({ views: folder }), basePath: '' }).render('return', { url: '/' })
    expect(html).toMatch(
      /content="N">\s*<\/head>\s*<body data-page="return">\s*<p>Above return<\/p>\s*<main[\s\S]*<p>Below<\/p>\s*<\/body>/,
    )
  })
})
