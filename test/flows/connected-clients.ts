import type { AuthEvent } from '../../lib/index.ts'
import { authorizeUrl, callback, clients, type HostSettings, laterHost, secret } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, redeem, type TokenAnswer } from '../support/tokens.ts'

export const account = '/oauth/account'
const others = 'https://other.example.com/callback'

/** A host with a client of another site and a first-party client. */
export const settings: HostSettings = {
  clients: [
    ...clients,
    { client_id: 'other', client_name: 'Other client', client_secret: secret, redirect_uris: [others] },
    {
      client_id: 'ours',
      client_name: 'Ours',
      client_secret: secret,
      redirect_uris: [callback],
      scope: 'openid profile offline_access',
      first_party: true,
    },
  ],
  options: { limits: false },
}

export const host = laterHost(settings)
/** What was announced. */
export const events: AuthEvent[] = []

/** To be called once by a test file. Before each test no user is signed in, and no client is allowed. */
export const withAccounts = (): void => {
  beforeAll(async () => {
    await host.start()
    host.oauth.events.on('*', (event) => events.push(event))
  })
  afterAll(host.close)
  afterEach(() => jest.restoreAllMocks())
  beforeEach(async () => {
    events.length = 0
    for (const name of ['consents', 'authorizations', 'logins']) await host.table(name).delete()
  })
}

/** Authorization requests of two clients. */
export const web = { client_id: 'web', scope: 'openid notes:read offline_access' }
export const otherWeb = { client_id: 'other', scope: 'openid', redirect_uri: others }

/** The clients of the list: name, host, scopes, dates and number of sessions. */
export const clientsOf = ({ html }: Answer) =>
  (html.match(/<details class="client"[\s\S]*?<\/details>/g) ?? []).map((section) => {
    const all = (pattern: RegExp) => [...section.matchAll(pattern)].map(([, text = '']) => text)
    const [name] = all(/class="name"><bdi>(.*?)<\/bdi>/g)
    const [place] = all(/<dd><bdi>(.*?)<\/bdi><\/dd>/g)
    const [lastUsed, since] = all(/<time datetime="(.*?)"/g)
    const [sessions] = all(/<dd>(\d+)<\/dd>/g)
    const [remove = ''] = all(/<a class="button secondary" href="(.*?)"/g)
    return { name, place, scopes: all(/<li>[\s\S]*?<bdi>(.*?)<\/bdi>/g), since, lastUsed, sessions, remove }
  })
export const namesOf = (page: Answer) => clientsOf(page).map(({ name }) => name)

/** A browser in which a user has allowed a client, and its tokens. */
export const allowed = async (
  request: Record<string, string> = web,
  as = ada,
  agent = new RawBrowser(host.app),
): Promise<{ agent: RawBrowser; tokens: TokenAnswer }> => {
  const done = await agent.grant(authorizeUrl(request), as.email, as.password)
  const redirectUri = request.redirect_uri ?? callback
  const fields = { client_id: request.client_id, redirect_uri: redirectUri }
  return { agent, tokens: await answerOf(redeem(host, codeOf(done, { redirectUri }), fields)) }
}

/** The page that asks whether to remove a client. */
export const confirmOf = async (agent: RawBrowser, name: string): Promise<Answer> => {
  const client = clientsOf(await agent.open(account)).find((one) => one.name === name)
  if (client === undefined) throw new Error(`${name} is not in the list`)
  return agent.open(client.remove)
}

/** Removes a client and returns the list. */
export const remove = async (agent: RawBrowser, name: string): Promise<Answer> =>
  agent.submit(await confirmOf(agent, name), 'csrf_token')
