import { stopClock } from '../support/clock.ts'
import { callback, clients, pkce, secret } from '../support/host.ts'
import { claimsOf, expectErrorPage, expectExpiredPage } from '../support/outcomes.ts'
import { pageOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'
import { browserSide, evil, ownCookies, still } from './browser-side.ts'
import { plainMount, targetIn, writesNothing } from './target.ts'

afterEach(() => jest.restoreAllMocks())

type Fields = Record<string, string>
type Pairs = [string, string][]

const { verifier, challenge } = pkce()
const s256 = { code_challenge: challenge, code_challenge_method: 'S256' }
const secondHost = 'https://second.example.org/callback'

const confidential = { client_secret: secret, redirect_uris: [callback] }
const settings = () => ({
  options: still,
  clients: [
    ...clients,
    { ...confidential, client_id: 'shop', client_name: 'Shop', scope: 'openid email' },
    { ...confidential, client_id: 'two', redirect_uris: [callback, secondHost], scope: 'openid' },
    {
      client_id: 'ours',
      first_party: true,
      scope: 'openid',
      token_endpoint_auth_method: 'none' as const,
      redirect_uris: ['com.example.ours:/callback', 'http://127.0.0.1/callback', callback],
    },
  ],
})

describe('the consent form', () => {
  const target = targetIn(plainMount, settings)
  const side = browserSide(target)
  const { at, authorizeUrl, silent, browser, loginPage, consentPage, signedIn, code, redeem } = side
  const { expectRefusal, post, table } = side
  beforeEach(() => table('consents').delete())

  const quietly = <T>(work: () => Promise<T>): Promise<T> => writesNothing(target(), work)
  /** Ada before the form, and how to show that nothing has been decided. */
  const attacked = async (parameters: Fields = {}) => {
    const asked = await consentPage(parameters)
    const expectUndecided = async (): Promise<void> => {
      expect(await table('consents')).toEqual([])
      expectRefusal(await asked.agent.get(silent(parameters)), 'consent_required')
      code(await asked.agent.decide(asked.page, 'allow'))
    }
    return { ...asked, expectUndecided }
  }

  // ASVS 3.5.3: a link decides nothing.
  test('a request that is resumed with a decision in its address shows the page', async () => {
    const { agent, fields, id, expectUndecided } = await attacked()
    const decided = { ...fields, decision: 'allow' }
    const resumed = await agent.open(at('/authorize', { ...decided, consent: 'true', approval: 'yes' }))
    expect(pageOf(resumed)).toBe('200 /consent')
    expect(resumed.url.searchParams.get('authorization_request')).toBe(id)
    expectExpiredPage(await agent.post(at('/consent', decided), { decision: 'allow' }))
    await expectUndecided()
  })

  // RFC 6819 §4.4.1.4: only the two words on the buttons decide.
  test('a decision that is on no button, or that is two, is a page, and nothing is decided', async () => {
    const { agent, fields, expectUndecided } = await attacked()
    const single = ['', 'Allow', 'allow ', 'allow,deny', '__proto__', 'allow\0'].map((one) => [one])
    for (const decisions of [...single, [], ['deny', 'allow']]) {
      const pairs = decisions.map((decision): [string, string] => ['decision', decision])
      const form: Pairs = [...Object.entries(fields), ...pairs]
      await quietly(async () => expectErrorPage(await post(agent, '/consent', form), 400))
    }
    await expectUndecided()
  })

  // RFC 6819 §4.2.2, ASVS 10.4.11: the form can take away, never add.
  describe('cannot be made to grant more than was asked for:', () => {
    const asked = { scope: 'openid notes:read notes:write' }
    const optional = 'scope:notes:write'
    const grantedBy = async (form: Fields | Pairs, agent: RawBrowser): Promise<string> => {
      const answer = await agent.follow(await post(agent, '/consent', form))
      return (await redeem(code(answer))).scope
    }

    test('boxes of other scopes, scope itself, a claim, the parameters of the request', async () => {
      const { agent, fields } = await consentPage(asked)
      const more = {
        'scope:email': 'on',
        'scope:profile': 'on',
        'scope:offline_access': 'on',
        scope: 'openid email profile offline_access',
        'scope:claim"email': 'on',
        'claim"email': 'on',
        client_id: 'shop',
        redirect_uri: evil,
        state: 'evil',
        nonce: 'evil',
      }
      expect(await grantedBy({ ...fields, ...more, decision: 'allow' }, agent)).toBe(asked.scope)
      expect((await table('consents'))[0].scopes).toBe(asked.scope)
    })

    test('an unticked box stays unticked, whatever stands in other fields', async () => {
      const { agent, fields } = await consentPage(asked)
      const { [optional]: ticked, ...unticked } = fields
      expect(ticked).toBe('on')
      const others = { [optional]: '', 'scope:notes:Write': 'on', 'Scope:notes:write': 'on' }
      const form = { ...unticked, ...others, decision: 'allow' }
      expect(await grantedBy(form, agent)).toBe('openid notes:read')
      expectRefusal(await agent.get(silent(asked)), 'consent_required')
    })

    test('single claims beyond the scopes are those that stood on the page', async () => {
      const claims = '{"id_token":{"email":null,"password_hash":null,"phone_number":null}}'
      const { agent, page } = await consentPage({ claims })
      const { id_token } = await redeem(code(await agent.decide(page, 'allow')))
      const names = Object.keys(claimsOf(id_token)).sort()
      const usual = ['at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'jti', 'sid', 'sub', 'amr', 'azp']
      expect(names.filter((name) => !usual.includes(name))).toEqual(['email'])
    })
  })

  // RFC 6819 §4.4.1.10, ASVS 10.7.1: who consents is who is signed in, and who was asked.
  describe('swapped between people:', () => {
    test('a page that Ada was shown allows nothing for Bob, who signed in meanwhile in another tab', async () => {
      const { agent, fields, page } = await consentPage({ scope: 'openid email' })
      expect(page.html).toContain(ada.email.replace('@', '<wbr>@'))
      const tab = await loginPage({ client_id: 'shop', prompt: 'select_account' }, agent)
      const second = await agent.signIn(tab.page, bob.email, bob.password)
      expect(second.html).toContain(bob.email.replace('@', '<wbr>@'))
      const answer = await agent.follow(await post(agent, '/consent', { ...fields, decision: 'allow' }))
      expect(answer.headers).not.toHaveProperty('location')
      expect(await table('consents').where({ subject: '2' })).toEqual([])
    })

    test('a decision in one browser does not count in another, even for the same signed-in user', async () => {
      const { fields, id, expectUndecided } = await attacked()
      const other = await signedIn(bob)
      const own = await loginPage({ prompt: 'select_account' }, other)
      await other.signIn(own.page)
      await quietly(async () => {
        expectExpiredPage(await post(other, '/consent', { ...fields, decision: 'allow' }))
        expectExpiredPage(await other.get(at('/consent', { authorization_request: id })))
        expectExpiredPage(await other.get(at('/authorize', { authorization_request: id })))
      })
      await table('consents').delete()
      await expectUndecided()
    })

    test('the browser’s cookie without the session, and the session without it, decide nothing', async () => {
      const { agent, fields, id, expectUndecided } = await attacked()
      const isBrowser = (name: string): boolean => name.endsWith('_browser')
      for (const keep of [isBrowser, (name: string) => !isBrowser(name)]) {
        const thief = agent.clone()
        for (const name of [...thief.cookies.keys()]) if (!keep(name)) thief.cookies.delete(name)
        await quietly(async () => {
          const opened = await thief.get(at('/consent', { authorization_request: id }))
          for (const answer of [opened, await post(thief, '/consent', { ...fields, decision: 'allow' })]) {
            if (keep === isBrowser) expect(answer.location?.pathname).toMatch(/\/login$/)
            else expectExpiredPage(answer, 'cookies')
          }
        })
      }
      await expectUndecided()
    })
  })

  // RFC 6819 §5.2.4.1: one decision, once.
  describe('replayed', () => {
    test('after it was used it is the page for expired requests', async () => {
      const { agent, page, fields } = await consentPage()
      code(await agent.decide(page, 'allow'))
      const before = await table('authorizations')
      for (const decision of ['allow', 'deny', 'switch'])
        expectExpiredPage(await post(agent, '/consent', { ...fields, decision }))
      expect(await table('authorizations')).toEqual(before)
    })

    test('allow and deny at once end in one answer', async () => {
      const { agent, page } = await consentPage()
      const sent = (['allow', 'deny', 'allow', 'deny'] as const).map((each) =>
        agent.clone().decide(page, each),
      )
      const answers = await Promise.all(sent)
      const left = answers.filter(({ location }) => location !== undefined)
      expect(left).toHaveLength(1)
      for (const answer of answers.filter((each) => each.location === undefined)) expectExpiredPage(answer)
    })

    test('when the client or the person has been disabled meanwhile, it allows nothing', async () => {
      for (const switched of [() => table('clients').where({ client_id: 'shop' }), () => side.person()]) {
        const { agent, fields } = await consentPage({ client_id: 'shop' })
        await switched().update({ disabled_at: 1 })
        const answer = await post(agent, '/consent', { ...fields, decision: 'allow' })
        await switched().update({ disabled_at: null })
        if (answer.location === undefined) expectErrorPage(answer, 400, 'This app is turned off')
        else expect(answer.location.pathname).toMatch(/\/login$/)
        expect(await table('consents')).toEqual([])
      }
    })
  })

  // Two tabs, two clients: nothing of one gets into the other.
  describe('of two tabs', () => {
    const web = { state: 'of web', nonce: 'of web', scope: 'openid profile', ...s256 }
    const shop = { client_id: 'shop', state: 'of shop', nonce: 'of shop', scope: 'openid email' }

    test('the second or the first decided first: state, nonce, scope and PKCE stay with their client', async () => {
      const asked = { web, shop }
      for (const order of [['web', 'shop'] as const, ['shop', 'web'] as const]) {
        const agent = browser()
        const pages = {
          web: (await consentPage(web, ada, agent)).page,
          shop: await agent.open(authorizeUrl({ ...shop, prompt: 'consent' })),
        }
        const codes = { web: '', shop: '' }
        for (const name of order)
          codes[name] = code(await agent.decide(pages[name], 'allow'), { state: asked[name].state })
        expect(await redeem(codes.shop)).toMatchObject({ error: 'invalid_grant' })
        const ofShop = await redeem(codes.shop, { client_id: 'shop' })
        expect(ofShop.scope).toBe('openid email')
        expect(claimsOf(ofShop.id_token)).toMatchObject({ aud: 'shop', nonce: 'of shop' })
        expect(await redeem(codes.web)).toMatchObject({ error: 'invalid_grant' })
        const ofWeb = await redeem(codes.web, { code_verifier: verifier })
        expect(ofWeb.scope).toBe('openid profile')
        expect(claimsOf(ofWeb.id_token)).toMatchObject({ aud: 'web', nonce: 'of web' })
      }
    })

    test('eleven more make the first one expire, and never another’s (RFC 6819 §4.4.1.11)', async () => {
      const clock = stopClock()
      const { agent, page } = await consentPage(web)
      const other = await consentPage(shop)
      for (let tab = 0; tab < 11; tab += 1) {
        clock.travel(1)
        await agent.get(authorizeUrl({ prompt: 'consent' }))
      }
      expectExpiredPage(await agent.decide(page, 'allow'))
      code(await other.agent.decide(other.page, 'allow'), { state: 'of shop' })
    })
  })

  // RFC 8252 §8.6, RFC 6819 §4.2.3 and §5.2.4.1, RFC 9700 §4.1; CVE-2023-34246 passed public clients without asking.
  describe('is not passed in silence', () => {
    test.each([
      ['native', 'http://127.0.0.1:5000/callback'],
      ['native', 'com.example.app:/callback'],
      ['ours', 'http://127.0.0.1:5000/callback'],
      ['ours', 'com.example.ours:/callback'],
    ])('by a client with the id of the public client %s at %s', async (client_id, redirectUri) => {
      const agent = browser()
      const asked = { client_id, redirect_uri: redirectUri, ...s256 }
      code(await agent.grant(authorizeUrl(asked)), { redirectUri })
      expectRefusal(await agent.get(silent(asked)), 'consent_required', { redirectUri })
      expect(pageOf(await agent.open(authorizeUrl(asked)))).toBe('200 /consent')
    })

    test('for another client of the same name, or after it was removed', async () => {
      const agent = await signedIn()
      expectRefusal(await agent.get(silent({ client_id: 'shop' })), 'consent_required')
      await table('consents').delete()
      expectRefusal(await agent.get(silent()), 'consent_required')
    })

    // ASVS 10.7.2: the page named the host that the answer goes to, and the user consented to no other.
    test('for another host of the same client than the one that stood on the page', async () => {
      const agent = browser()
      code(await agent.grant(authorizeUrl({ client_id: 'two' })))
      code(await agent.get(silent({ client_id: 'two' })))
      const elsewhere = { client_id: 'two', redirect_uri: secondHost }
      expectRefusal(await agent.get(silent(elsewhere)), 'consent_required', { redirectUri: secondHost })
      const page = await agent.open(authorizeUrl(elsewhere))
      expect(pageOf(page)).toBe('200 /consent')
      expect(page.html).toContain('second.example.org')
    })
  })

  test('sets no cookie, and its form has no field of the protocol that could be changed', async () => {
    const { page, fields } = await consentPage({ nonce: 'n', ...s256 })
    expect(ownCookies(page)).toEqual([])
    expect(Object.keys(fields).sort()).toEqual([
      'account',
      'authorization_request',
      'csrf_token',
      'locale',
      'shown',
    ])
  })
})
