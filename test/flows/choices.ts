// A host whose users choose projects: what stands here is what the host answers.
import type { AuthRouterOptions } from '../../lib/index.ts'
import { authorizeUrl, callback, clients, type Host, laterHost, secret } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem, type TokenAnswer } from '../support/tokens.ts'

export const api = 'https://api.example.com/tasks'
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const scope = 'openid tasks:read tasks:write offline_access'

interface Project {
  readonly id: string
  readonly name: string
  readonly detail?: string
}

/** The projects of each user, by subject; a test changes them. */
export const projects = new Map<string, readonly Project[]>()
/** What was asked of the host: the function, the user and what it was given. */
export const asked: [name: string, subject: string, asked: Record<string, unknown>][] = []
/** Before `list` or `find` answers. */
export const hooks: { before?: (name: string) => unknown } = {}

export const ofAda: readonly Project[] = [
  { id: 'p1', name: 'Hiring plan' },
  { id: 'p2', name: 'Office move', detail: 'Oslo' },
  { id: 'p3', name: 'Newsletter' },
]

const list = (subject: string): readonly Project[] => projects.get(subject) ?? []

export const options: Partial<AuthRouterOptions> = {
  scopes: {
    'tasks:read': { description: 'See tasks', group: 'read' },
    'tasks:write': { description: 'Change tasks', group: 'change', optional: true },
    'tasks:admin': { description: 'Run everything', implies: ['tasks:read'] },
    'notes:read': 'See notes',
  },
  choices: {
    project: {
      name: { one: 'project', other: 'projects' },
      locales: { de: { one: 'Projekt', other: 'Projekte' } },
      scopes: ['tasks:read', 'tasks:write'],
      async list({ id }, given) {
        asked.push(['list', String(id), { ...given }])
        await hooks.before?.('list')
        const { after = '0', limit, search = '' } = given
        const found = list(String(id)).filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
        const start = Number(after)
        const items = found.slice(start, start + limit)
        const next = start + limit < found.length ? String(start + limit) : undefined
        return { items, total: found.length, ...(next !== undefined && { next }) }
      },
      async find({ id }, given) {
        asked.push(['find', String(id), { ...given }])
        await hooks.before?.('find')
        return list(String(id)).filter((project) => given.ids.includes(project.id))
      },
    },
  },
  resources: { [api]: { scopes: ['tasks:read', 'tasks:write'], accessToken: 'jwt' } },
  protocol: { tokenExchange: { allow: () => true } },
}

export const host = laterHost({
  options,
  clients: [
    {
      ...clients[0]!,
      scope: `${scope} tasks:admin notes:read`,
      grant_types: [...clients[0]!.grant_types!, exchangeGrant],
    },
    {
      client_id: 'strict',
      client_secret: secret,
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      scope,
      required_scope: 'tasks:write',
      token_response_choices: false,
    },
    {
      client_id: 'ours',
      client_secret: secret,
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      scope,
      first_party: true,
    },
  ],
})

/** To be called once by a test file: before each test, nothing was allowed and ada has three projects. */
export const withProjects = (): void => {
  beforeAll(async () => {
    await host.start()
    const guard = host.oauth.requireToken('tasks:read', {
      user: false,
      choice: { project: (req) => req.params.id },
    })
    host.app.get('/api/projects/:id', guard, (req, res) => void res.json({ id: req.params.id }))
    host.app.get('/api/projects', host.oauth.requireToken('tasks:read'), (req, res) => {
      res.json({ projects: req.auth.chosen('project') })
    })
    host.app.get('/api/jwt', host.oauth.requireToken('tasks:read', { resource: api }), (req, res) => {
      res.json({ projects: req.auth.chosen('project') })
    })
  })
  afterAll(host.close)
  beforeEach(async () => {
    for (const name of ['consents', 'authorizations', 'consent_receipts']) await host.table(name).delete()
    projects.clear()
    projects.set('1', ofAda)
    projects.set('2', [{ id: 'b1', name: 'Bob’s own' }])
    asked.length = 0
    hooks.before = undefined
  })
}

/** A browser in which ada has signed in. */
export const signedIn = async (given: Pick<Host, 'app'> = host): Promise<RawBrowser> => {
  const agent = new RawBrowser(given.app)
  await agent.signIn(await agent.open('/oauth/account'))
  return agent
}

export const requestUrl = (fields: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope, ...fields })

/** Fields that choose some projects on the page itself. */
export const these = (...ids: readonly string[]): Record<string, string> => ({
  'choice:project': 'these',
  ...Object.fromEntries(ids.map((id) => [`thing:project:${id}`, 'on'])),
})
export const everything = { 'choice:project': 'all' }

/** Opens the consent page of a request and allows it with these fields. */
export const allow = async (
  agent: RawBrowser,
  fields: Record<string, string>,
  request: Record<string, string> = {},
): Promise<Answer> => agent.decide(await agent.open(requestUrl(request)), 'allow', fields)

/** The tokens after a consent with these fields. */
export const tokensOf = async (
  agent: RawBrowser,
  fields: Record<string, string>,
  request: Record<string, string> = {},
): Promise<TokenAnswer & { authorization_details?: unknown }> =>
  answerOf(redeem(host, codeOf(await allow(agent, fields, request)), { resource: request.resource }))
