import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose'
import supertest from 'supertest'
import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import { authorizeUrl, callback, issuer, laterHost, secret } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { everyClaim, grace, onePerson } from '../support/person.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem, type TokenAnswer, userinfo } from '../support/tokens.ts'

export const confidential = { client_secret: secret, redirect_uris: [callback] }
export const everyScope = 'openid profile email address phone'
export const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

const clients: ClientSeed[] = [
  // ID tokens without scope claims, as dynamically registered clients have them.
  {
    ...confidential,
    client_id: 'lean',
    id_token_scope_claims: false,
    scope: `${everyScope} offline_access roles rank`,
  },
  { ...confidential, client_id: 'full', scope: `${everyScope} roles` },
  { ...confidential, client_id: 'ours', first_party: true },
  { ...confidential, client_id: 'narrow', scope: 'openid' },
  { ...confidential, client_id: 'payroll', scope: 'openid profile roles salary' },
  ...algorithms.map((algorithm) => ({
    ...confidential,
    client_id: `signed-${algorithm}`,
    userinfo_signed_response_alg: algorithm,
  })),
]

export const lean = { client_id: 'lean', scope: 'openid', state: 's' }

export interface Claims {
  readonly userinfo?: object
  readonly id_token?: object
}

/** A request of the client `lean` with the parameter `claims`. */
export const asking = (claims: Claims | string, more: Record<string, string> = {}): string =>
  authorizeUrl({ ...lean, claims: typeof claims === 'string' ? claims : JSON.stringify(claims), ...more })

export interface Received {
  readonly tokens: TokenAnswer
  /** Claims of the user alone. */
  readonly idToken: Record<string, unknown>
  readonly userinfo: Record<string, unknown>
}

const protocol = new Set(['iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'sid', 'at_hash'])
export const ofTheUser = (claims: object) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !protocol.has(name)))

const roles = { description: 'Know your roles', claims: ['roles'], optional: true }
const rank = { description: 'Know your rank', claims: ['rank'] }
const salary: NonNullable<AuthRouterOptions['scopes']>[string] = {
  description: 'Know your salary',
  claims: ['salary', 'rank'],
  optional: true,
  risk: 'high',
}

/** Claims that replace those of the user. */
export const user: { said: Record<string, unknown> } = { said: {} }

/** A host with one user, whose claims a test may change, and clients of several scopes. */
export const host = laterHost({
  clients,
  options: {
    users: { ...onePerson(), claims: () => ({ ...everyClaim, ...user.said }) },
    scopes: { roles, rank, salary },
  },
})

/** To be called once by a test file. Before each test nothing is allowed, and the user has every claim. */
export const withClaims = (): void => {
  beforeAll(host.start)
  afterAll(host.close)
  beforeEach(async () => {
    user.said = {}
    await consents().delete()
  })
}

/** Verifies an ID token of a client, or a JWT of UserInfo. */
export const verify = async (jwt: string, audience: string): Promise<JWTPayload> => {
  const { body } = await supertest(host.app).get('/oauth/jwks')
  const options = { issuer, audience, requiredClaims: ['sub'] }
  return (await jwtVerify(jwt, createLocalJWKSet(body), options)).payload
}

/** What the client of an answer receives. */
export const toldBy = async (answer: Answer, client_id = 'lean'): Promise<Received> => {
  const tokens = await answerOf(redeem(host, codeOf(answer), { client_id }))
  return {
    tokens,
    idToken: ofTheUser(await verify(tokens.id_token, client_id)),
    userinfo: (await userinfo(host, tokens.access_token)).body,
  }
}

/** The user signs in and allows; returns what the client receives. */
export const told = async (url: string, client_id?: string): Promise<Received> =>
  toldBy(await browser().grant(url, grace.email, grace.password), client_id)

export const consents = () => host.table('consents')
export const browser = () => new RawBrowser(host.app)
/** An error that goes back to the client. */
export const refusal = (error: string) => ({
  mode: 'query',
  fields: { error, error_description: expect.any(String), state: 's', iss: issuer },
})
export const sub = 'grace-1'

/** Opens a URL and signs the user in. */
export const signedIn = async (agent: RawBrowser, url: string): Promise<Answer> =>
  agent.signIn(await agent.open(url), grace.email, grace.password)

/** The scopes of a consent page as texts. */
export const scopeLines = ({ html }: Answer): string[] =>
  [...html.matchAll(/<li class="scope">[\s\S]*?<\/li>/g)].map(([item]) =>
    item
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )
