import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose'
import supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'

// JWT Secured Authorization Response Mode (JARM).

const clock = stopClock()
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
const seed = (client_id: string, more: Partial<ClientSeed>): ClientSeed => ({
  ...{ client_id, client_secret: secret, redirect_uris: [callback], scope: 'openid' },
  ...{ response_types: ['code', 'id_token'], grant_types: ['authorization_code', 'implicit'], ...more },
})

let host: Host
beforeAll(async () => {
  host = await startHost({
    options: { features: { implicit: true, requestObjects: true } },
    clients: [
      ...clients,
      ...algorithms.map((alg) => seed(alg, { authorization_signed_response_alg: alg })),
      seed('only', { response_modes: ['jwt'] }),
      seed('form', { response_modes: ['form_post', 'form_post.jwt'] }),
    ],
  })
})
afterAll(() => host.close())

const asked = (parameters: Record<string, string>): string =>
  authorizeUrl({ client_id: 'ES256', scope: 'openid', state: 's', nonce: 'n', ...parameters })
const granted = (parameters: Record<string, string>) => new RawBrowser(host.app).grant(asked(parameters))
const silent = (parameters: Record<string, string>) =>
  new RawBrowser(host.app).get(asked({ prompt: 'none', ...parameters }))

/** What the signed response says; nothing stands beside it. */
const opened = async (answer: Answer, audience = 'ES256', algorithm = 'ES256'): Promise<JWTPayload> => {
  const { fields } = clientAnswer(answer)
  expect(Object.keys(fields)).toEqual(['response'])
  const { body } = await supertest(host.app).get('/oauth/jwks')
  const rules = { issuer, audience, algorithms: [algorithm], currentDate: new Date(clock.now() * 1000) }
  const { payload } = await jwtVerify(fields.response!, createLocalJWKSet(body), rules)
  expect(payload.exp).toBe(clock.now() + 600)
  return payload
}
const success = { code: expect.stringMatching(/^lk_ac_/), state: 's', iss: issuer }
const failure = (error: string) => ({ error, error_description: expect.any(String), state: 's', iss: issuer })

test.each([
  ['jwt', 'code', 'query'],
  ['query.jwt', 'code', 'query'],
  ['fragment.jwt', 'code', 'fragment'],
  ['form_post.jwt', 'code', 'form_post'],
  ['jwt', 'id_token', 'fragment'],
])(
  'with response_mode %s and response_type %s, code, tokens and errors are signed, in the %s',
  async (...row) => {
    const [response_mode, response_type, mode] = row
    const of = { state: 's', iss: issuer, [response_type]: expect.any(String) }
    for (const [answer, expected] of [
      [await granted({ response_mode, response_type }), of],
      [await silent({ response_mode, response_type }), failure('login_required')],
      [await silent({ response_mode, response_type, max_age: 'soon' }), failure('invalid_request')],
    ] as const) {
      expect(clientAnswer(answer).mode).toBe(mode)
      expect(await opened(answer)).toMatchObject(expected)
    }
  },
)

test('the denial of a user is signed', async () => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await agent.open(asked({ response_mode: 'jwt', prompt: 'consent' })))
  expect(await opened(await agent.decide(page, 'deny'))).toMatchObject(failure('access_denied'))
})

test.each(algorithms)('a client registers %s', async (alg) => {
  expect(await opened(await granted({ client_id: alg, response_mode: 'jwt' }), alg, alg)).toMatchObject(
    success,
  )
})

test('a client that registered no algorithm gets no signed response, unless it registered the mode', async () => {
  const refused = await silent({ client_id: 'web', response_mode: 'jwt' })
  expectErrorRedirect(refused, 'invalid_request', { state: 's' })
  const plain = await silent({ client_id: 'only' })
  expect(await opened(plain, 'only', 'RS256')).toMatchObject(failure('invalid_request'))
  for (const response_mode of ['jwt', 'query.jwt']) {
    const answer = await granted({ client_id: 'only', response_mode })
    expect(await opened(answer, 'only', 'RS256')).toMatchObject(success)
  }
  const answer = await granted({ client_id: 'form', response_mode: 'form_post.jwt' })
  expect(await opened(answer, 'form', 'RS256')).toMatchObject(success)
})

test('tokens are never in a query, signed or not', async () => {
  const answer = await silent({ response_mode: 'query.jwt', response_type: 'id_token' })
  expect(clientAnswer(answer)).toMatchObject({ mode: 'fragment', fields: failure('invalid_request') })
})
