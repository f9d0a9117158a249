import { resolveOptions } from '../../lib/options/resolve.ts'

/** Options as a host without TypeScript may write them. */
const resolve = (options: Record<string, unknown>) =>
  resolveOptions(
    {
      issuer: 'https://app.example.com/oauth',
      database: { client: 'pg' },
      secrets: ['s'.repeat(32)],
      ...options,
    },
    { NODE_ENV: 'test' },
  )
const scope = (more: object) => ({ scopes: { 'orders:read': { description: 'See your orders', ...more } } })

test('English is the default, and nothing else is changed', () => {
  expect(resolve({})).toMatchObject({ pages: { defaultLocale: 'en', locales: {} } })
})

test.each([
  [{ pages: { defaultLocale: 'pt-BR' } }],
  [{ pages: { locales: { 'zh-Hant': { texts: {}, direction: 'ltr' }, ja: false } } }],
  [scope({ locales: { de: { description: 'Ihre Bestellungen sehen' } } })],
  [scope({ details: 'All.', locales: { de: { description: 'Bestellungen', details: 'Alle.' } } })],
])('%j is taken as it is', (options) => {
  expect(resolve(options)).toMatchObject(options)
})

test.each([
  [
    { pages: { defaultLocale: 'german language' } },
    "pages.defaultLocale: 'german language' is not a language tag, such as 'de' or 'pt-BR'",
  ],
  [{ pages: { defaultLocale: 7 } }, "pages.defaultLocale must be a language tag, such as 'de'"],
  [{ pages: { defaultLocale: 'de_AT' } }, "pages.defaultLocale: 'de_AT' is not a language tag"],
  [{ pages: { defaultLocale: 'EN' } }, "pages.defaultLocale: 'EN' must be written as 'en'"],
  [{ pages: { locales: ['de'] } }, 'pages.locales must be an object'],
  [{ pages: { locales: { 'pt-br': { texts: {} } } } }, "pages.locales: 'pt-br' must be written as 'pt-BR'"],
  [{ pages: { locales: { _: { texts: {} } } } }, "pages.locales: '_' is not a language tag"],
  [{ pages: { locales: { de: 'on' } } }, "pages.locales['de'] must be true, false or an object"],
  [{ pages: { locales: { de: {} } } }, "pages.locales['de'].texts is required: an object"],
  [
    { pages: { locales: { de: { text: {} } } } },
    "pages.locales['de'].text is not an option; did you mean pages.locales['de'].texts?",
  ],
  [
    { pages: { locales: { de: { texts: { 'login.title': 1 } } } } },
    "pages.locales['de'].texts['login.title'] must be a string",
  ],
  [
    { pages: { locales: { de: { texts: {}, direction: 'up' } } } },
    "pages.locales['de'].direction must be 'ltr' or 'rtl'",
  ],
  [scope({ details: '' }), "scopes['orders:read'].details must be a string"],
  [scope({ locales: { de: 'Bestellungen' } }), "scopes['orders:read'].locales['de'] must be an object"],
  [scope({ locales: { de: {} } }), "scopes['orders:read'].locales['de'].description is required"],
  [
    scope({ locales: { DE: { description: 'x' } } }),
    "scopes['orders:read'].locales: 'DE' must be written as 'de'",
  ],
  [
    scope({ locales: { de: { descripton: 'x' } } }),
    "scopes['orders:read'].locales['de'].descripton is not an option; did you mean scopes['orders:read'].locales['de'].description?",
  ],
  [
    scope({ details: 'All.', locales: { de: { description: 'x' } } }),
    "scopes['orders:read'].locales['de'].details must be set if and only if scopes['orders:read'].details is set",
  ],
  [
    scope({ locales: { de: { description: 'x', details: 'y' } } }),
    "scopes['orders:read'].locales['de'].details must be set if and only if",
  ],
])('%j is refused', (options, message) => {
  expect(() => resolve(options)).toThrow(message)
})
