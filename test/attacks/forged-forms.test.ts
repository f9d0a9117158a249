import { callback, clients, secret } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'
import { browserSide, ownCookies, still } from './browser-side.ts'
import { type Fields, type Form, mounts, targetIn, writesNothing } from './target.ts'

const bye = 'https://client.example.com/bye'
const shop = { client_id: 'shop', client_secret: secret, redirect_uris: [callback], scope: 'openid' }

/** A form of Latchkey's in a signed-in browser, as its page would send it. */
interface Opened {
  readonly fields: Fields
  /** The token of another form of the same request. */
  readonly sibling?: string
  /** Asserts that nothing was done, and that the form of the page still works. */
  readonly expectUntouched: () => Promise<void>
}

describe.each(mounts)('a form that does not come from its page, mounted $name', (mount) => {
  const target = targetIn(mount, () => ({
    options: still,
    clients: [...clients, { ...shop, post_logout_redirect_uris: [bye] }],
  }))
  const side = browserSide(target)
  const { at, authorizeUrl, code, post, signedIn, subjectOf } = side

  const forms: Record<string, (agent: RawBrowser) => Promise<Opened>> = {
    '/login': async (agent) => {
      const { page, fields, id } = await side.loginPage({ prompt: 'select_account' }, agent)
      const choice = await agent.open(at('/select-account', { authorization_request: id }))
      const { csrf_token: sibling } = fieldsOf(choice, 'value="another"')
      const expectUntouched = async (): Promise<void> => {
        expect(await subjectOf(agent)).toBe('2')
        expect((await agent.signIn(page)).status).toBeLessThan(400)
      }
      const filled = { ...fields, username: ada.email, password: ada.password }
      return { fields: filled, ...(sibling && { sibling }), expectUntouched }
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
  const quietly = <T>(work: () => Promise<T>): Promise<T> => writesNothing(target(), work)
  const open = async (path: string, agent?: RawBrowser) => {
    const own = agent ?? (await signedIn(bob))
    return { agent: own, ...(await forms[path]!(own)) }
  }
  const tokenOf = async (path: string, agent?: RawBrowser): Promise<string> =>
    (await open(path, agent)).fields.csrf_token ?? ''

  /** Each attempt gets an error page, and none writes anything. */
  const expectErrorPages = (
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

  type Tries = Record<string, () => Promise<Answer>>
  const triesOf = <T>(values: Readonly<Record<string, T>>, send: (value: T) => Promise<Answer>): Tries =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, () => send(value)]))

  describe.each(Object.keys(forms))('at %s', (path) => {
    // RFC 6749 §10.12, RFC 6819 §4.4.1.8 and §4.4.1.10, RFC 9700 §4.7, ASVS 3.5.1 and 10.7.1.
    test('is 403 with another token or from another origin, and does nothing without a token', async () => {
      const { agent, fields, sibling, expectUntouched } = await open(path)
      const { csrf_token: token = '', ...others } = fields
      const cookies = agent.cookies.values().map((value) => value.replace(/^s%3A|\..*$/g, ''))
      const tokens: Record<string, string> = {
        'made up': 'A'.repeat(43),
        'cut short': token.slice(1),
        ...(sibling !== undefined && { 'of another form of this request': sibling }),
        'of another browser (CVE-2026-27124)': await tokenOf(path),
        ...Object.fromEntries(cookies.map((value) => [`cookie ${value} (CVE-2026-53660)`, value])),
      }
      for (const other of Object.keys(forms)) {
        // The sign-out form belongs to no request: there are no two of them.
        if (path !== '/logout' || other !== path)
          tokens[`of ${other} in the same browser`] = await tokenOf(other, agent)
      }
      await expectErrorPages([403], {
        ...triesOf(tokens, (csrf_token) => post(agent, path, { ...others, csrf_token }, { Origin: 'null' })),
      })

      const origin = side.origin()
      const otherScheme = origin.startsWith('https')
        ? origin.replace('https', 'http')
        : origin.replace('http', 'https')
      const foreign = ['https://evil.example', `${origin}.evil.example`, new URL(callback).origin]
      const origins: Fields[] = [
        ...['cross-site', 'same-site'].map((site) => ({ 'Sec-Fetch-Site': site })),
        ...[origin, 'null'].map((Origin) => ({ 'Sec-Fetch-Site': 'cross-site', Origin })),
        ...[...foreign, otherScheme].map((Origin) => ({ Origin })),
      ]
      const named = Object.fromEntries(origins.map((headers) => [JSON.stringify(headers), headers]))
      await expectErrorPages(
        [403],
        triesOf(named, (headers) => post(agent, path, fields, headers)),
      )

      const inHeaders = { 'X-CSRF-Token': token, 'X-XSRF-TOKEN': token }
      const places: [string, Fields, Fields][] = [
        ['', others, {}],
        [`?${new URLSearchParams({ csrf_token: token })}`, { ...others, csrf_token: '' }, {}],
        ['', { ...others, _csrf: token }, inHeaders],
      ]
      for (const [query, form, headers] of places) {
        const answer = await quietly(() => agent.post(`${at(path)}${query}`, form, headers))
        // A client may post its sign-out request: it comes again from our own page, and the user is asked.
        expect(answer.status).toBe(path === '/logout' ? 200 : 403)
        if (path === '/logout') expect((await agent.submit(answer, 'form-post')).html).toContain('Sign out?')
      }
      await expectUntouched()
    })

    // ASVS 3.5.2, 3.5.3 and 14.2.1, WSTG-INPV-04: what only looks like a form, or can be read in two ways.
    test('is refused by another method or encoding, or with a repeated field; a link only opens it', async () => {
      const { agent, fields, expectUntouched } = await open(path)
      const pairs = Object.entries(fields)
      const parts = pairs.map(
        ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      )
      const bodies: Record<string, string> = {
        'application/json': JSON.stringify(fields),
        'text/plain': String(new URLSearchParams(pairs)),
        'multipart/form-data; boundary=x': `${parts.join('')}--x--`,
      }
      const typed = Object.fromEntries(Object.entries(bodies).map((one) => [one[0], one]))
      await expectErrorPages(
        [415],
        triesOf(typed, ([type, body]) =>
          agent.send('POST', at(path), { body, headers: { 'Content-Type': type } }),
        ),
      )
      const names = pairs.map(([name]) => name).filter((name) => !name.startsWith('scope:'))
      const twice = Object.fromEntries(names.map((name) => [`${name} twice`, name]))
      await expectErrorPages(
        [400],
        triesOf(twice, (name) => post(agent, path, [...pairs, [name, fields[name] ?? '']] as Form)),
      )
      const needed = ['csrf_token', 'authorization_request', 'decision'].filter(
        (name) => path !== '/logout' && names.includes(name),
      )
      const lists = needed.flatMap((name) => [`${name}[]`, `${name}[__proto__]`])
      await expectErrorPages(
        [400, 403],
        triesOf(Object.fromEntries(lists.map((list) => [list, list])), (list) => {
          const renamed = pairs.map(([name, value]): [string, string] => [
            list.startsWith(`${name}[`) ? list : name,
            value,
          ])
          return post(agent, path, renamed)
        }),
      )
      const methods = ['PUT', 'DELETE', 'PATCH', 'OPTIONS']
      await expectErrorPages(
        [405],
        triesOf(Object.fromEntries(methods.map((method) => [method, method])), (method) =>
          agent.send(method, at(path, fields)),
        ),
      )
      for (const method of ['GET', 'HEAD']) {
        const page = await quietly(() => agent.send(method, at(path, fields)))
        expect({ status: page.status, location: page.headers.location }).toEqual({ status: 200 })
        expect(page.html).not.toContain(ada.password)
      }
      await expectUntouched()
    })
  })
})
