import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { authorizeUrl, callback, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { type Answer, pageOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { redeem } from '../support/tokens.ts'

const after = 'https://client.example.com/after'
let host: Host
let clientId: string
beforeAll(async () => {
  host = await startHost({ options: { protocol: { requestObjects: true }, features: [registration()] } })
  const answer = await supertest(host.app)
    .post('/oauth/register')
    .send({
      client_name: 'Your Bank',
      redirect_uris: [callback],
      post_logout_redirect_uris: [after],
      token_endpoint_auth_method: 'none',
    })
  expect(answer.status).toBe(201)
  clientId = answer.body.client_id
  await host.oauth.clients.update('web', { post_logout_redirect_uris: [after] })
})
afterAll(() => host.close())

const { verifier, challenge } = pkce()
const right = {
  scope: 'openid',
  state: 'of-the-client',
  code_challenge: challenge,
  code_challenge_method: 'S256',
}
const asked = (parameters: Record<string, string>): string =>
  authorizeUrl({ client_id: clientId, ...right, ...parameters })

const mistakes: [string, Record<string, string>][] = [
  ['invalid_request', { code_challenge: '' }],
  ['invalid_scope', { scope: 'everything' }],
  ['unsupported_response_type', { response_type: 'nonsense' }],
  ['invalid_request', { prompt: 'login none' }],
  ['invalid_request', { claims: '{' }],
  ['invalid_request_object', { request: 'no.object.here' }],
]

/** Where a link of a page leads, other than to this server. */
const linksOf = ({ html }: Answer): string[] =>
  [...html.matchAll(/<a [^>]*href="(https:[^"]*)"/g)].map(([, url = '']) => url.replaceAll('&amp;', '&'))

describe('a link of a stranger to our server (RFC 9700 §4.11.2)', () => {
  test.each(mistakes.filter(([, { prompt }]) => prompt === undefined))(
    'that is wrong shows %s and a link that names the host, and does not redirect: %j',
    async (code, parameters) => {
      const page = await new RawBrowser(host.app).get(asked(parameters))
      expectErrorPage(page, 400)
      const [link = ''] = linksOf(page)
      expect(link.startsWith(`${callback}?`)).toBe(true)
      expect(Object.fromEntries(new URL(link).searchParams)).toMatchObject({
        error: code,
        state: 'of-the-client',
      })
      expect(textOf(page)).toContain('Continue to client.example.com')
      expect(textOf(page)).not.toContain('Your Bank')
      expect(page.html).not.toMatch(/http-equiv|Refresh/i)
    },
  )

  test('with form_post shows the error, and no form that posts itself (L7)', async () => {
    const page = await new RawBrowser(host.app).get(
      asked({ scope: 'everything', response_mode: 'form_post' }),
    )
    expectErrorPage(page, 400)
    expect(page.html).not.toContain('<form')
  })

  test.each(mistakes)(
    'of a client of the host is answered as ever: %s, %j (L7)',
    async (code, parameters) => {
      const answer = await new RawBrowser(host.app).get(asked({ client_id: 'web', ...parameters }))
      expect(answer.status).toBe(303)
      expect(new URL(answer.location ?? '').searchParams.get('error')).toBe(code)
    },
  )

  test('with prompt=none is answered at once, as OpenID Connect requires (L7)', async () => {
    const answer = await new RawBrowser(host.app).get(asked({ prompt: 'none' }))
    expect(new URL(answer.location ?? '').searchParams.get('error')).toBe('login_required')
    const wrong = await new RawBrowser(host.app).get(asked({ prompt: 'none', scope: 'everything' }))
    expect(new URL(wrong.location ?? '').searchParams.get('error')).toBe('invalid_scope')
  })

  test('that a user without a workspace opens leads back only by their act', async () => {
    const other = await startHost({
      options: { features: [registration()], organizations: async () => [] },
    })
    const registered = await supertest(other.app)
      .post('/oauth/register')
      .send({ redirect_uris: [callback], token_endpoint_auth_method: 'none' })
    const agent = new RawBrowser(other.app)
    await agent.signIn(await agent.open('/oauth/account'), 'ada@example.com', 'ada’s password')
    for (const client_id of [registered.body.client_id, 'web']) {
      const told = await agent.open(asked({ client_id }))
      expect(pageOf(told)).toBe('403 /access-denied')
      const back = await agent.submit(told, 'value="back"', { decision: 'back' })
      expect(back.location?.searchParams.get('error')).toBe('access_denied')
    }
    await other.close()
  })

  test('that the user denies leads back: that was their act (L7)', async () => {
    const agent = new RawBrowser(host.app)
    const page = await agent.signIn(await agent.open(asked({})), 'ada@example.com', 'ada’s password')
    const denied = await agent.decide(page, 'deny')
    expect(new URL(denied.location ?? '').searchParams.get('error')).toBe('access_denied')
  })

  test('to sign out leads nowhere by itself, whatever it carries (L7)', async () => {
    const agent = new RawBrowser(host.app)
    const done = await agent.grant(asked({}))
    const fields = { client_id: clientId, client_secret: '', code_verifier: verifier }
    const { body } = await redeem(host, codeOf(done), fields)
    expect(body).toMatchObject({ id_token: expect.any(String) })
    const own = { client_id: clientId, post_logout_redirect_uri: after, state: 's' }
    for (const parameters of [own, { ...own, signed_out: '1' }, { ...own, id_token_hint: body.id_token }]) {
      const page = await new RawBrowser(host.app).get(`/oauth/logout?${new URLSearchParams(parameters)}`)
      expect({ status: page.status, location: page.location }).toEqual({ status: 200, location: undefined })
      expect(linksOf(page)).toEqual([`${after}?state=s`])
      expect(textOf(page)).not.toContain('Your Bank')
    }
    const ofHost = await new RawBrowser(host.app).get(
      `/oauth/logout?${new URLSearchParams({ ...own, client_id: 'web' })}`,
    )
    expect(String(ofHost.location)).toBe(`${after}?state=s`)
    // The user was signed in to this client.
    const ended = await agent.get(
      `/oauth/logout?${new URLSearchParams({ ...own, id_token_hint: body.id_token })}`,
    )
    expect(String(ended.location)).toBe(`${after}?state=s`)
  })
})
