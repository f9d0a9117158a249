import { admin, pushedRequests } from '../../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../../lib/index.ts'
import { serverBehind } from '../../../lib/router.ts'
import { assess } from '../../../lib/tools/assessment/requirements.ts'
import { type Host, startHost } from '../../support/host.ts'
import { RawBrowser, textOf } from '../../support/raw-browser.ts'
import { tokensFor } from '../../support/tokens.ts'

/** The report of a server with these options, as an administrator reads it. */
const reportOf = async (options: Partial<AuthRouterOptions> = {}) => {
  const host = await startHost({
    clients: [],
    options: { ...options, features: [...(options.features ?? []), admin({ allow: () => 'carol' })] },
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
    features: [pushedRequests({ required: true })],
  })
  expect(groups.get('by-configuration')).toContain(pushed)
  expect(groups.get('not-met')).not.toContain(pushed)
})

describe('the clients that a setting affects', () => {
  const create = (host: Host, client_id: string, more: object = {}) =>
    host.oauth.clients.create({ client_id, client_name: client_id.toUpperCase(), ...more })
  const settings = async (host: Host): Promise<Map<string, string>> => {
    const page = await new RawBrowser(host.app).get('/oauth/admin/report')
    const rows = page.html.split('<li>').map((html) => textOf({ ...page, html }).replaceAll('&#39;', "'"))
    return new Map(rows.flatMap((row) => (/^Set (\S+)/.test(row) ? [[row.split(' ')[1] ?? '', row]] : [])))
  }

  test('are counted and named by what they are registered for, without those that are disabled', async () => {
    const host = await startHost({
      clients: [],
      options: {
        protocol: { implicit: true },
        features: [admin({ allow: () => 'carol' }), pushedRequests()],
      },
    })
    const redirect_uris = ['https://app.example/cb']
    await create(host, 'old', { redirect_uris, grant_types: ['implicit'], response_types: ['id_token'] })
    await create(host, 'pushes', { redirect_uris, require_pushed_authorization_requests: true })
    await create(host, 'machine', { grant_types: ['client_credentials'] })
    await create(host, 'gone', { redirect_uris })
    await host.oauth.clients.disable('gone')
    const rows = await settings(host)
    expect(rows.get('protocol.implicit:')).toContain('Affects 1 of 3 clients: OLD RFC 9700')
    expect(rows.get('pushedRequests({')).toContain('Affects 1 of 3 clients: OLD FAPI')
    expect(rows.get('protocol.dpop')).toContain('Affects 3 of 3 clients: MACHINE , OLD , PUSHES RFC')
    expect(rows.get('protocol.fapi2:')).toContain('Affects 3 of 3 clients')
    for (let number = 1; number <= 5; number += 1) await create(host, `more-${number}`, { redirect_uris })
    expect((await settings(host)).get('pushedRequests({')).toContain(
      'Affects 6 of 8 clients: MORE-1 , MORE-2 , MORE-3 , MORE-4 , MORE-5 and 1 other ',
    )
    await host.close()
  })

  test('are those that were seen to use what it forbids, where no registration tells', async () => {
    const host = await startHost({
      options: { codeChallengeMethods: ['S256', 'plain'], features: [admin({ allow: () => 'carol' })] },
    })
    const shown = async () => (await settings(host)).get('codeChallengeMethods:')
    const total = (await host.oauth.clients.list()).length
    await tokensFor(host, {}, {}, { agent: new RawBrowser(host.app) })
    expect(await shown()).toContain(`Affects 0 of ${total} clients, by the newest sign-ins RFC 9700`)
    const verifier = 'a'.repeat(43)
    const plain = { code_challenge: verifier, code_challenge_method: 'plain' }
    await tokensFor(host, plain, { code_verifier: verifier }, { agent: new RawBrowser(host.app) })
    expect(await shown()).toContain(`Affects 1 of ${total} clients, by the newest sign-ins: `)
    await host.close()
  })
})
