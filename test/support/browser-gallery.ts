import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { previewPages } from '../../lib/cli/preview-pages.ts'
import type { Sample } from '../../lib/pages/sample.ts'
import { samples } from '../../lib/pages/samples.ts'
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

const branding = {
  name: 'Acme',
  links: { forgotPassword: '/forgot', signUp: '/sign-up', help: '/help', privacy: '/privacy' },
}

/** The states of all pages as `latchkey preview` shows them, with `inPage` (support/in-page.js) in each of them. */
export const openGallery = async (states: readonly Sample[] = samples): Promise<Gallery> => {
  const server = await openServer()
  server.serve(
    previewPages({ branding, login: {}, views: undefined, defaultLocale: 'en', locales: {}, scopes: {} }),
  )
  const lengthOf = async (name: string): Promise<number> =>
    (await (await fetch(`${server.origin}/en/${name}`)).text()).length
  const sizes = await Promise.all(
    states.map(async ({ name, page }) => ({ name, page, length: await lengthOf(name) })),
  )
  const prepared = new WeakSet<Page>()
  return {
    names: states.map(({ name }) => name),
    fullest: [...new Set(states.map(({ page }) => page))].map(
      (kind) =>
        sizes
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
