import { callback, clients, secret } from '../support/host.ts'
import { expectErrorPage, withoutOwnScript } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'
import { type Asked, browserSide, evil, still } from './browser-side.ts'
import { plainMount, targetIn, writesNothing } from './target.ts'

type Fields = Record<string, string>

const bye = 'https://client.example.com/bye'
const byeWithQuery = `${bye}?organization=7&next=%2Fhome`
const otherBye = 'https://other.example.com/bye'
const confidential = { client_secret: secret, redirect_uris: [callback] }
const settings = () => ({
  options: still,
  clients: [
    ...clients,
    {
      ...confidential,
      client_id: 'shop',
      client_name: 'Shop',
      post_logout_redirect_uris: [bye, byeWithQuery],
    },
    { ...confidential, client_id: 'other', post_logout_redirect_uris: [otherBye] },
    { ...confidential, client_id: 'off', post_logout_redirect_uris: [bye] },
  ],
})

describe('signing out', () => {
  const target = targetIn(plainMount, settings)
  const side = browserSide(target)
  const { at, authorizeUrl, silent, browser, signedIn, code, redeem } = side
  const { expectNobody, subjectOf, post, table } = side

  const idTokenOf = async (agent: RawBrowser, client_id = 'shop'): Promise<string> => {
    const answer = await agent.grant(authorizeUrl({ client_id }))
    return (await redeem(code(answer), { client_id })).id_token
  }
  /** A user who stays signed in, for attacks that must not change that. */
  let visitor: RawBrowser
  const hints = { shop: '', other: '' }
  beforeAll(async () => {
    await table('clients').where({ client_id: 'off' }).update({ disabled_at: 1 })
    visitor = await signedIn()
    hints.shop = await idTokenOf(visitor)
    hints.other = await idTokenOf(visitor, 'other')
  })
  const quietly = <T>(work: () => Promise<T>): Promise<T> => writesNothing(target(), work)
  const expectAsked = (answer: Answer): void => {
    expect(pageOf(answer)).toBe('200 /logout')
    expect(answer.html).toContain('Sign out?')
  }
  const asked = async (
    parameters: Fields = { client_id: 'shop', post_logout_redirect_uri: bye },
    who?: RawBrowser,
  ) => {
    const agent = who ?? (await signedIn())
    const page = await agent.get(at('/logout', parameters))
    expectAsked(page)
    return { agent, page, fields: fieldsOf(page, 'csrf_token') }
  }
  /**
   * A user who is signed in is asked, and one who is not sees that. Nothing of the attacker’s is shown, and the answer leads
   * nowhere else.
   */
  const expectUnused = (parameters: Asked): Promise<void> =>
    quietly(async () => {
      const [asking, done] = [
        await visitor.get(at('/logout', parameters)),
        await browser().get(at('/logout', parameters)),
      ]
      expectAsked(asking)
      expect(fieldsOf(asking, 'csrf_token')).not.toHaveProperty('post_logout_redirect_uri')
      expect({ page: pageOf(done), location: done.location }).toEqual({ page: '200 /logout' })
      expect(JSON.stringify([asking, done].map(({ html, headers }) => [html, headers]))).not.toMatch(
        /evil|alert\(|planted/,
      )
    })
  /** The very person is still signed in, and the page itself still works. */
  const expectSignedIn = async (agent: RawBrowser): Promise<void> => expect(await subjectOf(agent)).toBe('1')

  // ASVS 10.6.2, RP-Initiated Logout §2 and §6: a denial of service by links.
  describe('is not forced by a link or an image', () => {
    test('whatever it carries: a client, a place, a token, a confirmation, a name', async () => {
      const agent = await signedIn()
      const { fields } = await asked(undefined, agent)
      const links: Fields[] = [
        {},
        fields,
        { client_id: 'shop' },
        { client_id: 'shop', post_logout_redirect_uri: bye, state: 's', csrf_token: 'A'.repeat(43) },
        { confirm: 'yes', confirmed: '1', logout: 'true', decision: 'allow' },
        { logout_hint: ada.email, login_hint: ada.email, sub: '1', sid: 'x', session_state: 'x' },
      ]
      const byImage = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'image' }
      for (const parameters of links)
        for (const headers of [{}, byImage] as Fields[])
          expectAsked(await quietly(() => agent.get(at('/logout', parameters), headers)))
      await expectSignedIn(agent)
    })

    test('with the attacker’s own ID token, however well signed', async () => {
      const attacker = await signedIn(bob)
      const id_token_hint = await idTokenOf(attacker)
      const agent = await signedIn()
      const hint = { id_token_hint, post_logout_redirect_uri: bye, state: 's' }
      const page = await quietly(() => agent.get(at('/logout', hint)))
      expectAsked(page)
      expect(page.html).toContain(ada.email)
      expect(page.html).not.toContain(bob.email)
      await expectSignedIn(agent)
    })
  })

  // RFC 6749 §10.12, ASVS 3.5.1: the token stands for everything else in the form.
  test('is 403 with the token of another place, state or client', async () => {
    const { agent, page, fields } = await asked()
    const { post_logout_redirect_uri: _, ...nowhere } = fields
    const forms: Fields[] = [
      { ...fields, post_logout_redirect_uri: byeWithQuery },
      nowhere,
      { ...fields, state: 'other' },
      { ...fields, client_id: 'other' },
    ]
    for (const form of forms) expectErrorPage(await quietly(() => post(agent, '/logout', form)), 403)
    await expectSignedIn(agent)
    expect((await agent.submit(page, 'csrf_token')).headers.location).toBe(bye)
  })

  // RP-Initiated Logout §3, RFC 9700 §4.11.2, ASVS 3.7.2; CVE-2024-39694 took other sites for paths of its own.
  describe('redirects only to registered addresses, and does not sign out for others:', () => {
    const places = [
      evil,
      '//evil.example',
      '/\\evil.example',
      callback,
      otherBye,
      'javascript:alert(1)//client.example.com/bye',
      'https://client.example.com.evil.example/bye',
      'https://client.example.com@evil.example/bye',
      `${bye}/more`,
      `${bye}/`,
      'https://client.example.com/Bye',
      `${bye}#x`,
      `${bye}\0`,
      `${bye}?next=${encodeURIComponent(evil)}`,
      `${bye}\r\nSet-Cookie: planted=1`,
    ]
    test.each(places)('%j', async (post_logout_redirect_uri) => {
      const id_token_hint = hints.shop
      const place = { post_logout_redirect_uri, state: 's' }
      for (const way of [{ client_id: 'shop' }, { id_token_hint }, { id_token_hint, client_id: 'shop' }])
        await expectUnused({ ...way, ...place })
      // Without a client it is ignored, or refused for its characters.
      for (const who of [visitor, browser()]) {
        const answer = await quietly(() => who.get(at('/logout', place)))
        expect(answer.location).toBeUndefined()
        const shown = JSON.stringify([answer.html, answer.headers])
        expect(shown).not.toMatch(/evil|alert\(|planted|callback|bye/)
      }
      await expectSignedIn(visitor)
    })

    test('the registered one in the name of another client, a disabled one, or none', async () => {
      for (const client_id of [
        'off',
        'unknown-client',
        'web',
        '__proto__',
        'constructor',
        'SHOP',
        "' OR '1'='1",
      ])
        await expectUnused({ client_id, post_logout_redirect_uri: bye })
      await expectSignedIn(visitor)
    })

    test('two of them, and one under another name', async () => {
      const agent = await signedIn()
      const one = at('/logout', { client_id: 'shop', post_logout_redirect_uri: bye })
      const twice = await agent.get(`${one}&post_logout_redirect_uri=${evil}`)
      expectAsked(twice)
      expect(twice.html).not.toMatch(/evil|bye/)
      await expectSignedIn(agent)
      const names = ['redirect_uri', 'return_to', 'next', 'logout_uri', 'RelayState']
      for (const name of [...names, 'post_logout_redirect_uri[]', 'post_logout_redirect_url']) {
        const page = await agent.get(at('/logout', { [name]: evil }))
        expectAsked(page)
        expect(page.html).not.toContain('evil')
        expect(Object.keys(fieldsOf(page, 'csrf_token'))).toEqual(['csrf_token'])
        expect((await browser().get(at('/logout', { [name]: evil }))).html).not.toContain('evil')
      }
    })

    test('a state that would add to it comes back as a state alone', async () => {
      const parameters = { client_id: 'shop', post_logout_redirect_uri: bye }
      for (const state of [`s&next=${evil}`, `s#${evil}`, `s&state=t`, '<script>alert(1)</script>']) {
        const answer = await browser().get(at('/logout', { ...parameters, state }))
        expect(answer.headers.location).toBe(`${bye}?${new URLSearchParams({ state })}`)
      }
      for (const state of ['s\r\nSet-Cookie: planted=1', 's\0', 's\n', 'x'.repeat(4097)]) {
        const answer = await browser().get(at('/logout', { ...parameters, state }))
        expect(answer.headers.location).toBe(bye)
      }
    })
  })

  // RP-Initiated Logout §2. Forged ID tokens are in test/attacks/id-token.test.ts.
  test('takes no hint that is no token, nor one of another client than the one that is named', async () => {
    for (const id_token_hint of ['x', 'x'.repeat(8193), `${hints.shop}\0`])
      for (const more of [{}, { post_logout_redirect_uri: bye }] as Fields[])
        await expectUnused({ id_token_hint, ...more })
    for (const place of [bye, otherBye]) {
      const mixed = { client_id: 'shop', post_logout_redirect_uri: place }
      await expectUnused({ id_token_hint: hints.other, ...mixed })
    }
    await expectSignedIn(visitor)
  })

  // ASVS 7.4.1: the back button and what other tabs show.
  test('ends every tab, form and copy of the cookies', async () => {
    const agent = await signedIn()
    const thief = agent.clone()
    const waiting = code(await agent.get(silent()))
    const consent = await agent.open(authorizeUrl({ prompt: 'consent' }))
    const page = await agent.get(at('/logout'))
    const done = await agent.submit(page, 'csrf_token')
    expect({ status: done.status, cache: done.headers['cache-control'] }).toEqual({
      status: 200,
      cache: 'no-store',
    })
    await expectNobody(agent)
    await expectNobody(thief)
    for (const who of [agent, thief]) {
      for (const answer of [await who.open(consent.url.href), await who.decide(consent, 'allow')])
        expect(pageOf(answer)).toBe('200 /login')
    }
    expect(await redeem(waiting)).toMatchObject({ error: 'invalid_grant' })
  })

  test('shows the client’s name and nothing of the request but its hidden fields', async () => {
    const { page } = await asked({ client_id: 'shop', state: '<script>alert(1)</script>', evil })
    expect(page.html).toContain('Shop')
    expect(withoutOwnScript(page.html)).not.toMatch(/<script|evil/)
    expect(page.html.match(/action="([^"]*)"/g)).toEqual([`action="${at('/logout')}"`])
  })
})
