import { join } from 'node:path'
import type { AuthRouterOptions } from 'latchkey'
import { dutch } from './dutch.ts'
import { scopes } from './scopes.ts'

/** Another look for the pages, and one more language: `npm start -- --theme`. What it does not say stays as it is. */
export const theme = {
  // A layout, a page, a partial of its own, a stylesheet and a logo: docs/pages.md says what else may stand there.
  views: join(import.meta.dirname, 'views'),
  branding: { name: 'Notes', logo: '/oauth/assets/sheet.svg', accent: '#2f6b4f' },
  locales: { nl: { texts: dutch } },
  scopes,
} satisfies AuthRouterOptions
