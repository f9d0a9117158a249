// What choices cost: a guard with a choice asks the database nothing more, and a host without the option has none of it.
import { personalAccessTokens } from '../../lib/features/index.ts'
import { authorizeUrl, clients, type Host, startHost } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { answerOf, guarded, introspect, redeem } from '../support/tokens.ts'

const scope = 'openid notes:read notes:write offline_access'
const api = 'https://api.example.com/notes'
const projects = Array.from({ length: 200 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` }))
const choices = {
  project: {
    name: { one: 'project', other: 'projects' },
    scopes: ['notes:read'],
    list: (_user: object, { after = '0', limit }: { after?: string; limit: number }) => {
      const end = Number(after) + limit
      return { items: projects.slice(Number(after), end), next: end < 200 ? String(end) : null }
    },
    find: (_user: object, { ids }: { ids: readonly string[] }) =>
      projects.filter(({ id }) => ids.includes(id)),
  },
}
const hosts: Host[] = []
const startWith = async (options: object): Promise<Host> => {
  const host = await startHost({
    clients: [{ ...clients[0]!, scope }],
    options: {
      limits: false,
      resources: { [api]: { scopes: ['notes:read'], accessToken: 'jwt' } },
      features: [personalAccessTokens()],
      ...options,
    },
  })
  hosts.push(host)
  return host
}
afterAll(() => Promise.all(hosts.map((host) => host.close())))

const signedIn = async (host: Host): Promise<RawBrowser> => {
  const browser = new RawBrowser(host.app)
  await browser.signIn(await browser.open('/oauth/account'))
  return browser
}
const request = (fields: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope, prompt: 'consent', ...fields })

test('a guard with a choice among 200 sends the statements of one without, also for a refusal', async () => {
  const host = await startWith({ choices })
  const { oauth } = host
  host.app.get('/any', oauth.requireToken('notes:read'), (_req, res) => void res.end())
  const guard = oauth.requireToken('notes:read', { choice: { project: (req) => req.params.id } })
  host.app.get('/of/:id', guard, (_req, res) => void res.end())
  const browser = await signedIn(host)
  const page = await browser.submit(await browser.open(request()), 'name="decision"', {
    decision: 'things:project',
  })
  let shown = page
  for (let turns = 0; turns < 4; turns += 1) {
    const ids = [...shown.html.matchAll(/name="thing:(p\d+)"/g)].map(([, id]) => [`thing:${id}`, 'on'])
    const decision = turns < 3 ? 'next' : 'use'
    shown = await browser.submit(shown, 'name="decision"', { decision, ...Object.fromEntries(ids) })
  }
  const answer = await answerOf(redeem(host, codeOf(await browser.decide(shown, 'allow'))))
  const count = await countStatements(host.database.knex, [])
  const statements = async (path: string, status: number): Promise<readonly string[]> => {
    count.reset()
    expect((await guarded(host, answer.access_token, path)).status).toBe(status)
    return [...count.ours]
  }
  const without = await statements('/any', 200)
  expect(without.length).toBeGreaterThan(0)
  expect(await statements('/of/p100', 200)).toEqual(without)
  expect(await statements('/of/other', 403)).toEqual(without)
})

test('without the option, pages and tokens have nothing of it', async () => {
  const host = await startWith({})
  const browser = await signedIn(host)
  const consent = await browser.open(request())
  const code = codeOf(await browser.decide(consent, 'allow'))
  const tokens = await answerOf(redeem(host, code))
  expect(Object.keys(tokens).sort()).toEqual([
    'access_token',
    'expires_in',
    'id_token',
    'refresh_token',
    'scope',
    'token_type',
  ])
  const { body } = await introspect(host, tokens.access_token)
  expect(body).not.toHaveProperty('authorization_details')
  const jwt = await answerOf(
    redeem(host, codeOf(await browser.decide(await browser.open(request({ resource: api })), 'allow')), {
      resource: api,
    }),
  )
  expect(claimsOf(jwt.access_token)).not.toHaveProperty('authorization_details')
  const pages = [
    consent,
    await browser.open('/oauth/account'),
    await browser.open('/oauth/account/tokens/new'),
  ]
  for (const { html, url } of pages)
    expect({
      page: url.pathname,
      has: html.match(/choice:|thing:|preset|duration|choices\.css|Needed/),
    }).toEqual({ page: url.pathname, has: null })
  expect((await browser.open('/oauth/account/access?client_id=web')).status).not.toBe(200)
})
