import { openServer, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { callback, clients, pkce, secret } from '../support/host.ts'
import { claimsOf, expectErrorPage, withoutOwnScript } from '../support/outcomes.ts'
import { type Answer, formOf, pageOf, type RawBrowser } from '../support/raw-browser.ts'
import { bob } from '../support/tokens.ts'
import { browserSide, evil, ownCookies, requestOf, still } from './browser-side.ts'
import { type Mount, mounts, plainMount, targetIn, writesNothing } from './target.ts'

afterEach(() => jest.restoreAllMocks())

const { verifier, challenge } = pkce('v'.repeat(43))
const s256 = { code_challenge: challenge, code_challenge_method: 'S256' }
const native = { client_id: 'native', ...s256 }

const confidential = { client_secret: secret, redirect_uris: [callback] }
const settings = () => ({
  options: still,
  clients: [
    ...clients,
    { ...confidential, client_id: 'strict', require_pkce: true },
    {
      ...confidential,
      client_id: 'legacy',
      response_types: ['code' as const, 'token' as const, 'id_token token' as const],
      grant_types: ['authorization_code' as const, 'implicit' as const],
    },
    { client_id: 'other', client_secret: secret, redirect_uris: ['https://other.example.com/callback'] },
    { ...confidential, client_id: 'off' },
    { client_id: 'machine', grant_types: ['client_credentials' as const], scope: 'notes:read' },
  ],
})

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, settings)
  const side = browserSide(target)
  const { at, authorizeUrl, browser, signedIn, code, expectRefusal, table } = side
  /** Ada has allowed `web` and `native` everything here: what is issued at all would be issued to her. */
  let ada: RawBrowser
  beforeAll(async () => {
    ada = await signedIn()
    for (const asked of [native, { client_id: 'strict', ...s256 }, { client_id: 'legacy' }])
      code(await ada.grant(authorizeUrl(asked)))
    await table('clients').where({ client_id: 'off' }).update({ disabled_at: 1 })
  })
  const undisturbed = <T>(work: () => Promise<T>): Promise<T> => writesNothing(target(), work)
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
  const expectRefusals = (url: string, error: string, place: { fragment?: boolean } = {}): Promise<void> =>
    undisturbed(async () => {
      for (const agent of [browser(), ada]) {
        for (const more of ['', '&prompt=none']) {
          const answer = await agent.get(`${url}${more}`)
          expectRefusal(answer, error, place)
          expect(ownCookies(answer)).toEqual([])
        }
      }
    })
  return { ...side, target, ada: () => ada, undisturbed, expectPage, raw, expectRefusals }
}

describe('an authorization request', () => {
  const side = attackerIn(plainMount)
  const { authorizeUrl, silent, browser, code, redeem, expectRefusal, ada } = side
  const { undisturbed, expectPage, raw, expectRefusals, consentPage, loginPage } = side

  // RFC 6749 §4.1.2.1 and §10.15, RFC 9700 §4.11.2, RFC 6819 §4.2.4; CVE-2019-9837 let prompt=none through.
  describe('for an unknown client gets an error page, whatever else it contains:', () => {
    test.each([
      'unregistered',
      'WEB',
      'web\0',
      'web\r\nLocation: https://evil.example/',
      '',
      // Disabled, and without redirect URIs.
      'off',
      'machine',
    ])('%j', async (client_id) => {
      await undisturbed(async () => {
        for (const agent of [browser(), ada()]) {
          expectPage(await agent.get(authorizeUrl({ client_id })))
          expectPage(await agent.get(silent({ client_id, redirect_uri: evil })))
          expectPage(await agent.get(silent({ client_id, response_type: 'x', scope: '"' })))
        }
      })
    })

    test('two clients, the same one twice, and one under another name', async () => {
      const others = ['client_id[]', 'client_id[0]', 'Client_Id', 'client_id%00', '__proto__[client_id]']
      await undisturbed(async () => {
        for (const id of ['other', 'web']) expectPage(await ada().get(raw(`client_id=${id}&prompt=none`)))
        for (const name of others) expectPage(await ada().get(raw(`${name}=web`, 'client_id')))
      })
    })
  })

  // RFC 9700 §2.1.2, OAuth 2.1 §4.1.1, ASVS 10.4.4 and 10.6.1; CVE-2026-7571 issued tokens in spite of the setting.
  describe('that requests tokens in the front channel gets none', () => {
    test.each(['token', 'code id_token', 'id_token token code', 'none', 'CODE', 'code,token', '__proto__'])(
      '%s',
      async (response_type) => {
        const fragment = /\b(token|id_token)\b/.test(response_type) && response_type !== 'code,token'
        for (const client_id of ['web', 'legacy'])
          await expectRefusals(
            authorizeUrl({ response_type, nonce: 'n', client_id }),
            'unsupported_response_type',
            { fragment },
          )
      },
    )

    test('by a second response_type (parameter pollution)', () =>
      expectRefusals(raw('response_type=token'), 'invalid_request'))

    test('by a response_type that comes with the waiting request (CVE-2026-7571)', async () => {
      const { agent, page, id } = await consentPage({ client_id: 'legacy' })
      const more = { response_type: 'token', response_mode: 'fragment', nonce: 'n' }
      const form = { ...more, decision: 'allow', authorization_request: id }
      const decided = await agent.submit(page, 'value="allow"', form)
      code(decided)
    })
  })

  // OAuth 2.0 Form Post Response Mode §5, RFC 9700 §4.1; CVE-2023-6927 slipped through one mode more.
  describe('with a response mode of the attacker’s choice', () => {
    test('twice, with two values, is refused in the first', () =>
      expectRefusals(raw('response_mode=query&response_mode=fragment'), 'invalid_request'))
  })

  // RFC 7636 §4.4.1 and §7.2, RFC 9700 §2.1.1 and §4.8, OAuth 2.1 §7.5.1, ASVS 10.4.6.
  describe('without the protection of PKCE', () => {
    test('a missing challenge is an error for a public client, and for one registered with PKCE', async () => {
      const without = { code_challenge: undefined, code_challenge_method: undefined }
      await expectRefusals(authorizeUrl({ client_id: 'native', ...without }), 'invalid_request')
      await expectRefusals(authorizeUrl({ client_id: 'strict' }), 'invalid_request')
    })

    test('with a second challenge or method (parameter pollution): the client hears invalid_request', async () => {
      for (const more of [`code_challenge=${'A'.repeat(43)}`, 'code_challenge_method=plain'])
        await expectRefusals(raw(`${new URLSearchParams(native)}&${more}`, 'client_id'), 'invalid_request')
    })

    test('a code that was requested without it cannot be redeemed with a verifier', async () => {
      const stripped = code(await ada().get(silent()))
      expect(await redeem(stripped, { code_verifier: verifier })).toMatchObject({ error: 'invalid_grant' })
    })
  })

  // RFC 6749 §10.12, RFC 6819 §4.4.1.8, RFC 9700 §4.7.
  describe('with a hostile state', () => {
    test('that can be text comes back once, unchanged, and adds nothing', async () => {
      const states = [
        `s&code=planted&iss=${evil}&state=other`,
        's#code=planted',
        ' s ',
        's%0d%0aSet-Cookie:x=1',
      ]
      for (const state of [...states, `"><script>alert(1)</script>`, 's\u202e\u2066x']) {
        expectRefusal(await browser().get(silent({ state })), 'login_required', { state })
        code(await ada().get(silent({ state })), { state })
      }
    })

    test('that has a line break, NUL or invalid UTF-8, or comes twice, is refused and not repeated', () =>
      undisturbed(async () => {
        for (const state of ['s%0d%0aSet-Cookie:planted=1', 's%00', 's%ff', 's&state=t']) {
          for (const agent of [browser(), ada()]) {
            const answer = await agent.get(raw(`state=${state}`, 'state'))
            expectRefusal(answer, 'invalid_request', { state: undefined })
            expect(JSON.stringify(answer.headers)).not.toContain('planted')
          }
        }
      }))
  })

  // OIDC Core §6, RFC 9101 §10.4; CVE-2020-10770 fetched whatever stood in request_uri.
  describe('that would make the server fetch something', () => {
    let own: TestServer
    const calls: string[] = []
    beforeAll(async () => {
      own = await openServer()
      own.serve((req, res) => {
        calls.push(String(req.url))
        res.end('{}')
      })
    })
    afterAll(() => own.close())
    afterEach(() => expect(calls).toEqual([]))

    test('request_uri is refused and not fetched', async () => {
      for (const request_uri of [own.origin, 'file:///etc/passwd', 'urn:ietf:params:oauth:request_uri:x'])
        await expectRefusals(authorizeUrl({ request_uri }), 'request_uri_not_supported')
    })

    test('request, whatever it holds, is refused where the query says, and changes nothing of it', async () => {
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
      const jku = own.origin
      const claims = { client_id: 'other', redirect_uri: evil, response_type: 'token', jku, iss: evil }
      for (const head of [{ alg: 'none' }, { alg: 'HS256' }, { alg: 'RS256', jku, x5u: jku }])
        await expectRefusals(
          authorizeUrl({ request: `${part(head)}.${part(claims)}.` }),
          'request_not_supported',
        )
    })

    test('no other parameter is an address to call', async () => {
      const names = 'registration jwks_uri logo_uri sector_identifier_uri iss target_link_uri'.split(' ')
      for (const name of names) code(await ada().get(silent({ [name]: own.origin })))
      expectPage(await ada().get(silent({ client_id: own.origin })))
    })
  })

  // RFC 6749 §3.3, ASVS 10.4.11.
  describe('with scopes that it may not have', () => {
    test('the token names what was granted, and nothing that was slipped in beside it', async () => {
      const scope = 'openid phone admin offline_access_x constructor notes:Write'
      expect((await redeem(code(await ada().get(silent({ scope }))))).scope).toBe('openid')
    })
  })

  // OIDC Core §5.5: names are only names.
  describe('with claims of the attacker’s', () => {
    test('names of properties and columns of the host’s reveal and pollute nothing', async () => {
      const wanted = '{"password_hash":null,"disabled_at":null,"__proto__":{"polluted":1},"constructor":null}'
      const claims = `{"userinfo":${wanted},"id_token":${wanted},"__proto__":{"polluted":1}}`
      const { id_token } = await redeem(code(await ada().get(silent({ claims }))))
      expect(Object.keys(claimsOf(id_token))).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/password|disabled|constructor|polluted/)]),
      )
      expect({}).not.toHaveProperty('polluted')
    })
  })

  // RFC 9110 §9.2.1: HEAD is safe and issues nothing; others are refused. ASVS 3.5.3.
  test('by another method, or with a header that names one, issues nothing to a signed-in user', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await undisturbed(() => ada().send(method, silent()))
      expect(answer.headers.allow).toBe('GET, HEAD, POST')
      expectErrorPage(answer, 405)
    }
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      code(await ada().get(silent(), { [name]: 'DELETE' }))
      const head = await undisturbed(() => ada().send('HEAD', silent(), { headers: { [name]: 'GET' } }))
      expect({ status: head.status, location: head.location }).toEqual({ status: 200 })
    }
  })

  // OIDC Core §3.1.2.6: silence says nothing to a client that was not allowed.
  test('prompt=none reveals a login only to a registered redirect URI (CVE-2019-9837)', async () => {
    for (const agent of [browser(), ada()]) expectPage(await agent.get(silent({ redirect_uri: evil })))
    const asked = { client_id: 'other', redirect_uri: 'https://other.example.com/callback' }
    expectRefusal(await ada().get(silent(asked)), 'consent_required', { redirectUri: asked.redirect_uri })
    expectRefusal(await browser().get(silent(asked)), 'login_required', { redirectUri: asked.redirect_uri })
  })

  // RFC 6749 §10.2: the pending request of another user cannot be continued by naming a client beside it.
  test('that names a waiting request and a client begins anew', async () => {
    const victim = await loginPage({ state: 'of the victim' })
    const attacker = browser()
    const answer = await attacker.open(authorizeUrl({ authorization_request: victim.id }))
    expect(pageOf(answer)).toBe('200 /login')
    expect(requestOf(answer)).not.toBe(victim.id)
    code(await attacker.decide(await attacker.signIn(answer, bob.email, bob.password), 'allow'))
  })
})

describe.each(mounts)('an authorization request, mounted $name', (mount) => {
  const { target, at, authorizeUrl, silent, browser, code, expectRefusal, ada, expectPage } =
    attackerIn(mount)

  // RFC 9207 §2 and §4, RFC 9700 §4.4 (mix-up): the answer says who gave it.
  describe('with an issuer of the attacker’s', () => {
    test('the answer names ours, once, whether it is a code or an error', async () => {
      const asked = { iss: evil, issuer: evil, authorization_server: evil }
      code(await ada().get(silent(asked)))
      expectRefusal(await browser().get(silent(asked)), 'login_required')
      expectRefusal(await ada().get(authorizeUrl({ ...asked, scope: '"' })), 'invalid_scope')
    })

    test('so do the fragment and the form', async () => {
      for (const agent of [browser(), ada()]) {
        const { headers } = await agent.get(silent({ iss: evil, response_mode: 'fragment' }))
        expect(headers.location?.startsWith(`${callback}#`)).toBe(true)
        const fragment = new URLSearchParams(headers.location?.split('#')[1])
        expect(fragment.getAll('iss')).toEqual([target().issuer])
        const { html } = await agent.get(silent({ iss: evil, response_mode: 'form_post' }))
        expect(html.match(/name="iss" value="([^"]*)"/g)).toEqual([`name="iss" value="${target().issuer}"`])
        expect(html).not.toContain(evil)
      }
    })
  })

  // RFC 9700 §4.7, ASVS 3.5.1 and 3.5.2: a form of another site.
  describe('posted by another site', () => {
    const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }

    test('neither reads a login nor sets a cookie, and writes nothing', async () => {
      const form = { response_type: 'code', client_id: 'web', redirect_uri: callback, state: 's' }
      // A session that is read now would be put off to a later end.
      stopClock().travel(60)
      const answer = await writesNothing(target(), () => ada().post(at('/authorize'), form, foreign))
      expect({ status: answer.status, location: answer.location }).toEqual({ status: 200 })
      expect(ownCookies(answer)).toEqual([])
      const { action, fields } = formOf(answer.html, 'form-post')
      expect(action).toBe(at('/authorize'))
      const { status, html } = await writesNothing(target(), () => ada().post(action, fields, foreign))
      expect({ status, html }).toEqual({ status: 403, html: expect.not.stringContaining('form-post') })
      code(await ada().post(action, fields))
    })

    test('is 415 in another encoding', async () => {
      const body = `client_id=web&redirect_uri=${callback}`
      const form = 'application/x-www-form-urlencodedx'
      for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', form]) {
        // What is no JSON may be refused by a parser of the host's before us.
        if (type === 'application/json' && mount.isParsed) continue
        const sent = { body, headers: { ...foreign, 'Content-Type': type } }
        const answer = await writesNothing(target(), () => ada().send('POST', at('/authorize'), sent))
        expectErrorPage(answer, 415)
      }
    })

    test('with 65 parameters is a page', async () => {
      const form = Array.from({ length: 65 }, (_, n): [string, string] => [`x${n}`, '1'])
      await writesNothing(target(), async () => expectPage(await ada().post(at('/authorize'), form, foreign)))
    })
  })

  // RFC 6749 §3.1: unknown parameters are ignored; CWE-1321.
  test('with names of properties has unknown parameters', async () => {
    for (const name of ['__proto__', '__proto__[polluted]', 'constructor[prototype][polluted]', 'then']) {
      code(await ada().get(silent({ [name]: 'x' })))
      const asked = { response_type: 'code', client_id: 'web', redirect_uri: callback, scope: 'openid' }
      const form = { ...asked, state: 's', prompt: 'none', [name]: 'x' }
      const posted = await browser().post(at('/authorize'), form)
      // A parser of the host's has made an object of it, which is no parameter.
      const isObject = mount.isParsed && name.startsWith('constructor[')
      if (isObject) expectPage(posted)
      else expectRefusal(await browser().submit(posted, 'form-post'), 'login_required')
      expect({}).not.toHaveProperty('polluted')
    }
  })

  describe('with a response mode of the attacker’s choice', () => {
    test('form_post leads to the registered place and nowhere else, and runs nothing (CVE-2023-6134)', async () => {
      const state = `"></form><form action="${evil}"><script>alert(1)</script>`
      const answer = await ada().get(authorizeUrl({ response_mode: 'form_post', state }))
      expect({ status: answer.status, location: answer.location }).toEqual({ status: 200 })
      expect(answer.html.match(/<form[^>]*>/g)).toEqual([
        `<form id="form-post" method="post" action="${callback}">`,
      ])
      expect(withoutOwnScript(answer.html).match(/<script[^>]*>/g)).toEqual([
        expect.stringMatching(/^<script src="[^"]*\/assets\/form-post\.js\?v=[\w-]{16}">$/),
      ])
      expect(Object.keys(formOf(answer.html, 'form-post').fields)).toEqual(['code', 'state', 'iss'])
    })
  })
})

// ASVS 10.4.6.
describe('by default only S256 is accepted', () => {
  const target = targetIn(plainMount, () => ({ options: still }))
  const { authorizeUrl, browser, silent, signedIn, code, expectRefusal } = browserSide(target)

  test('a downgrade to plain is refused', async () => {
    const ada = await signedIn()
    for (const method of ['plain', 'PLAIN', 'plain S256', undefined]) {
      const asked = { code_challenge: challenge, code_challenge_method: method }
      for (const agent of [browser(), ada])
        expectRefusal(await agent.get(authorizeUrl(asked)), 'invalid_request')
    }
    code(await ada.get(silent(s256)))
  })
})
