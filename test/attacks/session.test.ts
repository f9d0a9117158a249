import { pkce } from '../support/host.ts'
import { claimsOf, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'
import { browserSide, ownCookies, still } from './browser-side.ts'
import { type Mount, mounts, plainMount, targetIn, writesNothing } from './target.ts'

afterEach(() => jest.restoreAllMocks())

const isOfSession = (name: string): boolean => name.endsWith('_session') || name === 'host.sid'

/** Every answer that a browser gets from now on. */
const recorded = (agent: RawBrowser): Answer[] => {
  const answers: Answer[] = []
  const send = agent.send.bind(agent)
  agent.send = async (...sent) => {
    const answer = await send(...sent)
    answers.push(answer)
    return answer
  }
  return answers
}

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({ options: still }))
  const side = browserSide(target)
  const isSecure = (): boolean => target().issuer.startsWith('https:')

  /** The name of the cookie that carries the session: the host's own where it has one. */
  const sessionCookie = (agent: RawBrowser): string => {
    const name = [...agent.cookies.keys()].find(isOfSession)
    if (name === undefined) throw new Error(`no session among ${[...agent.cookies.keys()]}`)
    return name
  }
  const cookieOf = (agent: RawBrowser, purpose: string): string =>
    [...agent.cookies.keys()].find((name) => name.endsWith(`_${purpose}`)) ?? `no ${purpose}`
  const sessionOf = (agent: RawBrowser): string => agent.cookies.get(sessionCookie(agent)) ?? ''
  /** A Cookie header as an attacker writes it, in the place of the browser's own. */
  const twice = (name: string, first: string, second: string): Record<string, string> => ({
    Cookie: `${name}=${first}; ${name}=${second}`,
  })
  return { ...side, target, isSecure, sessionCookie, cookieOf, sessionOf, twice }
}

describe('a session', () => {
  const side = attackerIn(plainMount)
  const { target, at, authorizeUrl, silent, browser, loginPage, consentPage, signedIn, code } = side
  const { redeem, expectNobody, subjectOf, post, refresh, cookieOf, sessionOf, person } = side

  // CVE-2026-7507, CVE-2026-27124, CVE-2022-39222: the attacker knows the browser cookie, because it was planted.
  describe('of a victim whose browser cookie the attacker planted gives the attacker nothing', () => {
    const planted = async () => {
      const attacker = browser()
      const { page, id } = await loginPage({ prompt: 'consent' }, attacker)
      const victim = browser()
      const name = cookieOf(attacker, 'browser')
      victim.cookies.set(name, attacker.cookies.get(name) ?? '')
      return { attacker, victim, page, id, resume: at('/authorize', { authorization_request: id }) }
    }

    test('after the victim signed in, and after the victim allowed', async () => {
      const { attacker, victim, page, id, resume } = await planted()
      const consent = await victim.signIn(page)
      expect(pageOf(consent)).toBe('200 /consent')
      expect(pageOf(await attacker.open(resume))).toBe('200 /login')
      const form = { ...fieldsOf(consent, 'value="allow"'), decision: 'allow' }
      const opened = await attacker.get(at('/consent', { authorization_request: id }))
      for (const answer of [opened, await post(attacker, '/consent', form)])
        expect(pageOf(await attacker.follow(answer))).toBe('200 /login')
      code(await post(victim, '/consent', form))
      expectExpiredPage(await attacker.get(resume))
      expectExpiredPage(await post(attacker, '/consent', form))
      await expectNobody(attacker)
    })
  })

  // ASVS 7.2.3: it cannot be guessed.
  test('its ids and those of browsers are long, and never the same', async () => {
    const values = new Set<string>()
    for (let time = 0; time < 4; time += 1) {
      const agent = await signedIn()
      const id = /^(?:s%3A([\w-]{32})\.|lk_se_([\w-]{43})$)/.exec(sessionOf(agent))?.[0] ?? ''
      expect(id).not.toBe('')
      values.add(id).add(agent.cookies.get(cookieOf(agent, 'browser')) ?? '')
    }
    expect(values.size).toBe(8)
    const stored = JSON.stringify(await target().rows())
    for (const value of values) expect(stored).not.toContain(value)
  })

  // RFC 9700 §4.3, ASVS 14.2.1: addresses end in histories and logs.
  test('its id is in no URL and on no page', async () => {
    const agent = browser()
    const answers = recorded(agent)
    code(await agent.grant(authorizeUrl()))
    const seen = answers.map(({ url, html, headers }) => [url.href, html, headers.location]).join()
    for (const value of agent.cookies.values())
      expect(seen).not.toContain(decodeURIComponent(value).split('.')[0]?.replace('s:', ''))
  })

  // ASVS 7.4.1, 7.4.2 and 7.4.3: a copy of the cookies ends with the login.
  describe('copied by a thief ends', () => {
    const stolen = async () => {
      const owner = await signedIn()
      const thief = owner.clone()
      expect(await subjectOf(thief)).toBe('1')
      return { owner, thief }
    }

    test('when its owner or another user signs in again', async () => {
      for (const [demand, person] of [
        ['login', ada],
        ['select_account', bob],
      ] as const) {
        const { owner, thief } = await stolen()
        const { page } = await loginPage({ prompt: demand }, owner)
        await owner.signIn(page, person.email, person.password)
        await expectNobody(thief)
      }
    })

    test('when the account is disabled, and when the host says that it changed', async () => {
      const { owner, thief } = await stolen()
      await person().update({ disabled_at: 1 })
      await expectNobody(thief)
      await person().update({ disabled_at: null })
      expect(await subjectOf(owner)).toBe('1')
      await target().host.oauth.users.revokeAll('1')
      for (const agent of [thief, owner]) await expectNobody(agent)
    })
  })

  // RFC 6749 §10.12 and ASVS 7.6.2: a session of one user never continues as that of another user.
  describe('in which another person signs in', () => {
    test('is theirs alone: nothing that was granted before without offline_access lives on', async () => {
      const agent = await signedIn()
      const tokens = await redeem(code(await agent.get(silent())))
      const waiting = code(await agent.get(silent()))
      const { page } = await loginPage({ prompt: 'select_account' }, agent)
      const next = await agent.signIn(page, bob.email, bob.password)
      code(next.location ? next : await agent.decide(next, 'allow'))
      expect(await subjectOf(agent)).toBe('2')
      const bearer = { Authorization: `Bearer ${tokens.access_token}` }
      expect((await target().get(at('/userinfo'), bearer)).status).toBe(401)
      expect(await refresh(tokens.refresh_token)).toMatchObject({ error: 'invalid_grant' })
      expect(await redeem(waiting)).toMatchObject({ error: 'invalid_grant' })
    })
  })

  // Shared state between requests would hand one person's code to another (CWE-488).
  test('is never another’s, however many sign in and ask at once', async () => {
    const people = [ada, bob, ada, bob, ada, bob]
    const visits = people.map(async (person) => {
      const agent = browser()
      const s256 = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
      const { page } = await consentPage({ nonce: person.email, ...s256 }, person, agent)
      code(await agent.decide(page, 'allow'))
      return subjectOf(agent)
    })
    expect(await Promise.all(visits)).toEqual(['1', '2', '1', '2', '1', '2'])
  })
})

describe.each(mounts)('a session, mounted $name', (mount) => {
  const side = attackerIn(mount)
  const { target, at, silent, browser, loginPage, signedIn, code, redeem, expectNobody } = side
  const { expectRefusal, subjectOf, refresh, isSecure, sessionCookie, cookieOf, sessionOf, twice } = side

  // ASVS 7.2.4, RFC 6819 §4.4.1.10; CVE-2022-25896 and CVE-2026-7507 kept a session that the attacker knew.
  // `latchkey/testing` tries the cookies from before a sign-in, and those of an earlier one, in every mount.
  describe('that was fixed before the login is worthless after it', () => {
    test('one in which the attacker had signed in, with all that was granted in it', async () => {
      const attacker = await signedIn(bob)
      const ofBob = await redeem(code(await attacker.get(silent())))
      const victim = attacker.clone()
      const { page } = await loginPage({ prompt: 'select_account' }, victim)
      const next = await victim.signIn(page)
      code(next.location ? next : await victim.decide(next, 'allow'))
      expect(sessionOf(victim)).not.toBe(sessionOf(attacker))
      expect(await subjectOf(victim)).toBe('1')
      await expectNobody(attacker)
      expect(await refresh(ofBob.refresh_token)).toMatchObject({ error: 'invalid_grant' })
    })

    test('one that is made up, empty or broken is not taken over', async () => {
      const names = [sessionCookie(await signedIn()), 'host.sid']
      for (const planted of [`s%3A${'A'.repeat(32)}.${'B'.repeat(43)}`, '', '%zz%']) {
        const victim = browser()
        for (const name of names) victim.cookies.set(name, planted)
        await expectNobody(victim)
        const { page } = await loginPage({ prompt: 'consent' }, victim)
        await victim.signIn(page)
        const name = names.find((each) => victim.cookies.get(each) !== planted) ?? ''
        expect(isOfSession(name)).toBe(true)
        const attacker = browser()
        for (const each of names) attacker.cookies.set(each, planted)
        await expectNobody(attacker)
      }
    })
  })

  // RFC 6265 §5.3 and §8.6: a sister domain can set cookies of any name; which of two is sent first is not ours to say.
  describe('with tossed cookies', () => {
    test('of the same name, the first counts and the other does not mix in', async () => {
      const [own, other] = [await signedIn(), await signedIn(bob)]
      const name = sessionCookie(own)
      const [ofAda, ofBob] = [own.cookies.get(name) ?? '', other.cookies.get(name) ?? '']
      for (const [first, second, subject] of [
        [ofAda, ofBob, '1'],
        [ofBob, ofAda, '2'],
        [ofAda, 'garbage', '1'],
      ] as const) {
        const headers = twice(name, first, second)
        const { id_token } = await redeem(code(await browser().get(silent(), headers)))
        expect(claimsOf(id_token).sub).toBe(subject)
      }
      for (const garbage of ['garbage', 's%3Ax.y', '', '%zz', `${ofAda}x`]) {
        const headers = twice(name, garbage, ofAda)
        expectRefusal(await browser().get(silent(), headers), 'login_required')
      }
    })

    test('for the browser: a request is not found under two of them, and its form is not taken', async () => {
      const { agent, page, id, fields } = await loginPage()
      const name = cookieOf(agent, 'browser')
      const own = agent.cookies.get(name) ?? ''
      const stranger = (await loginPage()).agent.cookies.get(name) ?? ''
      for (const wrong of [stranger, 'garbage', `${own}A`, own.toUpperCase()]) {
        const headers = twice(name, wrong, own)
        const form = { ...fields, username: ada.email, password: ada.password }
        await writesNothing(target(), async () => {
          expectExpiredPage(await browser().get(at('/login', { authorization_request: id }), headers))
          expectExpiredPage(await browser().post(at('/login'), form, headers))
        })
      }
      expect((await agent.signIn(page)).status).toBeLessThan(400)
    })

    test('beside odd ones, the right ones still count, and a stranger is a stranger', async () => {
      const agent = await signedIn()
      const own = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const many = Array.from({ length: 1000 }, (_, n) => `c${n}=${n}`).join('; ')
      const odd = ['__proto__=x; constructor=y', 'a=%zz; b=%; c=%ff%fe', `a=${'x'.repeat(8000)}`]
      for (const cookies of [...odd, many]) {
        code(await agent.get(silent(), { Cookie: `${own}; ${cookies}` }))
        code(await agent.get(silent(), { Cookie: `${cookies}; ${own}` }))
        expectRefusal(await browser().get(silent(), { Cookie: cookies }), 'login_required')
      }
    })

    test('under names without the prefix, where the prefix is ours (ASVS 3.3.3)', async () => {
      const agent = await signedIn()
      const thief = browser()
      const other = (name: string): string => (isSecure() ? name.replace('__Host-', '') : `__Host-${name}`)
      for (const [name, value] of agent.cookies)
        thief.cookies.set(name === 'host.sid' ? 'host.sid2' : other(name), value)
      await expectNobody(thief)
      const { id } = await loginPage({ prompt: 'login' }, agent)
      expectExpiredPage(await thief.get(at('/login', { authorization_request: id })))
    })
  })

  // ASVS 3.3.1 to 3.3.5, RFC 6265bis §4.1.3.
  test('its cookies are HttpOnly and Lax, for one host only, and on https Secure with __Host-', async () => {
    const agent = browser()
    const answers = recorded(agent)
    const { page } = await loginPage({ prompt: 'consent' }, agent)
    await agent.signIn(page, ada.email, 'wrong')
    code(await agent.decide(await agent.signIn(page), 'allow'))
    await agent.get(at('/logout'))
    const set = answers.flatMap(ownCookies)
    const attributes = ['HttpOnly', 'Path=/', 'SameSite=Lax', ...(isSecure() ? ['Secure'] : [])]
    for (const cookie of set) {
      const [pair = '', ...given] = cookie.split('; ')
      expect(pair).toMatch(isSecure() ? /^__Host-latchkey_/ : /^latchkey_/)
      expect(pair.length).toBeLessThan(1000)
      expect(given.filter((each) => !each.startsWith('Max-Age=')).sort()).toEqual(attributes)
    }
    const purposes = set.map((cookie) => /_(browser|known|notice|session)=/.exec(cookie)?.[1])
    const hasOwn = !mount.isParsed
    expect(new Set(purposes)).toEqual(new Set(['browser', 'notice', ...(hasOwn ? ['session'] : [])]))
  })
})
