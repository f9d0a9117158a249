import { allSamples, createLanguages, createViews, look } from '../support/views.ts'

// The title is what a screen reader says first, and what a tab shows. It says what the page is, as its heading does, or what was
// done. The name of the product stands behind each title, so that a heading may have it and the title not.

const languages = createLanguages({ pages: look(), scopes: {} })
const views = createViews({ pages: look({ name: 'Acme' }), basePath: '', languages })
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** What a reader of a part of a page reads, without tags beside a heading and monograms. */
const words = (html = ''): string =>
  html
    .replace(/<span class="(?:tag|disc)[^>]*>[^<]*<\/span>|<[^>]+>/g, '')
    .replace(/&(\w+|#39);/g, (all, name: string) => entities[name] ?? all)
    .replace(/[\p{Cf}\s]+/gu, ' ')
    .trim()
const first = (html: string, pattern: RegExp): string => words(pattern.exec(html)?.[1])

/** Headings that have a shorter title. */
const short: Readonly<Record<string, string>> = { login: 'login.title', consent: 'consent.title' }

describe.each(languages.tags)('in the language %s', (language) => {
  const text = languages.text(language)
  const surround = (title: string): string => words(text.plain('title.page', { title, product: 'Acme' }))
  const failed = (title: string): string => words(text.plain('title.error', { title }))

  test('the title of every page is its heading, or what was done', () => {
    const wrong = allSamples.flatMap(({ name, page, model }) => {
      // Pages for operators are in English.
      if (page.startsWith('operator-') && language !== 'en') return []
      const html = views.render(page, model as never, { language, choices: [] })
      const title = first(html, /<title>([\s\S]*?)<\/title>/)
      const heading = first(html, /<h1[^>]*>([\s\S]*?)<\/h1>/)
      const done = [
        /<p class="notice" role="status"[^>]*>([\s\S]*?)<\/p>/,
        /<section class="secret"[^>]*>\s*<h2[^>]*>([\s\S]*?)<\/h2>/,
      ].map((pattern) => first(html, pattern).replace(/[.。]$/, ''))
      const key = short[page]
      const { client } = model as { client?: { name: string } }
      const shorter = key === undefined ? [] : [words(text.plain(key, { client: client?.name ?? '' }))]
      const said = [heading, ...done, ...shorter].filter(Boolean).map(surround)
      return [...said, ...said.map(failed)].includes(title) ? [] : [{ name, title, said }]
    })
    expect(wrong).toEqual([])
  })
})
