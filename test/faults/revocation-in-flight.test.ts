// What has begun when everything of its user ends must not finish: each way to sign in, and everything that a login adds
// and that outlives it. A function of the host is held in the middle, so that nothing here depends on time; the clock stands
// still, so that the beginning, the revocation and the next sign-in have the same second.

import { Secret, TOTP } from 'otpauth'
import { authenticatorApps, passkeys, personalAccessTokens, secondFactor } from '../../lib/features/index.ts'
import { passkeysPath } from '../../lib/features/passkeys/passkeys-page.ts'
import { personalTokenFormPath } from '../../lib/features/personal-tokens/list-page.ts'
import { settingsPath } from '../../lib/features/second-factor/settings-page.ts'
import { type AuthRouterOptions, type ClientSeed, defineGrant } from '../../lib/index.ts'
import { askedBy, createAuthenticator } from '../support/authenticator.ts'
import { stopClock } from '../support/clock.ts'
import {
  type DatabaseKind,
  describeOnSampled,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import { createGate } from '../support/gate.ts'
import { authorizeUrl, callback, createUsers, type Host, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, expectError, post, redeem, refresh } from '../support/tokens.ts'

const free = 'https://example.com/grants/free'
const web: ClientSeed = {
  client_id: 'web',
  client_secret: secret,
  redirect_uris: [callback],
  first_party: true,
}
const app: ClientSeed = {
  client_id: 'app',
  client_secret: secret,
  grant_types: [free, 'refresh_token'],
  scope: 'notes:read',
}
const url = authorizeUrl({ client_id: 'web', scope: 'openid offline_access' })
const silent = authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' })
const user = { id: 1, username: ada.email }

const inFlightOn = (kind: DatabaseKind): void => {
  const gate = createGate()
  let database: FaultDatabase
  const opened: Host[] = []
  beforeAll(async () => {
    database = openFaultDatabase(kind)
    await createUsers(database, `${database.tablePrefix}people`)
  })
  afterAll(async () => {
    for (const { oauth } of opened) await oauth.close()
    await database.close()
  })
  beforeEach(() => void stopClock())
  afterEach(() => jest.restoreAllMocks())

  const start = async (options: Partial<AuthRouterOptions>, clients = [web]): Promise<Host> => {
    const host = await startHost({ database, clients, options: { limits: false, ...options } })
    opened.push(host)
    return host
  }
  /** What still works for the user: logins, and what they have added. */
  const standing = async (): Promise<Record<string, number>> => {
    const rows = {
      logins: await database.table('logins').where({ subject: '1' }).whereNull('ended_at'),
      authorizations: await database.table('authorizations').where({ subject: '1' }).whereNull('revoked_at'),
      passkeys: await database.table('passkeys').where({ subject: '1' }),
      tokens: await database.table('personal_tokens').where({ subject: '1' }),
      factors: await database.table('second_factors').where({ subject: '1' }).whereNull('expires_at'),
    }
    return Object.fromEntries(Object.entries(rows).map(([name, { length }]) => [name, length]))
  }
  const nothing = { logins: 0, authorizations: 0, passkeys: 0, tokens: 0, factors: 0 }

  /** Begins something, lets this happen while a function of the host is held, and finishes. */
  const meanwhile = async <T>(
    begin: () => Promise<T>,
    happens: () => Promise<unknown> | undefined,
  ): Promise<T> => {
    const { arrival, open } = gate.hold()
    const begun = begin()
    await Promise.race([arrival, begun.then(() => Promise.reject(new Error('nothing was held')))])
    await happens()
    open()
    return begun
  }
  /** A sign-in that is refused shows the form again, and the next one at the same second succeeds. */
  const expectSignInRefused = async (host: Host, browser: RawBrowser, after: Answer): Promise<void> => {
    expect(after.url.pathname).toBe('/oauth/login')
    expect(after.html).toContain('Please sign in again.')
    expectErrorRedirect(await browser.get(silent), 'login_required')
    expect(await standing()).toMatchObject({ logins: 0, authorizations: 0 })
    const again = await browser.signIn(after)
    expect((await answerOf(redeem(host, codeOf(again)))).refresh_token).toEqual(expect.any(String))
    await host.oauth.users.revokeAll(1)
  }

  describe('with users behind functions', () => {
    let host: Host
    /** Whether the function that finds a user is held, or the one that checks a password. */
    let holds: 'find' | 'authenticate' = 'authenticate'
    beforeAll(async () => {
      host = await start(
        {
          users: {
            find: async (id) => {
              if (holds === 'find') await gate.pass()
              return id === '1' ? user : undefined
            },
            authenticate: async ({ password }) => {
              if (holds === 'authenticate') await gate.pass()
              return password === ada.password ? user : undefined
            },
          },
          protocol: {
            grants: [
              defineGrant({
                grantType: free,
                exchange: async () => {
                  await gate.pass()
                  return { subject: 1, scopes: ['notes:read'], refreshToken: true }
                },
              }),
            ],
          },
          features: [passkeys(), authenticatorApps(), personalAccessTokens()],
        },
        [web, app],
      )
    })
    beforeEach(async () => {
      holds = 'authenticate'
      await host.oauth.users.erase(1)
    })
    const signedInAt = async (path: string): Promise<{ browser: RawBrowser; page: Answer }> => {
      const browser = new RawBrowser(host.app)
      const page = await browser.signIn(await browser.open(`/oauth${path}`))
      return { browser, page }
    }
    const revokeAll = () => host.oauth.users.revokeAll(1, 'password changed')

    test('three sign-ins with the right password end with eight calls of revokeAll() (H1)', async () => {
      const browsers = [1, 2, 3].map(() => new RawBrowser(host.app))
      const pages = await Promise.all(browsers.map((browser) => browser.open(url)))
      const held = pages.map(() => gate.hold())
      const begun = browsers.map((browser, place) => browser.signIn(pages[place]!))
      await Promise.all(held.map(({ arrival }) => arrival))
      for (let reset = 0; reset < 8; reset += 1) {
        await revokeAll()
        if (reset % 3 === 2) held.shift()?.open()
      }
      held.shift()?.open()
      await Promise.all(begun)
      expect(await standing()).toEqual(nothing)
      for (const browser of browsers) expectErrorRedirect(await browser.get(silent), 'login_required')
    })

    test('revokeAll() ends a sign-in under way, for a client and at the account; the next one works', async () => {
      const browser = new RawBrowser(host.app)
      const page = await browser.open(url)
      await expectSignInRefused(host, browser, await meanwhile(() => browser.signIn(page), revokeAll))
      const account = await browser.open('/oauth/account')
      const after = await meanwhile(() => browser.signIn(account), revokeAll)
      expect(after.html).toContain('Please sign in again.')
      expect(await standing()).toEqual(nothing)
    })

    test('it stands when another user is revoked meanwhile, or when the user was revoked before (H1)', async () => {
      await revokeAll()
      const browser = new RawBrowser(host.app)
      const page = await browser.open(url)
      codeOf(
        await meanwhile(
          () => browser.signIn(page),
          () => host.oauth.users.revokeAll(2),
        ),
      )
      expect(await standing()).toMatchObject({ logins: 1, authorizations: 1 })
    })

    test('erase() leaves no row of a user who is signing in (H1)', async () => {
      const browser = new RawBrowser(host.app)
      const page = await browser.open(url)
      await meanwhile(
        () => browser.signIn(page),
        () => host.oauth.users.erase(1),
      )
      expect(await database.table('logins').where({ subject: '1' })).toEqual([])
      expect(await database.table('authorizations').where({ subject: '1' })).toEqual([])
    })

    test('a sign-in with a passkey ends with revokeAll() and with passkeys.removeAll() (H1) (M4)', async () => {
      for (const end of [revokeAll, () => host.oauth.passkeys?.removeAll(1)]) {
        const authenticator = createAuthenticator()
        await database.table('passkeys').insert(authenticator.row('1'))
        const browser = new RawBrowser(host.app)
        const page = await browser.open(url)
        const passkey = authenticator.get(askedBy(page))
        holds = 'find'
        await meanwhile(() => browser.submit(page, 'id="login"', { passkey }), end)
        expect(await standing()).toMatchObject({ logins: 0, authorizations: 0 })
        expectErrorRedirect(await browser.get(silent), 'login_required')
      }
    })

    test('a passkey that is being added survives neither revokeAll() nor passkeys.removeAll()', async () => {
      for (const end of [revokeAll, () => host.oauth.passkeys?.removeAll(1)]) {
        holds = 'authenticate'
        const { browser, page } = await signedInAt(passkeysPath)
        const passkey = createAuthenticator().create(askedBy(page))
        holds = 'find'
        await meanwhile(() => browser.submit(page, 'id="passkey"', { passkey }), end)
        expect(await standing()).toEqual(nothing)
      }
    })

    test('passkeys.removeAll() alone ends logins, codes and tokens (M4)', async () => {
      const { browser } = await signedInAt('/account')
      const tokens = await answerOf(redeem(host, codeOf(await browser.open(url))))
      await database.table('passkeys').insert(createAuthenticator().row('1'))
      await host.oauth.passkeys?.removeAll(1)
      expect(await standing()).toEqual(nothing)
      expectErrorRedirect(await browser.get(silent), 'login_required')
      expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
    })

    test('a second factor that is being set up does not survive revokeAll() (H1)', async () => {
      const { browser, page } = await signedInAt(settingsPath)
      const [, shown = ''] = /id="secret" dir="ltr">([A-Z2-7 ]+)</.exec(page.html) ?? []
      const secretOfApp = Secret.fromBase32(shown.replaceAll(' ', ''))
      const code = new TOTP({ secret: secretOfApp }).generate({ timestamp: Date.now() })
      holds = 'find'
      await meanwhile(() => browser.submit(page, 'name="code"', { decision: 'confirm', code }), revokeAll)
      expect(await standing()).toEqual(nothing)
    })

    test('a personal access token that is being made does not survive revokeAll() (H1)', async () => {
      const { browser, page } = await signedInAt(personalTokenFormPath)
      const fields = { name: 'Backup', days: '30', 'scope:notes:read': 'on' }
      holds = 'find'
      await meanwhile(() => browser.submit(page, 'name="days"', fields), revokeAll)
      expect(await standing()).toEqual(nothing)
    })

    test('tokens of a grant of the host do not survive revokeAll(), and the next ones are issued', async () => {
      const asked = { client_id: 'app', client_secret: secret, grant_type: free }
      expectError(await meanwhile(async () => await post(host, asked), revokeAll), 400, 'invalid_grant')
      expect(await standing()).toEqual(nothing)
      expect((await post(host, asked)).body).toMatchObject({ refresh_token: expect.any(String) })
    })
  })

  describe('with users in a table', () => {
    let host: Host
    let rehashed: string[] = []
    const people = () => database.table('people').where({ id: 1 })
    const original = `plain:${ada.password}`
    beforeAll(async () => {
      host = await start({
        users: {
          table: `${database.tablePrefix}people`,
          columns: { id: 'id', username: 'email', password: 'password_hash' },
          isActive: (row) => row.disabled_at === null,
          verify: async (row, { password }) => {
            await gate.pass()
            return row.password_hash === `plain:${password}`
          },
          rehash: (_row, { hash }) => void rehashed.push(hash),
        },
      })
    })
    beforeEach(async () => {
      await people().update({ password_hash: original, disabled_at: null })
      await host.oauth.users.erase(1)
      rehashed = []
    })

    test('a sign-in ends with the first revokeAll() of the database, also if the password stays (H1)', async () => {
      await database.table('revocations').delete()
      const browser = new RawBrowser(host.app)
      const page = await browser.open(url)
      const after = await meanwhile(
        () => browser.signIn(page),
        () => host.oauth.users.revokeAll(1),
      )
      await expectSignInRefused(host, browser, after)
    })

    test.each([
      ['changes the password', { password_hash: 'plain:a new password' }],
      ['disables the user', { disabled_at: 1 }],
    ])(
      'without revokeAll(), a sign-in fails and no hash is stored if the host %s (H1) (M2)',
      async (_, change) => {
        const browser = new RawBrowser(host.app)
        const page = await browser.open(url)
        const after = await meanwhile(
          () => browser.signIn(page),
          () => people().update(change),
        )
        expect(after.status).toBe(400)
        expect(await standing()).toEqual(nothing)
        expect(rehashed).toEqual([])
        await people().update({ password_hash: original, disabled_at: null })
        codeOf(await browser.signIn(after))
        expect(rehashed).toHaveLength(1)
      },
    )
  })

  describe('with a second factor and a login of the host', () => {
    let host: Host
    let holds: 'password' | 'code' | 'current' | 'remember' = 'code'
    let needsCode = false
    let atHost: string | undefined
    let told: string[] = []
    beforeAll(async () => {
      host = await start({
        users: {
          find: (id) => (id === '1' ? user : undefined),
          authenticate: async () => {
            if (holds === 'password') await gate.pass()
            return user
          },
        },
        login: {
          current: async () => {
            if (holds === 'current') await gate.pass()
            return atHost && { subject: atHost }
          },
          remember: async () => {
            told.push('remember')
            if (holds === 'remember') await gate.pass()
          },
          forget: () => void told.push('forget'),
        },
        features: [
          secondFactor({
            find: () =>
              needsCode && {
                kind: 'code',
                verify: async (code) => {
                  if (holds === 'code') await gate.pass()
                  return /^\d{6}$/.test(code)
                },
              },
          }),
        ],
      })
    })
    beforeEach(async () => {
      await host.oauth.users.erase(1)
      atHost = undefined
      needsCode = false
      told = []
    })
    const revokeAll = () => host.oauth.users.revokeAll(1)

    test('a sign-in whose code is being checked ends with revokeAll() (H1)', async () => {
      needsCode = true
      holds = 'code'
      const browser = new RawBrowser(host.app)
      const page = await browser.signIn(await browser.open(url))
      const after = await meanwhile(() => browser.submit(page, 'name="code"', { code: '123456' }), revokeAll)
      expect(after.html).toContain('Please sign in again.')
      expect(await standing()).toEqual(nothing)
      expect(told).toEqual([])
    })

    test('a sign-in whose password is being checked is not remembered at the host after revokeAll()', async () => {
      holds = 'password'
      const browser = new RawBrowser(host.app)
      const page = await browser.open(url)
      const after = await meanwhile(() => browser.signIn(page), revokeAll)
      expect(after.html).toContain('Please sign in again.')
      expect(told).toEqual([])
    })

    test.each([
      ['password', false],
      ['code', true],
    ])('a sign-in whose %s was right is forgotten at the host after revokeAll() (H1)', async (_, second) => {
      needsCode = second
      holds = 'remember'
      const browser = new RawBrowser(host.app)
      const page = await browser.open(url)
      const last = needsCode ? await browser.signIn(page) : page
      const finish = () =>
        second ? browser.submit(last, 'name="code"', { code: '654321' }) : browser.signIn(last)
      const after = await meanwhile(finish, revokeAll)
      expect(after.html).toContain('Please sign in again.')
      expect(told).toEqual(['remember', 'forget'])
      expect(await standing()).toEqual(nothing)
    })

    test('a login that the host is about to report ends with revokeAll() (H1)', async () => {
      holds = 'current'
      atHost = '1'
      const browser = new RawBrowser(host.app)
      const after = await meanwhile(() => browser.get(silent), revokeAll)
      expectErrorRedirect(after, 'login_required')
      expect(await standing()).toEqual(nothing)
      codeOf(await browser.get(silent))
    })
  })
}

describeOnSampled('what has begun when everything of its user ends', inFlightOn)
