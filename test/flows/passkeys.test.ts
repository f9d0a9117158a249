import { passkeys } from '../../lib/features/index.ts'
import { passkeysPath } from '../../lib/features/passkeys/passkeys-page.ts'
import type { AuthEvent } from '../../lib/index.ts'
import {
  type Authenticator,
  askedBy,
  createAuthenticator,
  type Lies,
  passkeyForm,
} from '../support/authenticator.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorPage } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, redeem } from '../support/tokens.ts'

const page = `/oauth${passkeysPath}`
const chrome =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36'
const failed = 'That passkey didn’t work'

let host: Host
let events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost({
    clients: [
      {
        client_id: 'web',
        client_secret: secret,
        redirect_uris: [callback],
        first_party: true,
        scope: 'openid notes:read',
      },
    ],
    options: { acrValues: ['password', 'strong'], features: [passkeys({ acr: 'strong' })] },
  })
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(() => host.close())
beforeEach(async () => {
  for (const name of ['passkeys', 'throttles']) await host.table(name).delete()
  await host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: null })
  events = []
})
afterEach(() => jest.restoreAllMocks())

const url = (more: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope: 'openid', ...more })
const eventsOf = (type: string) =>
  events.filter((event) => event.type === type).map(({ time, requestId, address, ...rest }) => rest)
const newBrowser = (): RawBrowser => new RawBrowser(host.app)

/** A browser that has just signed in, on the page of the passkeys. */
const atPasskeys = async (
  as = ada,
  browser = newBrowser(),
): Promise<{ browser: RawBrowser; list: Answer }> => {
  const list = await browser.signIn(await browser.open(page), as.email, as.password)
  return { browser, list }
}
const add = (browser: RawBrowser, list: Answer, passkey: string): Promise<Answer> =>
  browser.submit(list, 'id="passkey"', { passkey })
const added = async (authenticator = createAuthenticator(), as = ada): Promise<Authenticator> => {
  const { browser, list } = await atPasskeys(as)
  const after = await add(browser, list, authenticator.create(askedBy(list)))
  expect(after.html).toContain('Passkey added.')
  return authenticator
}
const signInWith = (browser: RawBrowser, login: Answer, passkey: string): Promise<Answer> =>
  browser.submit(login, 'id="login"', { passkey })

describe('a passkey', () => {
  test('is added, signs in, is listed, renamed and removed, and then no longer signs in', async () => {
    const clock = stopClock()
    const { browser, list } = await atPasskeys()
    expect(list.html).toContain('You don’t have a passkey yet.')
    const authenticator = createAuthenticator()
    const asked = askedBy(list)
    expect(asked).toMatchObject({
      rp: { id: 'localhost', name: 'Latchkey' },
      attestation: 'none',
      excludeCredentials: [],
      user: { name: ada.email, id: expect.stringMatching(/^[\w-]{43}$/) },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    const added = await add(browser, list, authenticator.create(asked))
    expect(added.html).toContain('Passkey added.')
    expect((await browser.get(page)).html).not.toContain('Passkey added.')
    const after = await browser.submit(added, 'value="rename"', { decision: 'rename', name: ' My phone ' })
    expect(after.html).toContain('<bdi>My phone</bdi>')
    expect(askedBy(after)).toMatchObject({
      user: asked.user,
      excludeCredentials: [{ type: 'public-key', id: authenticator.id, transports: ['internal', 'hybrid'] }],
    })

    clock.travel(86_400)
    const other = newBrowser()
    const login = await other.open(url())
    const { fields } = passkeyForm(login)
    expect(askedBy(login)).toEqual({
      challenge: expect.any(String),
      rpId: 'localhost',
      userVerification: 'required',
    })
    const done = await other.post('/oauth/login', { ...fields, passkey: authenticator.get(askedBy(login)) })
    const { id_token } = await answerOf(redeem(host, codeOf(done)))
    const expected = { sub: '1', amr: ['hwk', 'user', 'mfa'], acr: 'strong', auth_time: clock.now() }
    expect(claimsOf(id_token)).toMatchObject(expected)
    expect(eventsOf('passkey.added')).toEqual([{ type: 'passkey.added', subject: '1' }])
    expect(eventsOf('passkey.used')).toEqual([{ type: 'passkey.used', subject: '1', clientId: 'web' }])
    const account = await host.oauth.users.accountOf(ada.email)
    expect(eventsOf('login.succeeded').at(-1)).toEqual({
      type: 'login.succeeded',
      clientId: 'web',
      account,
      subject: '1',
    })
    const [stored] = await host.table('passkeys').select('counter', 'last_used_at')
    // PostgreSQL returns them as strings.
    expect(Object.values(stored).map(Number)).toEqual([1, clock.now()])

    const own = await other.open(page)
    expect(own.html).toContain('Last used')
    const [, edit = ''] = /href="([^"]*passkeys\?id=[^"]*)"/.exec(own.html) ?? []
    const renamed = await other.submit(await other.open(edit), 'value="rename"', {
      decision: 'rename',
      name: 'Old <b>phone</b>',
    })
    expect(renamed.html).toContain('Name changed.')
    expect(renamed.html).toContain('Old &lt;b&gt;phone')
    const form = await other.open(edit)
    const removed = await other.submit(form, 'value="remove"', { decision: 'remove' })
    expect(removed.html).toContain('Passkey removed.')
    // The same form again removes nothing.
    await other.submit(form, 'value="remove"', { decision: 'remove' })
    expect(eventsOf('passkey.removed')).toEqual([{ type: 'passkey.removed', subject: '1' }])

    const late = newBrowser()
    const again = await late.open(url())
    const refused = await signInWith(late, again, authenticator.get(askedBy(again)))
    expect(refused.status).toBe(400)
    expect(refused.html).toContain(failed)
    expect(eventsOf('passkey.failed')).toEqual([
      { type: 'passkey.failed', reason: 'unknown', clientId: 'web' },
    ])
  })

  test('that is copied between devices is a key in software', async () => {
    const authenticator = await added(createAuthenticator(undefined, true))
    const browser = newBrowser()
    const login = await browser.open(url())
    const { id_token } = await answerOf(
      redeem(host, codeOf(await signInWith(browser, login, authenticator.get(askedBy(login))))),
    )
    expect(claimsOf(id_token).amr).toEqual(['swk', 'user', 'mfa'])
    expect((await host.oauth.users.export(1)).passkeys).toEqual([
      { name: '', isBackedUp: true, createdAt: expect.any(Number), lastUsedAt: expect.any(Number) },
    ])
  })

  test('signs in at /account', async () => {
    const authenticator = await added()
    const browser = newBrowser()
    const login = await browser.open('/oauth/account')
    const after = await signInWith(browser, login, authenticator.get(askedBy(login)))
    expect(after.url.pathname).toBe('/oauth/account')
    expect(after.html).toContain(page)
  })
})

describe('a sign-in that is refused because of', () => {
  const reasons = () => eventsOf('passkey.failed').map((event) => 'reason' in event && event.reason)
  /** A passkey of ada’s, without a counter unless the answer says one. */
  const ofAda = async (): Promise<Authenticator> => {
    const authenticator = createAuthenticator()
    await host.table('passkeys').insert(authenticator.row('1'))
    return authenticator
  }
  const uncounted: Lies = { counter: 0 }

  const lies: [string, Lies, string][] = [
    ['an answer of another origin', { origin: 'http://evil.localhost:3000' }, 'invalid'],
    ['an answer for another RP ID', { rpId: 'example.com' }, 'invalid'],
    ['an answer of another kind', { type: 'webauthn.create' }, 'invalid'],
    ['an answer without user verification', { flags: 1 }, 'invalid'],
    ['an answer without user presence', { flags: 4 }, 'invalid'],
    ['an answer in a frame of another site', { crossOrigin: true }, 'malformed'],
    [
      'an answer for a challenge that we did not make',
      { challenge: Buffer.from('1.2.3').toString('base64url') },
      'challenge',
    ],
    ['an answer for another user', { userHandle: 'x'.repeat(43) }, 'user'],
    ['an answer with an unknown credential', { id: 'AAAA' }, 'unknown'],
  ]
  test.each(lies)('%s', async (_, lie, reason) => {
    const authenticator = await ofAda()
    const browser = newBrowser()
    const login = await browser.open(url())
    const refused = await signInWith(browser, login, authenticator.get(askedBy(login), lie))
    expect(refused.html).toContain(failed)
    expect(reasons()).toEqual([reason])
    expect([eventsOf('login.failed').length, eventsOf('login.succeeded').length]).toEqual([1, 0])
    // The same without the lie is accepted: nothing else was wrong.
    codeOf(await signInWith(browser, refused, authenticator.get(askedBy(refused))))
  })

  test('an answer that was sent before, also at the same moment', async () => {
    const authenticator = await ofAda()
    const browser = newBrowser()
    const login = await browser.open('/oauth/account')
    const passkey = authenticator.get(askedBy(login), uncounted)
    const { action, fields } = passkeyForm(login)
    const send = () => browser.post(action, { ...fields, passkey })
    await Promise.all([send(), send(), send()])
    expect(eventsOf('login.succeeded')).toHaveLength(1)
    expect(reasons()).toEqual(['replayed', 'replayed'])
    await send()
    expect(reasons()).toEqual(['replayed', 'replayed', 'replayed'])
  })

  test('the challenge of another browser for the same page', async () => {
    const authenticator = await ofAda()
    const browser = newBrowser()
    const login = await browser.open('/oauth/account')
    const asked = askedBy(await newBrowser().open('/oauth/account'))
    expect((await signInWith(browser, login, authenticator.get(asked))).html).toContain(failed)
    expect(reasons()).toEqual(['challenge'])
  })

  test.each<[string, (browser: RawBrowser) => Promise<Answer>]>([
    ['another browser', () => newBrowser().open(url())],
    ['another request', (browser) => browser.open(url())],
    ['another page', (browser) => browser.open('/oauth/account')],
  ])('the challenge of %s', async (_, other) => {
    const authenticator = await ofAda()
    const browser = newBrowser()
    const login = await browser.open(url())
    const asked = askedBy(await other(browser))
    const refused = await signInWith(browser, login, authenticator.get(asked))
    expect(refused.html).toContain(failed)
    expect(reasons()).toEqual(['challenge'])
    codeOf(await signInWith(browser, refused, authenticator.get(askedBy(refused))))
  })

  test.each([
    [299, []],
    [300, ['expired']],
  ])('a challenge of %i seconds ago: %j', async (age, expected) => {
    const clock = stopClock()
    const authenticator = await ofAda()
    const browser = newBrowser()
    const login = await browser.open(url())
    clock.travel(age)
    await signInWith(browser, login, authenticator.get(askedBy(login)))
    expect(reasons()).toEqual(expected)
  })

  test('a counter that does not grow', async () => {
    const authenticator = await ofAda()
    const signIn = async (counter: number): Promise<Answer> => {
      const browser = newBrowser()
      const login = await browser.open(url())
      return signInWith(browser, login, authenticator.get(askedBy(login), { counter }))
    }
    for (const counter of [0, 0, 5, 6]) codeOf(await signIn(counter))
    for (const counter of [6, 5, 0]) expect((await signIn(counter)).html).toContain(failed)
    expect(reasons()).toEqual(['counter', 'counter', 'counter'])
    expect(Number((await host.table('passkeys').first('counter')).counter)).toBe(6)
  })

  test('another user, where the account is fixed', async () => {
    const ofBob = createAuthenticator()
    await host.table('passkeys').insert(ofBob.row('2'))
    const authenticator = await ofAda()
    const browser = newBrowser()
    await browser.signIn(await browser.open(url()))
    const confirm = await browser.open(url({ prompt: 'login' }))
    expect(confirm.html).toContain('Confirm it’s you')
    const { allowCredentials } = askedBy(confirm)
    expect(allowCredentials).toEqual([{ type: 'public-key', id: authenticator.id, transports: ['usb'] }])
    const refused = await signInWith(browser, confirm, ofBob.get(askedBy(confirm)))
    expect(refused.html).toContain(failed)
    expect(reasons()).toEqual(['user'])
    codeOf(await signInWith(browser, refused, authenticator.get(askedBy(refused))))
  })

  test('a disabled user', async () => {
    const authenticator = await ofAda()
    const browser = newBrowser()
    const login = await browser.open(url())
    await host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: 1 })
    const refused = await signInWith(browser, login, authenticator.get(askedBy(login)))
    expect(refused.html).toContain(failed)
    expect(reasons()).toEqual(['user'])
  })

  test('answers of no browser', async () => {
    const browser = newBrowser()
    const login = await browser.open(url())
    const noCredential = '{"id":"AAAA","response":{"clientDataJSON":"AAAA"}}'
    for (const passkey of ['x', '{}', 'null', noCredential, `"${'x'.repeat(9000)}"`])
      expect((await signInWith(browser, login, passkey)).status).toBe(400)
    expect(reasons()).toEqual(Array(5).fill('malformed'))
  })

  test('a form of another site, or without its token', async () => {
    const authenticator = await ofAda()
    const browser = newBrowser()
    const login = await browser.open(url())
    const { action, fields } = passkeyForm(login)
    const sent = { ...fields, passkey: authenticator.get(askedBy(login)) }
    expect((await browser.post(action, sent, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await browser.post(action, { ...sent, csrf_token: 'x' })).status).toBe(403)
    codeOf(await browser.post(action, sent))
  })

  test('too many failures, which count apart from wrong passwords', async () => {
    const authenticator = await ofAda()
    const wrongPasswords = async (): Promise<number> => {
      const browser = newBrowser()
      let login = await browser.open(url())
      for (let each = 0; each < 6; each += 1) login = await browser.signIn(login, ada.email, 'wrong')
      return login.status
    }
    const browser = newBrowser()
    let login = await browser.open(url())
    for (let each = 0; each < 5; each += 1)
      login = await signInWith(browser, login, authenticator.get(askedBy(login), { flags: 1 }))
    login = await signInWith(browser, login, authenticator.get(askedBy(login)))
    expect(login.status).toBe(429)
    await host.table('throttles').delete()
    expect(await wrongPasswords()).toBe(429)
    codeOf(await signInWith(browser, login, authenticator.get(askedBy(login))))
  })
})

describe('the page that adds passkeys', () => {
  test('asks the same user to sign in again ten minutes after the sign-in', async () => {
    const clock = stopClock()
    const authenticator = await added()
    const { browser, list } = await atPasskeys()
    clock.travel(601)
    const late = await add(browser, list, createAuthenticator().create(askedBy(list)))
    expect(late.html).toContain('Confirm it’s you')
    expect(await host.table('passkeys')).toHaveLength(1)
    const { fields } = passkeyForm(list)
    const [{ hash }] = await host.table('passkeys')
    await browser.post(page, { ...fields, decision: 'remove', id: hash })
    expect(await host.table('passkeys')).toHaveLength(1)
    const confirm = await browser.open(page)
    const ofBob = { username: bob.email, password: bob.password }
    expect((await browser.submit(confirm, 'id="login"', ofBob)).html).toContain('Wrong password')
    const confirmed = await signInWith(browser, confirm, authenticator.get(askedBy(confirm)))
    expect(confirmed.html).toContain('<h1>Passkeys</h1>')
    clock.travel(600)
    expect((await browser.open(page)).html).toContain('<h1>Passkeys</h1>')
  })

  test('asks who has a passkey for it: the password alone adds, renames and removes none (M5)', async () => {
    const clock = stopClock()
    const authenticator = await added()
    clock.travel(1)
    const { browser: thief, list: asked } = await atPasskeys()
    for (const form of [asked, await thief.open(page), await thief.open(`${page}?id=x`)]) {
      expect(form.html).toContain('Use your passkey to continue.')
      expect(form.html).not.toContain('name="password"')
      expect(askedBy(form).allowCredentials).toEqual([expect.objectContaining({ id: authenticator.id })])
    }
    // The login of the password is good for everything else.
    codeOf(await thief.open(url()))
    const [stored] = await host.table('passkeys')
    const { fields } = passkeyForm(asked)
    for (const decision of ['add', 'rename', 'remove']) {
      const passkey = createAuthenticator().create({ ...askedBy(asked), rp: { id: 'localhost' } })
      const sent = await thief.post(page, { ...fields, decision, passkey, id: stored.hash, name: 'Mine' })
      expect(sent.location?.pathname).toBe(page)
    }
    expect(await host.table('passkeys')).toEqual([stored])
    const list = await signInWith(thief, asked, authenticator.get(askedBy(asked)))
    expect((await add(thief, list, createAuthenticator().create(askedBy(list)))).html).toContain(
      'Passkey added.',
    )
  })

  test.each([
    ['a browser that we know', chrome, 'Passkey on Chrome, macOS'],
    ['another browser', 'Something/1.0 <b>', ''],
  ])(
    'asks for the name of a passkey once it is there, and suggests that of %s (pages 21)',
    async (_, userAgent, name) => {
      const { browser, list } = await atPasskeys()
      expect(list.html).not.toContain('id="name"')
      const { action, fields } = passkeyForm(list)
      const passkey = createAuthenticator().create(askedBy(list))
      const { location } = await browser.post(action, { ...fields, passkey }, { 'user-agent': userAgent })
      const naming = await browser.open(`${location?.pathname}${location?.search}`)
      expect(naming.html).toContain('<h1>Name your passkey</h1>')
      expect(naming.html).toContain(`id="name" value="${name}"`)
      expect(naming.html).not.toContain('value="remove"')
      // It is added whether it gets another name or not.
      const [, later = ''] = /id="later" href="([^"]+)"/.exec(naming.html) ?? []
      expect((await browser.open(later)).html).toContain(`<bdi>${name || 'Unnamed passkey'}</bdi>`)
      expect((await browser.open(`${location?.pathname}${location?.search}`)).html).toContain(
        'value="remove"',
      )
    },
  )

  test('goes on with the login that has just added the first one (M5)', async () => {
    stopClock()
    const { browser, list } = await atPasskeys()
    const first = await add(browser, list, createAuthenticator().create(askedBy(list)))
    expect(first.html).toContain('Passkey added.')
    const again = await browser.open(page)
    const second = await add(browser, again, createAuthenticator().create(askedBy(again)))
    expect(second.html).toContain('Passkey added.')
    expect(await host.table('passkeys')).toHaveLength(2)
  })

  test('refuses untrue answers, and accepts an attestation of the passkey itself', async () => {
    const { browser, list } = await atPasskeys()
    let shown = list
    const lies: Lies[] = [
      { origin: 'http://evil.localhost:3000' },
      { rpId: 'example.com' },
      { type: 'webauthn.get' },
      // Without user verification.
      { flags: 1 },
      { attestation: 'certificate' },
    ]
    for (const lie of lies) {
      events.length = 0
      shown = await add(browser, shown, createAuthenticator().create(askedBy(shown), lie))
      expect(shown.html).toContain('The passkey wasn’t added.')
      const event = { type: 'passkey.failed', reason: 'invalid', subject: '1' }
      expect({ lie, events: eventsOf('passkey.failed') }).toEqual({ lie, events: [event] })
    }
    expect(await host.table('passkeys')).toEqual([])
    const passkey = createAuthenticator().create(askedBy(shown), { attestation: 'self' })
    expect((await add(browser, shown, passkey)).html).toContain('Passkey added.')
  })

  test('refuses the challenge of another user, and one that was used', async () => {
    const { browser, list } = await atPasskeys(bob)
    for (const name of browser.cookies.keys()) if (name.endsWith('_session')) browser.cookies.delete(name)
    const own = (await atPasskeys(ada, browser)).list
    const answers = [
      createAuthenticator().create(askedBy(list)),
      createAuthenticator().create(askedBy(own)),
      createAuthenticator().create(askedBy(own)),
    ]
    for (const answer of answers) await add(browser, own, answer)
    expect(eventsOf('passkey.failed')).toMatchObject([{ reason: 'challenge' }, { reason: 'replayed' }])
    expect(await host.table('passkeys')).toHaveLength(1)
  })

  test('does not take over a passkey of another user, and has at most 20', async () => {
    const authenticator = await added()
    const { browser, list } = await atPasskeys(bob)
    const refused = await add(browser, list, authenticator.create(askedBy(list)))
    expect(refused.html).toContain('The passkey wasn’t added.')
    expect(eventsOf('passkey.failed')).toMatchObject([{ reason: 'exists', subject: '2' }])
    expect(await host.table('passkeys').select('subject')).toEqual([{ subject: '1' }])

    const created_at = Math.floor(Date.now() / 1000) + 60
    for (let each = 0; each < 19; each += 1)
      await host.table('passkeys').insert({ ...createAuthenticator().row('2'), created_at })
    const last = await browser.open(page)
    await add(browser, last, createAuthenticator().create(askedBy(last)))
    const full = await browser.open(page)
    expect(full.html).toContain('To add another, remove one first.')
    expect(full.html).not.toContain('data-options')
    const { fields } = passkeyForm(last)
    const passkey = createAuthenticator().create({ ...askedBy(last), challenge: askedBy(refused).challenge })
    await browser.post(page, { ...fields, passkey })
    expect(await host.table('passkeys').where({ subject: '2' })).toHaveLength(20)
  })

  test('neither shows nor changes those of another user', async () => {
    await added()
    const [{ hash }] = await host.table('passkeys')
    const { browser, list } = await atPasskeys(bob)
    expect((await browser.open(`${page}?id=${hash}`)).html).toContain('You don’t have a passkey yet.')
    const { fields } = passkeyForm(list)
    for (const decision of ['rename', 'remove']) {
      const form = { ...fields, id: hash, name: 'Mine', decision }
      expectErrorPage(await browser.post(page, form), 403)
    }
    expect(await host.table('passkeys').select('subject', 'name')).toEqual([{ subject: '1', name: '' }])
  })
})

test('passkeys.removeAll() removes those of one user, and users.erase() too', async () => {
  for (const subject of ['1', '1', '2'])
    await host.table('passkeys').insert(createAuthenticator().row(subject))
  await host.oauth.passkeys?.removeAll(1)
  expect(await host.table('passkeys').select('subject')).toEqual([{ subject: '2' }])
  expect(eventsOf('passkey.removed')).toHaveLength(2)
  await host.oauth.users.erase(2)
  expect(await host.table('passkeys')).toEqual([])
})
