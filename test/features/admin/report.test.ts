import type { AuthRouterOptions } from '../../../lib/index.ts'
import { serverBehind } from '../../../lib/router.ts'
import { assess } from '../../../lib/tools/assessment/requirements.ts'
import { startHost } from '../../support/host.ts'
import { RawBrowser, textOf } from '../../support/raw-browser.ts'

/** The report of a server with these options, as an administrator reads it. */
const reportOf = async (options: Partial<AuthRouterOptions> = {}) => {
  const admin = { allow: () => 'carol' }
  const host = await startHost({
    clients: [],
    options: { ...options, features: { ...options.features, admin } },
  })
  const page = await new RawBrowser(host.app).get('/oauth/admin/report')
  expect(page.status).toBe(200)
  const text = textOf(page).replaceAll('&#39;', "'")
  const rows = assess(serverBehind(host.oauth)!.options)
  await host.close()
  const groups = [...page.html.matchAll(/<h2 class="part" id="([\w-]+)">[\s\S]*?(?=<h2|<\/main)/g)]
  return { text, rows, groups: new Map(groups.map(([html, kind]) => [kind, html])) }
}

test('the page has each requirement once, below its state, with what decides it', async () => {
  const { text, rows, groups } = await reportOf()
  for (const { document, number, reason, state } of rows) {
    if (state !== 'not met')
      expect(text.split(`${document} §${number} Setting or proof ${reason}`)).toHaveLength(2)
    expect(groups.get(state.replace(' ', '-'))).toContain(`${document} §${number}<`)
  }
  expect([...groups.keys()]).toEqual(['not-met', 'host', 'by-configuration', 'met'])
})

test('of what is not met, the page has each setting once, with every standard that asks for it', async () => {
  const { rows, groups } = await reportOf()
  const open = rows.filter(({ state }) => state === 'not met')
  const settings = [...new Set(open.map(({ reason }) => reason))]
  expect(settings.length).toBeLessThan(open.length)
  const shown = textOf({ html: groups.get('not-met') ?? '' } as never).replaceAll('&#39;', "'")
  for (const setting of settings) expect(shown.split(`Set ${setting} `)).toHaveLength(2)
  expect(shown).toMatch(new RegExp(`^What to set ${settings.length} `))
})

test('the page is of the running server: a setting moves its requirement', async () => {
  const pushed = 'OWASP ASVS 5 §10.4.13<'
  expect((await reportOf()).groups.get('not-met')).toContain(pushed)
  const { groups } = await reportOf({
    features: { pushedRequests: { required: true } },
  })
  expect(groups.get('by-configuration')).toContain(pushed)
  expect(groups.get('not-met')).not.toContain(pushed)
})
