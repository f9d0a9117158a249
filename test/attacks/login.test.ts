import { stopClock } from '../support/clock.ts'
import { expectErrorPage, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'
import { browserSide, evil, ownCookies, requestOf, still } from './browser-side.ts'
import { type Mount, mounts, plainMount, targetIn, writesNothing } from './target.ts'

afterEach(() => jest.restoreAllMocks())

type Fields = Record<string, string>

const credentials = { username: ada.email, password: ada.password }
/** Of the right length and alphabet. */
const forged = 'A'.repeat(43)

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({ options: still }))
  const side = browserSide(target)
  const { loginPage, code, expectNobody } = side
  const paths = ['/login', '/consent', '/authorize']

  /** A browser at the form, the form as it would be sent, and how to show that it still works afterwards. */
  const attacked = async (parameters: Fields = {}) => {
    const { agent, page, id, fields } = await loginPage(parameters)
    const expectUndisturbed = async (): Promise<void> => {
      await expectNobody(agent)
      const next = await agent.signIn(page)
      expect(next.location ? code(next) : pageOf(next)).toMatch(/^lk_ac_|^200 \/consent$/)
    }
    const form: Fields = { ...fields, ...credentials }
    return { agent, page, id, form, expectUndisturbed }
  }
  return { ...side, target, paths, attacked }
}

describe('the sign-in form', () => {
  const side = attackerIn(plainMount)
  const { target, at, browser, loginPage, signedIn, code } = side
  const { post, expectNobody, subjectOf, paths, attacked, table } = side

  // The attacker begins the request and makes the victim go on with it, or the other way round.
  describe('of a request that another browser began is the page for expired requests', () => {
    test('when another browser opens, posts or resumes it, signed in or not', async () => {
      const { id, form, expectUndisturbed } = await attacked()
      const [thief, victim] = [await signedIn(bob), await signedIn()]
      await writesNothing(target(), async () => {
        for (const agent of [thief, victim, browser()]) {
          for (const path of paths)
            expectExpiredPage(await agent.get(at(path, { authorization_request: id })))
          const answer = await post(agent, '/login', form)
          expectExpiredPage(answer)
          expect(ownCookies(answer)).toEqual([])
        }
      })
      await expectUndisturbed()
    })

    test('filled in with the attacker’s own account and posted by the victim’s browser (login CSRF)', async () => {
      const attacker = await attacked()
      const victim = await attacked()
      const form = { ...attacker.form, username: bob.email, password: bob.password }
      const ways: Fields[] = [{}, { Origin: 'null' }, { 'Sec-Fetch-Site': 'same-origin' }]
      for (const headers of ways) expectExpiredPage(await post(victim.agent, '/login', form, headers))
      await victim.expectUndisturbed()
      await attacker.expectUndisturbed()
    })
  })

  // RFC 6819 §5.1.5.4, ASVS 7.4.1: the back button.
  describe('of a request that has ended is the page for expired requests', () => {
    test('after it was used', async () => {
      const { agent, page: login, id } = await loginPage({ prompt: 'consent' })
      code(await agent.decide(await agent.signIn(login), 'allow'))
      for (const path of paths) expectExpiredPage(await agent.get(at(path, { authorization_request: id })))
      expectExpiredPage(await agent.signIn(login))
      expectExpiredPage(await agent.signIn(login, bob.email, bob.password))
      expect(await subjectOf(agent)).toBe('1')
    })

    test('after an hour', async () => {
      const clock = stopClock()
      const { agent, page, id } = await loginPage()
      clock.travel(3601)
      for (const path of paths) expectExpiredPage(await agent.get(at(path, { authorization_request: id })))
      expectExpiredPage(await agent.signIn(page))
      await expectNobody(agent)
    })

    test.each([
      ['made up', `lk_ar_${forged}`],
      ['of another kind', `lk_ac_${forged}`],
      ['with NUL', `lk_ar_${forged}\0`],
      ['8,000 characters', 'x'.repeat(8000)],
      ['nothing', ''],
    ])('with an id that is %s it was never there', async (_, authorization_request) => {
      const { agent, form, expectUndisturbed } = await attacked()
      await writesNothing(target(), async () => {
        for (const path of ['/login', '/consent']) {
          const answer = await agent.get(at(path, { authorization_request }))
          if (authorization_request !== '') expectErrorPage(answer, 400)
          else expect(answer.location?.pathname).toMatch(/\/account$/)
        }
        expectErrorPage(await post(agent, '/login', { ...form, authorization_request }), 400)
      })
      await expectUndisturbed()
    })

    test('with the id as it is stored, which a thief of the database has (RFC 6819 §4.4.1.2)', async () => {
      const { agent, form, expectUndisturbed } = await attacked()
      for (const row of await table('pending_requests')) {
        expectExpiredPage(await agent.get(at('/login', { authorization_request: String(row.id) })))
        expectExpiredPage(await post(agent, '/login', { ...form, authorization_request: String(row.id) }))
      }
      await expectUndisturbed()
    })
  })

  // ASVS 6.3.8, 6.2.8: what can be learned from a wrong answer.
  describe('shows nothing about accounts', () => {
    const visible = ({ status, html, headers }: Answer, name: string) => ({
      status,
      html: html.replace(/value="[^"]*" autocomplete="username"/, `value="" autocomplete="username"`),
      headers: { ...headers, date: '', 'content-length': '', 'set-cookie': '', name: name.length > 0 },
    })

    test('unknown, wrong, disabled, empty, spelt otherwise: one answer, and no user is signed in', async () => {
      const { agent, page } = await loginPage()
      const wrong = visible(await agent.signIn(page, ada.email, 'wrong'), ada.email)
      expect(wrong.status).toBe(400)
      const { email, password } = ada
      const passwords = ['', password.toUpperCase(), ` ${password}`, `${password}\0`]
      const names = ['unknown@example.com', bob.email, '1', '__proto__', `' OR '1'='1`]
      const tries: [string, string][] = [
        ...passwords.map((other): [string, string] => [email, other]),
        ...names.map((name): [string, string] => [name, password]),
        ['cut@example.com', 'cut’s password'],
      ]
      for (const [name, given] of tries)
        expect(visible(await agent.signIn(page, name, given), name)).toEqual(wrong)
      const spelt = [`${email}\0`, `${email} x`, 'аda@example.com', `${email}\u200b`, `${email}\r\nX: y`]
      for (const name of spelt)
        expect(pageOf(await writesNothing(target(), () => agent.signIn(page, name, password)))).toBe(
          '400 /login',
        )
      await expectNobody(agent)
    })
  })

  // OIDC Core §3.1.2.1, ASVS 7.5.3: a renewed login cannot be skipped by the parameters of the way back.
  test.each([{ prompt: 'login' }, { max_age: '0' }, { prompt: 'select_account' }])(
    'is not skipped by resuming the request with other parameters: %j',
    async (demand) => {
      const agent = await signedIn()
      const { id, page } = await loginPage(demand, agent)
      const expected = demand.prompt === 'select_account' ? '200 /select-account' : '200 /login'
      const others = [{ prompt: 'none' }, { max_age: '99999' }, { prompt: 'consent' }, { skip: '1' }]
      for (const more of [{}, ...others]) {
        const again = await agent.open(at('/authorize', { authorization_request: id, ...more }))
        expect(pageOf(again)).toBe(expected)
      }
      code(await agent.signIn(page))
    },
  )

  // RFC 6819 §4.4.1.4: the page that confirms an account takes no other.
  test('that confirms one account does not accept another’s password', async () => {
    const agent = await signedIn()
    const { page, fields } = await loginPage({ prompt: 'login' }, agent)
    expect(fields.username).toBe(ada.email)
    const asBob = { username: bob.email, password: bob.password }
    expect(pageOf(await agent.submit(page, 'name="password"', asBob))).toBe('400 /login')
    expect(await subjectOf(agent)).toBe('1')
  })
})

describe.each(mounts)('the sign-in form, mounted $name', (mount) => {
  const { at, authorizeUrl, browser, code, post, attacked } = attackerIn(mount)

  // RFC 9700 §4.12, OAuth 2.1 §7.5.3: a 307 would send the password on to the client.
  test('is answered with 303 and a local path, on every hop to the client (RFC 9700 §4.12)', async () => {
    const { agent, page, id, form } = await attacked({ prompt: 'consent' })
    expect(page.html).not.toContain(ada.password)
    const after = await post(agent, '/login', form)
    expect({ status: after.status, location: after.headers.location, html: after.html }).toEqual({
      status: 303,
      location: `${at('/consent', { authorization_request: id })}#_`,
      html: '',
    })
    const consent = await agent.get(after.headers.location ?? '')
    const fields = { ...fieldsOf(consent, 'value="allow"'), decision: 'allow' }
    const allowed = await post(agent, '/consent', fields)
    expect({ status: allowed.status, html: allowed.html }).toEqual({ status: 303, html: '' })
    code(allowed)
  })

  // RFC 9700 §4.11.2, ASVS 3.7.2; CVE-2024-39694, in which a path was no path.
  test('leads nowhere else, whatever return_to, next and the like say', async () => {
    const places = [evil, '//evil.example', '/\\evil.example', '/\t/evil.example', 'javascript:alert(1)']
    const names = ['return_to', 'redirect_to', 'next', 'redirect_uri', 'RelayState']
    for (const [index, name] of names.entries()) {
      const place = places[index] ?? evil
      const agent = browser()
      const more = name === 'redirect_uri' ? {} : { [name]: place }
      const asked = await agent.open(authorizeUrl({ prompt: 'consent', ...more }))
      const page = await agent.get(`${asked.url.href}&${new URLSearchParams({ [name]: place })}`)
      expect(pageOf(page)).toBe('200 /login')
      expect(page.html).not.toMatch(/evil|alert\(/)
      const form = { ...fieldsOf(page, 'name="password"'), ...credentials, [name]: place }
      const answer = await agent.post(at('/login', { [name]: place }), form)
      expect(answer.headers.location).toBe(`${at('/consent', { authorization_request: requestOf(page) })}#_`)
    }
  })
})

// RFC 6819 §5.1.4.2.3, RFC 9700 §4.13, ASVS 6.3.1: what an attacker may change at will must not start the count anew.
// `latchkey/testing` guesses with new browsers and with forged addresses, in every mount.
describe('passwords that are guessed', () => {
  const target = targetIn(plainMount, () => ({
    options: { ...still, limits: { failures: { loginAddress: false as const } } },
  }))
  const { loginPage, browser, expectNobody } = browserSide(target)
  const guess = async (
    turn: number,
    { name = '', agent = browser() }: { name?: string; agent?: RawBrowser },
  ) => {
    const { fields } = await loginPage({}, agent)
    const form = { ...fields, username: name, password: `guess ${turn}` }
    return agent.follow(await agent.post(`${target().base}/login`, form))
  }
  const expectStopped = async (turns: readonly Parameters<typeof guess>[1][]): Promise<void> => {
    const statuses: number[] = []
    for (const [turn, more] of turns.entries()) statuses.push((await guess(turn, more)).status)
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429])
  }

  test('with the name written otherwise each time are stopped after five', () => {
    const names = ['spelt@example.com', 'SPELT@example.com', ' spelt@example.com', 'spelt@EXAMPLE.com ']
    return expectStopped([...names, 'ｓpelt@example.com', 'Spelt@Example.Com'].map((name) => ({ name })))
  })

  test('with a cookie that poses as a known browser each time are stopped after five', async () => {
    const known = browser()
    const { page } = await loginPage({}, known)
    await known.signIn(page, bob.email, bob.password)
    const name = [...known.cookies.keys()].find((each) => each.endsWith('_known')) ?? 'missing'
    const ofBob = known.cookies.get(name) ?? ''
    const [nonce = ''] = ofBob.split('.')
    const made = [`${nonce}.${forged}`, `${forged}.${forged}`, '~'.repeat(100), 'x']
    const marks = [ofBob, `${ofBob}~${ofBob}`, ...made]
    const agents = marks.map((mark) => {
      const agent = browser()
      agent.cookies.set(name, mark)
      return agent
    })
    await expectStopped(agents.map((agent) => ({ name: 'marked@example.com', agent })))
    await expectNobody(agents[0] ?? browser())
  })
})
