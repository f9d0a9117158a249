import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { en } from '../../lib/web/pages/i18n/locales/en.ts'
import { createText } from '../../lib/web/pages/i18n/text.ts'
import type { ConsentScope, PageModels } from '../../lib/web/pages/page-models.ts'
import { withoutOwnScript } from '../support/outcomes.ts'
import { createViews, look } from '../support/views.ts'

const client = { name: 'Order Desk', host: 'desk.example.com', unverified: false }
const hidden = { request: 'lk_ar_1', csrf: 'token-1' }
const said = { name: 'orders:read', description: 'See your orders' }
const scope: ConsentScope = { ...said, group: 'read', optional: false, isNew: false, checked: true }
const login: PageModels['login'] = { action: '/oauth/login', hidden, client, username: '', confirm: false }
const consent: PageModels['consent'] = {
  action: '/oauth/consent',
  hidden,
  client,
  username: 'alice',
  scopes: [scope],
  redirectTo: 'desk.example.com',
}
const error: PageModels['error'] = {
  kind: 'error',
  code: 'invalid_request',
  errorId: 'e-1',
  time: '2026-01-02T03:04:05.000Z',
}

const choosing = { action: '/oauth/select-account', hidden, client }
const select: PageModels['select-account'] = { ...choosing, username: 'alice' }
const connected: PageModels['account']['clients'][number] = {
  name: 'Order Desk',
  host: 'desk.example.com',
  sessions: 2,
  scopes: [{ description: 'See your orders', group: 'read' }],
  since: '2026-01-02T03:04:05.000Z',
  lastUsed: '2026-02-03T04:05:06.000Z',
  removeUrl: '/oauth/account?client_id=desk',
}
const alice = { username: 'alice', signOutUrl: '/oauth/logout' }
const account: PageModels['account'] = { ...alice, clients: [connected], pages: [] }
const removal: PageModels['remove-client'] = {
  action: '/oauth/account',
  hidden,
  client,
  firstParty: false,
  username: 'alice',
  cancelUrl: '/oauth/account',
}

const appearance = { name: 'Acme' }
const views = createViews({ pages: look(appearance), basePath: '/oauth' })
const title = (html: string): string => /<title>(.*)<\/title>/.exec(html)?.[1] ?? ''
/** The tags of one kind, as written. */
const tags = (html: string, name: string): string[] => html.match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []

describe('text', () => {
  const text = createText(en)

  it('escapes values, isolates them and never reads a placeholder out of a value', () => {
    expect(text.html('login.continue', { client: '<b>{host}</b>', host: "O'Neil & $&" })).toBe(
      'to continue to <bdi>&lt;b&gt;{host}&lt;/b&gt;</bdi> (<bdi>O&#39;Neil &amp; $&amp;</bdi>)',
    )
  })

  it('prints nothing for a missing value and the key for a missing text', () => {
    expect(text.plain('login.continue', {})).toBe('to continue to  ()')
    expect(text.plain('__proto__')).toBe('__proto__')
  })

  it('reads no language tag of more than 35 characters, which would take a second (H4)', () => {
    expect(text.languageName('de-AT')).toBe('Austrian German')
    const long = `de-a-${'abcdefgh-'.repeat(7000)}abc`
    const names = jest.spyOn(Intl, 'DisplayNames')
    expect(text.languageName(long)).toBe(long)
    expect(names).not.toHaveBeenCalled()
    names.mockRestore()
  })

  it('rounds durations up and keeps what is not a time', () => {
    expect(text.duration(1)).toBe('1 second')
    expect(text.duration(0)).toBe('1 second')
    expect(text.duration(121)).toBe('3 minutes')
    expect(text.duration(7200)).toBe('2 hours')
    expect(text.duration(86_400)).toBe('24 hours')
    expect(text.duration(90 * 86_400)).toBe('90 days')
    expect(text.duration(730 * 86_400)).toBe('2 years')
    expect(text.time('2026-01-02T03:04:05.000Z')).toContain('2026')
    expect(text.time('soon')).toBe('soon')
    expect(text.date('2026-01-02T23:59:59.000Z')).toBe('January 2, 2026')
    expect(text.date('soon')).toBe('soon')
  })

  it('has words for every key that a template names', () => {
    const folder = join(__dirname, '../../views')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const templates = files.filter((file) => file.endsWith('.eta'))
    const source = templates.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n')
    const keys = [
      ...source.matchAll(
        /'((?:title|login|client|consent|select-account|account|account-sign-in|remove-client|error|sign-out|signed-out|return|footer)\.(?!js')[a-z.-]*[a-z])'/g,
      ),
    ]
    expect(keys.length).toBeGreaterThan(30)
    expect(keys.map((match) => match[1] ?? '').filter((key) => !text.has(key))).toEqual([])
    for (const kind of ['error', 'fault', 'expired', 'unavailable', 'forbidden', 'not-found'])
      for (const part of ['title', 'what', 'next']) expect(text.has(`error.${kind}.${part}`)).toBe(true)
  })
})

describe('documents', () => {
  it('keep room for a logo by the size that its file says; an unknown one counts as square', () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-logos-'))
    const widthOf = (logo: string | URL): string | undefined => {
      const page = createViews({ pages: look({ logo }), basePath: '' }).render('login', login)
      return / width="(\d+)" height="32"/.exec(page)?.[1]
    }
    const svg = (attributes: string): URL => {
      const file = join(folder, 'logo.svg')
      writeFileSync(file, `<?xml version="1.0"?>\n<svg ${attributes}><rect width="7" height="9"/></svg>`)
      return pathToFileURL(file)
    }
    expect([
      widthOf(svg('viewBox="0 0 500 100"')),
      widthOf(svg('width="48px" height="24" viewBox="0 0 1 1"')),
      widthOf(svg('width="100%" viewBox="0,0,3,2"')),
      widthOf(svg('width="0" height="x" viewBox="none"')),
      widthOf('/logo.svg'),
      widthOf(pathToFileURL('example-app/client/public/journal.png')),
    ]).toEqual(['160', '64', '48', '32', '32', '32'])
    rmSync(folder, { recursive: true })
  })

  const all = (): Record<string, string> => ({
    login: views.render('login', login),
    'login failed': views.render('login', { ...login, error: 'credentials' }),
    consent: views.render('consent', consent),
    'select-account': views.render('select-account', select),
    account: views.render('account', account),
    'account without clients': views.render('account', { ...account, clients: [] }),
    'account-sign-in': views.render('account-sign-in', { url: '/login' }),
    'remove-client': views.render('remove-client', removal),
    error: views.render('error', error),
    'signed-out': views.render('signed-out', {}),
    'sign-out': views.render('sign-out', {
      action: '/oauth/logout',
      hidden: {},
      username: 'alice',
      stayUrl: '/',
    }),
    return: views.render('return', { url: '/oauth/authorize?request=1' }),
  })

  it('name their language, and use one stylesheet, at most one own script and no inline style', () => {
    for (const html of Object.values(all())) {
      expect(html).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/)
      expect(html.trimEnd().endsWith('</html>')).toBe(true)
      expect(html.match(/<h1\b/g)).toHaveLength(1)
      expect(withoutOwnScript(html)).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=/i)
      expect(html).not.toMatch(/undefined|\[object|NaN/)
      const [sheet] = tags(html, 'link').filter((tag) => tag.includes('stylesheet'))
      expect(sheet).toMatch(/href="\/oauth\/assets\/style\.css\?v=[\w-]{16}"/)
    }
  })

  it('have no ids on the buttons of a decision, so that no link’s fragment gives one the focus', () => {
    for (const page of ['consent', 'select-account', 'remove-client', 'sign-out']) {
      const buttons = tags(all()[page] ?? '', 'button')
      expect(buttons.length).toBeGreaterThan(0)
      for (const button of buttons) expect(button).not.toMatch(/\sid=/)
    }
  })

  it('begin their title with "Error:" after a failure and only then', () => {
    expect(title(views.render('login', login))).toBe('Sign in · Acme')
    expect(title(views.render('login', { ...login, error: 'credentials' }))).toBe('Error: Sign in · Acme')
    expect(title(views.render('login', { ...login, error: 'throttled' }))).toMatch(/^Error:/)
    expect(title(views.render('error', error))).toMatch(/^Error:/)
    expect(title(views.render('consent', consent))).not.toMatch(/Error/)
  })
})

describe('login page', () => {
  it('posts username, password and the hidden fields', () => {
    const html = views.render('login', login)
    expect(tags(html, 'form')).toEqual([expect.stringContaining('method="post" action="/oauth/login"')])
    expect(html).toContain('<input type="hidden" name="request" value="lk_ar_1">')
    expect(html).toContain('<input type="hidden" name="csrf" value="token-1">')
    expect(html).toMatch(/<input type="text" name="username" id="username" value="" autocomplete="username"/)
    expect(html).toMatch(/<input type="password" name="password" id="password" autocomplete="current-pass/)
    expect(html).toContain('<label for="username">')
    expect(html).toContain('<label for="password">')
    expect(html).toMatch(/<button type="submit" id="submit"/)
    expect(html).toContain('to continue to <bdi>Order Desk</bdi> (<bdi>desk.example.com</bdi>)')
    expect(html).not.toContain('role="alert"')
  })

  it('keeps the typed name after a failure, says so once, and marks the fields', () => {
    const html = views.render('login', { ...login, username: 'alice', error: 'credentials' })
    expect(html).toMatch(/role="alert" id="error">[\s\S]*Wrong email, username or password/)
    expect(html).toMatch(/id="username" value="alice"[^>]*aria-invalid="true" aria-describedby="error"/)
    expect(html).toMatch(/id="password"[^>]*aria-invalid="true" aria-describedby="error" autofocus/)
    expect(html.match(/ autofocus/g)).toHaveLength(1)
  })

  it('has the error inside the form, and the other ways to sign in below it or above it', () => {
    const providers = [{ name: 'Google', url: '/auth/google' }]
    const placesIn = (more: object): number[] => {
      const html = views.render('login', { ...login, providers, error: 'credentials', ...more })
      return ['<form', 'id="error"', 'id="username"', '</form>', '/auth/google'].map((part) =>
        html.indexOf(part),
      )
    }
    const below = placesIn({})
    expect(below).toEqual([...below].sort((one, other) => one - other))
    const above = placesIn({ providersFirst: true })
    expect(above.at(-1)).toBeLessThan(above[0] ?? 0)
  })

  it('asks only for the password of a fixed account, and still names it for password managers', () => {
    const html = views.render('login', { ...login, username: 'alice', confirm: true })
    expect(html).toMatch(/name="username" id="username" value="alice" [^>]*"username" readonly hidden>/)
    expect(html).toContain('<bdi>alice</bdi>')
    expect(html).not.toContain('<label for="username">')
  })

  it('says when to try again', () => {
    const render = (retryAfter?: number) =>
      views.render('login', { ...login, error: 'throttled', retryAfter })
    expect(render(840)).toContain('Try again in <bdi>14 minutes</bdi>')
    expect(render()).toContain('Try again later')
  })

  it('shows the links of the host, and leads to nothing but paths and web pages', () => {
    const render = (forgotPassword: string) => views.render('login', { ...login, links: { forgotPassword } })
    expect(render('/forgot')).toContain('<a href="/forgot">')
    expect(render('https://id.example.com/forgot')).toContain('<a href="https://id.example.com/forgot">')
    for (const bad of ['javascript:alert(1)', '//evil.example', '/\\evil.example', '/\t/evil.example'])
      expect(() => render(bad)).toThrow(TypeError)
  })
})

describe('consent page', () => {
  it('offers cancel, allow and "not you", in an order in which Enter does nothing by accident', () => {
    const html = views.render('consent', consent)
    const forms = html.match(/<form[\s\S]*?<\/form>/g) ?? []
    expect(forms).toHaveLength(1)
    expect(tags(forms[0] ?? '', 'button')).toEqual([
      '<button formmethod="dialog" hidden>',
      expect.stringContaining('name="decision" value="switch"'),
      expect.stringContaining('name="decision" value="deny"'),
      expect.stringContaining('name="decision" value="allow"'),
    ])
    expect(forms[0]).toContain('action="/oauth/consent"')
    expect(forms[0]).toContain('<input type="hidden" name="csrf" value="token-1">')
    expect(html).not.toContain('autofocus')
  })

  it('makes a labelled checkbox of an optional scope and no input of a required one', () => {
    const optional = { ...scope, optional: true }
    const scopes = [scope, { ...optional, name: 'a' }, { ...optional, name: 'b', checked: false }]
    const inputs = tags(views.render('consent', { ...consent, scopes }), 'input')
    const boxes = inputs.filter((tag) => tag.includes('checkbox'))
    expect(boxes).toEqual([
      '<input type="checkbox" name="scope:a" id="scope-1" value="on" checked>',
      '<input type="checkbox" name="scope:b" id="scope-2" value="on">',
    ])
    expect(views.render('consent', { ...consent, scopes })).toContain('for="scope-1"')
  })

  it('says how many permissions are asked for, and first of all where the answer goes', () => {
    const html = views.render('consent', { ...consent, scopes: [scope, { ...scope, name: 'b' }] })
    expect(html).toMatch(/will be able to \(<bdi>2<\/bdi>\):/)
    const [destination, list] = ['class="lead destination"', 'class="rows"'].map((part) => html.indexOf(part))
    expect(destination).toBeGreaterThan(0)
    expect(destination).toBeLessThan(list ?? 0)
  })

  it.each([
    ['an unverified client', { client: { ...consent.client, unverified: true } }],
    ['a sensitive permission', { scopes: [{ ...scope, isHighRisk: true, riskReason: 'It spends money' }] }],
    [
      'an authorization detail',
      { details: [{ detail: { type: 'payment' }, description: 'Pay', fields: [] }] },
    ],
  ])('floats the buttons, but not over %s', (_, more) => {
    expect(views.render('consent', consent)).toContain('class="consent floating"')
    const html = views.render('consent', { ...consent, ...more })
    expect(html).toContain('class="consent"')
    expect(html.includes('It spends money')).toBe('scopes' in more)
  })

  it('shows each scope with its data, and folds what is allowed already', () => {
    const html = views.render('consent', {
      ...consent,
      scopes: [
        { ...scope, group: 'offline', isNew: true },
        { ...scope, group: 'identity', details: 'All of them.', data: ['Alice', 'alice@example.com'] },
      ],
    })
    expect(html.match(/>New</g)).toHaveLength(1)
    const [, known = ''] = html.split('<details class="known">')
    expect(known).toContain('All of them.')
    expect(known).toContain('<bdi>Alice</bdi>')
    expect(known).toContain('<bdi>alice<wbr>@example.com</bdi>')
    expect(known).not.toContain('>New<')
    expect(html).toContain('return to <bdi>desk.example.com</bdi>')
    const app = views.render('consent', { ...consent, redirectTo: undefined })
    expect(app).toContain('an app on this device')
  })

  it('links policy and terms only when they are https', () => {
    const links = (policyUri: string) =>
      tags(views.render('consent', { ...consent, client: { ...client, policyUri, tosUri: policyUri } }), 'a')
    expect(links('https://desk.example.com/privacy')).toHaveLength(2)
    for (const link of links('https://desk.example.com/privacy')) {
      expect(link).toContain('href="https://desk.example.com/privacy"')
      expect(link).toContain('rel="noopener noreferrer"')
    }
    for (const bad of [
      'http://desk.example.com',
      'javascript:alert(1)',
      'https://a@evil.example',
      '/here',
      '',
    ])
      expect(links(bad)).toEqual([])
  })

  it('marks an unverified client', () => {
    expect(views.render('consent', consent)).not.toContain('Unverified')
    const other = { ...client, unverified: true }
    expect(views.render('consent', { ...consent, client: other })).toContain('Unverified')
    expect(views.render('login', { ...login, client: other })).toContain('Unverified')
  })
})

describe('the page on which an account is chosen', () => {
  it('offers the account and another one, the first of them for Enter', () => {
    const html = views.render('select-account', select)
    expect(tags(html, 'form').join()).toContain('method="post" action="/oauth/select-account"')
    expect(tags(html, 'button')).toEqual([
      '<button type="submit" name="decision" value="continue" class="choice">',
      '<button type="submit" name="decision" value="another" class="choice">',
    ])
    expect(html).toContain('Continue as <bdi>alice</bdi>')
    expect(html).toContain('to continue to <bdi>Order Desk</bdi> (<bdi>desk.example.com</bdi>)')
    expect(html).toContain('<input type="hidden" name="csrf" value="token-1">')
  })

  it('shows no host if there is none, and marks an unverified client', () => {
    const app = { ...client, host: '', unverified: true }
    const html = views.render('select-account', { ...select, client: app })
    expect(html).toContain('to continue to <bdi>Order Desk</bdi></p>')
    expect(html).toContain('Unverified')
  })
})

describe('connected apps', () => {
  it('are listed each with its name, host, scopes, times and a way to remove it that says whose', () => {
    const html = views.render('account', account)
    expect(html.match(/<details class="client" open>/g)).toHaveLength(1)
    expect(html).toContain('<span class="name"><bdi>Order Desk</bdi></span>')
    expect(html).toContain('<bdi>desk.example.com</bdi>')
    expect(html).toContain('<bdi>See your orders</bdi>')
    expect(html).toContain('<time datetime="2026-01-02T03:04:05.000Z">January 2, 2026</time>')
    expect(html).toContain('Last used <bdi>February 3, 2026</bdi>')
    expect(html).toContain('<dd>2</dd>')
    expect(html).toContain('href="/oauth/account?client_id=desk"')
    expect(html).toContain('<span class="unseen">for <bdi>Order Desk</bdi></span>')
    expect(html).toContain('<bdi>alice</bdi>')
    expect(html).toContain('href="/oauth/logout"')
    expect(html).not.toContain('<form')
    expect(html).not.toContain('role="status"')
  })

  it('show a message if there are none, and after a removal', () => {
    const html = views.render('account', { ...account, clients: [], removed: 'Order Desk' })
    expect(html).toContain('No apps are connected to your <bdi>Acme</bdi> account.')
    expect(html).not.toContain('These apps')
    expect(html).toMatch(
      /role="status" tabindex="-1" autofocus>[\s\S]*<bdi>Order Desk<\/bdi> can no longer use your account/,
    )
  })

  it('are removed after a question that says how soon it takes effect, by POST', () => {
    const html = views.render('remove-client', removal)
    expect(html).toContain('<bdi>Order Desk</bdi> loses access to your <bdi>Acme</bdi> account immediately')
    expect(html).toContain('it must ask you first')
    expect(views.render('remove-client', { ...removal, firstParty: true })).toContain('It belongs to')
    expect(tags(html, 'form')).toEqual([expect.stringContaining('method="post" action="/oauth/account"')])
    expect(tags(html, 'button')).toEqual(['<button type="submit" class="danger">'])
    expect(html).toMatch(/<a class="button secondary" id="cancel" href="\/oauth\/account">/)
    expect(html).not.toContain('autofocus')
  })

  it('with the page of the host’s own: leads there', () => {
    const html = views.render('account-sign-in', { url: 'https://id.example.com/login?return_to=x' })
    expect(html).toContain('href="https://id.example.com/login?return_to=x"')
    expect(html).not.toContain('<form')
  })
})

describe('other pages', () => {
  it('error: shows code, id and time; developer detail and a way back only when given', () => {
    const html = views.render('error', error)
    expect(html).toContain('<code>invalid_request</code>')
    expect(html).toContain('<code id="error-id">e-1</code>')
    expect(html).toContain('<time datetime="2026-01-02T03:04:05.000Z">')
    expect(tags(html, 'a')).toEqual([])
    expect(html).not.toContain('For developers')
    expect(views.render('error', { ...error, detail: 'redirect_uri is not' })).toContain(
      'redirect_uri is not',
    )
    expect(views.render('error', { ...error, code: 'server_error' })).toContain('Something went wrong')
    expect(views.render('error', { ...error, kind: 'unavailable' })).toContain('right back')
  })

  it('error: marks where what was received differs, and names the command that explains it', () => {
    const html = views.render('error', {
      ...error,
      detail: 'redirect_uri is not registered for this client',
      explanation: { expected: 'one of https://a.example/cb', received: ['https://a.example/cb', '/'] },
      command: 'npx latchkey explain e-1',
    })
    expect(html).toContain('<code>https://a.example/cb<mark>/</mark></code>')
    expect(html).toContain('npx latchkey explain e-1')
  })

  it('error: folds the facts of a request that has ended, and shows those of an error', () => {
    const isFolded = (kind: 'error' | 'expired') =>
      views.render('error', { ...error, kind }).indexOf('<details class="technical">') > 0
    expect([isFolded('expired'), isFolded('error')]).toEqual([true, false])
  })

  it.each([
    ['expired', 'https://desk.example.com/start', 'Start again'],
    ['finished', 'https://desk.example.com/start', 'Continue to Order Desk'],
    ['cookies', 'https://desk.example.com/start', 'Try again'],
    ['expired', undefined, 'Go to Acme'],
    ['finished', 'javascript:alert(1)', 'Go to Acme'],
    ['cookies', 'http://desk.example.com/start', 'Go to Acme'],
  ] as const)('error: a request that is %s has a way on: %s', (kind, uri, words) => {
    const html = views.render('error', {
      ...error,
      kind,
      client: { name: 'Order Desk', uri },
      homeUrl: '/home',
    })
    expect(tags(html, 'a')).toHaveLength(1)
    expect(html).toContain(`href="${words === 'Go to Acme' ? '/home' : uri}"`)
    expect(html.replace(/<[^>]+>/g, '')).toContain(words)
  })

  it('signed out: leads back to a registered client', () => {
    const render = (uri: string) => views.render('signed-out', { client: { name: 'Desk', uri } })
    expect(render('https://desk.example.com/bye')).toContain('href="https://desk.example.com/bye"')
    expect(tags(render('javascript:alert(1)'), 'a')).toEqual([])
  })

  it('return: refreshes at once and has a link', () => {
    const html = views.render('return', { url: '/oauth/authorize?a=1&b=2' })
    expect(html).toContain('<meta http-equiv="refresh" content="0; url=/oauth/authorize?a=1&amp;b=2">')
    expect(html).toContain('href="/oauth/authorize?a=1&amp;b=2"')
    expect(views.render('login', login)).not.toContain('http-equiv')
  })

  it('never lets a form or a refresh lead to a script', () => {
    for (const url of ['javascript:alert(1)', '//evil.example', 'data:text/html,x', '']) {
      for (const render of [
        () => views.render('return', { url }),
        () => views.render('login', { ...login, action: url }),
        () => views.render('consent', { ...consent, action: url }),
        () => views.render('select-account', { ...select, action: url }),
        () => views.render('account-sign-in', { url }),
        () => views.render('account', { ...account, signOutUrl: url }),
        () => views.render('account', { ...account, clients: [{ ...connected, removeUrl: url }] }),
        () => views.render('remove-client', { ...removal, action: url }),
        () => views.render('remove-client', { ...removal, cancelUrl: url }),
      ])
        expect(render).toThrow(TypeError)
    }
  })
})
