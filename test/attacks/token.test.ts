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
import { type Fields, type Mount, underAttack } from '../support/target.ts'
import { ada } from '../support/tokens.ts'

/** There the host's parsers read a body before us, by their own rules. */
const isParsed = (mount: Mount): boolean => mount.startsWith('after the host’s own parsers')

const forItself = { grant_types: ['client_credentials' as const], redirect_uris: [], scope: 'notes:read' }
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
      // RFC 9700 §2.1.2 and §2.4, RFC 7523 §2.1, RFC 8693 §2.1, RFC 8628 §3.4, CVE-2026-11800, CVE-2026-9097, ASVS 10.4.4.
      const urn = 'urn:ietf:params:oauth:grant-type'
      const grants = [
        'password',
        'implicit',
        `${urn}:jwt-bearer`,
        `${urn}:token-exchange`,
        `${urn}:device_code`,
      ]
      test.each([...grants, 'Client_Credentials', 'client_credentials ', '*', '__proto__'])(
        'the grant type %p',
        async (grant_type) => {
          const [tokens, code] = [await tokensFor(), await codeFor()]
          const form = {
            ...{ grant_type, username: ada.email, password: ada.password, scope: 'notes:read' },
            ...{ code, device_code: code, assertion: tokens.id_token, redirect_uri: callback, ...web },
            ...{ subject_token: tokens.access_token, refresh_token: tokens.refresh_token },
          }
          expectRefusal(await changesNothing(target(), () => token(form)), 400, 'unsupported_grant_type')
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

      test('a missing grant type, and one twice (RFC 6749 §3.2 and §5.2)', async () => {
        const [one, two] = ['grant_type=client_credentials', 'grant_type=refresh_token']
        for (const text of [
          '',
          'grant_type=',
          `${one}&${two}`,
          `${one}&${one}`,
          'grant_type[]=client_credentials',
        ]) {
          const body = `${text}&${new URLSearchParams(web)}`
          expectRefusal(await changesNothing(target(), () => token(body)), 400, 'invalid_request')
        }
      })
    })

    everyMount(() => {
      test('with a parameter twice, whichever is right, every endpoint refuses (RFC 6749 §3.2, CWE-235)', async () => {
        const code = {
          grant_type: 'authorization_code',
          code: `lk_ac_${'A'.repeat(43)}`,
          redirect_uri: callback,
        }
        const value = `lk_rt_${'A'.repeat(43)}`
        const requests: Record<string, Record<string, string>> = {
          '/token': { ...code, code_verifier: verifier, scope: 'openid', unheard_of: 'x', ...web },
          '/introspect': { token: value, token_type_hint: 'access_token', ...web },
          '/revoke': { token: value, token_type_hint: 'refresh_token', ...web },
        }
        const { access_token } = await tokensFor()
        await changesNothing(target(), async () => {
          for (const [path, fields] of Object.entries({ ...requests, '/userinfo': { access_token } })) {
            const form = new URLSearchParams(fields)
            for (const [name, right] of Object.entries(fields))
              for (const body of [`${form}&${name}=x`, `${name}=x&${form}`, `${form}&${name}=${right}`])
                expectRefusal(await ask(path, body), 400, 'invalid_request')
          }
        })
      })

      const lists = 'client_id client_secret code redirect_uri code_verifier scope refresh_token'.split(' ')
      test.each(lists)(
        'with %s as a list or an object is never taken for the text in it (RFC 6749 §3.2)',
        async (name) => {
          const code = await codeFor(s256)
          const fields: Asked = {
            ...{
              grant_type: 'authorization_code',
              code,
              redirect_uri: callback,
              code_verifier: verifier,
              ...web,
            },
            ...(name === 'refresh_token' && { grant_type: name, refresh_token: 'x', code: undefined }),
            ...(name === 'scope' && {
              grant_type: 'client_credentials',
              scope: 'notes:read',
              code: undefined,
            }),
          }
          for (const brackets of ['[]', '[0]', '[__proto__]']) {
            const body = Object.entries(fields)
              .filter(([, value]) => value !== undefined)
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
        },
      )

      describe('reads forms alone', () => {
        const form = String(new URLSearchParams({ grant_type: 'client_credentials', ...web }))
        const json = JSON.stringify({ grant_type: 'client_credentials', ...web })

        test('not in another type, charset or encoding (RFC 6749 §3.2 and Appendix B)', async () => {
          const type = 'application/x-www-form-urlencoded'
          // Spelt so that a filter or a log in front of us reads nothing of what it asks for.
          const utf7 = form.replace(
            'client_credentials',
            '+AGMAbABpAGUAbgB0AF8AYwByAGUAZABlAG4AdABpAGEAbABz-',
          )
          const sent: [string, Fields, readByParser?: boolean][] = [
            [json, { 'Content-Type': 'application/json' }],
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
            if (readByParser && isParsed(mount)) expect([400, 415]).toContain(refused.status)
            else expectRefusal(refused, 415, 'invalid_request')
          }
        })

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

      test('answers another method with 405, whatever a header or a field says (ASVS 4.1.4)', async () => {
        const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
        const grants: Record<string, string>[] = [
          { grant_type: 'client_credentials', _method: 'POST' },
          { grant_type: 'authorization_code', code, redirect_uri: callback },
          { grant_type: 'refresh_token', refresh_token },
        ]
        const headers = {
          'X-HTTP-Method-Override': 'POST',
          'X-HTTP-Method': 'POST',
          'X-Method-Override': 'POST',
        }
        for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
          for (const grant of grants) {
            const path = `${target().base}/token?${new URLSearchParams({ ...grant, ...web })}`
            const refused = await changesNothing(target(), () =>
              target().browser().send(method, path, { headers }),
            )
            if (method !== 'HEAD') expectRefusal(refused, 405, 'invalid_request')
            expect({ status: refused.status, allow: refused.headers.allow }).toEqual({
              status: 405,
              allow: 'POST',
            })
          }
        }
        expect((await redeem(code)).status).toBe(200)
        expect((await refresh(refresh_token)).status).toBe(200)
        const posted = { grant_type: 'client_credentials', _method: 'DELETE', ...web }
        expect((await token(posted, { 'X-HTTP-Method-Override': 'DELETE' })).status).toBe(200)
      })
    })

    describe('gives a client for itself', () => {
      test('no scope of a user, an unknown one, or one of another client (RFC 9700 §4.15, CVE-2024-52287, ASVS 10.4.11)', async () => {
        for (const scope of ['openid', 'offline_access', 'profile', 'root', 'notes:write']) {
          const batch = { client_id: 'batch', client_secret: secret, scope }
          expectRefusal(await changesNothing(target(), () => own(batch)), 400, 'invalid_scope')
        }
      })

      test('neither an ID token nor a refresh token, nor the rights of a user (RFC 6749 §4.4.3)', async () => {
        const answer = jsonOf(await own())
        expect(Object.keys(answer).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
        expect(answer.scope).toBe('notes:read notes:write')
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
        for (const grant_type of ['client_credentials', 'authorization_code', 'refresh_token']) {
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

    everyMount(() => {
      test('reads no cookie, sets none, and no cache may store what it says (RFC 6749 §5.1, RFC 6819 §4.4.1.8)', async () => {
        const code = await codeFor()
        const form = { grant_type: 'authorization_code', code, redirect_uri: callback }
        expectRefusal(await browserOf().post(`${target().base}/token`, form), 400, 'invalid_request')
        for (const { headers, setCookies } of [
          await redeem(code),
          await own(),
          await own({ client_secret: 'x' }),
        ]) {
          expect(setCookies.filter((cookie) => /latchkey/i.test(cookie))).toEqual([])
          expect(headers['cache-control']).toBe('no-store')
          for (const name of ['etag', 'last-modified']) expect(headers).not.toHaveProperty(name)
        }
      })
    })
  },
  () => ({
    clients: [
      ...rivals,
      { client_id: 'batch', client_secret: secret, ...forItself },
      { client_id: 'site', client_secret: secret, redirect_uris: [callback] },
      { ...namesake, ...forItself },
    ] satisfies ClientSeed[],
  }),
)
