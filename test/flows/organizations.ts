import supertest from 'supertest'
import type { AuthEvent, AuthRouterOptions, HostUser, Organization } from '../../lib/index.ts'
import { authorizeUrl, callback, clients, laterHost, secret } from '../support/host.ts'
import { codeOf, withoutOwnScript } from '../support/outcomes.ts'
import { type Answer, pageOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, redeem, type TokenAnswer } from '../support/tokens.ts'

export const acme: Organization = { id: 'acme', name: 'Acme & Sons' }
export const globex: Organization = { id: '7f0c-globex', name: 'Globex' }
export const initech: Organization = { id: 'initech', name: 'Initech' }

/** Who belongs where, by subject; what stands here is what the host answers. */
export const members = new Map<string, unknown>()
/** The calls of the host's function. */
export const told: { user: HostUser; hasRequest: boolean }[] = []
/** What was logged as an error. */
export const logged: unknown[][] = []

/** What makes a host one with workspaces. */
export const options: Partial<AuthRouterOptions> = {
  limits: false,
  organizations: async (user, { req }) => {
    told.push({ user, hasRequest: req !== undefined })
    const answer = members.get(String(user.id))
    if (answer instanceof Error) throw answer
    return answer as Organization[]
  },
  logger: { info: () => {}, warn: () => {}, error: (...words) => void logged.push(words) },
}

export const host = laterHost({
  options,
  clients: [
    ...clients,
    {
      client_id: 'ours',
      client_name: 'Ours',
      client_secret: secret,
      redirect_uris: [callback],
      scope: 'openid',
      first_party: true,
    },
  ],
})
/** What was announced. */
export const events: AuthEvent[] = []

/** To be called once by a test file. Before each test ada is in two workspaces, bob in one, and nothing was allowed. */
export const withOrganizations = (): void => {
  beforeAll(async () => {
    signedIn.clear()
    await host.start()
    host.app.get(
      '/api/organization',
      host.oauth.requireToken(),
      (req, res) => void res.json({ organization: req.auth.organization ?? null }),
    )
    host.oauth.events.on('*', (event) => events.push(event))
  })
  afterAll(host.close)
  afterEach(() => jest.restoreAllMocks())
  beforeEach(async () => {
    members.clear()
    members.set('1', [acme, globex])
    members.set('2', [initech])
    for (const list of [told, logged, events]) list.length = 0
    for (const name of ['consents', 'consent_receipts', 'authorizations']) await host.table(name).delete()
  })
}

export const browser = () => new RawBrowser(host.app)
export const scope = 'openid email notes:read offline_access'
export const request = { client_id: 'web', scope, state: 's' }
/** What of a hostile name a browser would act upon. */
export const aliveIn = ({ html }: Answer): string[] =>
  ['<script', '<img', "onfocus='", '\u202e', '\0'].filter((text) => withoutOwnScript(html).includes(text))

/** The last browser of each user: most tests need one that is signed in, and not the sign-in. */
const signedIn = new Map<string, RawBrowser>()
const browserOf = ({ email }: typeof ada): RawBrowser => signedIn.get(email)?.clone() ?? browser()
/** A browser after the sign-in, on the page to which the request led. */
export const visit = async (
  parameters: Record<string, string> = request,
  as = ada,
  agent = browserOf(as),
) => {
  const page = await agent.open(authorizeUrl(parameters))
  const answer = page.url.pathname.endsWith('/login') ? await agent.signIn(page, as.email, as.password) : page
  signedIn.set(as.email, agent)
  return { agent, answer }
}
/** A browser on the consent page, or where a workspace is to be chosen. */
export const asked = async (
  parameters: Record<string, string> = request,
  as = ada,
  agent = browserOf(as),
) => {
  const { answer: page } = await visit(parameters, as, agent)
  expect(pageOf(page)).toMatch(/^200 \/(consent|organization)$/)
  return { agent, page }
}
/** The workspaces from which a page lets the user choose, by name. */
export const choicesOf = ({ html }: Answer) =>
  [...html.matchAll(/<button name="organization"[^>]*><span><bdi>([^<]*)</g)].map(([, name]) => name)
/** The workspace that a consent page is for. */
export const shownIn = ({ html }: Answer) => /id="organization">([^<]*)</.exec(html)?.[1]
/** Goes from the consent page to the choice of another workspace. */
export const change = (agent: RawBrowser, page: Answer) =>
  agent.submit(page, 'value="organization"', { decision: 'organization' })
/** Chooses a workspace, on the page for it or from the consent page. */
export const choose = async (agent: RawBrowser, page: Answer, { id }: Organization) => {
  const list = pageOf(page) === '200 /organization' ? page : await change(agent, page)
  return agent.submit(list, 'name="organization"', { organization: id })
}
/** Allows the client in a workspace, unless it has been allowed there. */
export const pick = async (agent: RawBrowser, page: Answer, organization: Organization) => {
  const chosen = await choose(agent, page, organization)
  return pageOf(chosen) === '200 /consent' ? agent.decide(chosen, 'allow') : chosen
}
/** Tokens for a workspace that is chosen on the page. */
export const tokensFor = async (
  organization: Organization,
  agent = browserOf(ada),
): Promise<{ agent: RawBrowser; tokens: TokenAnswer }> => {
  const { page } = await asked(request, ada, agent)
  return { agent, tokens: await answerOf(redeem(host, codeOf(await pick(agent, page, organization)))) }
}
/** A route of the host's that answers with the workspace of the token. */
export const guarded = ({ access_token }: TokenAnswer) =>
  supertest(host.app).get('/api/organization').set('Authorization', `Bearer ${access_token}`)
