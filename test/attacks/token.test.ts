import type { ClientSeed } from '../../lib/index.ts'
import {
  type Asked,
  apiSide,
  changesNothing,
  expectRefusal,
  jsonOf,
  native,
  rivals,
  s256,
  tokensOf,
  verifier,
  web,
} from '../support/api-side.ts'
import { callback, secret } from '../support/host.ts'
import { type Mount, underAttack } from '../support/target.ts'
import { ada } from '../support/tokens.ts'

/** There the host's parsers read a body before us, by their own rules. */
const isParsed = (mount: Mount): boolean => mount.startsWith('after the host’s own parsers')

/** A client whose name is the identifier of a user. */
const namesake = { client_id: String(ada.id), client_secret: secret }

underAttack(
  'the token endpoint',
  (target, { mount, describe, test, everyMount }) => {
    const { ask, browserOf, codeFor, guarded, introspect, own, redeem, refresh, token, tokensFor, userinfo } =
      apiSide(target)

    afterEach(async () => {
      expect((await own()).status).toBe(200)
    })

    describe('refuses', () => {
      const sources: Readonly<Record<string, string>> = {
        password: 'RFC 9700 §2.4, ASVS 10.4.4',
        implicit: 'RFC 9700 §2.1.2',
        'urn:ietf:params:oauth:grant-type:jwt-bearer': 'RFC 7523 §2.1, CVE-2026-11800',
        'urn:ietf:params:oauth:grant-type:token-exchange': 'RFC 8693 §2.1, CVE-2026-9097',
        'urn:ietf:params:oauth:grant-type:device_code': 'RFC 8628 §3.4',
        'urn:ietf:params:oauth:grant-type:saml2-bearer': 'RFC 7522 §2.1',
        'urn:openid:params:grant-type:ciba': 'CIBA Core §10.1',
      }
      const values = [
        ...Object.keys(sources),
        ...['Client_Credentials', 'client_credentials ', 'client_credentials refresh_token', '*', 'code'],
        ...['__proto__', 'constructor', 'toString', 'undefined'],
      ]
      test.each(values.map((value) => [value, sources[value] ?? 'RFC 6749 §4.5 and §5.2']))(
        'the grant type %p (%s)',
        async (grant_type) => {
          const [tokens, code] = [await tokensFor(), await codeFor()]
          const form = {
            ...{ grant_type, username: ada.email, password: ada.password, scope: 'notes:read' },
            ...{ code, device_code: code, assertion: tokens.id_token, auth_req_id: code },
            ...{ subject_token: tokens.access_token, refresh_token: tokens.refresh_token },
          }
          const refused = await changesNothing(target(), () =>
            token({ ...form, redirect_uri: callback, ...web }),
          )
          expectRefusal(refused, 400, 'unsupported_grant_type')
          expect((await redeem(code)).status).toBe(200)
          expect((await refresh(tokens.refresh_token)).status).toBe(200)
        },
      )

      test('a grant that the client was not registered for (ASVS 10.4.4)', async () => {
        const [code, tokens] = [await codeFor(), await tokensFor()]
        const grants: Asked[] = [
          { grant_type: 'authorization_code', code, redirect_uri: callback },
          { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
        ]
        for (const grant of grants) {
          const form = { ...grant, client_id: 'batch', client_secret: secret }
          expectRefusal(await changesNothing(target(), () => token(form)), 400, 'unauthorized_client')
        }
        const site = { client_id: 'site', client_secret: secret }
        expectRefusal(await changesNothing(target(), () => own(site)), 400, 'unauthorized_client')
      })

      test.each([
        ['nothing', '', 'invalid_request'],
        ['an empty one', 'grant_type=', 'invalid_request'],
        ['two that differ', 'grant_type=client_credentials&grant_type=refresh_token', 'invalid_request'],
        ['two that do not', 'grant_type=client_credentials&grant_type=client_credentials', 'invalid_request'],
        ['lists', 'grant_type[]=client_credentials&grant_type[]=password', 'invalid_request'],
        ['a semicolon between', 'grant_type=client_credentials;client_id=web', 'unsupported_grant_type'],
      ])('as grant type, %s (RFC 6749 §3.2 and §5.2)', async (_, text, error) => {
        const body = `${text}&${new URLSearchParams(web)}`
        expectRefusal(await changesNothing(target(), () => token(body)), 400, error)
      })
    })

    everyMount(() => {
      describe('with a parameter twice, whichever is right, is refused (RFC 6749 §3.2, CWE-235)', () => {
        const requests: Readonly<Record<string, Asked>> = {
          '/token': {
            ...{ grant_type: 'authorization_code', code: `lk_ac_${'A'.repeat(43)}`, redirect_uri: callback },
            ...{ code_verifier: verifier, scope: 'openid', refresh_token: 'x', nonce: 'n', audience: 'x' },
          },
          '/introspect': { token: `lk_at_${'A'.repeat(43)}`, token_type_hint: 'access_token' },
          '/revoke': { token: `lk_rt_${'A'.repeat(43)}`, token_type_hint: 'refresh_token' },
        }
        const cases = Object.entries(requests).flatMap(([path, fields]) =>
          Object.keys({ ...fields, ...web, unheard_of: '' }).map((name): [string, string] => [path, name]),
        )
        test.each(cases)('%s: %s', async (path, name) => {
          const fields: Record<string, string> = { unheard_of: 'x', ...requests[path], ...web } as never
          const form = new URLSearchParams(fields)
          for (const body of [`${form}&${name}=x`, `${name}=x&${form}`, `${form}&${name}=${fields[name]}`]) {
            expectRefusal(await changesNothing(target(), () => ask(path, body)), 400, 'invalid_request')
          }
        })

        test('the access token in the body of UserInfo (RFC 6750 §3.1)', async () => {
          const { access_token } = await tokensFor()
          for (const body of [
            `access_token=${access_token}&access_token=x`,
            `access_token=x&access_token=${access_token}`,
          ])
            expectRefusal(await ask('/userinfo', body), 400, 'invalid_request')
        })
      })

      test.each([
        'client_id',
        'client_secret',
        'code',
        'redirect_uri',
        'code_verifier',
        'scope',
        'refresh_token',
      ])('with %s as a list or an object is never taken for the text in it (RFC 6749 §3.2)', async (name) => {
        const code = await codeFor(s256)
        const fields: Asked = {
          grant_type: 'authorization_code',
          code,
          redirect_uri: callback,
          code_verifier: verifier,
          ...web,
          ...(name === 'refresh_token' && { grant_type: name, refresh_token: 'x', code: undefined }),
          ...(name === 'scope' && { grant_type: 'client_credentials', scope: 'notes:read', code: undefined }),
        }
        for (const brackets of ['[]', '[0]', '[x]', '[__proto__]', '[length]']) {
          const pairs = Object.entries(fields).flatMap(([key, value]) =>
            value === undefined ? [] : [[key, value]],
          )
          const body = pairs
            .map(
              ([key, value]) =>
                `${key === name ? `${key}${brackets}` : key}=${encodeURIComponent(String(value))}`,
            )
            .join('&')
          const answer = await token(body)
          // A scope that is not there is no scope that was asked for.
          if (name === 'scope' && answer.status === 200) {
            expect(jsonOf(answer)).toMatchObject({ scope: 'notes:read notes:write' })
          } else {
            expect([400, 401]).toContain(answer.status)
            const { error } = jsonOf(answer)
            expectRefusal(answer, answer.status, String(error))
          }
        }
        expect((await redeem(code, { code_verifier: verifier })).status).toBe(200)
      })

      describe('reads forms alone', () => {
        const form = String(new URLSearchParams({ grant_type: 'client_credentials', ...web }))
        const json = JSON.stringify({ grant_type: 'client_credentials', ...web })

        test.each([
          ['JSON', 'application/json', json],
          ['text', 'text/plain', form],
          ['multipart', 'multipart/form-data; boundary=x', `--x\r\n\r\n${form}\r\n--x--`],
          ['a type that only begins alike', 'application/x-www-form-urlencoded-x', form],
          ['no type at all', 'x', form],
        ])('not %s (RFC 6749 §3.2)', async (_, type, body) => {
          const refused = await changesNothing(target(), () => token(body, { 'Content-Type': type }))
          expectRefusal(refused, 415, 'invalid_request')
        })

        test.each<[string, string]>([
          // Spelt so that a filter or a log in front of us reads nothing of what it asks for.
          ['utf-7', form.replace('client_credentials', '+AGMAbABpAGUAbgB0AF8AYwByAGUAZABlAG4AdABpAGEAbABz-')],
          ['x-none', form],
        ])('not in the charset %s: a form is UTF-8 (RFC 6749 Appendix B)', async (charset, body) => {
          const type = `application/x-www-form-urlencoded; charset=${charset}`
          const refused = await changesNothing(target(), () => token(body, { 'Content-Type': type }))
          expect(refused.status).toBe(415)
          // There Express's own form parser has said so.
          if (!isParsed(mount)) expectRefusal(refused, 415, 'invalid_request')
        })

        test.each(['deflate', 'br', 'zstd', 'x'])(
          'not in the encoding %s, which could be a bomb',
          async (encoding) => {
            const refused = await changesNothing(target(), () =>
              token(form, { 'Content-Encoding': encoding }),
            )
            expect(refused.status).toBeGreaterThanOrEqual(400)
            expect(refused.status).toBeLessThan(500)
            if (!isParsed(mount)) expectRefusal(refused, 415, 'invalid_request')
          },
        )

        test('not with more than 64 parameters (RFC 6819 §4.4.1.11)', async () => {
          const more = Array.from({ length: 62 }, (__, index) => `p${index}=1`).join('&')
          expectRefusal(
            await changesNothing(target(), () => token(`${form}&${more}`)),
            400,
            'invalid_request',
          )
        })

        test('not of more than 64 kB, unless the host has read it before us (RFC 6819 §4.4.1.11)', async () => {
          const body = `${form}&x=${'x'.repeat(70_000)}`
          if (isParsed(mount)) expect((await token(body)).status).toBe(200)
          else expectRefusal(await changesNothing(target(), () => token(body)), 413, 'invalid_request')
        })
      })

      test.each([
        ['GET', 'a form that is a link (RFC 6749 §3.2)'],
        ['HEAD', 'what proxies and previews send'],
        ['PUT', 'another method'],
        ['PATCH', 'another method'],
        ['DELETE', 'another method'],
      ])('answers %s, %s, with 405', async (method) => {
        const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
        const grants: Record<string, string>[] = [
          { grant_type: 'client_credentials' },
          { grant_type: 'authorization_code', code, redirect_uri: callback },
          { grant_type: 'refresh_token', refresh_token },
        ]
        for (const grant of grants) {
          const path = `${target().base}/token?${new URLSearchParams({ ...grant, ...web })}`
          const refused = await changesNothing(target(), () => target().browser().send(method, path))
          if (method !== 'HEAD') expectRefusal(refused, 405, 'invalid_request')
          expect({ status: refused.status, allow: refused.headers.allow }).toEqual({
            status: 405,
            allow: 'POST',
          })
        }
        expect((await redeem(code)).status).toBe(200)
        expect((await refresh(refresh_token)).status).toBe(200)
      })

      test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
        'takes the method of the request line, whatever %s says (ASVS 4.1.4)',
        async (header) => {
          const query = new URLSearchParams({ grant_type: 'client_credentials', _method: 'POST', ...web })
          const got = await changesNothing(target(), () =>
            target().get(`${target().base}/token?${query}`, { [header]: 'POST' }),
          )
          expectRefusal(got, 405, 'invalid_request')
          const posted = await token(
            { grant_type: 'client_credentials', _method: 'DELETE', ...web },
            { [header]: 'DELETE' },
          )
          expect(posted.status).toBe(200)
        },
      )
    })

    describe('gives a client for itself', () => {
      test.each([
        ['who the user is', 'openid'],
        ['a refresh token', 'offline_access'],
        ['the name of a user', 'profile'],
        ['an unknown scope', 'root'],
        ['what another client may have', 'notes:write'],
      ])('not %s: the scope %s (RFC 9700 §4.15, CVE-2024-52287, ASVS 10.4.11)', async (_, scope) => {
        const batch = { client_id: 'batch', client_secret: secret, scope }
        expectRefusal(await changesNothing(target(), () => own(batch)), 400, 'invalid_scope')
      })

      test('neither an ID token nor a refresh token, nor the rights of a user (RFC 6749 §4.4.3)', async () => {
        const answer = await own()
        expect(Object.keys(jsonOf(answer)).sort()).toEqual([
          'access_token',
          'expires_in',
          'scope',
          'token_type',
        ])
        expect(jsonOf(answer)).toMatchObject({ scope: 'notes:read notes:write' })
        expectRefusal(await userinfo(tokensOf(answer).access_token), 403, 'insufficient_scope')
      })

      test('no data of a user whose identifier equals its client_id (RFC 9700 §4.15, RFC 9068 §5)', async () => {
        const { access_token } = tokensOf(await own(namesake))
        expectRefusal(await userinfo(access_token), 403, 'insufficient_scope')
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

      test('nothing without its secret (ASVS 10.4.10, CVE-2026-44476)', async () => {
        for (const client_secret of [undefined, '', 'x']) {
          const refused = await changesNothing(target(), () => own({ client_secret }))
          expectRefusal(refused, 401, 'invalid_client')
        }
        expectRefusal(await changesNothing(target(), () => own(native)), 400, 'unauthorized_client')
      })
    })

    everyMount(() => {
      test('never repeats what it was sent (RFC 6749 §10.14)', async () => {
        const marked = 'ATTACKMARK<script>alert(1)</script>'
        for (const name of [
          'grant_type',
          'client_id',
          'client_secret',
          'scope',
          'code',
          'refresh_token',
          marked,
        ]) {
          const grants = ['client_credentials', 'authorization_code', 'refresh_token']
          for (const grant_type of grants) {
            const form = {
              grant_type,
              code: 'x',
              redirect_uri: marked,
              refresh_token: 'x',
              ...web,
              [name]: marked,
            }
            const answer = await token(form, { 'X-Mark': marked, Referer: 'https://attackmark.example' })
            expect(`${answer.html}${JSON.stringify(answer.headers)}`).not.toMatch(/ATTACKMARK/i)
          }
        }
      })

      test('sends no cookie and reads none (RFC 6819 §4.4.1.8)', async () => {
        const code = await codeFor()
        const form = { grant_type: 'authorization_code', code, redirect_uri: callback }
        const refused = await browserOf().post(`${target().base}/token`, form)
        expectRefusal(refused, 400, 'invalid_request')
        const answer = await redeem(code)
        expect(answer.status).toBe(200)
        expect(answer.setCookies.filter((cookie) => /latchkey/i.test(cookie))).toEqual([])
      })

      test('sends responses that no cache may store (RFC 6749 §5.1)', async () => {
        const answers = [await redeem(await codeFor()), await own(), await own({ client_secret: 'x' })]
        for (const { headers } of answers) {
          expect(headers['cache-control']).toBe('no-store')
          expect(headers).not.toHaveProperty('etag')
          expect(headers).not.toHaveProperty('last-modified')
        }
      })
    })
  },
  () => ({
    clients: [
      ...rivals,
      {
        client_id: 'batch',
        client_secret: secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        scope: 'notes:read',
      },
      { client_id: 'site', client_secret: secret, redirect_uris: [callback] },
      { ...namesake, grant_types: ['client_credentials'], redirect_uris: [], scope: 'notes:read' },
    ] satisfies ClientSeed[],
  }),
)
