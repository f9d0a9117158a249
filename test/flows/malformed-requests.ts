import { fc } from '../support/property.ts'

/** A request in which `$NAME` stands for something that is only known while a server runs, such as a live code. */
export interface MalformedRequest {
  readonly method: string
  /** Path and query as they are written on the request line. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

type Pair = readonly [string, string]
type Pairs = readonly Pair[]

/** A request that would be served. */
interface Template {
  readonly method: string
  readonly path: string
  readonly query?: Pairs
  readonly form?: Pairs
  readonly headers?: Readonly<Record<string, string>>
}

const authorizationRequest: Pairs = [
  ['response_type', 'code'],
  ['client_id', 'web'],
  ['redirect_uri', '$CALLBACK'],
  ['scope', 'openid profile email'],
  ['state', 'a state'],
  ['nonce', 'a nonce'],
  ['code_challenge', '$CHALLENGE'],
  ['code_challenge_method', 'S256'],
]
const more = (pairs: Pairs): Pairs => [...authorizationRequest, ...pairs]
const secret: Pairs = [
  ['client_id', 'web'],
  ['client_secret', '$SECRET'],
]
const signedIn = { Cookie: '$COOKIE' }
const waiting: Pairs = [['authorization_request', '$LOGIN_REQUEST']]
const asking: Pairs = [['authorization_request', '$CONSENT_REQUEST']]

const get = (path: string, query?: Pairs, headers?: Template['headers']): Template => ({
  method: 'GET',
  path: `/oauth${path}`,
  ...(query && { query }),
  ...(headers && { headers }),
})
const post = (path: string, form: Pairs, headers?: Template['headers']): Template => ({
  method: 'POST',
  path: `/oauth${path}`,
  form,
  ...(headers && { headers }),
})
const pairs = (fields: Readonly<Record<string, string>>): Pairs => Object.entries(fields)
const atLogin = { Cookie: '$LOGIN_COOKIE' }
const atConsent = { Cookie: '$CONSENT_COOKIE' }
const bearer = { Authorization: 'Bearer $ACCESS_TOKEN' }
const hybrid: Pairs = [['response_type', 'code id_token token'], ...authorizationRequest.slice(1)]
const unusual = {
  max_age: '100',
  id_token_hint: '$ID_TOKEN',
  response_mode: 'form_post',
  claims: '{"userinfo":{"email":{"essential":true}},"id_token":{"sub":{"value":"1"}}}',
}
const logout = { id_token_hint: '$OTHER_ID_TOKEN', client_id: 'web', post_logout_redirect_uri: '$SIGNED_OUT' }
const redemption = { grant_type: 'authorization_code', code: '$CODE', redirect_uri: '$CALLBACK' }
const asserted = {
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: '$ASSERTION',
  client_id: 'signer',
}

const templates: readonly Template[] = [
  get('/authorize', authorizationRequest),
  get('/authorize', authorizationRequest, signedIn),
  get('/authorize', more([['prompt', 'none']]), signedIn),
  get('/authorize', more(pairs(unusual)), signedIn),
  get('/authorize', hybrid, signedIn),
  post('/authorize', authorizationRequest),
  get('/authorize', waiting, atLogin),
  get('/authorize', asking, atConsent),
  get('/login', waiting, atLogin),
  post(
    '/login',
    [...waiting, ...pairs({ csrf_token: '$LOGIN_CSRF', username: 'ada@example.com', password: 'x' })],
    atLogin,
  ),
  get('/consent', asking, atConsent),
  post(
    '/consent',
    [...asking, ...pairs({ csrf_token: '$CONSENT_CSRF', decision: 'allow', 'scope:notes:write': 'on' })],
    atConsent,
  ),
  get('/logout', pairs({ ...logout, state: 's' }), signedIn),
  post('/logout', pairs({ csrf_token: '$LOGOUT_CSRF', client_id: 'web' }), signedIn),
  post('/token', [...pairs({ ...redemption, code_verifier: '$VERIFIER' }), ...secret]),
  post('/token', [
    ...pairs({ grant_type: 'refresh_token', refresh_token: '$REFRESH_TOKEN', scope: 'openid' }),
    ...secret,
  ]),
  post('/token', pairs({ grant_type: 'client_credentials', scope: 'notes:read' }), {
    Authorization: 'Basic $BASIC',
  }),
  post('/token', pairs({ grant_type: 'client_credentials', ...asserted })),
  get('/userinfo', undefined, bearer),
  post('/userinfo', pairs({ access_token: '$ACCESS_TOKEN' })),
  post('/introspect', [...pairs({ token: '$ACCESS_TOKEN', token_type_hint: 'access_token' }), ...secret]),
  post('/revoke', [['token', '$OTHER_TOKEN'], ...secret]),
  get('/jwks'),
  get('/.well-known/openid-configuration'),
  { method: 'GET', path: '/.well-known/oauth-authorization-server/oauth' },
  get('/assets/style.css'),
  { method: 'GET', path: '/api/notes', headers: bearer },
]

const hostileTexts = [
  '',
  ' ',
  '\0',
  '%',
  '%zz',
  '%00',
  '\u{ffff}',
  '\r\nLocation: https://evil.example/',
  '\t',
  '\u202e',
  '🗝️',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '[object Object]',
  'undefined',
  'null',
  'true',
  'NaN',
  '-1',
  '0',
  '1e999',
  '9'.repeat(30),
  '0x10',
  '1.5',
  "' OR 1=1 --",
  '"; DROP TABLE x; --',
  '$' + '{7*7}',
  'https://evil.example/',
  '//evil.example',
  '\\\\evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '$CALLBACK/../x',
  '$CALLBACK#x',
  '$CALLBACK?x=1',
  'https://client.example.com@evil.example/callback',
  ...'http://127.0.0.1:99999/callback http://127.0.0.1:4000/callback http://[::1 com.example.app:/x'.split(
    ' ',
  ),
  '{}',
  '[]',
  '{',
  '{"userinfo":null}',
  '{"id_token":{"sub":{"value":1}}}',
  '{"__proto__":{"sub":1}}',
  'none login',
  'code token',
  ...'none login query fragment form_post token id_token plain'.split(' '),
  'openid',
  'offline_access',
  'openid openid',
  'a'.repeat(2048),
  'b'.repeat(2049),
  'c'.repeat(9000),
  ...'a.b.c .. . eyJhbGciOiJub25lIn0.e30. eyJhbGciOiJSUzI1NiJ9.e30.AAAA e30.e30.e30 = ===='.split(' '),
  '$CODE',
  '$REFRESH_TOKEN',
  '$ACCESS_TOKEN',
  '$ID_TOKEN',
  '$ASSERTION',
  '$LOGIN_REQUEST',
  '$COOKIE',
  'web',
  'native',
  'signer',
  'unknown-client',
  'WEB',
  'machine',
]

const hostileText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 200 }) },
)

const names = [
  ...new Set(templates.flatMap(({ query = [], form = [] }) => [...query, ...form].map(([name]) => name))),
  'prompt',
  'max_age',
  'display',
  'ui_locales',
  'login_hint',
  'acr_values',
  'request',
  'request_uri',
  'resource',
  'audience',
  'returned',
  'scope:notes:write',
  'client_secret',
  'token_type_hint',
  'state',
]
const hostileName = fc.oneof(fc.constantFrom(...names), hostileText)

type Change = (pairs: Pairs) => Pairs

const at = (pairs: Pairs, place: number): number => place % Math.max(pairs.length, 1)

/** The pairs with one of them changed. */
const withOne = (pairs: Pairs, place: number, change: (pair: Pair) => Pair): Pairs =>
  pairs.map((pair, index) => (index === at(pairs, place) ? change(pair) : pair))

/** One thing wrong with parameters. */
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.nat().map(
    (place): Change =>
      (pairs) =>
        pairs.filter((_, index) => index !== at(pairs, place)),
  ),
  fc.tuple(fc.nat(), hostileText).map(
    ([place, value]): Change =>
      (pairs) =>
        withOne(pairs, place, ([name]) => [name, value]),
  ),
  fc.tuple(fc.nat(), hostileText).map(
    ([place, value]): Change =>
      (pairs) =>
        withOne(pairs, place, ([name, own]) => [name, own + value]),
  ),
  fc.tuple(fc.nat(), fc.constantFrom('[]', '[0]', '.x', '\0', ' ')).map(
    ([place, suffix]): Change =>
      (pairs) =>
        withOne(pairs, place, ([name, own]) => [name + suffix, own]),
  ),
  fc.nat().map(
    (place): Change =>
      (pairs) =>
        pairs.concat(pairs.slice(at(pairs, place), at(pairs, place) + 1)),
  ),
  fc.tuple(hostileName, hostileText).map(
    (pair): Change =>
      (pairs) => [...pairs, pair],
  ),
  fc.tuple(fc.integer({ min: 60, max: 200 }), hostileText).map(
    ([count, value]): Change =>
      (pairs) => [...pairs, ...Array.from({ length: count }, (_, index): Pair => [`p${index}`, value])],
  ),
)

const changed = (pairs: Pairs, changes: readonly Change[]): Pairs =>
  changes.reduce((changing, next) => next(changing), pairs)

/** Half a character cannot be encoded. */
const wellFormed = (text: string): string => Buffer.from(text).toString()

/** How pairs are written: as they should be, or as they come. */
const writings: Readonly<Record<string, (pairs: Pairs) => string>> = {
  form: (pairs) => new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString(),
  raw: (pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'),
  semicolons: (pairs) => pairs.map(([name, value]) => `${name}=${encodeURI(wellFormed(value))}`).join(';'),
  latin1: (pairs) =>
    pairs
      .map(([name, value]) => `${name}=${value.replace(/[^!-~]/g, '%ff')}`)
      .join('&&')
      .concat('&=&%'),
  json: (pairs) => JSON.stringify(Object.fromEntries(pairs)),
  twice: (pairs) => encodeURIComponent(new URLSearchParams(pairs.map(([n, v]) => [n, v])).toString()),
}
const writing = fc.oneof(
  { weight: 8, arbitrary: fc.constant('form') },
  { weight: 1, arbitrary: fc.constantFrom(...Object.keys(writings)) },
)

/** Node's client refuses to write other characters in a request line or a header; a server could not get them either. */
const onTheLine = (text: string): string => text.replace(/[^\u0021-\u00ff]/g, '%20')
const inHeader = (text: string): string => text.replace(/[^\t\u0020-\u007e\u0080-\u00ff]/g, '?')

const pathChange: fc.Arbitrary<(path: string) => string> = fc.oneof(
  { weight: 20, arbitrary: fc.constant((path: string) => path) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('/', '//', '/..', '/%2e%2e/token', '%00', '%ff', ';x=1', '/x', '.json', '%2f', '?', '#x')
      .map((suffix) => (path: string) => path + suffix),
  },
  { weight: 1, arbitrary: fc.constant((path: string) => path.toUpperCase()) },
  { weight: 1, arbitrary: fc.constant((path: string) => path.replaceAll('/', '//')) },
  {
    weight: 1,
    arbitrary: hostileText.map(
      (text) => (path: string) => path.replace(/[^/]*$/, encodeURI(wellFormed(text))),
    ),
  },
)

const method = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...'GET POST HEAD PUT DELETE PATCH OPTIONS TRACE PROPFIND'.split(' ')),
  },
)

const headerNames = [
  'Authorization',
  'Cookie',
  'Content-Type',
  'Accept',
  'Origin',
  'Referer',
  'Sec-Fetch-Site',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-For',
  'Forwarded',
  'If-None-Match',
  'Range',
  'X-HTTP-Method-Override',
  'Content-Encoding',
  'Accept-Language',
  'Accept-Encoding',
  'DPoP',
]
const headerValues = [
  'Bearer',
  'Bearer ',
  'Bearer a b',
  'Bearer $REFRESH_TOKEN',
  'bearer $ACCESS_TOKEN',
  'Basic',
  'Basic %%%',
  'Basic Og==',
  'Basic d2Vi',
  'Basic AAAA',
  'Basic /////w==',
  'Basic $BASIC',
  'Digest x',
  'DPoP x',
  ',',
  'application/json',
  'multipart/form-data; boundary=x',
  'text/plain',
  ...['utf-16', 'utf-8'].map((charset) => `application/x-www-form-urlencoded; charset=${charset}`),
  ...'x gzip br identity null cross-site same-origin * bytes=0-1 DELETE W/"x"'.split(' '),
  'https://evil.example',
  'http://localhost:3000',
  '$COOKIE',
  '$CONSENT_COOKIE',
  `x=${'y'.repeat(1000)}`,
  'latchkey=x',
  '=;;=;',
  'a=b; a=c',
  '__Host-x="',
]
const header: fc.Arbitrary<Pair> = fc.tuple(
  fc.constantFrom(...headerNames),
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...headerValues) },
    { weight: 1, arbitrary: hostileText.map((text) => text.slice(0, 1000)) },
  ),
)
const extraHeaders: fc.Arbitrary<Pairs> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Pairs>([]) },
  { weight: 1, arbitrary: fc.array(header, { minLength: 1, maxLength: 3 }) },
)

const body = fc.oneof(
  { weight: 30, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.constantFrom('', '{', '[]', 'null', '&', '=', '%', '\0', 'x'.repeat(15_000), 'y='.repeat(10_000)),
      fc.constant(`a=${'z'.repeat(70_000)}`),
      fc.string({ unit: 'binary' }),
    ),
  },
)

const typesOfWriting: Readonly<Record<string, string>> = { json: 'application/json' }

/**
 * Requests that are wrong somewhere, and mostly right: the parameters, the way they are written, the path, the method,
 * headers or the body of a request that this server would answer.
 */
export const malformedRequest: fc.Arbitrary<MalformedRequest> = fc
  .record({
    template: fc.constantFrom(...templates),
    changes: fc.array(change, { maxLength: 3 }),
    writing,
    pathChange,
    method,
    extraHeaders,
    body,
  })
  .map(
    ({
      template,
      changes,
      writing: way,
      pathChange: changePath,
      method: other,
      extraHeaders: extra,
      body,
    }) => {
      const { query, form, headers = {} } = template
      const write = writings[way] ?? String
      const search = query === undefined ? '' : `?${write(changed(query, changes))}`
      const written = form === undefined ? undefined : write(changed(form, changes))
      const type = form && { 'Content-Type': typesOfWriting[way] ?? 'application/x-www-form-urlencoded' }
      const added = Object.fromEntries(extra.map(([name, value]) => [name, inHeader(value)]))
      return {
        method: other ?? template.method,
        target: onTheLine(`${changePath(template.path)}${search}`),
        headers: { ...type, ...headers, ...added },
        body: body ?? written,
      }
    },
  )
