import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openServer } from '../support/client-server.ts'
import { createLanguages, createViews, look, allSamples as states } from '../support/views.ts'

/** Every page in every state, without a server behind it. */
export interface Gallery {
  readonly names: readonly string[]
  /** States that together show every page and every kind of element. */
  readonly sample: readonly string[]
  /** The state of each page with the longest document. */
  readonly fullest: readonly string[]
  /** Opens a state, in English unless told otherwise; what it posts or refreshes to does not exist. */
  show(page: Page, name: string, language?: string): Promise<void>
  close(): Promise<void>
}

const appearance = {
  name: 'Acme',
  links: { forgotPassword: '/forgot', signUp: '/sign-up', help: '/help', privacy: '/privacy' },
}

/** The kinds of elements in a document: by tag, classes, type and names of attributes. */
const kindsIn = (html: string): string[] => {
  const kinds: string[] = []
  for (const [tag, name = '', attributes = ''] of html.matchAll(/<(\w+)([^>]*)>/g)) {
    const [, classes = ''] = / class="([^"]*)"/.exec(tag) ?? []
    const [, type = ''] = / type="([^"]*)"/.exec(tag) ?? []
    const names = attributes
      .replace(/"[^"]*"/g, '')
      .split(/\s+/)
      .sort()
    kinds.push([name, classes, type, ...names].join(' '))
  }
  return kinds
}

const languages = createLanguages({ pages: look(), scopes: {} })

/** Answers with the states of all pages, and lets the browser keep stylesheets and scripts. */
const serveStates = (): {
  listener: RequestListener
  documentOf(name: string, language?: string): string
} => {
  const views = createViews({ pages: look(appearance), basePath: '', languages, cache: true })
  const choices = languages.tags.map((tag) => ({ tag, name: languages.nameOf(tag), url: `/${tag}/login` }))
  const documentOf = (name: string, language = 'en'): string => {
    const state = states.find((each) => each.name === name)
    if (state === undefined) throw new Error(`there is no state ${name}`)
    // The state stays: neither the refresh of `return` nor the script of `form-post` leads away from it.
    return views
      .render(state.page, state.model as never, { language, choices })
      .replace(/<meta http-equiv="refresh"[^>]*>|<script [^>]*form-post[^>]*><\/script>/g, '')
  }
  const listener: RequestListener = (req, res) => {
    const [, first = '', second = ''] = new URL(req.url ?? '/', 'http://localhost').pathname.split('/')
    const asset = first === 'assets' ? views.asset(second) : undefined
    res.setHeader('Content-Type', asset?.type ?? 'text/html; charset=utf-8')
    if (asset) res.setHeader('Cache-Control', 'max-age=3600')
    res.statusCode = asset || languages.tags.includes(first) ? 200 : 204
    res.end(asset?.body ?? (res.statusCode === 200 ? documentOf(second, first) : undefined))
  }
  return { listener, documentOf }
}

interface State {
  readonly name: string
  readonly page: string
  readonly length: number
  readonly kinds: readonly string[]
}

/** Takes the state with the most new kinds again and again, until no kind is missing. */
const cover = (all: readonly State[]): string[] => {
  const missing = new Set(all.flatMap(({ kinds }) => kinds))
  const gain = ({ kinds }: State): number => kinds.filter((kind) => missing.has(kind)).length
  const chosen: string[] = []
  while (missing.size > 0) {
    const best = all.reduce((one, other) => (gain(other) > gain(one) ? other : one))
    chosen.push(best.name)
    for (const kind of best.kinds) missing.delete(kind)
  }
  return chosen
}

/** Serves the states of all pages, with `inPage` (in-page.js) in each of them. */
export const openGallery = async (): Promise<Gallery> => {
  const server = await openServer()
  const { listener, documentOf } = serveStates()
  server.serve(listener)
  const described = states.map(({ name, page }): State => {
    const html = documentOf(name)
    return { name, page, length: html.length, kinds: [...new Set([page, ...kindsIn(html)])] }
  })
  const prepared = new WeakSet<Page>()
  return {
    names: described.map(({ name }) => name),
    sample: cover(described),
    fullest: [...new Set(described.map(({ page }) => page))].map(
      (kind) =>
        described
          .filter(({ page }) => page === kind)
          .reduce((one, other) => (other.length > one.length ? other : one)).name,
    ),
    show: async (page, name, language = 'en') => {
      if (!prepared.has(page)) await page.addInitScript({ path: join(__dirname, 'in-page.js') })
      prepared.add(page)
      await page.goto(`${server.origin}/${language}/${name}`)
      await page.evaluate('inPage.focused()')
    },
    close: () => server.close(),
  }
}
