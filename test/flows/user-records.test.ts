import type { AuthEvent } from '../../lib/index.ts'
import { seedUsers } from '../../lib/index.ts'
import { openTestDatabase } from '../support/database.ts'
import { authorizeUrl, callback, clients, type Host, secret, startHost } from '../support/host.ts'
import { type LogoutReceiver, openLogoutReceiver } from '../support/logout-receiver.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, expectError, redeem, refresh, userinfo } from '../support/tokens.ts'

const scope = 'openid email notes:read offline_access'
const told = { client_id: 'told', client_secret: secret, redirect_uris: [callback] }
const nothing = { consents: [], receipts: [], authorizations: [], logins: [], passkeys: [] }

let receiver: LogoutReceiver
let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  receiver = await openLogoutReceiver()
  host = await startHost({
    clients: [...clients, { ...told, backchannel_logout_uri: `${receiver.origin}/told` }],
    options: { outbound: { allow: [receiver.origin] } },
  })
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(async () => {
  await host.close()
  await receiver.close()
})

const table = (name: string, of = host) => of.database.knex(`${of.database.tablePrefix}${name}`)

/** A person with tokens of a client, one of them refreshed, and a code that was not redeemed. */
const visit = async (as: { email: string; password: string }, client_id = 'web') => {
  const agent = new RawBrowser(host.app)
  const asked = { client_id, scope: client_id === 'web' ? scope : 'openid' }
  const done = await agent.grant(authorizeUrl(asked), as.email, as.password)
  const first = await answerOf(redeem(host, codeOf(done), { client_id }))
  const tokens = await answerOf(refresh(host, first.refresh_token, { client_id }))
  const code = codeOf(await agent.get(authorizeUrl({ ...asked, prompt: 'none' })))
  return { agent, tokens, code }
}

describe('users.export(id)', () => {
  test('returns all stored data as plain JSON, without a hash or a secret', async () => {
    const { tokens } = await visit(ada)
    const now = Math.floor(Date.now() / 1000)
    const exported = await host.oauth.users.export(1)
    expect(JSON.parse(JSON.stringify(exported))).toEqual(exported)
    const time = expect.any(Number)
    const granted = { clientId: 'web', scopes: ['openid', 'email', 'notes:read', 'offline_access'] }
    expect(exported.consents).toEqual([{ ...granted, createdAt: time, updatedAt: time }])
    const claims = ['email', 'email_verified']
    expect(exported.receipts).toMatchObject([{ clientId: 'web', locale: 'en', claims }])
    const authorization = {
      ...{ id: expect.stringMatching(/^[\w-]{22}$/), ...granted, redirectUri: callback },
      ...{ createdAt: time, lastUsedAt: null, expiresAt: time, revokedAt: null },
    }
    const refreshedLast = [...exported.authorizations].sort((one) => (one.lastUsedAt === null ? -1 : 1))
    expect(refreshedLast).toEqual([authorization, { ...authorization, lastUsedAt: time }])
    expect(exported.logins).toEqual([{ authTime: time, amr: ['pwd'], expiresAt: time, endedAt: null }])
    expect(Math.abs(Number(exported.logins[0]?.authTime) - now)).toBeLessThan(60)
    const text = JSON.stringify(exported)
    const [row] = await table('authorizations')
    for (const hidden of [row.code_hash, row.sid, tokens.access_token, 'lk_'])
      expect(text).not.toContain(hidden)
  })

  test.each(['4711', '', 'a\0b', '01', 'ä'.repeat(300)])('of an unknown id is empty: %j', async (id) => {
    expect(await host.oauth.users.export(id)).toEqual(nothing)
  })

  test('takes the id of the table or the subject', async () => {
    expect(await host.oauth.users.export('1')).toEqual(await host.oauth.users.export(1))
  })
})

describe('users.erase(id)', () => {
  const subjectTables = ['consents', 'consent_receipts', 'authorizations', 'logins']

  test('ends everything at once, leaves no row of the user, and changes no other user', async () => {
    const [one, two] = [await visit(ada), await visit(ada)]
    const bobs = await visit(bob)
    const bobsRows = await host.oauth.users.export(2)
    await host.oauth.users.erase(1)
    for (const { tokens, code, agent } of [one, two]) {
      expect((await userinfo(host, tokens.access_token)).status).toBe(401)
      expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
      expectError(await redeem(host, code), 400, 'invalid_grant')
      const silent = await agent.get(authorizeUrl({ client_id: 'web', scope, prompt: 'none' }))
      expectErrorRedirect(silent, 'login_required')
    }
    expect(await host.oauth.users.export(1)).toEqual(nothing)
    for (const name of subjectTables) expect(await table(name).where({ subject: '1' })).toEqual([])
    const families = (await table('authorizations')).map(({ id }) => id)
    for (const name of ['access_tokens', 'refresh_tokens'])
      expect(await table(name).whereNotIn('authorization_id', families)).toEqual([])
    expect(await host.oauth.users.export(2)).toEqual(bobsRows)
    expect((await userinfo(host, bobs.tokens.access_token)).status).toBe(200)
    expect((await refresh(host, bobs.tokens.refresh_token)).status).toBe(200)
    expect(events.filter(({ type }) => type === 'user.erased')).toMatchObject([{ subject: '1' }])
  })

  test('notifies the clients that registered for it, although their rows are gone', async () => {
    const { tokens } = await visit(ada, 'told')
    await host.oauth.users.erase(1)
    const [request] = await receiver.requests.until(1)
    expect(claimsOf(request?.token ?? '')).toMatchObject({ sub: '1', sid: claimsOf(tokens.id_token).sid })
  })

  test('of more than goes in one batch', async () => {
    const { agent } = await visit(ada)
    const [row] = await table('authorizations').where({ subject: '1' })
    for (let copy = 0; copy < 230; copy += 1)
      await table('authorizations').insert({ ...row, id: `copy-${copy}`, code_hash: `copy-${copy}` })
    await host.oauth.users.erase(1)
    expect(await table('authorizations').where({ subject: '1' })).toEqual([])
    expect((await agent.get('/oauth/account')).html).toContain('name="password"')
  })

  test('an unknown id changes nothing', async () => {
    const before = await host.oauth.users.export(2)
    expect(before.logins).not.toEqual([])
    for (const id of ['4711', 0, '', ' 2', '02', 'a\0b', '%', "2' OR '2'='2", 'ä'.repeat(300)])
      await host.oauth.users.erase(id)
    expect(await host.oauth.users.export(2)).toEqual(before)
  })

  test('continues where it stopped when it is called again', async () => {
    await visit(ada)
    const { knex, tablePrefix } = host.database
    await knex.schema.renameTable(`${tablePrefix}consents`, `${tablePrefix}away`)
    await expect(host.oauth.users.erase(1)).rejects.toMatchObject({ code: 'temporarily_unavailable' })
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}consents`)
    await host.oauth.users.erase(1)
    expect(await host.oauth.users.export(1)).toEqual(nothing)
  })

  test('keeps the host’s table; an account in our table is deleted', async () => {
    expect(await host.database.knex(host.usersTable).where({ id: 1 })).toHaveLength(1)
    const database = openTestDatabase()
    const own = await startHost({ database, options: { users: undefined } })
    const seeds = [ada, bob].map(({ email: username, password }) => ({ username, password }))
    const [first] = await seedUsers(database.knex, seeds, { tablePrefix: database.tablePrefix })
    const agent = new RawBrowser(own.app)
    codeOf(await agent.grant(authorizeUrl({ client_id: 'web', scope: 'openid' })))
    await own.oauth.users.erase(first?.subject ?? '')
    expect((await table('users', own)).map(({ username }) => username)).toEqual([bob.email])
    expect((await agent.signIn(await agent.open('/oauth/account'))).status).toBe(400)
    await own.close()
  })
})
