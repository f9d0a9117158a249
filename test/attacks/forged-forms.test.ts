import { browserSide, ownCookies, still } from '../support/browser-side.ts'
import { callback, clients, secret } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, type RawBrowser } from '../support/raw-browser.ts'
import { type Fields, type Form, underAttack, writesNothing } from '../support/target.ts'
import { ada, bob } from '../support/tokens.ts'

const bye = 'https://client.example.com/bye'
const shop = { client_id: 'shop', client_secret: secret, redirect_uris: [callback], scope: 'openid' }

/** A form of Latchkey's in a signed-in browser, as its page would send it. */
interface Opened {
  readonly fields: Fields
  /** Asserts that nothing was done, and that the form of the page still works. */
  readonly expectUntouched: () => Promise<void>
}

underAttack(
  'a form that does not come from its page',
  (target, { describe, everyMount }) => {
    const side = browserSide(target)
    const { at, authorizeUrl, code, post, signedIn, subjectOf } = side

    const forms: Record<string, (agent: RawBrowser) => Promise<Opened>> = {
      '/login': async (agent) => {
        const { page, fields } = await side.loginPage({ prompt: 'select_account' }, agent)
        const expectUntouched = async (): Promise<void> => {
          expect(await subjectOf(agent)).toBe('2')
          expect((await agent.signIn(page)).status).toBeLessThan(400)
        }
        return { fields: { ...fields, username: ada.email, password: ada.password }, expectUntouched }
      },
      '/consent': async (agent) => {
        const page = await agent.open(authorizeUrl({ client_id: 'shop', prompt: 'consent' }))
        const expectUntouched = async (): Promise<void> => {
          expect(await side.table('consents').where({ client_id: 'shop' })).toEqual([])
          code(await agent.decide(page, 'allow'))
          await side.table('consents').where({ client_id: 'shop' }).delete()
        }
        return { fields: { ...fieldsOf(page, 'value="allow"'), decision: 'allow' }, expectUntouched }
      },
      '/logout': async (agent) => {
        const asked = { client_id: 'shop', post_logout_redirect_uri: bye, state: 's' }
        const page = await agent.get(at('/logout', asked))
        const expectUntouched = async (): Promise<void> => {
          expect(await subjectOf(agent)).toBe('2')
          expect((await agent.submit(page, 'csrf_token')).headers.location).toBe(`${bye}?state=s`)
        }
        return { fields: fieldsOf(page, 'csrf_token'), expectUntouched }
      },
    }
    const quietly = <T>(work: () => Promise<T>): Promise<T> =>
      writesNothing(target(), work, { except: ['sessions'] })
    const open = async (path: string, agent?: RawBrowser) => {
      const own = agent ?? (await signedIn(bob))
      return { agent: own, ...(await forms[path]!(own)) }
    }
    const tokenOf = async (path: string, agent?: RawBrowser): Promise<string> =>
      (await open(path, agent)).fields.csrf_token ?? ''

    /** Each attempt gets an error page, and none writes anything. */
    const expectRefused = (
      statuses: readonly number[],
      tries: Readonly<Record<string, () => Promise<Answer>>>,
    ): Promise<void> =>
      quietly(async () => {
        for (const [name, send] of Object.entries(tries)) {
          const answer = await send()
          if (!statuses.includes(answer.status)) throw new Error(`${name}: ${answer.status}`)
          expectErrorPage(answer, answer.status)
          expect(ownCookies(answer)).toEqual([])
        }
      })

    everyMount(() => {
      describe.each(Object.keys(forms))('at %s', (path) => {
        // RFC 6749 §10.12, RFC 6819 §4.4.1.8 and §4.4.1.10, RFC 9700 §4.7, ASVS 3.5.1 and 10.7.1.
        test('is 403 with another token than its own, and with its own from another origin', async () => {
          const { agent, fields, expectUntouched } = await open(path)
          const { csrf_token: token = '', ...others } = fields
          const cookies = agent.cookies.values().map((value) => value.replace(/^s%3A|\..*$/g, ''))
          const tokens: Record<string, string> = {
            'made up': 'A'.repeat(43),
            'cut short': token.slice(1),
            'of another browser (CVE-2026-27124)': await tokenOf(path),
            ...Object.fromEntries(cookies.map((value) => [`cookie ${value} (CVE-2026-53660)`, value])),
          }
          for (const other of Object.keys(forms)) {
            // The sign-out form belongs to no request: there are no two of them.
            if (path !== '/logout' || other !== path)
              tokens[`of ${other} in the same browser`] = await tokenOf(other, agent)
          }
          const origin = side.origin()
          const origins: Fields[] = [
            { 'Sec-Fetch-Site': 'cross-site' },
            { 'Sec-Fetch-Site': 'same-site' },
            { 'Sec-Fetch-Site': 'cross-site', Origin: origin },
            { 'Sec-Fetch-Site': 'cross-site', Origin: 'null' },
            ...['https://evil.example', `${origin}.evil.example`, new URL(callback).origin].map((Origin) => ({
              Origin,
            })),
            {
              Origin: origin.startsWith('https')
                ? origin.replace('https', 'http')
                : origin.replace('http', 'https'),
            },
          ]
          await expectRefused([403], {
            ...Object.fromEntries(
              Object.entries(tokens).map(([name, csrf_token]) => [
                `a token ${name}`,
                () => post(agent, path, { ...others, csrf_token }, { Origin: 'null' }),
              ]),
            ),
            ...Object.fromEntries(
              origins.map((headers) => [JSON.stringify(headers), () => post(agent, path, fields, headers)]),
            ),
          })
          await expectUntouched()
        })

        test('without its token does nothing, wherever else that stands', async () => {
          const { agent, fields, expectUntouched } = await open(path)
          const { csrf_token = '', ...others } = fields
          const places: [string, Fields, Fields][] = [
            ['', others, {}],
            [`?${new URLSearchParams({ csrf_token })}`, { ...others, csrf_token: '' }, {}],
            [
              '',
              { ...others, _csrf: csrf_token },
              { 'X-CSRF-Token': csrf_token, 'X-XSRF-TOKEN': csrf_token },
            ],
          ]
          for (const [query, form, headers] of places) {
            const answer = await quietly(() => agent.post(`${at(path)}${query}`, form, headers))
            // A client may post its sign-out request: it comes again by GET, and the user is asked.
            expect(answer.status).toBe(path === '/logout' ? 303 : 403)
            if (path === '/logout') expect((await agent.follow(answer)).html).toContain('Sign out?')
          }
          await expectUntouched()
        })

        // ASVS 3.5.2 and 3.5.3, WSTG-INPV-04: what only looks like a form, or can be read in two ways.
        test('is refused in another encoding, with a field twice or as a list, and by another method', async () => {
          const { agent, fields, expectUntouched } = await open(path)
          const pairs = Object.entries(fields)
          const send = (body: string, type: string): Promise<Answer> =>
            agent.send('POST', at(path), { body, headers: { 'Content-Type': type } })
          const parts = pairs.map(
            ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
          )
          await expectRefused([415], {
            JSON: () => send(JSON.stringify(fields), 'application/json'),
            text: () => send(String(new URLSearchParams(pairs)), 'text/plain'),
            multipart: () => send(`${parts.join('')}--x--`, 'multipart/form-data; boundary=x'),
          })
          const names = pairs.map(([name]) => name).filter((name) => !name.startsWith('scope:'))
          const twice = names.map((name): [string, () => Promise<Answer>] => [
            `${name} twice`,
            () => post(agent, path, [...pairs, [name, fields[name] ?? '']] as Form),
          ])
          const needed =
            path === '/logout'
              ? []
              : ['csrf_token', 'authorization_request', 'decision'].filter((name) => names.includes(name))
          const lists = needed.flatMap((name) =>
            ['[]', '[__proto__]'].map((suffix): [string, () => Promise<Answer>] => [
              name + suffix,
              () =>
                post(
                  agent,
                  path,
                  pairs.map(([each, value]) => [each === name ? name + suffix : each, value]),
                ),
            ]),
          )
          await expectRefused([400], Object.fromEntries(twice))
          await expectRefused([400, 403], Object.fromEntries(lists))
          const methods = ['PUT', 'DELETE', 'PATCH', 'OPTIONS']
          await expectRefused(
            [405],
            Object.fromEntries(methods.map((method) => [method, () => agent.send(method, at(path, fields))])),
          )
          await expectUntouched()
        })

        // ASVS 14.2.1: a link decides nothing, and shows no password.
        test('is only a page as a link', async () => {
          const { agent, fields, expectUntouched } = await open(path)
          for (const method of ['GET', 'HEAD']) {
            const page = await quietly(() => agent.send(method, at(path, fields)))
            expect({ status: page.status, location: page.headers.location }).toEqual({ status: 200 })
            expect(page.html).not.toContain(ada.password)
          }
          await expectUntouched()
        })
      })
    })
  },
  () => ({ options: still, clients: [...clients, { ...shop, post_logout_redirect_uris: [bye] }] }),
)
