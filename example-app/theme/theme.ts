import { join } from 'node:path'
import type { AuthRouterOptions } from 'latchkey'
import { dutch } from './dutch.ts'
import { scopes } from './scopes.ts'

/** Another look for the pages, and one more language: `npm start -- --theme`. Everything else stays unchanged. */
export const theme = {
  pages: {
    // A layout, a page, a partial, a stylesheet and a logo. docs/pages.md lists what else the folder can contain.
    views: join(import.meta.dirname, 'views'),
    name: 'Notes',
    logo: new URL('./views/assets/sheet.svg', import.meta.url),
    accent: '#2f6b4f',
    locales: { nl: { texts: dutch } },
  },
  scopes,
} satisfies AuthRouterOptions
