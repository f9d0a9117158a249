import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Asked,
  browserSide,
  evil,
  ownCookies,
  pageOf,
  requestOf,
  still,
} from '../support/browser-side.ts'
import { stopClock } from '../support/clock.ts'
import { callback, clients, pkce, secret } from '../support/host.ts'
import { claimsOf, expectErrorPage } from '../support/outcomes.ts'
import type { Answer, RawBrowser } from '../support/raw-browser.ts'
import { underAttack, writesNothing } from '../support/target.ts'
import { bob } from '../support/tokens.ts'

afterEach(() => jest.restoreAllMocks())

const { verifier, challenge } = pkce('v'.repeat(43))
const s256 = { code_challenge: challenge, code_challenge_method: 'S256' }
const native = { client_id: 'native', ...s256 }

const settings = () => ({
  options: still,
  clients: [
    ...clients,
    { client_id: 'strict', client_secret: secret, redirect_uris: [callback], require_pkce: true },
    {
      client_id: 'legacy',
      client_secret: secret,
      redirect_uris: [callback],
      response_types: ['code' as const, 'token' as const, 'id_token token' as const],
      grant_types: ['authorization_code' as const, 'implicit' as const],
    },
    { client_id: 'other', client_secret: secret, redirect_uris: ['https://other.example.com/callback'] },
    { client_id: 'off', client_secret: secret, redirect_uris: [callback] },
    { client_id: 'machine', grant_types: ['client_credentials' as const], scope: 'notes:read' },
  ],
})

underAttack(
  'an authorization request',
  (target, { mount, describe, test, everyMount }) => {
    const side = browserSide(target)
    const { at, authorizeUrl, silent, browser, signedIn, code, redeem, expectRefusal, table } = side
    /** Ada has allowed `web` and `native` everything here: what is issued at all would be issued to her. */
    let ada: RawBrowser
    beforeAll(async () => {
      ada = await signedIn()
      for (const asked of [native, { client_id: 'strict', ...s256 }, { client_id: 'legacy' }])
        code(await ada.grant(authorizeUrl(asked)))
      await table('clients').where({ client_id: 'off' }).update({ disabled_at: 1 })
    })
    const undisturbed = <T>(work: () => Promise<T>): Promise<T> =>
      writesNothing(target(), work, { except: ['sessions'] })
    const expectPage = (answer: Answer): void => {
      expectErrorPage(answer, 400)
      expect(ownCookies(answer)).toEqual([])
    }
    /** A query on the wire, after what every request has. */
    const raw = (more: string, without = ''): string => {
      const usual = ['response_type=code', 'client_id=web', `redirect_uri=${encodeURIComponent(callback)}`]
      const pairs = [...usual, 'scope=openid', 'state=s'].filter((pair) => !pair.startsWith(`${without}=`))
      return `${at('/authorize')}?${[...pairs, more].join('&')}`
    }
    /** For a stranger, for Ada, and in silence: the client hears it, no code is issued, nothing is written. */
    const expectRefused = (url: string, error: string, place: { fragment?: boolean } = {}): Promise<void> =>
      undisturbed(async () => {
        for (const agent of [browser(), ada]) {
          for (const more of ['', '&prompt=none']) {
            const answer = await agent.get(`${url}${more}`)
            expectRefusal(answer, error, place)
            expect(ownCookies(answer)).toEqual([])
          }
        }
      })

    // RFC 6749 §4.1.2.1 and §10.15, RFC 9700 §4.11.2, RFC 6819 §4.2.4; CVE-2019-9837 let prompt=none through.
    describe('for an unknown client gets an error page, whatever else it contains:', () => {
      test.each<[string, string]>([
        ['unknown', 'nobody'],
        ['disabled', 'off'],
        ['without redirect URIs', 'machine'],
        ['in another case', 'WEB'],
        ['with NUL after', 'web\0'],
        ['with a line break and a header', 'web\r\nLocation: https://evil.example/'],
        ['empty', ''],
      ])('%s', async (_, client_id) => {
        await undisturbed(async () => {
          for (const agent of [browser(), ada]) {
            expectPage(await agent.get(authorizeUrl({ client_id })))
            expectPage(await agent.get(silent({ client_id })))
            expectPage(await agent.get(silent({ client_id, redirect_uri: evil })))
            expectPage(await agent.get(silent({ client_id, response_type: 'x', scope: '"' })))
          }
        })
      })

      test.each([
        ['two clients', 'client_id=other'],
        ['the same client twice', 'client_id=web'],
      ])('%s', async (_, more) => {
        await undisturbed(async () => expectPage(await ada.get(`${raw(more)}&prompt=none`)))
      })

      test.each(['client_id[]', 'client_id[0]', 'Client_Id', 'client_id%00', '__proto__[client_id]'])(
        'under the name %s only',
        async (name) => {
          await undisturbed(async () => expectPage(await ada.get(raw(`${name}=web`, 'client_id'))))
        },
      )
    })

    // RFC 9700 §2.1.2, OAuth 2.1 §4.1.1, ASVS 10.4.4 and 10.6.1; CVE-2026-7571 issued tokens in spite of the setting.
    describe('that requests tokens in the front channel gets none', () => {
      test.each([
        ['token', 'unsupported_response_type'],
        ['id_token', 'unsupported_response_type'],
        ['code token', 'unsupported_response_type'],
        ['code id_token', 'unsupported_response_type'],
        ['id_token token code', 'unsupported_response_type'],
        ['none', 'unsupported_response_type'],
        ['CODE', 'unsupported_response_type'],
        ['code,token', 'unsupported_response_type'],
        ['code\ttoken', 'invalid_request'],
        ['__proto__', 'unsupported_response_type'],
      ])('%j', async (response_type, error) => {
        const fragment = response_type.split(' ').some((word) => word === 'token' || word === 'id_token')
        await expectRefused(authorizeUrl({ response_type, nonce: 'n' }), error, { fragment })
        const legacy = { response_type, nonce: 'n', client_id: 'legacy' }
        await expectRefused(authorizeUrl(legacy), error, { fragment })
      })

      test('by a second response_type (parameter pollution)', () =>
        expectRefused(raw('response_type=token'), 'invalid_request'))

      test('by a response_type that comes with the waiting request (CVE-2026-7571)', async () => {
        const { agent, page, id } = await side.consentPage({ client_id: 'legacy' })
        const more = { response_type: 'token', response_mode: 'fragment', nonce: 'n' }
        const form = { ...more, decision: 'allow', authorization_request: id }
        const decided = await agent.submit(page, 'value="allow"', form)
        code(decided)
        const second = await side.consentPage({ client_id: 'legacy' }, bob)
        const posted = { authorization_request: second.id, csrf_token: second.fields.csrf_token ?? '' }
        code(await second.agent.post(at('/consent', more), { ...posted, ...more, decision: 'allow' }))
      })
    })

    // OAuth 2.0 Form Post Response Mode §5, RFC 9700 §4.1; CVE-2023-6927 slipped through one mode more.
    describe('with a response mode of the attacker’s choice', () => {
      test.each(['form_post.jwt', 'web_message', 'FORM_POST'])(
        '%s is refused in the query of the registered place',
        (response_mode) => expectRefused(authorizeUrl({ response_mode }), 'invalid_request'),
      )

      test('twice, with two values, is refused in the first', () =>
        expectRefused(raw('response_mode=query&response_mode=fragment'), 'invalid_request'))

      everyMount(() => {
        test('form_post leads to the registered place and nowhere else, and runs nothing (CVE-2023-6134)', async () => {
          const state = `"></form><form action="${evil}"><script>alert(1)</script>`
          const answer = await ada.get(authorizeUrl({ response_mode: 'form_post', state }))
          expect({ status: answer.status, location: answer.headers.location }).toEqual({
            status: 200,
            location: undefined,
          })
          expect(answer.html.match(/<form[^>]*>/g)).toEqual([
            `<form id="form-post" method="post" action="${callback}">`,
          ])
          expect(answer.html.match(/<script[^>]*>/g)).toEqual([
            expect.stringMatching(/^<script src="[^"]*\/assets\/form-post\.js\?v=[\w-]{16}">$/),
          ])
          const fields = [...answer.html.matchAll(/<input type="hidden" name="([^"]*)"/g)].map(
            ([, name]) => name,
          )
          expect(fields).toEqual(['code', 'state', 'iss'])
        })
      })
    })

    // RFC 7636 §4.4.1 and §7.2, RFC 9700 §2.1.1 and §4.8, OAuth 2.1 §7.5.1, ASVS 10.4.6.
    describe('without the protection of PKCE', () => {
      const publicly = { client_id: 'native', code_challenge: undefined, code_challenge_method: undefined }
      test.each<[string, Asked]>([
        ['the challenge taken out, for a public client', publicly],
        ['the method taken out, which would mean plain', { client_id: 'native', code_challenge: challenge }],
        ['an unknown method', { ...native, code_challenge_method: 'none' }],
        ['the method in another case', { ...native, code_challenge_method: 's256' }],
        ['a challenge with padding', { ...native, code_challenge: `${challenge}=` }],
        ['the challenge taken out, for a client registered with it', { client_id: 'strict' }],
      ])('%s: the client hears invalid_request', (_, asked) =>
        expectRefused(authorizeUrl(asked), 'invalid_request'),
      )

      test.each([
        ['a second challenge', `${new URLSearchParams(native)}&code_challenge=${'A'.repeat(43)}`],
        ['a second method', `${new URLSearchParams(native)}&code_challenge_method=plain`],
      ])('%s (parameter pollution): the client hears invalid_request', (_, more) =>
        expectRefused(raw(more, 'client_id'), 'invalid_request'),
      )

      test('a code that was requested without it cannot be redeemed with a verifier (CVE-2024-23647, CVE-2024-22258, CVE-2025-4144)', async () => {
        const stripped = code(await ada.get(silent()))
        expect(await redeem(stripped, { code_verifier: verifier })).toMatchObject({ error: 'invalid_grant' })
      })

      test('a code that was asked for with it is not redeemed without, nor with another verifier (CVE-2024-23647)', async () => {
        const bound = code(await ada.get(silent(s256)))
        for (const code_verifier of [undefined, '', 'w'.repeat(43), challenge])
          expect(await redeem(bound, { code_verifier })).toMatchObject({ error: 'invalid_grant' })
        expect(await redeem(bound, { code_verifier: verifier })).toMatchObject({ token_type: 'Bearer' })
      })

      test('a challenge sent with the consent form is ignored', async () => {
        const { agent, page } = await side.consentPage(s256)
        const other = pkce('w'.repeat(43)).challenge
        const evilChallenge = { code_challenge: other, code_challenge_method: 'S256' }
        const bound = code(await agent.submit(page, 'value="allow"', { decision: 'allow', ...evilChallenge }))
        expect(await redeem(bound, { code_verifier: 'w'.repeat(43) })).toMatchObject({
          error: 'invalid_grant',
        })
        expect(await redeem(bound, { code_verifier: verifier })).toMatchObject({ token_type: 'Bearer' })
      })
    })

    // RFC 6749 §10.12, RFC 6819 §4.4.1.8, RFC 9700 §4.7.
    describe('with a hostile state', () => {
      test.each([
        ['parameters of the answer', `s&code=planted&iss=${evil}&state=other`],
        ['a fragment', `s#code=planted`],
        ['spaces around it', ' s '],
        ['encoded line breaks', 's%0d%0aSet-Cookie:x=1'],
        ['markup', `"><script>alert(1)</script>`],
        ['direction marks', 's\u202e\u2066x'],
      ])('%s: it comes back once, unchanged, and adds nothing', async (_, state) => {
        expectRefusal(await browser().get(silent({ state })), 'login_required', { state })
        code(await ada.get(silent({ state })), { state })
      })

      test.each([
        ['a line break and a header', 's%0d%0aSet-Cookie:planted=1'],
        ['NUL', 's%00'],
        ['bytes that are not UTF-8', 's%ff'],
        ['two of them', 's&state=t'],
      ])('%s: it is refused and does not come back', async (_, state) => {
        await undisturbed(async () => {
          for (const agent of [browser(), ada]) {
            const answer = await agent.get(raw(`state=${state}`, 'state'))
            expectRefusal(answer, 'invalid_request', { state: undefined })
            expect(JSON.stringify(answer.headers)).not.toContain('planted')
          }
        })
      })
    })

    // OIDC Core §15.5.2, RFC 9700 §4.5.3.2: it binds the code to the session of the client.
    describe('with a nonce', () => {
      test.each(['n'.repeat(513), 'n\0', 'n\r\nx', 'n\u0085'])('%j, which is refused', (nonce) =>
        expectRefused(authorizeUrl({ nonce }), 'invalid_request'),
      )

      test('of another request: that of the code stands in its ID token, whatever is sent later', async () => {
        const [one, two] = [
          code(await ada.get(silent({ nonce: 'one' }))),
          code(await ada.get(silent({ nonce: 'two' }))),
        ]
        expect(claimsOf((await redeem(two, { nonce: 'one' })).id_token).nonce).toBe('two')
        expect(claimsOf((await redeem(one)).id_token).nonce).toBe('one')
      })
    })

    // OIDC Core §6, RFC 9101 §10.4; CVE-2020-10770 fetched whatever stood in request_uri.
    describe('that would make the server fetch something', () => {
      const calls: string[] = []
      const listener = createServer((req, res) => {
        calls.push(req.url ?? '')
        res.end('{}')
      })
      let own = ''
      beforeAll(async () => {
        await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
        own = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`
      })
      afterAll(() => new Promise((resolve) => listener.close(resolve)))

      test('request_uri is refused and not fetched', async () => {
        for (const request_uri of [
          own,
          `${own}#x`,
          'file:///etc/passwd',
          'urn:ietf:params:oauth:request_uri:x',
        ])
          await expectRefused(authorizeUrl({ request_uri }), 'request_uri_not_supported')
        expect(calls).toEqual([])
      })

      test('request, whatever it holds, is refused where the query says, and changes nothing of it', async () => {
        const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
        const claims = { client_id: 'other', redirect_uri: evil, response_type: 'token', jku: own, iss: evil }
        for (const head of [{ alg: 'none' }, { alg: 'HS256' }, { alg: 'RS256', jku: own, x5u: own }])
          await expectRefused(
            authorizeUrl({ request: `${part(head)}.${part(claims)}.` }),
            'request_not_supported',
          )
        expect(calls).toEqual([])
      })

      test('no other parameter is an address to call', async () => {
        const names = ['registration', 'jwks_uri', 'logo_uri', 'sector_identifier_uri', 'client_metadata_uri']
        for (const name of [
          ...names,
          'iss',
          'resource',
          'authorization_server',
          'login_hint',
          'target_link_uri',
        ])
          code(await ada.get(silent({ [name]: own })))
        expectPage(await ada.get(silent({ client_id: own })))
        expect(calls).toEqual([])
      })
    })

    // RFC 9207 §2 and §4, RFC 9700 §4.4 (mix-up): the answer says who gave it.
    everyMount(() => {
      describe('with an issuer of the attacker’s', () => {
        test('the answer names ours, once, whether it is a code or an error', async () => {
          const asked = { iss: evil, issuer: evil, authorization_server: evil }
          code(await ada.get(silent(asked)))
          expectRefusal(await browser().get(silent(asked)), 'login_required')
          expectRefusal(await ada.get(authorizeUrl({ ...asked, scope: '"' })), 'invalid_scope')
        })

        test('so do the fragment and the form', async () => {
          for (const agent of [browser(), ada]) {
            const fragment = (await agent.get(silent({ iss: evil, response_mode: 'fragment' }))).headers
              .location
            expect(fragment?.startsWith(`${callback}#`)).toBe(true)
            expect(new URLSearchParams(fragment?.split('#')[1]).getAll('iss')).toEqual([target().issuer])
            const { html } = await agent.get(silent({ iss: evil, response_mode: 'form_post' }))
            expect(html.match(/name="iss" value="([^"]*)"/g)).toEqual([
              `name="iss" value="${target().issuer}"`,
            ])
            expect(html).not.toContain(evil)
          }
        })
      })
    })

    // RFC 6749 §3.3, ASVS 10.4.11.
    describe('with scopes that it may not have', () => {
      test.each([
        ['a claim that was consented to by itself', 'openid claim"email'],
        ['a quote', 'openid "email'],
        ['a tab between', 'openid\temail'],
        ['only those of others', 'admin phone'],
      ])('%s: the client hears of it', async (_, scope) => {
        const error = scope.includes('\t') ? 'invalid_request' : 'invalid_scope'
        await expectRefused(authorizeUrl({ scope }), error)
      })

      test('the token names what was granted, and nothing that was slipped in beside it', async () => {
        const scope = 'openid phone admin offline_access_x constructor notes:Write'
        expect((await redeem(code(await ada.get(silent({ scope }))))).scope).toBe('openid')
      })
    })

    // OIDC Core §5.5: names are only names.
    describe('with claims of the attacker’s', () => {
      test.each([
        ['no JSON', '{'],
        ['an array', '[]'],
        ['a number', '1'],
        ['a member that is no object', '{"userinfo":1}'],
        ['1,000 levels', `${'['.repeat(1000)}${']'.repeat(1000)}`],
      ])('%s: the client hears invalid_request', (_, claims) =>
        expectRefused(authorizeUrl({ claims }), 'invalid_request'),
      )

      test('names of properties and columns of the host’s reveal and pollute nothing', async () => {
        const wanted =
          '{"password_hash":null,"disabled_at":null,"__proto__":{"polluted":1},"constructor":null}'
        const claims = `{"userinfo":${wanted},"id_token":${wanted},"__proto__":{"polluted":1}}`
        const { id_token } = await redeem(code(await ada.get(silent({ claims }))))
        expect(Object.keys(claimsOf(id_token))).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/password|disabled|constructor|polluted/)]),
        )
        expect({}).not.toHaveProperty('polluted')
      })
    })

    // RFC 9110 §9.2.1: HEAD is safe and issues nothing; others are refused. ASVS 3.5.3.
    everyMount(() => {
      describe('by another method', () => {
        test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
          '%s is refused, and nothing is issued to one who would get a code',
          async (method) => {
            const answer = await undisturbed(() => ada.send(method, silent()))
            expect({ status: answer.status, allow: answer.headers.allow }).toEqual({
              status: 405,
              allow: 'GET, HEAD, POST',
            })
            expect(answer.headers).not.toHaveProperty('location')
            expectErrorPage(answer, 405)
          },
        )

        test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
          'a %s header changes none',
          async (name) => {
            code(await ada.get(silent(), { [name]: 'DELETE' }))
            const head = await undisturbed(() => ada.send('HEAD', silent(), { headers: { [name]: 'GET' } }))
            expect({ status: head.status, location: head.headers.location }).toEqual({
              status: 303,
              location: undefined,
            })
          },
        )
      })
    })

    // RFC 9700 §4.7, ASVS 3.5.1 and 3.5.2: a form of another site.
    everyMount(() => {
      describe('posted by another site', () => {
        const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }

        test('neither reads a login nor sets a cookie, and writes nothing', async () => {
          const form = { response_type: 'code', client_id: 'web', redirect_uri: callback, scope: 'openid' }
          // A session that is read now would be put off to a later end.
          stopClock().travel(60)
          const answer = await writesNothing(target(), () => ada.post(at('/authorize'), form, foreign))
          expect({ status: answer.status, path: answer.location?.pathname }).toEqual({
            status: 303,
            path: at('/authorize'),
          })
          expect(ownCookies(answer)).toEqual([])
          expect(Object.fromEntries(answer.location?.searchParams ?? [])).toEqual(form)
        })

        test.each([
          ['application/json', JSON.stringify({ client_id: 'web', redirect_uri: callback })],
          ['text/plain', `client_id=web&redirect_uri=${callback}`],
          [
            'multipart/form-data; boundary=x',
            '--x\r\nContent-Disposition: form-data; name="client_id"\r\n\r\nweb\r\n--x--',
          ],
          ['application/x-www-form-urlencodedx', 'client_id=web'],
        ])('as %s is 415', async (type, body) => {
          const headers = { ...foreign, 'Content-Type': type }
          const answer = await writesNothing(target(), () =>
            ada.send('POST', at('/authorize'), { body, headers }),
          )
          expectErrorPage(answer, 415)
        })

        test('with 65 parameters is a page', async () => {
          const form = Array.from({ length: 65 }, (_, n): [string, string] => [`x${n}`, '1'])
          await writesNothing(target(), async () =>
            expectPage(await ada.post(at('/authorize'), form, foreign)),
          )
        })
      })
    })

    // RFC 6749 §3.1: unknown parameters are ignored; CWE-1321.
    everyMount(() => {
      describe('with names of properties', () => {
        test.each([
          '__proto__',
          '__proto__[polluted]',
          'constructor[prototype][polluted]',
          'toString',
          'then',
        ])('%s is only a name', async (name) => {
          code(await ada.get(silent({ [name]: 'x' })))
          const posted = await browser().post(at('/authorize'), {
            ...{
              response_type: 'code',
              client_id: 'web',
              redirect_uri: callback,
              scope: 'openid',
              state: 's',
            },
            ...{ prompt: 'none', [name]: 'x' },
          })
          // A parser of the host's has made an object of it, which is no parameter.
          const isObject = mount.includes('parsers') && name.startsWith('constructor[')
          if (isObject) expectPage(posted)
          else expectRefusal(await browser().follow(posted), 'login_required')
          expect({}).not.toHaveProperty('polluted')
        })
      })
    })

    // RFC 6749 §3.1: not more than once, so that no two parties read different values.
    everyMount(() => {
      test.each(['color', 'iss', 'scope', 'nonce', 'prompt', 'max_age', 'display', 'code_challenge_method'])(
        'with %s twice is refused, also with the same value',
        async (name) => {
          await expectRefused(raw(`${name}=1&${name}=2`, name), 'invalid_request')
          await expectRefused(raw(`${name}=openid&${name}=openid`, name), 'invalid_request')
        },
      )
    })

    // RFC 6819 §4.4.1.11, CWE-158: what is too long or cannot be text.
    describe('with a value that is NUL or very long', () => {
      const names = ['response_type', 'response_mode', 'scope', 'nonce', 'prompt', 'max_age', 'login_hint']
      const all = [...names, 'id_token_hint', 'claims', 'code_challenge', 'code_challenge_method']
      test.each(all)('%s: the client hears invalid_request', async (name) => {
        for (const value of ['%00', 'x%00y', '%1f', '%c2%9f', '%ff', 'x'.repeat(9000)])
          expectRefusal(await ada.get(raw(`${name}=${value}`, name)), 'invalid_request')
      })

      test.each(['display', 'ui_locales', 'claims_locales', 'acr_values', 'color'])(
        '%s, which is not read: ignored, and not returned',
        async (name) => {
          for (const value of ['%00', '%ff', '%0d%0aSet-Cookie:planted=1', 'x'.repeat(9000)])
            code(await ada.get(raw(`${name}=${value}&prompt=none`)))
        },
      )
    })

    // OIDC Core §3.1.2.6: silence says nothing to a client that was not allowed.
    test('prompt=none shows whether a user is signed in only to a registered redirect URI (CVE-2019-9837)', async () => {
      for (const agent of [browser(), ada]) {
        expectPage(await agent.get(silent({ redirect_uri: evil })))
        expectPage(await agent.get(silent({ client_id: 'nobody' })))
      }
      const asked = { client_id: 'other', redirect_uri: 'https://other.example.com/callback' }
      expectRefusal(await ada.get(silent(asked)), 'consent_required', { redirectUri: asked.redirect_uri })
      expectRefusal(await browser().get(silent(asked)), 'login_required', { redirectUri: asked.redirect_uri })
    })

    // RFC 6749 §10.2: somebody else's waiting request is not taken up by naming a client beside it.
    everyMount(() => {
      test('that names a waiting request and a client begins anew', async () => {
        const victim = await side.loginPage({ state: 'of the victim' })
        const attacker = browser()
        const answer = await attacker.open(authorizeUrl({ authorization_request: victim.id }))
        expect(pageOf(answer)).toBe('200 /login')
        expect(requestOf(answer)).not.toBe(victim.id)
        const done = await attacker.decide(await attacker.signIn(answer, bob.email, bob.password), 'allow')
        code(done)
      })
    })
  },
  settings,
)

// ASVS 10.4.6 asks for S256 alone; a host can have it so.
underAttack(
  'where only S256 is accepted, a downgrade to plain',
  (target) => {
    const { authorizeUrl, browser, silent, signedIn, code, expectRefusal } = browserSide(target)

    test.each(['plain', 'PLAIN', 'plain S256', undefined])(
      'by code_challenge_method %p is refused',
      async (method) => {
        const ada = await signedIn()
        const asked = { code_challenge: challenge, code_challenge_method: method }
        for (const agent of [browser(), ada])
          expectRefusal(await agent.get(authorizeUrl(asked)), 'invalid_request')
        code(await ada.get(silent(s256)))
      },
    )
  },
  () => ({ options: { ...still, codeChallengeMethods: ['S256' as const] } }),
)
