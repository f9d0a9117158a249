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
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, redeem } from '../support/tokens.ts'

const page = '/oauth/account/passkeys'
const failed = 'That passkey didn’t work'

let host: Host
let events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost({
    clients: [
      {
        ...{ client_id: 'web', client_secret: secret, redirect_uris: [callback], first_party: true },
        scope: 'openid notes:read',
      },
    ],
    options: { acrValues: ['password', 'strong'], login: { passkeys: { acr: 'strong' } } },
  })
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(() => host.close())
beforeEach(async () => {
  for (const name of ['passkeys', 'throttles']) await table(name).delete()
  await host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: null })
  events = []
})
afterEach(() => jest.restoreAllMocks())

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
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
const add = (browser: RawBrowser, list: Answer, passkey: string, name = ''): Promise<Answer> =>
  browser.submit(list, 'id="passkey"', { passkey, name })
const added = async (authenticator = createAuthenticator(), as = ada): Promise<Authenticator> => {
  const { browser, list } = await atPasskeys(as)
  const after = await add(browser, list, authenticator.create(askedBy(list)))
  expect(after.html).toContain('Passkey added.')
  return authenticator
}
const signInWith = (browser: RawBrowser, login: Answer, passkey: string): Promise<Answer> =>
  browser.submit(login, 'id="passkey"', { passkey })

describe('a passkey', () => {
  test('is added, signs in, is listed, renamed and removed, and then signs in no more', async () => {
    const clock = stopClock()
    const { browser, list } = await atPasskeys()
    expect(list.html).toContain('You don’t have a passkey yet.')
    const authenticator = createAuthenticator()
    const asked = askedBy(list)
    expect(asked).toMatchObject({
      ...{ rp: { id: 'localhost', name: 'Latchkey' }, attestation: 'none', excludeCredentials: [] },
      user: { name: ada.email, id: expect.stringMatching(/^[\w-]{43}$/) },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    const after = await add(browser, list, authenticator.create(asked), ' My phone ')
    expect(after.html).toContain('Passkey added.')
    expect(after.html).toContain('<bdi>My phone</bdi>')
    expect((await browser.get(page)).html).not.toContain('Passkey added.')
    expect(askedBy(after)).toMatchObject({
      user: asked.user,
      excludeCredentials: [{ type: 'public-key', id: authenticator.id, transports: ['internal', 'hybrid'] }],
    })

    clock.travel(86_400)
    const other = newBrowser()
    const login = await other.open(url())
    const { fields } = passkeyForm(login)
    expect(askedBy(login)).toEqual({
      ...{ challenge: expect.any(String), rpId: 'localhost', userVerification: 'required' },
    })
    const done = await other.post('/oauth/login', { ...fields, passkey: authenticator.get(askedBy(login)) })
    const { id_token } = await answerOf(redeem(host, codeOf(done)))
    const expected = { sub: '1', amr: ['hwk', 'user', 'mfa'], acr: 'strong', auth_time: clock.now() }
    expect(claimsOf(id_token)).toMatchObject(expected)
    expect(eventsOf('passkey.added')).toEqual([{ type: 'passkey.added', subject: '1' }])
    expect(eventsOf('passkey.used')).toEqual([{ type: 'passkey.used', subject: '1', clientId: 'web' }])
    const account = await host.oauth.users.accountOf(ada.email)
    expect(eventsOf('login.succeeded').at(-1)).toEqual({
      ...{ type: 'login.succeeded', clientId: 'web', account, subject: '1' },
    })
    expect(await table('passkeys').select('subject', 'counter', 'last_used_at', 'name')).toEqual([
      { subject: '1', counter: 1, last_used_at: clock.now(), name: 'My phone' },
    ])

    const own = await other.open(page)
    expect(own.html).toContain('Last used')
    const [, edit = ''] = /href="([^"]*passkeys\?id=[^"]*)"/.exec(own.html) ?? []
    const renamed = await other.submit(await other.open(edit), 'value="rename"', {
      ...{ decision: 'rename', name: 'Old <b>phone</b>' },
    })
    expect(renamed.html).toContain('Name changed.')
    expect(renamed.html).toContain('Old &lt;b&gt;phone')
    const removed = await other.submit(await other.open(edit), 'value="remove"', { decision: 'remove' })
    expect(removed.html).toContain('Passkey removed.')
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

describe('a sign-in that is refused', () => {
  const lies: [string, Lies, string][] = [
    ['of another origin', { origin: 'http://evil.localhost:3000' }, 'invalid'],
    ['for another RP ID', { rpId: 'example.com' }, 'invalid'],
    ['of another kind', { type: 'webauthn.create' }, 'invalid'],
    ['without user verification', { flags: 1 }, 'invalid'],
    ['without user presence', { flags: 4 }, 'invalid'],
    ['in a frame of another site', { crossOrigin: true }, 'malformed'],
    [
      'for a challenge that we did not make',
      { challenge: Buffer.from('1.2.3').toString('base64url') },
      'challenge',
    ],
    ['for another user', { userHandle: 'x'.repeat(43) }, 'user'],
    ['with an unknown credential', { id: 'AAAA' }, 'unknown'],
  ]
  test.each(lies)('%s', async (_, lie, reason) => {
    const authenticator = await added()
    const browser = newBrowser()
    const login = await browser.open(url())
    const refused = await signInWith(browser, login, authenticator.get(askedBy(login), lie))
    expect(refused.html).toContain(failed)
    expect(eventsOf('passkey.failed')).toMatchObject([{ reason }])
    expect(eventsOf('login.failed')).toHaveLength(1)
    expect(eventsOf('login.succeeded')).toHaveLength(1)
    // The same without the lie is accepted: nothing else was wrong.
    codeOf(await signInWith(browser, refused, authenticator.get(askedBy(refused))))
  })
})
