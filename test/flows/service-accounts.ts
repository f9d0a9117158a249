// A host whose organizations have service accounts: what stands here is what the host answers.
import { serviceAccounts } from '../../lib/features/index.ts'
import type { AuthEvent, AuthRouterOptions, Organization } from '../../lib/index.ts'
import { clients, type Host, laterHost, secret } from '../support/host.ts'
import { formOf, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, type bob, guarded, post } from '../support/tokens.ts'

export const jwtApi = 'https://api.example.com/tasks'

const names: Readonly<Record<string, string>> = { acme: 'Acme & Sons', globex: 'Globex' }
export const admin = (id: string): Organization => ({ id, name: names[id] ?? id, role: 'admin' })
export const member = (id: string): Organization => ({ id, name: names[id] ?? id })

/** The organizations of each user, by subject; a test changes them. */
export const members = new Map<string, readonly Organization[]>()
/** The projects that a user may give, by subject. */
export const projects = new Map<string, readonly { readonly id: string; readonly name: string }[]>()

const projectsOf = (id: unknown) => projects.get(String(id)) ?? []

export const options: Partial<AuthRouterOptions> = {
  // Pruning never settles.
  database: { prune: false },
  scopes: {
    'tasks:read': { description: 'See tasks', group: 'read' },
    'tasks:write': { description: 'Change tasks', group: 'change' },
    'notes:read': 'See notes',
  },
  organizations: (user) => [...(members.get(String(user.id)) ?? [])],
  choices: {
    project: {
      name: { one: 'project', other: 'projects' },
      scopes: ['tasks:read', 'tasks:write'],
      list: ({ id }, { limit, after = '0', search = '' }) => {
        const found = projectsOf(id).filter(({ name }) => name.includes(search))
        const end = Number(after) + limit
        const items = found.slice(Number(after), end)
        return { items, total: found.length, ...(end < found.length && { next: String(end) }) }
      },
      find: ({ id }, { ids }) => projectsOf(id).filter((project) => ids.includes(project.id)),
    },
  },
  resources: { [jwtApi]: { scopes: ['tasks:read'], accessToken: 'jwt' } },
  features: [serviceAccounts({ maxPerOrganization: 3 })],
}

export const host = laterHost({
  options,
  clients: [
    ...clients,
    { client_id: 'api', client_secret: secret, grant_types: [], may_introspect: true },
  ].map((client) => ({ ...client, ...(client.scope !== undefined && { scope: 'openid notes:read' }) })),
})

/** The accounts of the host's own functions. */
export const accounts = () => {
  const { serviceAccounts: found } = host.oauth as typeof host.oauth & {
    serviceAccounts: import('../../lib/features/index.ts').ServiceAccountAdministration
  }
  return found
}

/** Everything that was announced. */
export const events: AuthEvent[] = []

/** To be called once by a test file: before each test there is no account, ada administers acme, and bob globex. */
export const withServiceAccounts = (): void => {
  beforeAll(async () => {
    await host.start()
    const any = { user: false }
    host.app.get('/api/who', host.oauth.requireToken('tasks:read', any), ({ auth }, res) => {
      const { clientId, organization, subject = null, scopes } = auth
      res.json({ clientId, organization, subject, scopes, projects: auth.chosen('project') })
    })
    const ofProject = host.oauth.requireToken('tasks:read', {
      ...any,
      choice: { project: (req) => String(req.params.id) },
    })
    host.app.get('/api/projects/:id', ofProject, (_req, res) => {
      res.json('reached')
    })
    host.app.get(
      '/api/jwt',
      host.oauth.requireToken('tasks:read', { ...any, resource: jwtApi }),
      ({ auth }, res) => {
        res.json({ organization: auth.organization, projects: auth.chosen('project') })
      },
    )
    host.oauth.events.on('*', (event) => void events.push(event))
  })
  afterAll(host.close)
  afterEach(() => jest.restoreAllMocks())
  beforeEach(async () => {
    for (const { clientId, organization } of [
      ...(await accounts().list('acme')),
      ...(await accounts().list('globex')),
    ])
      await accounts().remove(organization, clientId)
    members.clear()
    members.set('1', [admin('acme'), member('globex')])
    members.set('2', [admin('globex')])
    projects.set('1', [
      { id: 'p1', name: 'Hiring plan' },
      { id: 'p2', name: 'Office move' },
    ])
    projects.set('2', [{ id: 'b1', name: 'Bob’s own' }])
    events.length = 0
  })
}

/** A browser in which a user has signed in a moment ago. */
export const signedIn = async (person?: typeof bob, given: Pick<Host, 'app'> = host): Promise<RawBrowser> => {
  const agent = new RawBrowser(given.app)
  await agent.signIn(await agent.open('/oauth/account'), person?.email, person?.password)
  return agent
}

export const listUrl = '/oauth/organization/accounts?organization=acme'
export const newUrl = '/oauth/organization/accounts/new?organization=acme'
const accountUrlOf = (path: string, clientId: string, organization = 'acme'): string =>
  `/oauth/organization/account${path}?${new URLSearchParams({ organization, account: clientId })}`
export const accountUrl = (clientId: string, organization?: string) =>
  accountUrlOf('', clientId, organization)
export const editUrl = (clientId: string, organization?: string) =>
  accountUrlOf('/edit', clientId, organization)
export const confirmUrl = (clientId: string, act: string, organization?: string) =>
  `${accountUrlOf('/confirm', clientId, organization)}&act=${act}`

/** The fields of a form that makes an account for two projects. */
export const filledIn = {
  name: 'Nightly export',
  'scope:tasks:read': 'on',
  'choice:project': 'these',
  'thing:project:p1': 'on',
  days: '30',
  decision: 'save',
}

/** An account, made by the host's functions. */
export const make = async (
  more: Partial<Parameters<ReturnType<typeof accounts>['create']>[1]> = {},
  organization = 'acme',
) => {
  const made = await accounts().create(organization, {
    name: 'Nightly export',
    scopes: ['tasks:read'],
    choices: { project: ['p1'] },
    ...more,
  })
  return { clientId: made.clientId, secret: made.secret ?? '' }
}

interface Credentials {
  readonly clientId: string
  readonly secret: string
}

/** A request of an account for a token. */
export const ask = (
  { clientId, secret: client_secret }: Credentials,
  more: Record<string, string> = {},
  given: Pick<Host, 'app'> = host,
) => post(given, { grant_type: 'client_credentials', client_id: clientId, client_secret, ...more })

export const tokenOf = async (credentials: Credentials, more?: Record<string, string>): Promise<string> =>
  (await answerOf(ask(credentials, more))).access_token

/** What an API learns from a token. */
export const who = (token: string, path = '/api/who', given: Pick<Host, 'app'> = host) =>
  guarded(given, token, path)

/** The secret that a page shows once; undefined if it shows none. */
export const shownSecret = ({ html }: { readonly html: string }): string | undefined =>
  /<code id="secret"[^>]*>([^<]+)</.exec(html)?.[1]

/** The page of the account in whose URL the browser is. */
export const shownId = ({ url }: { readonly url: URL }): string => url.searchParams.get('account') ?? ''

export const hasForm = (html: string, has: string): boolean => {
  try {
    formOf(html, has)
    return true
  } catch {
    return false
  }
}
