import { admin, authenticatorApps, passkeys, personalAccessTokens } from '../../lib/features/index.ts'
import type { AuthEvent, AuthRouterOptions } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { type Answer, fieldsOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { ada, bob, tokensFor, userinfo } from '../support/tokens.ts'
import { expectForgedFormsRefused } from './forged-forms.ts'

const users = '/oauth/admin/users'
const acting = '/oauth/admin/user-act'
const chrome =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36'
const loginUrl = authorizeUrl({ client_id: 'web', scope: 'openid' })

const options: Partial<AuthRouterOptions> = {
  session: 'own',
  limits: { store: 'database' },
  storedEvents: true,
  features: [
    admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
    passkeys(),
    authenticatorApps(),
    personalAccessTokens(),
  ],
}

let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost({ options })
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())
const stored = ['passkeys', 'personal_tokens', 'second_factors', 'recovery_codes'] as const
beforeEach(async () => {
  events.length = 0
  for (const name of ['consents', 'authorizations', 'logins', 'throttles', 'events', ...stored])
    await host.table(name).delete()
})

const carol = () => new RawBrowser(host.app, undefined, { 'x-admin': 'carol' })
const open = (query: string) => carol().get(`${users}?${query}`)
const wrongTimes = async (times: number, email: string, headers = {}): Promise<RawBrowser> => {
  const agent = new RawBrowser(host.app, undefined, headers)
  let page = await agent.open(loginUrl)
  for (let time = 0; time < times; time += 1) page = await agent.signIn(page, email, 'wrong')
  return agent
}
const linkWith = ({ html }: Answer, words: string): string => {
  const links = [...html.matchAll(/<a class="button [^"]*"[^>]* href="([^"]*)">([\s\S]*?)<\/a>/g)]
  const [, href = ''] = links.find(([, , said = '']) => said.replaceAll(/<[^>]*>/g, '').includes(words)) ?? []
  return href.replaceAll('&amp;', '&')
}

const now = () => Math.floor(Date.now() / 1000)
/** A user with a second factor, two passkeys, a token, and an expired token. */
const fill = async (subject = '1'): Promise<void> => {
  await host
    .table('second_factors')
    .insert({ subject, secret: 'sealed', created_at: now(), expires_at: null })
  for (const hash of ['a', 'b', 'c'])
    await host.table('recovery_codes').insert({ hash: hash + subject, subject })
  const passkey = { subject, credential_id: 'x', public_key: 'x', counter: 0, transports: '', backed_up: 0 }
  for (const name of ['Phone', '<b>Key</b>'])
    await host.table('passkeys').insert({ ...passkey, hash: `${name}${subject}`, name, created_at: now() })
  const token = { subject, scopes: 'notes:read', created_at: now() }
  for (const [slot, name] of ['Backup script', 'Old script'].entries()) {
    const expiresAt = slot === 0 ? now() + 1000 : now() - 1000
    const id = `${name}${subject}`
    await host.table('personal_tokens').insert({ ...token, hash: id, id, slot, name, expires_at: expiresAt })
  }
}

describe('why a user cannot sign in', () => {
  test('the page counts wrong passwords since the last success, says until when, and unlocks', async () => {
    const clock = stopClock()
    const start = clock.now()
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
    const agent = new RawBrowser(host.app)
    await agent.signIn(await agent.open(loginUrl), ada.email, 'wrong')
    clock.travel(1)
    await agent.signIn(await agent.open(loginUrl))
    clock.travel(60)
    const locked = await wrongTimes(4, ada.email)
    const administrator = carol()
    const page = await administrator.get(`${users}?q=1`)
    expect(textOf(page)).toMatch(/4 wrong passwords for “ada@example\.com” since .* Locked from /)
    expect(page.html).toContain(`datetime="${iso(start + 61)}"`)
    expect(textOf(page)).toContain('from 127.0.0.1')
    expect((await locked.signIn(await locked.open(loginUrl), ada.email)).status).toBe(429)

    const done = await administrator.submit(page, 'value="unlock"')
    expect(done.url.search).toBe('?q=1')
    expect(textOf(done)).toContain('Unlocked.')
    expect(done.html).not.toContain('value="unlock"')
    const account = await host.oauth.users.accountOf(ada.email)
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'login.unlocked', account, actor: 'carol' }),
    )
    expect((await locked.signIn(await locked.open(loginUrl), ada.email)).status).not.toBe(429)
  })

  test('a name that was typed is found once, in any spelling, whether or not it exists', async () => {
    await wrongTimes(2, 'mira')
    const page = await open('q=MIRA')
    expect(textOf(page)).toMatch(/No user is called “MIRA”.*2 wrong passwords for “MIRA” since/)
    expect(page.html).not.toContain('value="unlock"')
    await wrongTimes(1, ada.email)
    const known = await open('q=ADA%40example.com')
    expect(textOf(known).match(/wrong password/g)).toHaveLength(1)
    expect(textOf(known)).toContain('1 wrong password for')
    expect(textOf(await open('q=2'))).not.toContain('wrong password')
  })

  test('a forged form unlocks nothing (pages 28)', async () => {
    await wrongTimes(5, ada.email)
    const administrator = carol()
    const form = async () => fieldsOf(await administrator.open(`${users}?q=1`), 'value="unlock"')
    await expectForgedFormsRefused(administrator, users, form, {
      'another administrator': async () =>
        fieldsOf(
          await new RawBrowser(host.app, undefined, { 'x-admin': 'dave' }).open(`${users}?q=1`),
          'value="unlock"',
        ),
    })
    expect(textOf(await open('q=1'))).toContain('Locked from')
  })
})

describe('an unknown user', () => {
  test('gets a sentence and nothing else, unless something is stored under that id (pages 32)', async () => {
    const page = await open('q=mira')
    expect(textOf(page)).toContain('No user is called “mira”. Enter the whole login name or ID.')
    expect(page.html).not.toMatch(/id="end-all"|class="part"|href="[^"]*events\?user/)
    await fill('mira')
    const something = await open('q=mira')
    expect(textOf(something)).toContain('No enabled user has this ID or login name.')
    expect(linkWith(something, 'Reset')).toContain('subject=mira')
    for (const query of ['q=%00', 'q=', `q=${'x'.repeat(300)}`, 'subject=', 'q=%F0%9F%A4%96'])
      expect((await open(query)).status).toBeLessThan(500)
  })
})

test('a disabled user who is found by name is said to be disabled', async () => {
  const disable = (at: number | null) =>
    host.database.knex(host.usersTable).where({ id: 2 }).update({ disabled_at: at })
  expect(textOf(await open('q=bob%40example.com'))).not.toContain('disabled')
  await disable(1)
  try {
    expect(textOf(await open('q=bob%40example.com'))).toContain('This user is disabled and cannot sign in.')
  } finally {
    await disable(null)
  }
})

describe('what features add', () => {
  test('the page has their sections with counts, and names of browsers and addresses of logins', async () => {
    await fill()
    const agent = new RawBrowser(host.app, undefined, { 'User-Agent': chrome })
    await tokensFor(host, { scope: 'openid' }, {}, { agent, as: bob })
    const text = textOf(await open('q=1'))
    expect(text).toContain('Two-step sign-in On. 3 recovery codes are left. Reset')
    expect(text).toMatch(/2 passkeys sign in\. .*Phone Added .* Last used never Remove/)
    expect(text).toContain('1 token is valid.')
    expect(text).toMatch(/Old script Scopes notes:read Last used never Expired/)
    const other = textOf(await open('q=2'))
    expect(other).toMatch(/Passkeys None\. Two-step sign-in Off\. Personal access tokens None\./)
    expect(other).toMatch(/Chrome on macOS Signed in .* 127\.0\.0\.1 pwd/)
  })

  test.each([
    ['Reset', 'Reset two-step sign-in?', 'second_factors', 0, 'second_factor.removed'],
    ['Remove Phone', 'Remove the passkey “Phone”?', 'passkeys', 1, 'passkey.removed'],
    ['Revoke Backup', 'Revoke the token “Backup script”?', 'personal_tokens', 1, 'token.personal.revoked'],
  ])(
    '%s asks first, takes effect once and in one user only, and is announced (pages 30)',
    async (button, question, name, left, type) => {
      await fill('1')
      await fill('2')
      const administrator = carol()
      const asking = await administrator.get(linkWith(await administrator.get(`${users}?q=1`), button))
      expect(textOf(asking)).toContain(question)
      expect(await host.table(name).where({ subject: '1' })).toHaveLength(left + 1)
      const done = await administrator.submit(asking, 'value="run"')
      expect([done.url.pathname, done.url.search]).toEqual([users, '?subject=1'])
      expect(textOf(done)).toContain('Done.')
      expect(await host.table(name).where({ subject: '1' })).toHaveLength(left)
      expect(await host.table(name).where({ subject: '2' })).toHaveLength(left + 1)
      const announced = () => events.filter((event) => event.type === type)
      expect(announced()).toMatchObject([{ subject: '1', actor: 'carol', address: '127.0.0.1' }])
      // The same form again, and the link, find nothing.
      const again = await administrator.submit(asking, 'value="run"')
      expect(textOf(again)).not.toContain('Done.')
      expect(announced()).toHaveLength(1)
      expect((await administrator.get(`${asking.url.pathname}${asking.url.search}`)).status).toBe(404)
    },
  )

  test('a form about one user or thing does nothing to another, and what is not there is refused', async () => {
    await fill('1')
    await fill('2')
    const administrator = carol()
    const formAt = async (link: string) => fieldsOf(await administrator.get(link), 'csrf_token')
    const formOf = async (user: string, button: string) =>
      formAt(linkWith(await administrator.get(`${users}?q=${user}`), button))
    await expectForgedFormsRefused(administrator, acting, () => formOf('1', 'Remove Phone'), {
      'the form of another passkey': () => formOf('1', 'Remove &lt;b&gt;Key'),
      'the form of another user': () => formOf('2', 'Remove Phone'),
      'the question about everything': () => formAt(`${acting}?subject=1`),
    })
    expect(await host.table('passkeys')).toHaveLength(4)
    const wrong = ['section=nothing&item=x', 'section=passkeys&item=Phone2', 'section=passkeys', 'section=']
    for (const rest of wrong)
      expect((await carol().get(`${acting}?subject=1&${rest}`)).status).toBeLessThan(500)
    expect((await carol().get(`${acting}?subject=1&section=passkeys&item=Phone2`)).status).toBe(404)
    for (const subject of ['', '%00', 'x'.repeat(300)])
      expect((await carol().get(`${acting}?subject=${subject}`)).status).toBe(400)
  })
})

test('“End everything” says how much ends, and ends it after the question (pages 29)', async () => {
  const tokens = await tokensFor(host, { scope: 'openid offline_access' })
  await fill()
  const administrator = carol()
  const asking = await administrator.get(
    linkWith(await administrator.get(`${users}?q=1`), 'Sign out everywhere'),
  )
  expect(textOf(asking)).toMatch(/Active logins 1 Clients with access 1 Active authorizations 1 /)
  expect((await userinfo(host, tokens.access_token)).status).toBe(200)
  const done = await administrator.submit(asking, 'value="end"')
  expect(textOf(done)).toContain('All logins, codes and tokens of this user have ended.')
  expect((await userinfo(host, tokens.access_token)).status).toBe(401)
  expect(await host.table('passkeys').where({ subject: '1' })).toHaveLength(2)
})

describe('the name of a user', () => {
  test('is above the login name, and on the page that asks before everything ends', async () => {
    const page = await open(`q=${ada.email}`)
    expect(textOf(page)).toContain(`Ada Lovelace Active ${ada.email} ID 1`)
    const act = await carol().get(linkWith(page, 'Sign out everywhere'))
    expect(textOf(act)).toContain(`User Ada Lovelace · ${ada.email} User ID 1`)
  })

  test('is left out if the host cannot say it now', async () => {
    const logged: string[] = []
    const logger = { info: () => {}, warn: () => {}, error: (message: string) => logged.push(message) }
    const claims = {
      name: () => {
        throw new Error('the directory is down')
      },
    }
    const columns = { id: 'id', username: 'email', password: 'password_hash' }
    const other = await startHost({
      database: host.database,
      options: { ...options, logger, users: { table: host.usersTable, columns, claims } },
    })
    const page = await new RawBrowser(other.app, undefined, { 'x-admin': 'carol' }).get(`${users}?q=1`)
    expect(textOf(page)).toContain(`${ada.email} Active ID 1`)
    expect(logged).toEqual([
      'latchkey: the name of a user could not be read: users.claims.name failed: the directory is down',
    ])
    await other.oauth.close()
  })
})
