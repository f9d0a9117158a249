import type { ClientSeed } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { callback, secret } from '../support/host.ts'
import type { Answer } from '../support/raw-browser.ts'
import { asserted } from '../support/signing-client.ts'
import { ada, given } from '../support/tokens.ts'
import {
  type Asked,
  apiSide,
  comparable,
  expectRefusal,
  jsonOf,
  native,
  otherSecret,
  rivals,
  s256,
  tokensOf,
  verifier,
  web,
} from './api-side.ts'
import { type Fields, type Mount, mounts, plainMount, targetIn, writesNothing } from './target.ts'

const forItself = { grant_types: ['client_credentials' as const], redirect_uris: [], scope: 'notes:read' }
/** A client whose name is the identifier of a user. */
const namesake = { client_id: String(ada.id), client_secret: secret }
const confidential = {
  client_secret: secret,
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] as ClientSeed['grant_types'],
  scope: 'openid notes:read',
}
const basic = (credentials: string): Fields => ({
  Authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
})
const unknown = 'A'.repeat(43)

/** The endpoints at which clients say who they are, each with a request that would be served. */
const endpoints: readonly [string, Asked][] = [
  ['/token', { grant_type: 'client_credentials' }],
  ['/introspect', { token: `lk_at_${unknown}` }],
  ['/revoke', { token: `lk_rt_${unknown}` }],
]

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({
    clients: [
      ...rivals,
      { client_id: 'batch', client_secret: secret, ...forItself },
      { client_id: 'site', client_secret: secret, redirect_uris: [callback] },
      { ...namesake, ...forItself },
      { ...confidential, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' },
      { ...confidential, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
      ...['off', 'blank', 'hollow'].map((client_id) => ({ ...confidential, client_id })),
    ] satisfies ClientSeed[],
  }))
  const side = apiSide(target)
  const { own, table } = side

  beforeAll(async () => {
    const client = (client_id: string) => table('clients').where({ client_id })
    await client('off').update({ disabled_at: 1 })
    await client('blank').update({ secret_hash: null })
    await client('hollow').update({ secret_hash: hashSecret('') })
  })
  afterEach(async () => {
    expect((await own()).status).toBe(200)
  })
  return { ...side, target }
}

describe('the token endpoint', () => {
  const side = attackerIn(plainMount)
  const { target, ask, codeFor, expectRefused, guarded, introspect } = side
  const { own, redeem, refresh, token, tokensFor, userinfo } = side

  describe('refuses', () => {
    // RFC 9700 §2.1.2 and §2.4, RFC 7523 §2.1, RFC 8693 §2.1, RFC 8628 §3.4, CVE-2026-11800, CVE-2026-9097, ASVS 10.4.4.
    test.each([
      ['password'],
      ['implicit'],
      ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
      ['urn:ietf:params:oauth:grant-type:token-exchange'],
      ['urn:ietf:params:oauth:grant-type:device_code'],
      ['Client_Credentials'],
      ['client_credentials '],
      ['*'],
      ['__proto__'],
    ])('the grant type %p, although everything that it could need is there', async (grant_type) => {
      const [tokens, code] = [await tokensFor(), await codeFor()]
      const form = {
        ...web,
        grant_type,
        username: ada.email,
        password: ada.password,
        scope: 'notes:read',
        code,
        redirect_uri: callback,
        device_code: code,
        assertion: tokens.id_token,
        subject_token: tokens.access_token,
        refresh_token: tokens.refresh_token,
      }
      await expectRefused(() => token(form), 'unsupported_grant_type')
      tokensOf(await redeem(code))
      tokensOf(await refresh(tokens.refresh_token))
    })

    // ASVS 10.4.4.
    const batch = { client_id: 'batch', client_secret: secret }
    test.each<[string, () => Promise<() => Promise<Answer>>]>([
      ['redeems a code', () => codeFor().then((code) => () => redeem(code, batch))],
      ['refreshes', () => tokensFor().then((tokens) => () => refresh(tokens.refresh_token, batch))],
      ['asks for a token of its own', async () => () => own({ ...batch, client_id: 'site' })],
      ['asks for a token of its own without a secret', async () => () => own(native)],
    ])('a client that %s and was not registered for that', async (_, prepare) => {
      await expectRefused(await prepare(), 'unauthorized_client')
    })

    // RFC 6749 §3.2 and §5.2.
    test.each([
      ['no grant type', ''],
      ['an empty grant type', 'grant_type='],
      ['two grant types', 'grant_type=client_credentials&grant_type=refresh_token'],
      ['one grant type twice', 'grant_type=client_credentials&grant_type=client_credentials'],
      ['a grant type in brackets', 'grant_type[]=client_credentials'],
    ])('%s', async (_, text) => {
      await expectRefused(() => token(`${text}&${new URLSearchParams(web)}`), 'invalid_request')
    })
  })

  describe('gives a client for itself', () => {
    // RFC 9700 §4.15, CVE-2024-52287, ASVS 10.4.11.
    test.each([
      ['of a user', 'openid'],
      ['of a user', 'offline_access'],
      ['of a user', 'profile'],
      ['that does not exist', 'root'],
      ['of another client', 'notes:write'],
    ])('no scope %s: %s', async (_, scope) => {
      await expectRefused(() => own({ client_id: 'batch', client_secret: secret, scope }), 'invalid_scope')
    })

    test('neither an ID token nor a refresh token (RFC 6749 §4.4.3)', async () => {
      const answer = tokensOf(await own())
      expect(Object.keys(answer).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
      expect(answer.scope).toBe('notes:read notes:write')
    })

    test('no data of a user whose identifier equals its client_id (RFC 9700 §4.15, RFC 9068 §5)', async () => {
      const { access_token } = tokensOf(await own(namesake))
      expectRefusal(await userinfo(access_token), 'insufficient_scope')
      expect(jsonOf(await guarded(access_token))).toEqual({ subject: null })
      expect(jsonOf(await introspect(access_token, namesake))).not.toHaveProperty('username')
      const { access_token: users } = await tokensFor({ scope: 'openid notes:read' })
      expect(jsonOf(await guarded(users))).toEqual({ subject: namesake.client_id })
    })

    test('nothing more by saying whom it would like to be (RFC 9700 §4.15)', async () => {
      const posing = { subject: '1', sub: '1', username: ada.email, user_id: '1', requested_subject: '1' }
      const { access_token } = tokensOf(await own(posing))
      expect(jsonOf(await guarded(access_token))).toEqual({ subject: null })
    })
  })

  // RFC 6749 §10.14.
  const marked = 'ATTACKMARK<script>alert(1)</script>'
  test.each([
    ['grant_type'],
    ['client_id'],
    ['client_secret'],
    ['scope'],
    ['code'],
    ['refresh_token'],
    [marked],
  ])('never repeats what it was sent as %s', async (name) => {
    for (const grant_type of ['client_credentials', 'authorization_code', 'refresh_token']) {
      const form = { grant_type, code: 'x', redirect_uri: marked, refresh_token: 'x', ...web }
      const headers = { 'X-Mark': marked, Referer: 'https://attackmark.example' }
      const answer = await token({ ...form, [name]: marked }, headers)
      expect(`${answer.html}${JSON.stringify(answer.headers)}`).not.toMatch(/ATTACKMARK/i)
    }
  })

  describe('and every other endpoint of clients refuses', () => {
    /** Sends the same credentials to every endpoint; nothing is written by it. */
    const everywhere = (fields: Asked, headers?: Fields): Promise<Answer[]> =>
      writesNothing(target(), async () => {
        const answers: Answer[] = []
        for (const [path, form] of endpoints) answers.push(await ask(path, { ...form, ...fields }, headers))
        return answers
      })

    // RFC 6749 §2.1, §2.3.1 and §5.2, RFC 6819 §4.1.1, §4.3.4 and §4.3.5, ASVS 6.3.8 and 10.4.10; CVE-2024-47000, CVE-2026-44476.
    test.each<[string, Asked]>([
      ['no secret, by a client that has one', { client_secret: undefined }],
      ['an empty secret', { client_secret: '' }],
      ['the secret of another client', { client_secret: otherSecret }],
      ['the hash of the secret', { client_secret: hashSecret(secret) }],
      ['the beginning of the secret', { client_secret: secret.slice(0, -1) }],
      ['the secret in other letters', { client_secret: secret.toUpperCase() }],
      ['the secret and a space', { client_secret: `${secret} ` }],
      ['the client_id in capitals, as MariaDB may compare it', { client_id: 'WEB' }],
      ['a space behind the client_id, which MariaDB pads away', { client_id: 'web ' }],
      ['an accent in the client_id, as MariaDB may compare it', { client_id: 'wéb' }],
      ['a secret for a public client', { client_id: 'native' }],
      ['a client that is disabled', { client_id: 'off' }],
      ['the form body, by a client of Basic', { client_id: 'basic' }],
      ['“null”, for a client that has none left', { client_id: 'blank', client_secret: 'null' }],
      ['an empty secret, for a client that has none left', { client_id: 'blank', client_secret: '' }],
      ['an empty secret, for a client whose secret is empty', { client_id: 'hollow', client_secret: '' }],
    ])('%s, as it refuses an unknown client, without a challenge', async (_, fields) => {
      const ofUnknown = await everywhere({ ...web, client_id: 'unregistered' })
      for (const answer of ofUnknown) {
        expectRefusal(answer, 'invalid_client')
        expect(answer.headers).not.toHaveProperty('www-authenticate')
      }
      const answers = await everywhere({ ...web, ...fields })
      expect(answers.map(comparable)).toEqual(ofUnknown.map(comparable))
    })

    test.each<[string, string]>([
      ['the secret of another client', `web:${otherSecret}`],
      ['an empty secret', 'web:'],
      ['an encoded NUL behind the client_id, at which PostgreSQL throws', `web%00:${secret}`],
      ['a public client with a secret', 'native:x'],
      ['a client that is disabled', `off:${secret}`],
      ['a client of the form body', `post:${secret}`],
      ['an empty secret, for a client whose secret is empty', 'hollow:'],
      ['an encoding that is broken', '%:%'],
    ])(
      '%s in the header, as it refuses an unknown client, with a challenge (RFC 6749 §2.3.1 and §5.2)',
      async (_, credentials) => {
        const ofUnknown = await everywhere({}, basic(`unknown-client:${secret}`))
        for (const answer of ofUnknown) {
          expectRefusal(answer, 'invalid_client')
          expect(answer.headers['www-authenticate']).toBe('Basic realm="token", charset="UTF-8"')
        }
        const answers = await everywhere({}, basic(credentials))
        expect(answers.map(comparable)).toEqual(ofUnknown.map(comparable))
      },
    )

    test.each<[string, Asked, Fields?]>([
      ['the secret in header and body', web, basic(`web:${secret}`)],
      ['the secrets of two clients', web, basic(`other:${otherSecret}`)],
      ['another client_id in the body', { client_id: 'other' }, basic(`web:${secret}`)],
      ['a bearer token beside the secret', web, { Authorization: 'Bearer x' }],
      ['an assertion beside the secret', { ...web, ...asserted('a.b.c') }],
      ['an assertion beside the header', asserted('a.b.c'), basic(`web:${secret}`)],
      ['the type of an assertion beside the secret', { ...web, client_assertion_type: 'x' }],
      ['none, and no name', {}],
      ['a NUL behind the client_id, at which PostgreSQL throws', { ...web, client_id: 'web\0' }],
      ['a secret of 2,049 characters', { client_id: 'web', client_secret: 'x'.repeat(2049) }],
    ])('%s, as no request (RFC 6749 §2.3)', async (_, fields, headers = {}) => {
      for (const answer of await everywhere(fields, headers)) expectRefusal(answer, 'invalid_request')
    })
  })

  test('authenticates the client before it says anything about a grant (RFC 6749 §3.2.1)', async () => {
    const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
    const fields = { client_id: 'web', client_secret: 'wrong', redirect_uri: callback }
    const grants = [
      { grant_type: 'authorization_code', code },
      { grant_type: 'authorization_code', code: `lk_ac_${unknown}` },
      { grant_type: 'refresh_token', refresh_token },
      { grant_type: 'refresh_token', refresh_token: 'x' },
      { grant_type: 'password' },
      {},
    ]
    const answers = await Promise.all(grants.map((grant) => token({ ...grant, ...fields })))
    for (const answer of answers) expect(comparable(answer)).toEqual(comparable(answers[0]!))
    expectRefusal(answers[0]!, 'invalid_client')
  })
})

describe.each(mounts)('the token endpoint, mounted $name', (mount) => {
  const { target, ask, browserOf, codeFor, expectRefused, own, redeem, refresh, token, tokensFor } =
    attackerIn(mount)

  const urlencoded = 'application/x-www-form-urlencoded'
  const ownGrant = { grant_type: 'client_credentials', ...web }
  const ownForm = String(new URLSearchParams(ownGrant))
  const redemption: Fields = {
    grant_type: 'authorization_code',
    code: `lk_ac_${unknown}`,
    redirect_uri: callback,
    code_verifier: verifier,
    ...web,
  }
  // With a challenge the redirect URI may be absent.
  const { code_verifier: _, ...unchallenged } = redemption
  const refreshing = { grant_type: 'refresh_token', refresh_token: `lk_rt_${unknown}`, ...web }
  const about = { token: `lk_rt_${unknown}`, ...web }

  // RFC 6749 §3.2, CWE-235.
  test.each<[string, () => Promise<Fields>]>([
    ['/token', async () => ({ ...redemption, scope: 'openid', unheard_of: 'x' })],
    ['/introspect', async () => ({ ...about, token_type_hint: 'access_token' })],
    ['/revoke', async () => ({ ...about, token_type_hint: 'refresh_token' })],
    ['/userinfo', async () => ({ access_token: (await tokensFor()).access_token })],
  ])('%s refuses a parameter that comes twice, whichever of the two is right', async (path, fieldsOf) => {
    const fields = await fieldsOf()
    const form = new URLSearchParams(fields)
    const bodies = Object.entries(fields).flatMap(([name, right]) => [
      `${form}&${name}=x`,
      `${name}=x&${form}`,
      `${form}&${name}=${right}`,
    ])
    await writesNothing(target(), async () => {
      for (const body of bodies) expectRefusal(await ask(path, body), 'invalid_request')
    })
  })

  /** The same form three times, with one of its parameters as a list or an object. */
  const bracketed = (form: Fields, name: string): string[] =>
    ['[]', '[0]', '[__proto__]'].map((brackets) =>
      Object.entries(form)
        .map(([each, value]) => `${each === name ? name + brackets : each}=${encodeURIComponent(value)}`)
        .join('&'),
    )

  // RFC 6749 §3.2. A parser of the host makes a list or an object of it, which is refused as malformed.
  test.each([
    ['client_id', redemption, 'invalid_client'],
    ['client_secret', redemption, 'invalid_client'],
    ['code', redemption, 'invalid_request'],
    ['redirect_uri', unchallenged, 'invalid_request'],
    ['code_verifier', redemption, 'invalid_grant'],
    ['refresh_token', refreshing, 'invalid_request'],
  ])('never takes a list or an object for %s', async (name, form, error) => {
    const isChallenged = form !== unchallenged
    const code = await codeFor(isChallenged ? s256 : {})
    for (const body of bracketed({ ...form, ...('code' in form && { code }) }, name))
      await expectRefused(() => token(body), mount.isParsed ? 'invalid_request' : error)
    tokensOf(await redeem(code, isChallenged ? { code_verifier: verifier } : {}))
  })

  test('never takes a list or an object as the scope, with or without a body parser of the host', async () => {
    for (const body of bracketed({ ...ownGrant, scope: 'notes:read' }, 'scope')) {
      if (mount.isParsed) await expectRefused(() => token(body), 'invalid_request')
      else expect(tokensOf(await token(body)).scope).toBe('notes:read notes:write')
    }
  })

  // RFC 6749 §3.2 and Appendix B.
  test.each<[string, string, Fields]>([
    ['JSON', JSON.stringify(ownGrant), { 'Content-Type': 'application/json' }],
    ['a form as text', ownForm, { 'Content-Type': 'text/plain' }],
    [
      'a multipart form',
      `--x\r\n\r\n${ownForm}\r\n--x--`,
      { 'Content-Type': 'multipart/form-data; boundary=x' },
    ],
    ['a form of a type that only begins like the right one', ownForm, { 'Content-Type': `${urlencoded}-x` }],
  ])('does not read %s', async (_, body, headers) => {
    await expectRefused(() => token(body, headers), 'invalid_request', 415)
  })

  // A filter or a log in front of the server would read nothing of what such a form asks for. A parser of the host
  // refuses it first, in its own way.
  test.each<[string, string, Fields, whenParsed: number]>([
    [
      'in UTF-7',
      ownForm.replace('client_credentials', '+AGMAbABpAGUAbgB0AF8AYwByAGUAZABlAG4AdABpAGEAbABz-'),
      { 'Content-Type': `${urlencoded}; charset=utf-7` },
      415,
    ],
    ['in an unknown charset', ownForm, { 'Content-Type': `${urlencoded}; charset=x-none` }, 415],
    ['that is not compressed as it claims', ownForm, { 'Content-Encoding': 'deflate' }, 400],
    ['in a compression that is not supported', ownForm, { 'Content-Encoding': 'zstd' }, 400],
  ])('does not read a form %s', async (_, body, headers, whenParsed) => {
    const refused = await writesNothing(target(), () => token(body, headers))
    if (mount.isParsed) expect(refused.status).toBe(whenParsed)
    else expectRefusal(refused, 'invalid_request', 415)
  })

  // RFC 6819 §4.4.1.11.
  test('reads no form of more than 64 parameters', async () => {
    const more = Array.from({ length: 62 }, (__, index) => `p${index}=1`).join('&')
    await expectRefused(() => token(`${ownForm}&${more}`), 'invalid_request')
  })
  test('reads no form of more than 64 kB, unless the host has read it before', async () => {
    const large = () => token(`${ownForm}&x=${'x'.repeat(70_000)}`)
    if (mount.isParsed) tokensOf(await large())
    else await expectRefused(large, 'invalid_request', 413)
  })

  describe('whatever a header or a field says (ASVS 4.1.4)', () => {
    const overrides = {
      'X-HTTP-Method-Override': 'POST',
      'X-HTTP-Method': 'POST',
      'X-Method-Override': 'POST',
    }
    test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])('answers %s with 405', async (method) => {
      const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
      const grants: Fields[] = [
        { grant_type: 'client_credentials', _method: 'POST' },
        { grant_type: 'authorization_code', code, redirect_uri: callback },
        { grant_type: 'refresh_token', refresh_token },
      ]
      for (const grant of grants) {
        const path = `${target().base}/token?${new URLSearchParams({ ...grant, ...web })}`
        const send = () => target().browser().send(method, path, { headers: overrides })
        const refused = await writesNothing(target(), send)
        expect([refused.status, refused.headers.allow]).toEqual([405, 'POST'])
        // The answer to HEAD has no body.
        if (method !== 'HEAD') expectRefusal(refused, 'invalid_request', 405)
      }
      tokensOf(await redeem(code))
      tokensOf(await refresh(refresh_token))
    })

    test('answers POST with tokens', async () => {
      const posted = { ...ownGrant, _method: 'DELETE' }
      tokensOf(await token(posted, { 'X-HTTP-Method-Override': 'DELETE' }))
    })
  })

  // RFC 6749 §5.1, RFC 6819 §4.4.1.8.
  test('reads no cookie', async () => {
    const form = { grant_type: 'authorization_code', code: await codeFor(), redirect_uri: callback }
    expectRefusal(await browserOf().post(`${target().base}/token`, form), 'invalid_request')
  })
  test.each<[string, () => Promise<Answer>]>([
    ['the tokens of a code', async () => redeem(await codeFor())],
    ['a token of a client’s own', () => own()],
    ['a refusal', () => own({ client_secret: 'x' })],
  ])('sets no cookie with %s, and no cache may store it', async (_, send) => {
    const { headers, setCookies } = await send()
    expect(setCookies.filter((cookie) => /latchkey/i.test(cookie))).toEqual([])
    expect(headers['cache-control']).toBe('no-store')
    for (const name of ['etag', 'last-modified']) expect(headers).not.toHaveProperty(name)
  })

  describe('and every other endpoint of clients refuses', () => {
    // RFC 6749 §2.3.1.
    type Send = (path: string, form: Asked) => Promise<Answer>
    const inJson: Send = (path, form) =>
      ask(path, JSON.stringify(given({ ...form, ...web })), { 'Content-Type': 'application/json' })
    test.each<[string, Send, error: string, status: number]>([
      [
        'id and secret are in the URL',
        (path, form) => ask(`${path}?${new URLSearchParams(web)}`, form),
        'invalid_request',
        400,
      ],
      [
        'secret is in the URL',
        (path, form) => ask(`${path}?client_secret=${secret}`, { ...form, client_id: 'web' }),
        'invalid_client',
        401,
      ],
      ['credentials are in JSON', inJson, 'invalid_request', 415],
    ])('a client whose %s', async (_, send, error, status) => {
      for (const [path, form] of endpoints) expectRefusal(await send(path, form), error, status)
    })
  })
})
