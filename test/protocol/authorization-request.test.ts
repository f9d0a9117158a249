import type { Client } from '../../lib/protocol/clients/client.ts'
import { parseClientMetadata } from '../../lib/protocol/clients/client-metadata.ts'
import {
  AuthorizationResponseError,
  type AuthorizationTarget,
  OAuthError,
} from '../../lib/protocol/errors.ts'
import { Parameters } from '../../lib/protocol/parameters.ts'
import {
  type AuthorizationRequest,
  parseAuthorizationRequest,
  parseAuthorizationTarget,
} from '../../lib/protocol/requests/authorization-request.ts'
import { codeChallengeMethods } from '../../lib/protocol/requests/pkce.ts'
import { fc } from '../support/property.ts'

const redirect_uri = 'https://app.example.com/cb'
const clientOf = (metadata: Record<string, unknown> = {}): Client => ({
  clientId: 'journal',
  secretHashes: [],
  metadata: parseClientMetadata({ redirect_uris: [redirect_uri], ...metadata }),
  disabledAt: null,
})
const web = clientOf()
const native = clientOf({ token_endpoint_auth_method: 'none' })
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const plainest = { response_type: 'code', client_id: 'journal', redirect_uri }

type Sent = Record<string, string> | [string, string][]
const parametersOf = (sent: Sent): Parameters =>
  Parameters.from(Array.isArray(sent) ? sent : Object.entries(sent))
const authorize = (
  sent: Sent,
  client: Client | undefined = web,
  methods = codeChallengeMethods,
): AuthorizationRequest => {
  const parameters = parametersOf(sent)
  return parseAuthorizationRequest(parameters, parseAuthorizationTarget(parameters, client), methods)
}
const toOf = ({ redirectUri, state, responseMode }: AuthorizationTarget): object => ({
  to: redirectUri,
  state,
  ...(responseMode !== 'query' && { mode: responseMode }),
})
const outcome = (sent: Sent, client?: Client | 'unknown'): unknown => {
  try {
    const parameters = parametersOf(sent)
    const known = client === 'unknown' ? undefined : (client ?? web)
    const verified = parseAuthorizationTarget(parameters, known)
    expect(verified.client).toBe(known)
    return parseAuthorizationRequest(parameters, verified, codeChallengeMethods)
  } catch (error) {
    if (error instanceof AuthorizationResponseError) return { redirect: error.code, ...toOf(error.target) }
    if (error instanceof OAuthError) return { page: error.code }
    throw error
  }
}

describe('a page, and never a redirect, answers', () => {
  test.each<[string, Sent, (Client | 'unknown')?]>([
    ['an unknown client', plainest, 'unknown'],
    ['a disabled client', plainest, { ...web, disabledAt: 1 }],
    ['a missing redirect_uri', { response_type: 'code' }],
    ['an empty redirect_uri', { ...plainest, redirect_uri: '' }],
    ['a redirect_uri that is not registered', { ...plainest, redirect_uri: 'https://evil.example/cb' }],
    ['one that is, with a newline', { ...plainest, redirect_uri: `${redirect_uri}\n` }],
    ['one that is too long', { ...plainest, redirect_uri: `${redirect_uri}${'x'.repeat(2048)}` }],
    ['a redirect_uri sent twice', [...Object.entries(plainest), ['redirect_uri', 'https://evil.example/cb']]],
    ['a client without any', plainest, clientOf({ redirect_uris: [], grant_types: ['client_credentials'] })],
  ])('%s', (_case, sent, client = web) => {
    const refused = /^(invalid_request|unauthorized_client)$/
    expect(outcome(sent, client)).toEqual({ page: expect.stringMatching(refused) })
  })

  test('an unknown and a disabled client with the same code; the sentence says which it is', () => {
    const refusal = (client: Client | undefined): Partial<OAuthError> => {
      try {
        parseAuthorizationTarget(parametersOf(plainest), client)
        return {}
      } catch (error) {
        return error as OAuthError
      }
    }
    const unknown = { code: 'unauthorized_client', message: 'client_id does not name a registered client' }
    expect(refusal(undefined)).toMatchObject(unknown)
    expect(refusal({ ...web, disabledAt: 1 })).toMatchObject({
      ...unknown,
      message: 'the client is disabled',
    })
  })
})

describe('a redirect with the error and the state answers', () => {
  test.each<[string, Sent, string, Client?]>([
    ['a missing response_type', { response_type: '' }, 'invalid_request'],
    ['a response_type in capitals', { response_type: 'CODE' }, 'unsupported_response_type'],
    ['no code grant', {}, 'unauthorized_client', clientOf({ grant_types: ['client_credentials'] })],
    ['an unknown response_mode', { response_mode: 'carrier_pigeon' }, 'invalid_request'],
    ['a request object (OIDC Core §6.1)', { request: 'e30.e30.' }, 'request_not_supported'],
    ['request_uri (OIDC Core §6.2)', { request_uri: 'http://169.254.169.254/' }, 'request_uri_not_supported'],
    ['that first', { request: 'x', response_type: 'x', prompt: 'none login' }, 'request_not_supported'],
    ['prompt=none login', { prompt: 'none login' }, 'invalid_request'],
    ['prompt=none with an unknown value', { prompt: 'none create' }, 'invalid_request'],
    ['a negative max_age', { max_age: '-1' }, 'invalid_request'],
    ['a max_age with a fraction', { max_age: '1.5' }, 'invalid_request'],
    ['a max_age in hexadecimal', { max_age: '0x10' }, 'invalid_request'],
    ['a max_age of ten digits', { max_age: '1000000000' }, 'invalid_request'],
    ['a nonce of 513 characters', { nonce: 'n'.repeat(513) }, 'invalid_request'],
    ['a nonce with a control character', { nonce: 'n\u0001' }, 'invalid_request'],
    ['a scope outside the grammar', { scope: 'openid "x"' }, 'invalid_scope'],
    ['a scope the client may not have', { scope: 'admin' }, 'invalid_scope'],
    ['a scope of 16,385 characters', { scope: 'x'.repeat(16_385) }, 'invalid_request'],
    ['a challenge without its method', { code_challenge: challenge }, 'invalid_request'],
    ['a method without its challenge', { code_challenge_method: 'S256' }, 'invalid_request'],
    ['a malformed challenge', { code_challenge: 'short', code_challenge_method: 'S256' }, 'invalid_request'],
    ['a public client without PKCE', {}, 'invalid_request', native],
    ['a client that must use PKCE', {}, 'invalid_request', clientOf({ require_pkce: true })],
    ['a login_hint with a control character', { login_hint: 'a\nb' }, 'invalid_request'],
  ])('%s', (_case, sent, redirect, client = web) => {
    const state = 'a b&c'
    expect(outcome({ ...plainest, state, ...sent }, client)).toEqual({ redirect, to: redirect_uri, state })
  })

  test.each(['response_type', 'scope', 'nonce', 'prompt', 'client_id', 'code_challenge', 'unknown'])(
    'a repeated %s (RFC 6749 §3.1)',
    (name) => {
      const twice: [string, string][] = [
        [name, 'x'],
        [name, 'x'],
      ]
      expect(
        outcome([...Object.entries({ ...plainest, state: 's' }).filter(([key]) => key !== name), ...twice]),
      ).toEqual({ redirect: 'invalid_request', to: redirect_uri, state: 's' })
    },
  )

  test('plain where this server takes S256 alone', () => {
    const sent = { ...plainest, code_challenge: challenge, code_challenge_method: 'plain' }
    expect(() => authorize(sent, web, ['S256'] as never)).toThrow(AuthorizationResponseError)
    expect(authorize(sent).codeChallenge).toEqual({ method: 'plain', value: challenge })
  })
})

describe('state', () => {
  const withStates = (values: readonly string[]): [string, string][] => [
    ...Object.entries(plainest),
    ...values.map((value): [string, string] => ['state', value]),
  ]

  test.each([
    ['4,096 characters', 's'.repeat(4096)],
    ['signs of every kind', '"><script>&#x26;%0d%0a +?#=🗝️ü\u00a0\u202e'],
    ['a property name', '__proto__'],
  ])('with %s comes back unchanged, on success and on error', (_case, state) => {
    expect(authorize({ ...plainest, state }).state).toBe(state)
    expect(outcome({ ...plainest, state, response_type: 'x' })).toHaveProperty('state', state)
  })

  test.each<[string, string[]]>([
    ['a newline', ['a\r\nLocation: https://evil.example']],
    ['NUL', ['a\0']],
    ['a C1 control', ['a\u0085']],
    ['invalid UTF-8', ['a\ufffd']],
    ['a repeat', ['a', 'b']],
  ])('with %s is redirect(invalid_request) without state', (_case, values) => {
    expect(outcome(withStates(values))).toEqual({ redirect: 'invalid_request', to: redirect_uri })
  })

  test('too long is redirect(invalid_request) with the whole state, so that the client knows the answer', () => {
    const state = 's'.repeat(4097)
    expect(outcome(withStates([state]))).toEqual({ redirect: 'invalid_request', to: redirect_uri, state })
  })

  test('any string is returned unchanged or not at all', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 6000 }),
        fc.constantFrom('code', 'token'),
        (state, response_type) => {
          const answer = outcome({ ...plainest, state, response_type }) as {
            state?: string
            redirect?: string
            page?: string
          }
          expect([state, undefined]).toContain(answer.state)
          if (answer.state === undefined && state !== '') expect(answer.redirect).toBe('invalid_request')
        },
      ),
    )
  })
})

describe('a request is read', () => {
  test('with nothing but the required parameters, for a confidential client', () => {
    expect(authorize(plainest)).toMatchObject({
      clientId: 'journal',
      redirectUri: redirect_uri,
      responseType: 'code',
      responseMode: 'query',
      scopes: [],
      prompt: [],
    })
    for (const name of ['state', 'nonce', 'maxAge', 'loginHint', 'codeChallenge', 'hintedSubject'])
      expect(authorize(plainest)).not.toHaveProperty(name)
  })

  test('with everything that is understood', () => {
    const sent = {
      ...plainest,
      state: 's',
      scope: 'openid email admin',
      nonce: 'n'.repeat(512),
      max_age: '0',
      prompt: 'login consent',
      login_hint: 'ada@example.com',
      response_mode: 'query',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }
    expect(authorize(sent, native)).toMatchObject({
      clientId: 'journal',
      redirectUri: redirect_uri,
      responseType: 'code',
      responseMode: 'query',
      state: 's',
      scopes: ['openid', 'email'],
      nonce: 'n'.repeat(512),
      maxAge: 0,
      prompt: ['login', 'consent'],
      loginHint: 'ada@example.com',
      codeChallenge: { method: 'S256', value: challenge },
    })
  })

  test('as a value that survives JSON, for it waits in a table', () => {
    const request = authorize({ ...plainest, scope: 'openid', max_age: '60' })
    expect(JSON.parse(JSON.stringify(request))).toStrictEqual(request)
  })

  test.each([
    ['none', 'none', ['none']],
    ['two values in any order', 'consent login', ['login', 'consent']],
    ['a repeated value', 'login login', ['login']],
    ['select_account', 'select_account', ['select_account']],
    ['an unknown value', 'create', []],
    ['one of them known', 'create login', ['login']],
    ['capitals, which mean nothing', 'NONE', []],
  ])('with the prompt %s', (_case, prompt, values) => {
    expect(authorize({ ...plainest, prompt }).prompt).toEqual(values)
  })

  test('with the client’s own max_age unless the request says one (OIDC Registration §2)', () => {
    const client = clientOf({ default_max_age: 300 })
    expect(authorize(plainest, client).maxAge).toBe(300)
    expect(authorize({ ...plainest, max_age: '0' }, client).maxAge).toBe(0)
    expect(authorize({ ...plainest, max_age: '999999999' }, client).maxAge).toBe(999_999_999)
    expect(authorize(plainest)).not.toHaveProperty('maxAge')
  })

  const ignored = 'display ui_locales claims_locales acr_values claims audience __proto__'
  test.each(ignored.split(' '))('and %s may have any value', (name) => {
    const sent: [string, string][] = [...Object.entries(plainest), [name, 'x'.repeat(9000)]]
    expect(authorize(sent)).toEqual(authorize(plainest))
  })
})

describe('response_type and response_mode', () => {
  const implicit = clientOf({
    grant_types: ['authorization_code', 'implicit'],
    response_types: ['code', 'id_token', 'id_token token'],
  })
  const types = ['code', 'id_token', 'id_token token', 'code token']
  const answer = (sent: Record<string, string>, client = implicit): unknown => {
    const parameters = parametersOf({ ...plainest, scope: 'openid', nonce: 'n', ...sent })
    const verified = parseAuthorizationTarget(parameters, client)
    try {
      return parseAuthorizationRequest(parameters, verified, codeChallengeMethods, types).responseMode
    } catch (error) {
      return error instanceof AuthorizationResponseError ? [error.code, error.target.responseMode] : error
    }
  }

  test.each<[string, Record<string, string>, unknown]>([
    ['a code travels by query', {}, 'query'],
    ['a code may travel by form_post', { response_mode: 'form_post' }, 'form_post'],
    ['a token travels by fragment', { response_type: 'id_token token' }, 'fragment'],
    ['the words may stand in any order', { response_type: 'token id_token' }, 'fragment'],
    ['a token may go by form_post', { response_type: 'id_token', response_mode: 'form_post' }, 'form_post'],
    [
      'a token never travels by query, nor does its error',
      { response_type: 'id_token', response_mode: 'query' },
      ['invalid_request', 'fragment'],
    ],
    ['a type that is not registered', { response_type: 'code token' }, ['unauthorized_client', 'fragment']],
    ['an unknown type', { response_type: 'code sausage' }, ['unsupported_response_type', 'query']],
    ['an ID token needs a nonce', { response_type: 'id_token', nonce: '' }, ['invalid_request', 'fragment']],
    ['it is of openid', { response_type: 'id_token', scope: 'email' }, ['invalid_scope', 'fragment']],
    ['an error', { prompt: 'none login', response_mode: 'form_post' }, ['invalid_request', 'form_post']],
  ])('%s', (_rule, sent, expected) => {
    expect(answer(sent)).toEqual(expected)
  })

  describe('of a client with registered response_modes', () => {
    const only = (...response_modes: string[]): Client => clientOf({ ...implicit.metadata, response_modes })
    test.each<[string, string[], Record<string, string>, unknown]>([
      ['one of them', ['form_post', 'query'], { response_mode: 'form_post' }, 'form_post'],
      ['the default, if it is one', ['form_post', 'query'], {}, 'query'],
      ['another', ['form_post', 'query'], { response_mode: 'fragment' }, ['invalid_request', 'query']],
      ['the default, if it is none', ['form_post'], {}, ['invalid_request', 'form_post']],
      ['an unknown one', ['form_post'], { response_mode: 'x' }, ['invalid_request', 'form_post']],
      ['a token', ['query', 'form_post'], { response_type: 'id_token' }, ['invalid_request', 'form_post']],
      [
        'an error',
        ['form_post'],
        { response_mode: 'form_post', max_age: 'x' },
        ['invalid_request', 'form_post'],
      ],
    ])('%s of %j', (_case, modes, sent, expected) => {
      expect(answer(sent, only(...modes))).toEqual(expected)
    })
  })

  test('front-channel types are unsupported while the host has not turned them on', () => {
    for (const response_type of ['token', 'id_token', 'code token', 'token id_token']) {
      expect(outcome({ ...plainest, response_type, scope: 'openid', nonce: 'n' }, implicit)).toMatchObject({
        redirect: 'unsupported_response_type',
        mode: 'fragment',
      })
      const asked = { ...plainest, response_type, response_mode: 'form_post' }
      expect(outcome(asked, implicit)).toMatchObject({ mode: 'form_post' })
    }
  })
})

test('every answer goes to a registered address or is a page', () => {
  const names =
    'response_type redirect_uri scope state nonce prompt max_age request code_challenge code_challenge_method response_mode __proto__'
  const name = fc.constantFrom(...names.split(' '))
  const value = fc.oneof(
    fc.constantFrom(redirect_uri, challenge, ...'code openid none login 0 S256 plain query '.split(' ')),
    fc.string({ unit: 'binary' }),
  )
  const sent = fc
    .tuple(fc.array(fc.tuple(name, value), { maxLength: 8 }), fc.boolean())
    .map(([pairs, complete]) => (complete ? [...Object.entries(plainest), ...pairs] : pairs))
  fc.assert(
    fc.property(sent, fc.constantFrom(web, native), (pairs, client) => {
      const answer = outcome(pairs, client) as Partial<Record<'page' | 'to' | 'redirectUri', string>>
      if (answer.page === undefined) expect(answer.to ?? answer.redirectUri).toBe(redirect_uri)
      if (answer.redirectUri !== undefined) expect(answer).toMatchObject({ clientId: 'journal' })
      if (answer.redirectUri !== undefined && client === native)
        expect(answer).toHaveProperty('codeChallenge.value')
    }),
    { numRuns: 1000 },
  )
})

describe('a request object is refused as its client expects all responses (OIDC Core §6.1)', () => {
  const objectWith = (payload: unknown, signature = ''): string =>
    ['{"alg":"none"}', JSON.stringify(payload)]
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.')
      .concat('.', signature)
  const refusedWith = (request: string, sent: Record<string, string> = {}): unknown =>
    outcome({ ...plainest, state: 'outer', request, ...sent })
  const refusal = { redirect: 'request_not_supported', to: redirect_uri, state: 'outer' }

  test.each<[string, string, Record<string, string>, object]>([
    ['bare', objectWith({ response_mode: 'form_post', state: 'in' }), {}, { mode: 'form_post', state: 'in' }],
    ['signed', objectWith({ response_mode: 'fragment' }, 'c2ln'), {}, { mode: 'fragment' }],
    [
      'outside',
      objectWith({ response_mode: 'fragment' }),
      { response_mode: 'form_post' },
      { mode: 'fragment' },
    ],
    ['a token', objectWith({ response_mode: 'query' }), { response_type: 'token' }, { mode: 'fragment' }],
    ['with a state that cannot be returned', objectWith({ state: 'a\0' }), {}, {}],
    ['with another redirect URI', objectWith({ redirect_uri: 'https://evil.example/' }), {}, {}],
    ['not JSON', 'e30.x.', {}, {}],
    ['not a JWT', 'x', {}, {}],
  ])('%s', (_case, request, sent, expected) => {
    expect(refusedWith(request, sent)).toEqual({ ...refusal, ...expected })
  })

  test('but never in a mode that the client did not register', () => {
    const client = clientOf({ response_modes: ['query'] })
    const request = objectWith({ response_mode: 'form_post' })
    expect(outcome({ ...plainest, request }, client)).not.toHaveProperty('mode')
  })
})
