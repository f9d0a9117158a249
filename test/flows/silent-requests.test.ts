import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, authorize, bob, type Fields, given, redeem } from '../support/tokens.ts'

// What a client learns with prompt=none (OIDC Core §3.1.2.6).

const scope = 'openid'
const organizations = [
  { id: 'acme', name: 'Acme' },
  { id: 'globex', name: 'Globex' },
]
const elsewhere = 'https://elsewhere.example/callback'
let host: Host
/** ID tokens that the client `web` got. */
let hints: Record<'ada' | 'bob', string>

beforeAll(async () => {
  const other = { client_secret: secret, redirect_uris: [callback], scope: 'openid email' }
  host = await startHost({
    options: {
      acrValues: ['mfa', 'pwd'],
      organizations: ({ id }) => organizations.slice(0, id === 1 ? 2 : 1),
    },
    clients: [
      ...clients,
      { ...other, client_id: 'stranger', redirect_uris: [callback, elsewhere] },
      { ...other, client_id: 'ours', first_party: true },
      {
        client_id: 'desktop',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['http://127.0.0.1/callback'],
        scope,
      },
    ],
  })
  const idTokenOf = async (as: typeof ada) => {
    const location = await authorize(host, { scope, organization: 'acme' }, { as })
    return (await answerOf(redeem(host, location.searchParams.get('code') ?? ''))).id_token
  }
  hints = { ada: await idTokenOf(ada), bob: await idTokenOf(bob) }
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const urlOf = (fields: Fields): string =>
  authorizeUrl(given({ client_id: 'stranger', scope, state: 's', ...fields }))
const silently = async (agent: RawBrowser, fields: Fields) => {
  const { status, headers } = await agent.get(urlOf({ prompt: 'none', ...fields }))
  const { date, ...rest } = headers
  return { status, headers: rest }
}
/** A browser in which Ada has signed in, and allowed the client `web` something. */
const signedIn = async (): Promise<RawBrowser> => {
  const agent = new RawBrowser(host.app)
  await authorize(host, { scope, organization: 'acme' }, { agent })
  return agent
}

const isUser = (sub: string) => JSON.stringify({ id_token: { sub: { value: sub } } })
const guesses: [string, () => Fields, () => Fields][] = [
  ['who the user is', () => ({ claims: isUser('1') }), () => ({ claims: isUser('2') })],
  ['when they signed in', () => ({ max_age: '86400' }), () => ({ max_age: '1' })],
  ['how they signed in', () => ({ acr_values: 'pwd' }), () => ({ acr_values: 'mfa' })],
  ['where they belong', () => ({ organization: 'acme' }), () => ({ organization: 'initech' })],
  ['in how many places they are', () => ({ organization: 'acme' }), () => ({})],
  ['the user of another client', () => ({ id_token_hint: hints.ada }), () => ({ id_token_hint: hints.bob })],
]

test.each(guesses)(
  'a client that the user allowed nothing does not learn %s (M10)',
  async (_, right, wrong) => {
    const agent = await signedIn()
    stopClock().travel(60)
    const answers = [await silently(agent, right()), await silently(agent, wrong())]
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]?.headers.location).toContain('error=consent_required')
  },
)

test('without a login the answer is login_required, whatever the client guesses (M10)', async () => {
  for (const [, right, wrong] of guesses)
    for (const fields of [right(), wrong()]) {
      const answer = await new RawBrowser(host.app).get(urlOf({ prompt: 'none', ...fields }))
      expectErrorRedirect(answer, 'login_required', { state: 's' })
    }
})

test('a client with the user’s consent learns them, and more scopes are consent_required', async () => {
  const agent = await signedIn()
  const location = locationOf(await agent.grant(urlOf({ organization: 'acme' }), ada.email, ada.password))
  expect(location.searchParams.get('code')).not.toBeNull()
  const silent = (fields: Fields) => agent.get(urlOf({ prompt: 'none', organization: 'acme', ...fields }))
  codeOf(await silent({ claims: isUser('1'), max_age: '86400' }))
  expectErrorRedirect(await silent({ claims: isUser('2') }), 'login_required', { state: 's' })
  expectErrorRedirect(await silent({ organization: 'initech' }), 'access_denied', { state: 's' })
  expectErrorRedirect(await silent({ scope: 'openid email' }), 'consent_required', { state: 's' })
  // The ID token of another client says nothing about this one's user.
  for (const id_token_hint of Object.values(hints)) codeOf(await silent({ id_token_hint }))
})

test('a first-party client needs no consent, and learns them (M10)', async () => {
  const agent = await signedIn()
  const silent = (fields: Fields) =>
    agent.get(urlOf({ client_id: 'ours', prompt: 'none', organization: 'acme', ...fields }))
  codeOf(await silent({ claims: isUser('1') }))
  expectErrorRedirect(await silent({ claims: isUser('2') }), 'login_required', { state: 's' })
})

test('a consent at another host of the redirect URIs does not count (M10)', async () => {
  const agent = await signedIn()
  await agent.grant(urlOf({ organization: 'globex' }), ada.email, ada.password)
  const silent = (redirect_uri: string) =>
    agent.get(urlOf({ prompt: 'none', claims: isUser('2'), redirect_uri }))
  expect((await silent(callback)).headers.location).toContain('error=login_required')
  expect((await silent(elsewhere)).headers.location).toContain('error=consent_required')
})

test('a public client that any program on the device can pose as learns none of them (M10)', async () => {
  const agent = await signedIn()
  const desktop = {
    client_id: 'desktop',
    redirect_uri: 'http://127.0.0.1/callback',
    code_challenge: pkce().challenge,
    code_challenge_method: 'S256',
  }
  const allowed = await agent.grant(urlOf({ ...desktop, organization: 'acme' }), ada.email, ada.password)
  expect(locationOf(allowed).searchParams.has('code')).toBe(true)
  for (const [, right, wrong] of guesses)
    for (const fields of [right(), wrong()])
      expect((await silently(agent, { ...desktop, ...fields })).headers.location).toContain(
        'error=consent_required',
      )
})
