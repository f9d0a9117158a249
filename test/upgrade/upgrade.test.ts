import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import supertest from 'supertest'
import { migrate } from '../../lib/index.ts'
import { migrateDatabase } from '../../lib/storage/database/migrate.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { askedBy, createAuthenticator } from '../support/authenticator.ts'
import { stopClock } from '../support/clock.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { poll } from '../support/device.ts'
import { kept, migrations } from '../support/features.ts'
import { authorizeUrl, callback, type Host, secret } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { contentOf } from '../support/prepared-database.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, guarded, post, redeem, refresh, userinfo, web } from '../support/tokens.ts'
import { type Holdings, names, password, type Recorded, startRecorded } from './recorded-server.ts'

// Each file has the database of a version, and what browsers, clients and devices held of it at that moment.
const folder = join(__dirname, 'recorded')
const versions = readdirSync(folder).map((file) => file.replace(/\.json$/, ''))
const recordedOf = (version: string): Recorded =>
  JSON.parse(readFileSync(join(folder, `${version}.json`), 'utf8'))

/** The database as it was: the migrations of then, and its rows. */
const restore = async (
  { knex, tablePrefix }: TestDatabase,
  { migrations: names, tables }: Recorded,
): Promise<void> => {
  const ofThen = new Map([...migrations].filter(([name]) => names.includes(name)))
  await migrateDatabase(openDatabase(knex, tablePrefix).database, ofThen)
  for (const { name, rows } of tables)
    if (rows.length > 0) await knex.batchInsert(tablePrefix + name, [...rows], 20)
}

describe.each(versions)('a database of version %s', (version) => {
  const recorded = recordedOf(version)
  const { holdings } = recorded
  let database: TestDatabase
  let host: Host
  /** In memory the tests share one that is restored; on a server each restores its own. */
  let restored: Buffer | undefined

  beforeAll(async () => {
    if (process.env.DATABASE_URL !== undefined) return
    const first = openTestDatabase()
    await restore(first, recorded)
    restored = await contentOf(first)
    await first.close()
  })
  beforeEach(async () => {
    const clock = stopClock()
    // So that nothing has expired, and an authenticator app shows its next code.
    clock.travel(recorded.recordedAt + 31 - clock.now())
    database = openTestDatabase(undefined, restored)
    if (restored === undefined) await restore(database, recorded)
  })
  afterEach(async () => {
    await host?.close()
    await database.close()
    jest.restoreAllMocks()
  })
  const upgrade = async (): Promise<void> => {
    await migrate(database.knex, { features: kept, database: { tablePrefix: database.tablePrefix } })
    host = await startRecorded(database)
  }
  const browserWith = (cookies: Readonly<Record<string, string>>): RawBrowser => {
    const browser = new RawBrowser(host.app)
    for (const [name, value] of Object.entries(cookies)) browser.cookies.set(name, value)
    return browser
  }

  test('has the migrations of this version at the beginning, unchanged', async () => {
    // The features of a host run in the order of its list.
    const known = [...migrations.keys()].filter((name) => recorded.migrations.includes(name))
    expect(known.sort()).toEqual([...recorded.migrations].sort())
    for (const { name, columns } of recorded.tables) {
      const found = Object.keys(await database.table(name).columnInfo()).sort()
      expect({ name, columns: found }).toEqual({ name, columns })
    }
  })

  test('keeps every row when it is migrated', async () => {
    await upgrade()
    for (const { name, rows } of recorded.tables) {
      const counted = await database.table(name).count({ count: '*' }).first()
      expect({ name, rows: Number(counted?.count) }).toEqual({ name, rows: rows.length })
    }
  })

  const uses: Readonly<Record<string, (held: Holdings) => Promise<void>>> = {
    'the cookie of a signed-in browser, with the consent of its user': async ({ cookies, subject }) => {
      const asked = authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' })
      const code = codeOf(await browserWith(cookies).open(asked))
      const { id_token } = await answerOf(redeem(host, code))
      expect(claimsOf(id_token)).toMatchObject({ sub: subject })
    },
    'a sign-in page that is open': async ({ waiting }) => {
      const browser = browserWith(waiting.cookies)
      const page = await browser.open(waiting.url)
      expect(codeOf(await browser.signIn(page, names.ada, password))).toMatch(/^lk_ac_/)
    },
    'a sign-in between password and code': async ({ halfway, totpSecret }) => {
      const browser = browserWith(halfway.cookies)
      const code = new TOTP({ secret: Secret.fromBase32(totpSecret) }).generate({ timestamp: Date.now() })
      const done = await browser.submit(await browser.open(halfway.url), 'name="code"', { code })
      expect(done.url.pathname).toBe('/oauth/consent')
    },
    'a recovery code': async ({ halfway, recoveryCode }) => {
      const browser = browserWith(halfway.cookies)
      const page = await browser.open(halfway.url)
      const done = await browser.submit(page, 'name="code"', { code: recoveryCode })
      expect(done.url.pathname).toBe('/oauth/consent')
    },
    'a passkey': async ({ passkey }) => {
      const browser = new RawBrowser(host.app)
      const login = await browser.open(authorizeUrl({ client_id: 'web', scope: 'openid' }))
      const authenticator = createAuthenticator(undefined, undefined, passkey)
      const done = await browser.submit(login, 'id="login"', { passkey: authenticator.get(askedBy(login)) })
      expect(done.url.pathname).toBe('/oauth/consent')
    },
    'an authorization code': async ({ code, subject }) => {
      const { id_token } = await answerOf(redeem(host, code))
      expect(claimsOf(id_token)).toMatchObject({ sub: subject })
      expect((await redeem(host, code)).body).toMatchObject({ error: 'invalid_grant' })
    },
    'an opaque access token': async ({ accessToken, subject }) => {
      const { body } = await userinfo(host, accessToken).expect(200)
      expect(body).toMatchObject({ sub: subject, email: names.ada })
      expect((await guarded(host, accessToken)).body).toEqual({ subject })
    },
    'a JWT access token': async ({ jwtAccessToken, subject }) => {
      expect((await guarded(host, jwtAccessToken, '/api/files')).body).toEqual({ subject })
    },
    'a refresh token, once': async ({ refreshToken }) => {
      const first = await answerOf(refresh(host, refreshToken))
      await userinfo(host, first.access_token).expect(200)
      await answerOf(refresh(host, first.refresh_token))
      expect((await refresh(host, refreshToken)).body).toMatchObject({ error: 'invalid_grant' })
    },
    'a personal access token': async ({ personalToken, subject }) => {
      expect((await guarded(host, personalToken)).body).toEqual({ subject })
    },
    'a code of a device, which its user has allowed': async ({ deviceCode }) => {
      const { access_token } = await answerOf(poll(host, { device_code: deviceCode }))
      await guarded(host, access_token).expect(200)
    },
    'a pushed request': async ({ requestUri, cookies }) => {
      const asked = `/oauth/authorize?${new URLSearchParams({ client_id: 'web', request_uri: requestUri })}`
      expect(codeOf(await browserWith(cookies).open(asked))).toMatch(/^lk_ac_/)
    },
    'the token of a registration': async ({ registration: { clientId, token } }) => {
      const path = `/oauth/register/${clientId}`
      const { body } = await supertest(host.app).get(path).set('Authorization', `Bearer ${token}`).expect(200)
      expect(body).toMatchObject({ client_id: clientId, redirect_uris: [callback] })
    },
    'the secret of a client': async () => {
      await post(host, { grant_type: 'client_credentials', scope: 'notes:read', ...web }).expect(200)
    },
    'an imported secret': async ({ importedSecret }) => {
      const form = { grant_type: 'client_credentials', client_id: 'moved' }
      await post(host, { ...form, client_secret: secret }).expect(401)
      for (const _ of [1, 2]) await post(host, { ...form, client_secret: importedSecret }).expect(200)
    },
    'the pairwise subject of a user': async ({ cookies, pairwiseSubject }) => {
      const asked = authorizeUrl({ client_id: 'pairwise', scope: 'openid', prompt: 'none' })
      const code = codeOf(await browserWith(cookies).open(asked))
      const { id_token } = await answerOf(redeem(host, code, { client_id: 'pairwise' }))
      expect(claimsOf(id_token).sub).toBe(pairwiseSubject)
    },
    'an ID token, when its client signs the user out': async ({ idToken, cookies }) => {
      const browser = browserWith(cookies)
      const page = await browser.open(`/oauth/logout?id_token_hint=${idToken}`)
      // Without the hint it would ask.
      expect(textOf(page)).toContain('You’re signed out')
    },
    'a password, while what was revoked stays so': async ({ revokedToken }) => {
      const browser = new RawBrowser(host.app)
      const asked = authorizeUrl({ client_id: 'web', scope: 'openid' })
      expect(codeOf(await browser.signIn(await browser.open(asked), names.dan, password))).toMatch(/^lk_ac_/)
      await userinfo(host, revokedToken).expect(401)
    },
    'consents, logins, receipts and tokens of a user, for an export': async ({ subject }) => {
      const data = await host.oauth.users.export(subject)
      const kinds = Object.entries(data).filter(([, value]) => Array.isArray(value) && value.length > 0)
      expect(kinds.map(([kind]) => kind)).toEqual(
        expect.arrayContaining([
          'events',
          'clients',
          'personalTokens',
          'consents',
          'receipts',
          'authorizations',
          'logins',
        ]),
      )
    },
    'events and wrong passwords, for administrators': async () => {
      const page = await new RawBrowser(host.app).open('/oauth/admin/users?q=nobody@example.com')
      expect(textOf(page)).toMatch(/1 wrong password/)
    },
    'the owner of a client': async ({ cookies }) => {
      const page = await browserWith(cookies).open('/oauth/developer')
      expect(textOf(page)).toContain('Native client')
    },
    'the logo of a client': async () => {
      const { body } = await supertest(host.app)
        .get(`/oauth/logos/${'a'.repeat(43)}`)
        .expect(200)
      expect(Buffer.from(body).toString('base64')).toBe('iVBORw0KGgo=')
    },
  }
  test.each(Object.keys(uses))('works on: %s', async (name) => {
    await upgrade()
    await uses[name]!(holdings)
  })
})
