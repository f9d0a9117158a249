import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import { authorizeUrl, callback, type Host, type HostSettings, secret, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'

const scope = 'openid email notes:read notes:write'
const seeds: ClientSeed[] = [
  {
    client_id: 'web',
    client_name: 'Web client',
    'client_name#de': 'Netzanwendung',
    client_secret: secret,
    redirect_uris: [callback],
    scope,
    post_logout_redirect_uris: ['https://client.example.com/bye'],
    client_uri: 'https://client.example.com',
    policy_uri: 'https://client.example.com/privacy',
    'policy_uri#de': 'https://client.example.com/datenschutz',
    tos_uri: 'https://client.example.com/terms',
  },
]
const scopes = {
  'notes:read': {
    description: 'Read your notes',
    details: 'All of them.',
    locales: {
      de: { description: 'Ihre Notizen lesen', details: 'Alle.' },
      fr: { description: 'Lire vos notes', details: 'Toutes.' },
    },
  },
  'notes:write': { description: 'Write notes for you', optional: true },
} satisfies AuthRouterOptions['scopes']

const open: Host[] = []
const start = async (options: Partial<AuthRouterOptions> = {}, more: HostSettings = {}): Promise<Host> => {
  const host = await startHost({
    clients: seeds,
    ...more,
    options: { scopes, pages: { name: 'Acme' }, limits: false, ...options },
  })
  open.push(host)
  return host
}

let host: Host
beforeAll(async () => {
  host = await start()
})
afterAll(async () => {
  for (const each of open.reverse()) await each.close()
})
beforeEach(async () => {
  for (const name of ['consents', 'consent_receipts', 'pending_requests']) await host.table(name).delete()
})

const web = { client_id: 'web', scope, state: 's' }
const browserOf = ({ app }: Host, headers: Record<string, string> = {}): RawBrowser =>
  new RawBrowser(app, 'http://localhost:3000', headers)
const speaking = (language: string, at = host): RawBrowser => browserOf(at, { 'Accept-Language': language })

/** The language of a page, by header and markup alike. */
const languageOf = ({ html, headers }: Answer): string => {
  const [, lang = '', dir = ''] = /<html lang="([^"]*)" dir="([^"]*)">/.exec(html) ?? []
  expect(headers['content-language']).toBe(lang)
  expect(dir).toBe(['ar', 'he'].includes(lang) ? 'rtl' : 'ltr')
  return lang
}
const title = ({ html }: Answer): string => /<title>(.*?)<\/title>/.exec(html)?.[1] ?? ''
/** The links of the footer by language. */
const choicesOf = ({ html }: Answer): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<a href="([^"]*)" lang="([^"]*)">/g)].map(([, url = '', tag = '']) => [
      tag,
      url.replaceAll('&amp;', '&'),
    ]),
  )
const readCookie = (answer: Answer): string | undefined =>
  answer.setCookies.find((cookie) => /^(__Host-)?latchkey_[0-9a-f]{8}_language=/.test(cookie))

describe('the language of a page', () => {
  test.each<[string, Record<string, string>, string, string]>([
    ['ui_locales before Accept-Language', { ui_locales: 'nl fr-CA ar' }, 'de', 'fr'],
    ['Accept-Language if no ui_locales fits', { ui_locales: 'nl se' }, 'nl, de-AT;q=0.9, ja;q=0.8', 'de'],
    ['the host’s default if the only other one is refused', {}, 'de, de;q=0', 'en'],
    ['the host’s default if both are malformed', { ui_locales: '\u0000' }, 'x'.repeat(5000), 'en'],
  ])('follows %s', async (_, wishes, accepted, language) => {
    const page = await speaking(accepted).open(authorizeUrl({ ...web, ...wishes }))
    expect([page.status, page.url.pathname, languageOf(page)]).toEqual([200, '/oauth/login', language])
  })

  test('stays what the request asked for, in a failed login, the consent and the posted form', async () => {
    const agent = speaking('de')
    const asked = { ...web, ui_locales: 'ar', response_mode: 'form_post' }
    const login = await agent.open(authorizeUrl(asked))
    const failed = await agent.signIn(login, 'ada@example.com', 'wrong')
    expect([failed.status, languageOf(failed)]).toEqual([400, 'ar'])
    const consent = await agent.signIn(failed)
    expect([consent.url.pathname, languageOf(consent)]).toEqual(['/oauth/consent', 'ar'])
    const posted = await agent.decide(consent, 'allow')
    expect(posted.html).toContain('id="form-post"')
    expect(languageOf(posted)).toBe('ar')
    const select = await agent.open(authorizeUrl({ ...web, ui_locales: 'ja', prompt: 'select_account' }))
    expect([select.url.pathname, languageOf(select)]).toEqual(['/oauth/select-account', 'ja'])
    const confirm = await agent.open(authorizeUrl({ ...web, ui_locales: 'es', prompt: 'login' }))
    expect([languageOf(confirm), title(confirm)]).toEqual(['es', 'Confirme su identidad · Acme'])
  })

  test('holds for error pages: of an unknown client, a waiting request and a forged form', async () => {
    const agent = speaking('fr')
    const unknown = await agent.open(authorizeUrl({ client_id: 'unknown-client', ui_locales: 'de' }))
    expect([unknown.status, languageOf(unknown)]).toEqual([400, 'de'])
    expect(title(unknown)).toBe('Fehler: Diese App ist hier nicht registriert · Acme')
    expect(choicesOf(unknown).en).toBe('/oauth/authorize?language=en')
    const chosen = await agent.get('/oauth/authorize?language=en', { Referer: unknown.url.href })
    expect(chosen.location?.search).toBe(unknown.url.search)
    const english = await agent.follow(chosen)
    expect([english.status, languageOf(english), title(english)]).toEqual([
      400,
      'en',
      'Error: This app isn’t registered here · Acme',
    ])
    for (const elsewhere of [
      'https://evil.example/oauth/authorize?x',
      `${unknown.url.origin}/login?x`,
      'x',
    ]) {
      const { location } = await agent.get('/oauth/authorize?language=en', { Referer: elsewhere })
      expect(location?.pathname.concat(location.search)).toBe('/oauth/authorize')
    }
    agent.cookies.clear()
    const gone = await agent.open('/oauth/login?authorization_request=gone')
    expect([gone.status, languageOf(gone)]).toEqual([400, 'fr'])
    const login = await agent.open(authorizeUrl({ ...web, ui_locales: 'ja' }))
    const forged = await agent.submit(login, 'name="password"', { csrf_token: 'forged' })
    expect([forged.status, languageOf(forged)]).toEqual([403, 'ja'])
    expect(choicesOf(forged)).toEqual({})
  })

  test('holds for connected apps, removal, and signing out with ui_locales', async () => {
    const agent = speaking('de')
    codeOf(await agent.grant(authorizeUrl(web)))
    const account = await agent.open('/oauth/account')
    expect([title(account), languageOf(account)]).toEqual(['Verbundene Apps · Acme', 'de'])
    expect(account.html).toContain('<span class="name"><bdi>Netzanwendung</bdi></span>')
    expect(account.html).toContain('<bdi>Ihre Notizen lesen</bdi>')
    const removal = await agent.open('/oauth/account?client_id=web')
    expect(removal.html).toContain('<bdi>Netzanwendung</bdi> kann Ihr Konto bei <bdi>Acme</bdi> auf keinem')
    const signOut = await agent.open('/oauth/logout?client_id=web&ui_locales=fr-CA')
    expect([title(signOut), languageOf(signOut)]).toEqual(['Se déconnecter\u202f? · Acme', 'fr'])
    const signedOut = await agent.submit(signOut, 'csrf_token')
    expect([title(signedOut), languageOf(signedOut)]).toEqual(['Déconnexion réussie · Acme', 'fr'])
    const again = await speaking('de').open('/oauth/logout?ui_locales=%00%ff&client_id=web')
    expect([again.status, languageOf(again)]).toEqual([200, 'de'])
  })

  test('is passed to the host’s own login page', async () => {
    const own = await start({ login: { url: '/login', current: () => undefined } })
    const location = (await browserOf(own).get(authorizeUrl({ ...web, ui_locales: 'fr x* de_AT' }))).location
    expect(location?.searchParams.get('ui_locales')).toBe('fr de-AT')
    const silent = (await browserOf(own).get(authorizeUrl(web))).location
    expect(silent?.searchParams.has('ui_locales')).toBe(false)
  })
})

describe('the choice in the footer', () => {
  test('offers every other language under its own name, on the same page', async () => {
    const login = await browserOf(host).open(authorizeUrl(web))
    const { authorization_request } = fieldsOf(login, 'name="password"')
    const choices = choicesOf(login)
    expect(Object.keys(choices)).toEqual(['ar', 'de', 'es', 'fr', 'ja'])
    expect(choices.de).toBe(`/oauth/login?authorization_request=${authorization_request}&language=de`)
    for (const name of ['العربية', 'Deutsch', 'English', 'Español', 'Français', '日本語'])
      expect(login.html).toMatch(new RegExp(`lang="[a-z]{2}"[^>]*>${name}</`))
    expect(login.html).toContain('<span lang="en" aria-current="true">English</span>')
  })

  test('is kept in a cookie for a year, has priority, and redirects without the parameter', async () => {
    const agent = speaking('de')
    const login = await agent.open(authorizeUrl({ ...web, ui_locales: 'ja' }))
    const before = new Map(agent.cookies)
    const chosen = await agent.get(choicesOf(login).fr ?? '', { 'Sec-Fetch-Site': 'same-origin' })
    expect(chosen.status).toBe(303)
    expect(chosen.location?.pathname).toBe('/oauth/login')
    expect([...(chosen.location?.searchParams.keys() ?? [])]).toEqual(['authorization_request'])
    const cookie = /^latchkey_[0-9a-f]{8}_language=fr; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax$/
    expect(chosen.setCookies).toEqual([expect.stringMatching(cookie)])
    expect(chosen.headers['cache-control']).toBe('no-store')
    for (const [name, value] of before) expect(agent.cookies.get(name)).toBe(value)
    const page = await agent.follow(chosen)
    const requestOf = ({ url }: Answer) => url.searchParams.get('authorization_request')
    expect([page.status, languageOf(page), requestOf(page)]).toEqual([200, 'fr', requestOf(login)])
    const consent = await agent.signIn(page)
    expect(languageOf(consent)).toBe('fr')
    expect(languageOf(await agent.open('/oauth/account'))).toBe('fr')
    expect(
      languageOf(await agent.open(authorizeUrl({ client_id: 'unknown-client', ui_locales: 'es' }))),
    ).toBe('fr')
  })

  test('is also on the page after a failed form, and redirects to the page with the form', async () => {
    const agent = browserOf(host)
    const failed = await agent.signIn(await agent.open(authorizeUrl(web)), 'ada@example.com', 'wrong')
    expect(failed.status).toBe(400)
    const page = await agent.open(choicesOf(failed).ja ?? '')
    expect([page.status, page.url.pathname, languageOf(page)]).toEqual([400, '/oauth/login', 'ja'])
    const consent = await agent.signIn(page)
    const spanish = await agent.open(choicesOf(consent).es ?? '')
    expect([spanish.url.pathname, languageOf(spanish)]).toEqual(['/oauth/consent', 'es'])
    codeOf(await agent.decide(spanish, 'allow'))
  })

  test('keeps the parameters of the page in the URL, but no secret', async () => {
    const agent = browserOf(host)
    codeOf(await agent.grant(authorizeUrl(web)))
    const removal = choicesOf(await agent.open('/oauth/account?client_id=web'))
    expect(removal.de).toBe('/oauth/account?client_id=web&language=de')
    const bye = encodeURIComponent('https://client.example.com/bye')
    const asked = `client_id=web&post_logout_redirect_uri=${bye}&state=a%20b&ui_locales=de`
    const signOut = await agent.open(`/oauth/logout?${asked}`)
    expect(choicesOf(signOut).fr).toBe(
      `/oauth/logout?ui_locales=de&client_id=web&post_logout_redirect_uri=${bye}&state=a+b&language=fr`,
    )
    const french = await agent.open(choicesOf(signOut).fr ?? '')
    expect(languageOf(french)).toBe('fr')
    expect((await agent.submit(french, 'csrf_token')).location?.href).toBe(
      'https://client.example.com/bye?state=a+b',
    )
    for (const url of Object.values({ ...removal, ...choicesOf(signOut) }))
      expect(url).not.toContain('csrf_token')
    const signedOut = await agent.open('/oauth/logout')
    expect(choicesOf(signedOut).de).toBe('/oauth/logout?language=de')
  })

  test('is not shown if there is only one language', async () => {
    const off = { ar: false, de: false, es: false, fr: false, ja: false } as const
    const login = await speaking('de', await start({ pages: { locales: off } })).open(authorizeUrl(web))
    expect([languageOf(login), choicesOf(login)]).toEqual(['en', {}])
    expect(login.html).not.toContain('<footer')
  })

  test('redirects only to the same page', async () => {
    const agent = browserOf(host)
    for (const path of ['/login', '/account', '/logout']) {
      const answer = await agent.get(`/oauth${path}?next=//evil.example&language=de&x=1&x=%0d%0aSet-Cookie:a`)
      expect(answer.status).toBe(303)
      const rest = 'next=%2F%2Fevil.example&x=1&x=%0D%0ASet-Cookie%3Aa#_'
      expect(answer.headers.location).toBe(`/oauth${path}?${rest}`)
    }
    const odd = await agent.get('/oauth//evil.example/account?language=fr')
    expect([odd.status, odd.location]).toEqual([404, undefined])
  })

  test('does nothing for another language, nor from a link of another site', async () => {
    const languages = ['', 'DE', 'de-AT', '__proto__'].map((language) => [language, 'same-origin'])
    for (const [language = '', site = ''] of [...languages, ['fr', 'cross-site'], ['fr', 'same-site']]) {
      const address = `/oauth/account?${new URLSearchParams({ language })}`
      const answer = await browserOf(host).get(address, { 'Sec-Fetch-Site': site })
      expect([answer.status, readCookie(answer), languageOf(answer)]).toEqual([200, undefined, 'en'])
    }
  })

  test('is not changed by a form, starts no session and changes no pending request', async () => {
    const fresh = browserOf(host)
    const chosen = await fresh.get('/oauth/account?language=fr')
    expect(chosen.setCookies).toHaveLength(1)
    const posted = await fresh.post('/oauth/account?language=de', { username: 'x' })
    expect([posted.status, readCookie(posted)]).toEqual([403, undefined])
    const agent = browserOf(host)
    const login = await agent.open(authorizeUrl(web))
    const rows = () => Promise.all(['pending_requests', 'logins'].map((name) => host.table(name)))
    const before = await rows()
    await agent.get(choicesOf(login).fr ?? '')
    expect(await rows()).toEqual(before)
  })

  test('a cookie with an unknown language is ignored', async () => {
    const agent = browserOf(host)
    await agent.get('/oauth/account?language=fr')
    const [name = ''] = agent.cookies.keys()
    for (const value of ['xx', '', '%', 'FR']) {
      agent.cookies.set(name, value)
      const page = await agent.open('/oauth/account')
      expect([page.status, languageOf(page)]).toEqual([200, 'en'])
    }
  })

  test('has the __Host- prefix on https', async () => {
    const secure = await start({ issuer: 'https://app.example.com/oauth' })
    secure.app.set('trust proxy', 1)
    const agent = browserOf(secure, { 'X-Forwarded-Proto': 'https' })
    const chosen = await agent.get('/oauth/account?language=fr')
    const cookie = /^__Host-latchkey_[0-9a-f]{8}_language=fr; .*Path=\/; HttpOnly; Secure; SameSite=Lax$/
    expect(chosen.setCookies).toEqual([expect.stringMatching(cookie)])
  })
})

describe('the words of scopes and clients', () => {
  const consentIn = async (language: string): Promise<{ agent: RawBrowser; page: Answer }> => {
    const agent = speaking(language)
    const page = await agent.signIn(await agent.open(authorizeUrl({ ...web, prompt: 'consent' })))
    expect([page.url.pathname, languageOf(page)]).toEqual(['/oauth/consent', language])
    return { agent, page }
  }
  const receipt = async () => (await host.oauth.users.export(1)).receipts.at(-1)

  test('are in the language of the page; untranslated ones are marked with the default’s', async () => {
    const { page } = await consentIn('de')
    expect(page.html).toContain('<bdi>Netzanwendung</bdi> möchte auf Ihr Konto bei <bdi>Acme</bdi> zugreifen')
    expect(page.html).toContain('<bdi>Ihre Identität sehen</bdi>')
    expect(page.html).toContain('<bdi>Ihre Notizen lesen</bdi>')
    expect(page.html).toContain('<p><bdi>Alle.</bdi></p>')
    expect(page.html).toContain('<bdi lang="en">Write notes for you</bdi>')
    expect(page.html).toContain('href="https://client.example.com/datenschutz"')
    expect(page.html).toContain('href="https://client.example.com/terms"')
    const english = (await consentIn('en')).page.html
    expect(english).toContain('<bdi>Web client</bdi> wants')
    expect(english).toContain('<bdi>Write notes for you</bdi>')
    expect(english).toContain('href="https://client.example.com/privacy"')
  })

  test('a receipt holds the language and the texts that were shown', async () => {
    const { agent, page } = await consentIn('de')
    // The language that is chosen in another tab is not that of the page.
    await agent.get('/oauth/account?language=ja')
    codeOf(await agent.decide(page, 'allow'))
    expect(await receipt()).toMatchObject({
      locale: 'de',
      client: { name: 'Netzanwendung', policyUri: 'https://client.example.com/datenschutz' },
      scopes: [
        { name: 'openid', text: 'Sie mit Ihrem Konto bei Acme anmelden' },
        { name: 'email', text: 'Ihre E-Mail-Adresse sehen' },
        { name: 'notes:read', text: 'Ihre Notizen lesen', details: 'Alle.' },
        { name: 'notes:write', text: 'Write notes for you', language: 'en' },
      ],
    })
  })

  test('the form of a German page is not accepted as one in another language', async () => {
    const { agent, page } = await consentIn('de')
    const other = browserOf(host)
    for (const [name, value] of agent.cookies) other.cookies.set(name, value)
    const answer = await other.decide(page, 'allow', { locale: 'fr' })
    expect([answer.status, answer.url.pathname]).toEqual([200, '/oauth/consent'])
    expect(answer.html).toContain('id="notice"')
  })

  const deployed = (changed: object): Promise<Host> => {
    const users = {
      table: host.usersTable,
      columns: { id: 'id', username: 'email', password: 'password_hash' },
      claims: { name: 'full_name', email: 'email', email_verified: () => true },
    }
    const after = { ...scopes, 'notes:read': { ...scopes['notes:read'], ...changed } }
    return startHost({ database: host.database, clients: seeds, options: { scopes: after, users } })
  }
  test('a consent holds in another language and with other translations, but not with other texts', async () => {
    const { agent, page } = await consentIn('de')
    codeOf(await agent.decide(page, 'allow'))
    const translations = { locales: { de: { description: 'Notizen lesen', details: 'Ja.' } } }
    for (const [changed, path] of [
      [translations, '/oauth/authorize'],
      [{ locales: undefined }, '/oauth/authorize'],
      [{ description: 'Read and print your notes' }, '/oauth/consent'],
      [{ details: 'All of them, and their history.' }, '/oauth/consent'],
    ] as const) {
      const next = await deployed(changed)
      const again = browserOf(next)
      for (const [name, value] of agent.cookies) again.cookies.set(name, value)
      const answer = await again.open(authorizeUrl({ ...web, ui_locales: 'en' }))
      expect([changed, answer.url.pathname]).toEqual([changed, path])
    }
  })
})

describe('a host', () => {
  test('may add a language; untranslated texts are the default’s', async () => {
    const own = await start({
      pages: {
        name: 'Acme',
        defaultLocale: 'de',
        locales: {
          he: { texts: { 'login.title': 'כניסה' } },
          de: { texts: { 'login.submit': 'Los' } },
          ja: false,
        },
      },
    })
    const hebrew = await speaking('he-IL', own).open(authorizeUrl(web))
    expect([languageOf(hebrew), title(hebrew)]).toEqual(['he', 'כניסה · Acme'])
    expect(hebrew.html).toContain('Los</button>')
    expect(languageOf(await speaking('ja', own).open(authorizeUrl(web)))).toBe('de')
    const answer = await browserOf(own).get('/oauth/.well-known/openid-configuration')
    expect(JSON.parse(answer.html).ui_locales_supported).toEqual(['ar', 'de', 'en', 'es', 'fr', 'he'])
  })
})
