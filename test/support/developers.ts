import { developers } from '../../lib/features/index.ts'
import type { AuthEvent } from '../../lib/index.ts'
import { authorizeUrl, type Host, laterHost } from './host.ts'
import { codeOf } from './outcomes.ts'
import { type Answer, RawBrowser } from './raw-browser.ts'
import { ada, bob, redeem } from './tokens.ts'

export const root = '/oauth/developer'
export const redirectUri = 'https://desk.example.com/callback'
/** What was announced. */
export const events: AuthEvent[] = []
/** What `allow` returns, by the name of the user; a function as `redirectUris` takes the place of the usual one. */
export const says: Record<string, unknown> = {}

export const developerOptions = {
  allow: (user: { readonly email?: unknown }) => says[String(user.email)] as boolean,
  maxClients: 3,
  scopes: ['openid', 'profile', 'offline_access', 'notes:read'],
  redirectUris: (uri: string) =>
    typeof says.redirectUris === 'function' ? says.redirectUris(uri) : !uri.includes('//forbidden.'),
}

export const host = laterHost({ options: { features: [developers(developerOptions)] } })

/** To be called once by a test file. Before each test both users may register clients, and have none. */
export const withDevelopers = (): void => {
  beforeAll(async () => {
    await host.start()
    host.oauth.events.on('*', (event) => events.push(event))
  })
  afterAll(host.close)
  beforeEach(async () => {
    delete says.redirectUris
    Object.assign(says, { [ada.email]: true, [bob.email]: true })
    for (const name of ['client_owners', 'throttles']) await host.table(name).delete()
    events.length = 0
  })
  afterEach(() => jest.restoreAllMocks())
}

export const typesOf = () => events.map(({ type }) => type).filter((type) => type.startsWith('client.'))

/** A browser in which a developer is signed in. */
export const signedIn = async (as = ada, at: Pick<Host, 'app'> = host): Promise<RawBrowser> => {
  const agent = new RawBrowser(at.app)
  await agent.signIn(await agent.open(root), as.email, as.password)
  return agent
}

export const desk = { client_name: 'Order Desk', redirect_uris: redirectUri, 'scopes:notes:read': 'on' }

export const sent = async (
  agent: RawBrowser,
  path: string,
  fields: Record<string, string>,
): Promise<Answer> => agent.submit(await agent.open(root + path), 'name="decision"', fields)

const idOf = ({ url }: Answer): string => url.searchParams.get('client_id') ?? ''
export const secretOf = ({ html }: Answer) => / id="secret" dir="ltr">([^<]+)</.exec(html)?.[1]
export const stateOf = async (agent: RawBrowser, clientId: string) =>
  /id="state">(.*?)</.exec((await agent.open(`${root}/client?client_id=${clientId}`)).html)?.[1]

/** A new client. */
export const register = async (agent: RawBrowser, fields: Record<string, string> = {}) => {
  const page = await sent(agent, '/new', { ...desk, ...fields })
  return { page, clientId: idOf(page), secret: secretOf(page) }
}

/** What a client of a developer gets: the status of the token request, or that of the request before it. */
export const tokensOf = async (clientId: string, secret = '', scope = 'openid notes:read') => {
  const request = authorizeUrl({ client_id: clientId, scope, redirect_uri: redirectUri })
  const done = await new RawBrowser(host.app).grant(request)
  if (done.location === undefined) return { status: done.status, html: done.html }
  const code = codeOf(done, { redirectUri })
  const fields = { client_id: clientId, client_secret: secret, redirect_uri: redirectUri }
  const { status } = await redeem(host, code, fields)
  return { status, html: '' }
}
