// A host with two organizations: ada looks after both, bob and the others are members of one.
import { organizationApps } from '../../lib/features/index.ts'
import type { AuthEvent, AuthRouterOptions, ClientSeed, Organization } from '../../lib/index.ts'
import { authorizeUrl, callback, laterHost, secret, startHost } from '../support/host.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, bob, redeem } from '../support/tokens.ts'

export const nordlys: Organization = { id: 'nordlys', name: 'Nordlys AS' }
export const globex: Organization = { id: 'globex', name: 'Globex' }
/** The organizations of each user, by subject; what stands here is what the host answers. */
export const belongs = new Map<string, readonly Organization[]>()
export const events: AuthEvent[] = []

const app = (client_id: string, client_name: string): ClientSeed => ({
  client_id,
  client_name,
  client_secret: secret,
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
  scope: 'openid offline_access notes:read notes:write',
})

export const options: Partial<AuthRouterOptions> = {
  limits: false,
  storedEvents: true,
  organizations: ({ id }) => belongs.get(String(id)) ?? [],
  scopes: {
    'notes:read': { description: 'Read your notes', group: 'read' },
    'notes:write': { description: 'Write notes for you', group: 'change' },
  },
  features: [organizationApps()],
}
const clients = [
  app('web', 'Web client'),
  app('journal', 'Journal'),
  { ...app('ours', 'Ours'), first_party: true },
]
export const host = laterHost({ clients, options })

/** Another server on the same database, as in a second process: they share no memory. */
export const second = () => startHost({ clients, options, database: host.database })

export const scope = 'openid offline_access notes:read notes:write'
export const urlFor = (client_id: string, more: Record<string, string> = {}): string =>
  authorizeUrl({ client_id, scope, state: 's', ...more })

/** To be called once by a test file. Before each test nothing is allowed or decided. */
export const withOrganizationApps = (): void => {
  beforeAll(async () => {
    await host.start()
    host.app.post('/api/notes', host.oauth.requireToken('notes:write'), (_req, res) => void res.json({}))
    host.oauth.events.on('*', (event) => events.push(event))
  })
  afterAll(host.close)
  beforeEach(async () => {
    belongs.clear()
    belongs.set('1', [
      { ...nordlys, role: 'admin' },
      { ...globex, role: 'admin' },
    ])
    belongs.set('2', [nordlys])
    events.length = 0
    for (const name of ['consents', 'authorizations', 'organization_app_rules', 'organization_app_requests'])
      await host.table(name).delete()
  })
}

/** A browser in which a user has just signed in to their account. */
export const signedIn = async (as = ada): Promise<RawBrowser> => {
  const agent = new RawBrowser(host.app)
  await agent.signIn(await agent.open('/oauth/account'), as.email, as.password)
  return agent
}

export const at = (page: string, organization = nordlys.id, more: Record<string, string> = {}): string =>
  `/oauth/organization/${page}?${new URLSearchParams({ organization, ...more })}`

/** Where a member ends who asks for access with a client. */
export const visit = (agent: RawBrowser, client = 'journal'): Promise<Answer> =>
  agent.open(urlFor(client, { organization: nordlys.id }))

/** The tokens of a member who allows a client. */
export const tokensOf = async (agent: RawBrowser, client = 'journal') => {
  const page = await visit(agent, client)
  const answer = page.location ? page : await agent.decide(page, 'allow', { 'scope:notes:write': 'on' })
  const code = answer.location?.searchParams.get('code') ?? ''
  return (await redeem(host, code, { client_id: client })).body
}
export const bobs = () => signedIn(bob)
