// No page is a dead end: it has a link, a form or a button, or its words say where to go.
import { allSamples, createViews, look } from '../support/views.ts'

/** A host without a home page or any other page of its own, so that only what the page itself offers counts. */
const views = createViews({ pages: look({ name: 'Acme' }), basePath: '/oauth' })

/** States that know no address, with the words that lead on. */
const inWords: Readonly<Record<string, string>> = {
  error: 'Go back to it and try again',
  'error-development': 'Go back to it and try again',
  'error-fault': 'Please try again in a moment',
  'error-unknown-client': 'remove the connection in the app and add it again',
  'device-denied': 'You can close this page',
}

test.each(allSamples.map((sample) => [sample.name, sample] as const))(
  '%s leads on',
  (name, { page, model }) => {
    const html = views.render(page, model as never, { language: 'en' })
    const main = /<main[\s\S]*<\/main>/.exec(html)?.[0] ?? ''
    const words = inWords[name]
    if (words === undefined) expect(main).toMatch(/<a\b[^>]*\bhref=|<button\b/)
    else expect(main).toContain(words)
  },
)
