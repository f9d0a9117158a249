import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { samples } from '../../lib/pages/samples.ts'
import { createViews } from '../../lib/pages/views.ts'
import { openServer } from './client-server.ts'

/** Every page in every state, without a server behind it. */
export interface Gallery {
  readonly names: readonly string[]
  /** The state of each page with the longest document. */
  readonly fullest: readonly string[]
  /** Opens a state, in English unless told otherwise; what it posts or refreshes to does not exist. */
  show(page: Page, name: string, language?: string): Promise<void>
  close(): Promise<void>
}

const links = { forgotPassword: '/forgot', signUp: '/sign-up', help: '/help', privacy: '/privacy' }

const languages = { ar: 'العربية', de: 'Deutsch', en: 'English', es: 'Español', fr: 'Français', ja: '日本語' }

/** The states of all pages, with `inPage` (support/in-page.js) in each of them. */
export const openGallery = async (): Promise<Gallery> => {
  const views = createViews({ directory: undefined, branding: { name: 'Acme', links }, basePath: '' })
  const documentOf = (name: string | undefined, language: string): string | undefined => {
    const sample = samples.find((each) => each.name === name)
    // Once for each page is enough: login has them, login-wrong has not.
    const offered = name?.includes('-') === false ? Object.entries(languages) : []
    const choices = offered.map(([tag, own]) => ({
      ...{ tag, name: own },
      ...(tag !== language && { url: `/?language=${tag}` }),
    }))
    // The state stays: neither the refresh of `return` nor the script of `form-post` leads away from it.
    return (
      sample &&
      views
        .render(sample.page, sample.model as never, { language, choices })
        .replace(/<meta http-equiv="refresh"[^>]*>|<script [^>]*>/g, '')
    )
  }
  const server = await openServer()
  server.serve((req, res) => {
    const [, folder = '', name = ''] = new URL(req.url ?? '/', server.origin).pathname.split('/')
    const asset = folder === 'assets' ? views.asset(name) : undefined
    const body = asset?.body ?? documentOf(name, folder)
    res.setHeader('Content-Type', asset?.type ?? 'text/html; charset=utf-8')
    res.statusCode = body === undefined ? 404 : 200
    res.end(body)
  })
  const prepared = new WeakSet<Page>()
  return {
    names: samples.map(({ name }) => name),
    fullest: [...new Set(samples.map(({ page }) => page))].map((kind) => {
      const lengths = samples
        .filter(({ page }) => page === kind)
        .map(({ name }) => ({ name, length: documentOf(name, 'en')?.length ?? 0 }))
      return lengths.reduce((one, other) => (other.length > one.length ? other : one)).name
    }),
    show: async (page, name, language = 'en') => {
      if (!prepared.has(page)) await page.addInitScript({ path: join(__dirname, 'in-page.js') })
      prepared.add(page)
      await page.goto(`${server.origin}/${language}/${name}`)
      await page.evaluate('inPage.focused()')
    },
    close: () => server.close(),
  }
}
