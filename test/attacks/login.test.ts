import { browserSide, evil, ownCookies, pageOf, requestOf, still } from '../support/browser-side.ts'
import { stopClock } from '../support/clock.ts'
import { expectErrorPage, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, type RawBrowser } from '../support/raw-browser.ts'
import { underAttack, writesNothing } from '../support/target.ts'
import { ada, bob } from '../support/tokens.ts'

afterEach(() => jest.restoreAllMocks())

type Fields = Record<string, string>
type Pairs = [string, string][]

const credentials = { username: ada.email, password: ada.password }
const multipart = (form: Fields): string => {
  const parts = Object.entries(form).map(
    ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return `${parts.join('')}--x--`
}
/** Of the right length and alphabet. */
const forged = 'A'.repeat(43)

underAttack(
  'the sign-in form',
  (target, { mount, describe, test, everyMount }) => {
    const side = browserSide(target)
    const { at, authorizeUrl, browser, loginPage, consentPage, signedIn, code, origin, post } = side
    const { expectNobody, subjectOf } = side

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
    const tokenOf = (page: Answer, has: string): string => fieldsOf(page, has).csrf_token ?? ''

    // RFC 6749 §10.12, RFC 9700 §4.7, RFC 6819 §4.4.1.8, ASVS 3.5.1: a forged form would sign the victim in as somebody.
    everyMount(() => {
      describe('forged by another site is 403', () => {
        const swaps: [string, (form: Fields, agent: RawBrowser) => Promise<Fields> | Fields][] = [
          ['without a token', ({ csrf_token: _, ...form }) => form],
          ['with an empty token', (form) => ({ ...form, csrf_token: '' })],
          ['with a token of the attacker’s making', (form) => ({ ...form, csrf_token: forged })],
          [
            'with the token of another request of the same browser',
            async (form, agent) => ({
              ...form,
              csrf_token: (await loginPage({}, agent)).fields.csrf_token ?? '',
            }),
          ],
          [
            'with the token of another browser (CVE-2026-27124)',
            async (form) => ({ ...form, csrf_token: (await loginPage()).fields.csrf_token ?? '' }),
          ],
          [
            'with a cookie’s value as the token (CVE-2026-53660)',
            (form, agent) => ({ ...form, csrf_token: [...agent.cookies.values()][0] ?? '' }),
          ],
          [
            'with the token under another name',
            ({ csrf_token, ...form }) => ({ ...form, _csrf: csrf_token ?? '' }),
          ],
        ]
        test.each(swaps)('%s', async (_, swap) => {
          const { agent, form, expectUndisturbed } = await attacked()
          const sent = await swap(form, agent)
          expectErrorPage(await writesNothing(target(), () => post(agent, '/login', sent)), 403)
          await expectUndisturbed()
        })

        test('with the token of a consent form of the same request', async () => {
          const { agent, page, id, fields } = await consentPage()
          const form = { ...credentials, authorization_request: id, csrf_token: fields.csrf_token ?? '' }
          expectErrorPage(
            await writesNothing(target(), () => post(agent, '/login', form), { except: ['sessions'] }),
            403,
          )
          code(await agent.decide(page, 'allow'))
        })

        test('with the token of a sign-out form of the same browser', async () => {
          const agent = await signedIn()
          const csrf_token = tokenOf(await agent.get(at('/logout')), 'csrf_token')
          const { fields } = await loginPage({ prompt: 'select_account' }, agent)
          expectErrorPage(await post(agent, '/login', { ...fields, ...credentials, csrf_token }), 403)
        })

        test('with the token in the address or in a header', async () => {
          const { agent, form, expectUndisturbed } = await attacked()
          const { csrf_token = '', ...rest } = form
          const query = new URLSearchParams({ csrf_token })
          const headers = { 'X-CSRF-Token': csrf_token, 'X-XSRF-TOKEN': csrf_token }
          expectErrorPage(await agent.post(`${at('/login')}?${query}`, rest, headers), 403)
          await expectUndisturbed()
        })

        // The token is right in each of these: where the form comes from is enough.
        test.each<[string, Fields]>([
          ['Sec-Fetch-Site: cross-site', { 'Sec-Fetch-Site': 'cross-site' }],
          ['Sec-Fetch-Site: same-site, as of a sister domain', { 'Sec-Fetch-Site': 'same-site' }],
          [
            'Sec-Fetch-Site: cross-site and our own Origin',
            { 'Sec-Fetch-Site': 'cross-site', Origin: 'OWN' },
          ],
          ['another Origin', { Origin: 'https://evil.example' }],
          ['an Origin with ours as a prefix', { Origin: 'OWN.evil.example' }],
          ['an Origin of another scheme', { Origin: 'OTHER' }],
        ])('with the right token, but %s', async (_, headers) => {
          const { agent, form, expectUndisturbed } = await attacked()
          const { protocol, host } = new URL(origin())
          const written = (value: string): string =>
            value
              .replace('OWN', origin())
              .replace('OTHER', `${protocol === 'http:' ? 'https:' : 'http:'}//${host}`)
          const sent = Object.fromEntries(
            Object.entries(headers).map(([name, value]) => [name, written(value)]),
          )
          expectErrorPage(await writesNothing(target(), () => post(agent, '/login', form, sent)), 403)
          await expectUndisturbed()
        })

        test('with Origin: null, as from a sandboxed frame, and no right token', async () => {
          const { agent, form, expectUndisturbed } = await attacked()
          for (const csrf_token of ['', forged])
            expectErrorPage(await post(agent, '/login', { ...form, csrf_token }, { Origin: 'null' }), 403)
          await expectUndisturbed()
        })
      })
    })

    // ASVS 3.5.2: what a form of another site can send without asking first, and what only looks like a form.
    everyMount(() => {
      describe('in another encoding', () => {
        test.each<[string, (form: Fields) => string]>([
          ['application/json', (form) => JSON.stringify(form)],
          ['text/plain', (form) => new URLSearchParams(form).toString()],
          ['multipart/form-data; boundary=x', multipart],
        ])('%s is 415', async (type, bodyOf) => {
          const { agent, form, expectUndisturbed } = await attacked()
          const sent = { body: bodyOf(form), headers: { 'Content-Type': type } }
          expectErrorPage(await writesNothing(target(), () => agent.send('POST', at('/login'), sent)), 415)
          await expectUndisturbed()
        })

        test('and none at all is nothing', async () => {
          const { agent, expectUndisturbed } = await attacked()
          expectExpiredPage(await writesNothing(target(), () => agent.send('POST', at('/login'))))
          await expectUndisturbed()
        })
      })
    })

    // ASVS 3.5.3 and 14.2.1: a link signs nobody in.
    everyMount(() => {
      describe('by a link', () => {
        test('shows the form, does not sign in, and does not show the password', async () => {
          const { agent, form, expectUndisturbed } = await attacked()
          const page = await writesNothing(target(), () => agent.get(at('/login', form)))
          expect(pageOf(page)).toBe('200 /login')
          expect(page.html).not.toContain(ada.password)
          expect(fieldsOf(page, 'name="password"')).toMatchObject({ username: '', password: '' })
          await expectUndisturbed()
        })

        test('HEAD shows nothing', async () => {
          const { agent, form, expectUndisturbed } = await attacked()
          const answer = await writesNothing(target(), () => agent.send('HEAD', at('/login', form)))
          expect({ status: answer.status, html: answer.html }).toEqual({ status: 200, html: '' })
          await expectUndisturbed()
        })

        test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is 405', async (method) => {
          const { agent, form, expectUndisturbed } = await attacked()
          const answer = await writesNothing(target(), () => agent.send(method, at('/login', form)))
          expect({ status: answer.status, allow: answer.headers.allow }).toEqual({
            status: 405,
            allow: 'GET, HEAD, POST',
          })
          await expectUndisturbed()
        })

        test('with the fields in the address of a POST is nothing', async () => {
          const { agent, form, expectUndisturbed } = await attacked()
          expectExpiredPage(await writesNothing(target(), () => agent.post(at('/login', form), {})))
          await expectUndisturbed()
        })
      })
    })

    // WSTG-INPV-04: which of two values is the right one?
    everyMount(() => {
      describe('with a field twice, or made into another thing', () => {
        const names = ['csrf_token', 'authorization_request', 'username', 'password']
        test.each(names)('%s twice', async (name) => {
          const { agent, form, expectUndisturbed } = await attacked()
          const pairs: Pairs = [...Object.entries(form), [name, form[name] ?? '']]
          expectErrorPage(await writesNothing(target(), () => post(agent, '/login', pairs)), 400)
          await expectUndisturbed()
        })

        test.each(names.flatMap((name) => [`${name}[]`, `${name}[__proto__]`]))(
          '%s instead of the field does not sign in',
          async (odd) => {
            const { agent, form, expectUndisturbed } = await attacked()
            const name = odd.replace(/\[.*/, '')
            const pairs = Object.entries(form).map(([each, value]): [string, string] => [
              each === name ? odd : each,
              value,
            ])
            const answer = await writesNothing(target(), () => post(agent, '/login', pairs))
            // A parser of the host's makes lists and objects of such names, and those are no fields.
            const status = name === 'csrf_token' && !mount.includes('parsers') ? 403 : 400
            expect({ status: answer.status, location: answer.headers.location }).toEqual({ status })
            expect(ownCookies(answer)).toEqual([])
            await expectUndisturbed()
          },
        )
      })
    })

    // The attacker begins the request and makes the victim go on with it, or the other way round.
    describe('of a request that another browser began is the page for expired requests', () => {
      test('opened, posted or resumed by the attacker (CVE-2022-39222, RFC 6819 §4.4.1.10)', async () => {
        const { id, form, expectUndisturbed } = await attacked()
        const thief = await signedIn(bob)
        await writesNothing(
          target(),
          async () => {
            for (const agent of [thief, browser()]) {
              for (const path of ['/login', '/consent', '/authorize'])
                expectExpiredPage(await agent.get(at(path, { authorization_request: id })))
              const answer = await post(agent, '/login', form)
              expectExpiredPage(answer)
              expect(ownCookies(answer)).toEqual([])
            }
          },
          { except: ['sessions'] },
        )
        await expectUndisturbed()
      })

      test('opened by the victim, whom the attacker sent there (CVE-2026-7507, CVE-2026-27124)', async () => {
        const attacker = await attacked()
        const victim = await signedIn()
        for (const path of ['/login', '/consent', '/authorize'])
          expectExpiredPage(await victim.get(at(path, { authorization_request: attacker.id })))
        await attacker.expectUndisturbed()
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
        const { agent, page, id } = await consentPage()
        const login = await agent.get(at('/login', { authorization_request: id }))
        code(await agent.decide(page, 'allow'))
        for (const path of ['/login', '/consent', '/authorize'])
          expectExpiredPage(await agent.get(at(path, { authorization_request: id })))
        expectExpiredPage(await agent.signIn(login))
        expectExpiredPage(await agent.signIn(login, bob.email, bob.password))
        expect(await subjectOf(agent)).toBe('1')
      })

      test('after ten minutes', async () => {
        const clock = stopClock()
        const { agent, page, id } = await loginPage()
        clock.travel(601)
        for (const path of ['/login', '/consent', '/authorize'])
          expectExpiredPage(await agent.get(at(path, { authorization_request: id })))
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
          for (const path of ['/login', '/consent'])
            expectErrorPage(await agent.get(at(path, { authorization_request })), 400)
          expectErrorPage(await post(agent, '/login', { ...form, authorization_request }), 400)
        })
        await expectUndisturbed()
      })

      test('with the id as it is stored, which a thief of the database has (RFC 6819 §4.4.1.2)', async () => {
        const { agent, form, expectUndisturbed } = await attacked()
        for (const row of await side.table('pending_requests')) {
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

      test('unknown, wrong, disabled, empty: one answer', async () => {
        const { agent, page } = await loginPage()
        const wrong = visible(await agent.signIn(page, ada.email, 'wrong'), ada.email)
        expect(wrong.status).toBe(400)
        for (const [name, password] of [
          ['nobody@example.com', ada.password],
          ['cut@example.com', 'cut’s password'],
          [ada.email, ''],
          [ada.email, ada.password.toUpperCase()],
          [ada.email, ` ${ada.password}`],
          [ada.email, `${ada.password}\0`],
          [bob.email, ada.password],
          ['1', ada.password],
        ] as const)
          expect(visible(await agent.signIn(page, name, password), name)).toEqual(wrong)
        await expectNobody(agent)
      })

      test.each([
        `' OR '1'='1`,
        `${ada.email}\0`,
        `${ada.email}\0.evil`,
        `${ada.email} `,
        'аda@example.com',
        `${ada.email}\u200b`,
        `${ada.email}\r\nX: y`,
        '__proto__',
      ])('nor lets anybody in as %j', async (name) => {
        const { agent, page } = await loginPage()
        const answer = await writesNothing(target(), () => agent.signIn(page, name, ada.password))
        expect(pageOf(answer)).toBe('400 /login')
        await expectNobody(agent)
      })
    })

    // RFC 9700 §4.12, OAuth 2.1 §7.5.3: a 307 would send the password on to the client.
    everyMount(() => {
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
    })

    // RFC 9700 §4.11.2, ASVS 3.7.2; CVE-2024-39694, in which a path was no path.
    everyMount(() => {
      describe('leads nowhere else:', () => {
        const places = [evil, '//evil.example', '/\\evil.example', '/\t/evil.example', 'javascript:alert(1)']
        const names = ['return_to', 'redirect_to', 'next']

        test.each([...names, 'redirect_uri', 'RelayState'])('%s is ignored', async (name) => {
          for (const place of places) {
            const agent = browser()
            const more = name === 'redirect_uri' ? {} : { [name]: place }
            const asked = await agent.open(authorizeUrl({ prompt: 'consent', ...more }))
            const page = await agent.get(`${asked.url.href}&${new URLSearchParams({ [name]: place })}`)
            expect(pageOf(page)).toBe('200 /login')
            expect(page.html).not.toMatch(/evil|alert\(/)
            const form = { ...fieldsOf(page, 'name="password"'), ...credentials, [name]: place }
            const answer = await agent.post(at('/login', { [name]: place }), form)
            expect(answer.headers.location).toBe(
              `${at('/consent', { authorization_request: requestOf(page) })}#_`,
            )
          }
        })
      })
    })

    // OIDC Core §3.1.2.1, ASVS 7.5.3: a renewed login cannot be skipped by the parameters of the way back.
    test.each([{ prompt: 'login' }, { max_age: '0' }, { prompt: 'select_account' }])(
      'is not skipped by resuming the request with other parameters: %j',
      async (demand) => {
        const agent = await signedIn()
        const { id, page } = await loginPage(demand, agent)
        for (const more of [
          {},
          { prompt: 'none' },
          { max_age: '99999' },
          { prompt: 'consent' },
          { skip: '1' },
        ]) {
          const again = await agent.open(at('/authorize', { authorization_request: id, ...more }))
          expect(pageOf(again)).toBe(
            `200 ${'prompt' in demand && demand.prompt !== 'login' ? '/select-account' : '/login'}`,
          )
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
  },
  () => ({ options: still }),
)
