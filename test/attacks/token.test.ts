import type { ClientSeed } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  apiSide,
  changesNothing,
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
} from '../support/api-side.ts'
import { callback, secret } from '../support/host.ts'
import type { Answer } from '../support/raw-browser.ts'
import { asserted } from '../support/signing-client.ts'
import { type Fields, underAttack } from '../support/target.ts'
import { ada, given } from '../support/tokens.ts'

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

underAttack(
  'the token endpoint',
  (target, { mount, describe, test, everyMount }) => {
    const side = apiSide(target)
    const { ask, browserOf, codeFor, expectRefused, guarded, introspect, own, redeem, refresh } = side
    const { table, token, tokensFor, userinfo } = side

    beforeAll(async () => {
      const client = (client_id: string) => table('clients').where({ client_id })
      await client('off').update({ disabled_at: 1 })
      await client('blank').update({ secret_hash: null })
      await client('hollow').update({ secret_hash: hashSecret('') })
    })
    afterEach(async () => {
      expect((await own()).status).toBe(200)
    })

    describe('refuses', () => {
      // RFC 9700 §2.1.2 and §2.4, RFC 7523 §2.1, RFC 8693 §2.1, RFC 8628 §3.4, CVE-2026-11800, CVE-2026-9097, ASVS 10.4.4.
      const urns = ['jwt-bearer', 'token-exchange', 'device_code'].map(
        (name) => `urn:ietf:params:oauth:grant-type:${name}`,
      )
      const others = ['Client_Credentials', 'client_credentials ', '*', '__proto__']
      test.each([...['password', 'implicit'], ...urns, ...others])(
        'the grant type %p',
        async (grant_type) => {
          const [tokens, code] = [await tokensFor(), await codeFor()]
          const form = {
            ...{ grant_type, username: ada.email, password: ada.password, scope: 'notes:read' },
            ...{ code, device_code: code, assertion: tokens.id_token, redirect_uri: callback, ...web },
            ...{ subject_token: tokens.access_token, refresh_token: tokens.refresh_token },
          }
          await expectRefused(() => token(form), 'unsupported_grant_type')
          tokensOf(await redeem(code))
          tokensOf(await refresh(tokens.refresh_token))
        },
      )

      test('a grant that the client was not registered for (ASVS 10.4.4)', async () => {
        const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
        const batch = { client_id: 'batch', client_secret: secret }
        await expectRefused(() => redeem(code, batch), 'unauthorized_client')
        await expectRefused(() => refresh(refresh_token, batch), 'unauthorized_client')
        await expectRefused(() => own({ ...batch, client_id: 'site' }), 'unauthorized_client')
        await expectRefused(() => own(native), 'unauthorized_client')
      })

      test('a missing grant type, and one twice (RFC 6749 §3.2 and §5.2)', async () => {
        const [one, two] = ['grant_type=client_credentials', 'grant_type=refresh_token']
        const texts = ['', 'grant_type=', `${one}&${two}`, `${one}&${one}`, one.replace('=', '[]=')]
        for (const text of texts)
          await expectRefused(() => token(`${text}&${new URLSearchParams(web)}`), 'invalid_request')
      })
    })

    everyMount(() => {
      test('refuses a parameter that comes twice, whichever is right, as every endpoint does (RFC 6749 §3.2, CWE-235)', async () => {
        const code = { grant_type: 'authorization_code', code: `lk_ac_${unknown}`, redirect_uri: callback }
        const value = `lk_rt_${unknown}`
        const { access_token } = await tokensFor()
        const requests: Record<string, Fields> = {
          '/token': { ...code, code_verifier: verifier, scope: 'openid', unheard_of: 'x', ...web },
          '/introspect': { token: value, token_type_hint: 'access_token', ...web },
          '/revoke': { token: value, token_type_hint: 'refresh_token', ...web },
          '/userinfo': { access_token },
        }
        await changesNothing(target(), async () => {
          for (const [path, fields] of Object.entries(requests)) {
            const form = new URLSearchParams(fields)
            for (const [name, right] of Object.entries(fields))
              for (const body of [`${form}&${name}=x`, `${name}=x&${form}`, `${form}&${name}=${right}`])
                expectRefusal(await ask(path, body), 'invalid_request')
          }
        })
      })

      test('never takes a list or an object for the text in it (RFC 6749 §3.2)', async () => {
        const code = await codeFor(s256)
        const redemption = { grant_type: 'authorization_code', code, redirect_uri: callback, ...web }
        const refreshing = { grant_type: 'refresh_token', refresh_token: 'x', ...web }
        const forScope = { grant_type: 'client_credentials', scope: 'notes:read', ...web }
        const forms: [Fields, string][] = [
          ...['client_id', 'client_secret', 'code', 'redirect_uri', 'code_verifier'].map(
            (name): [Fields, string] => [{ ...redemption, code_verifier: verifier }, name],
          ),
          ...([[refreshing, 'refresh_token'] as const, [forScope, 'scope'] as const] as [Fields, string][]),
        ]
        for (const [form, name] of forms) {
          for (const brackets of ['[]', '[0]', '[__proto__]']) {
            const pairs = Object.entries(form).map(
              ([each, value]) => `${each === name ? name + brackets : each}=${encodeURIComponent(value)}`,
            )
            const answer = await token(pairs.join('&'))
            // A scope that is not there is no scope that was asked for.
            if (name === 'scope' && answer.status === 200)
              expect(tokensOf(answer).scope).toBe('notes:read notes:write')
            else {
              expect([400, 401]).toContain(answer.status)
              expectRefusal(answer, String(jsonOf(answer).error), answer.status)
            }
          }
        }
        tokensOf(await redeem(code, { code_verifier: verifier }))
      })

      test('reads no form of another type, charset or encoding (RFC 6749 §3.2 and Appendix B)', async () => {
        const grant = { grant_type: 'client_credentials', ...web }
        const form = String(new URLSearchParams(grant))
        const type = 'application/x-www-form-urlencoded'
        // Spelt so that a filter or a log in front of us reads nothing of what it asks for.
        const utf7 = form.replace('client_credentials', '+AGMAbABpAGUAbgB0AF8AYwByAGUAZABlAG4AdABpAGEAbABz-')
        const sent: [string, Fields, readByParser?: boolean][] = [
          [JSON.stringify(grant), { 'Content-Type': 'application/json' }],
          [form, { 'Content-Type': 'text/plain' }],
          [`--x\r\n\r\n${form}\r\n--x--`, { 'Content-Type': 'multipart/form-data; boundary=x' }],
          [form, { 'Content-Type': `${type}-x` }],
          [utf7, { 'Content-Type': `${type}; charset=utf-7` }, true],
          [form, { 'Content-Type': `${type}; charset=x-none` }, true],
          [form, { 'Content-Encoding': 'deflate' }, true],
          [form, { 'Content-Encoding': 'zstd' }, true],
        ]
        for (const [body, headers, readByParser] of sent) {
          const refused = await changesNothing(target(), () => token(body, headers))
          // Express's own form parser has refused it before us, in its own way.
          if (readByParser && mount.isParsed) expect([400, 415]).toContain(refused.status)
          else expectRefusal(refused, 'invalid_request', 415)
        }
      })

      test('reads no form of more than 64 parameters, or of more than 64 kB unless the host has read it before (RFC 6819 §4.4.1.11)', async () => {
        const form = String(new URLSearchParams({ grant_type: 'client_credentials', ...web }))
        const more = Array.from({ length: 62 }, (__, index) => `p${index}=1`).join('&')
        await expectRefused(() => token(`${form}&${more}`), 'invalid_request')
        const large = () => token(`${form}&x=${'x'.repeat(70_000)}`)
        if (mount.isParsed) tokensOf(await large())
        else await expectRefused(large, 'invalid_request', 413)
      })

      test('answers another method with 405, whatever a header or a field says (ASVS 4.1.4)', async () => {
        const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
        const grants: Fields[] = [
          { grant_type: 'client_credentials', _method: 'POST' },
          { grant_type: 'authorization_code', code, redirect_uri: callback },
          { grant_type: 'refresh_token', refresh_token },
        ]
        const overrides = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']
        const headers = Object.fromEntries(overrides.map((name) => [name, 'POST']))
        for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
          for (const grant of grants) {
            const path = `${target().base}/token?${new URLSearchParams({ ...grant, ...web })}`
            const send = () => target().browser().send(method, path, { headers })
            const refused = await changesNothing(target(), send)
            if (method !== 'HEAD') expectRefusal(refused, 'invalid_request', 405)
            expect([refused.status, refused.headers.allow]).toEqual([405, 'POST'])
          }
        }
        tokensOf(await redeem(code))
        tokensOf(await refresh(refresh_token))
        const posted = { grant_type: 'client_credentials', _method: 'DELETE', ...web }
        tokensOf(await token(posted, { 'X-HTTP-Method-Override': 'DELETE' }))
      })

      test('reads no cookie, sets none, and no cache may store what it says (RFC 6749 §5.1, RFC 6819 §4.4.1.8)', async () => {
        const code = await codeFor()
        const form = { grant_type: 'authorization_code', code, redirect_uri: callback }
        expectRefusal(await browserOf().post(`${target().base}/token`, form), 'invalid_request')
        const answers = [await redeem(code), await own(), await own({ client_secret: 'x' })]
        for (const { headers, setCookies } of answers) {
          expect(setCookies.filter((cookie) => /latchkey/i.test(cookie))).toEqual([])
          expect(headers['cache-control']).toBe('no-store')
          for (const name of ['etag', 'last-modified']) expect(headers).not.toHaveProperty(name)
        }
      })
    })

    describe('gives a client for itself', () => {
      test('no scope of a user, an unknown one, or one of another client (RFC 9700 §4.15, CVE-2024-52287, ASVS 10.4.11)', async () => {
        for (const scope of ['openid', 'offline_access', 'profile', 'root', 'notes:write'])
          await expectRefused(
            () => own({ client_id: 'batch', client_secret: secret, scope }),
            'invalid_scope',
          )
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

    test('never repeats what it was sent (RFC 6749 §10.14)', async () => {
      const marked = 'ATTACKMARK<script>alert(1)</script>'
      const names = ['grant_type', 'client_id', 'client_secret', 'scope', 'code', 'refresh_token', marked]
      for (const name of names) {
        for (const grant_type of ['client_credentials', 'authorization_code', 'refresh_token']) {
          const form = { grant_type, code: 'x', redirect_uri: marked, refresh_token: 'x', ...web }
          const headers = { 'X-Mark': marked, Referer: 'https://attackmark.example' }
          const answer = await token({ ...form, [name]: marked }, headers)
          expect(`${answer.html}${JSON.stringify(answer.headers)}`).not.toMatch(/ATTACKMARK/i)
        }
      }
    })

    describe('and every other endpoint of clients refuses', () => {
      /** Sends the same credentials to every endpoint; nothing is written by it. */
      const everywhere = (fields: Asked, headers?: Fields): Promise<Answer[]> =>
        changesNothing(target(), async () => {
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

      everyMount(() => {
        test('no client whose credentials are in the URL or in JSON: credentials in the URL are ignored (RFC 6749 §2.3.1)', async () => {
          for (const [path, form] of endpoints) {
            const all = `${path}?${new URLSearchParams(web)}`
            expectRefusal(await ask(all, form), 'invalid_request')
            const named = await ask(`${path}?client_secret=${secret}`, { ...form, client_id: 'web' })
            expectRefusal(named, 'invalid_client')
            const json = await ask(path, JSON.stringify(given({ ...form, ...web })), {
              'Content-Type': 'application/json',
            })
            expectRefusal(json, 'invalid_request', 415)
          }
        })
      })
    })

    test('tells a stranger nothing about a grant: the client is authenticated first (RFC 6749 §3.2.1)', async () => {
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
  },
  () => ({
    clients: [
      ...rivals,
      { client_id: 'batch', client_secret: secret, ...forItself },
      { client_id: 'site', client_secret: secret, redirect_uris: [callback] },
      { ...namesake, ...forItself },
      { ...confidential, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' },
      { ...confidential, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
      ...['off', 'blank', 'hollow'].map((client_id) => ({ ...confidential, client_id })),
    ] satisfies ClientSeed[],
  }),
)
