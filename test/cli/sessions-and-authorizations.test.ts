import { openCommandLine, program } from '../support/command-line.ts'
import { openSharedDatabase } from '../support/database.ts'
import { callback, clients, createUsers, type Host, issuer, secret, startHost } from '../support/host.ts'
import { type LogoutReceiver, openLogoutReceiver } from '../support/logout-receiver.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { describeWith, services } from '../support/services.ts'
import { ada, answerOf, bob, redeem, refresh, type TokenAnswer, userinfo } from '../support/tokens.ts'

// `latchkey sessions` and `latchkey authorizations`, beside a running server on the same database.

const secrets: [string] = ['a secret of the tests that is long enough']
const offline = 'openid email offline_access'

const cli = openCommandLine()
afterAll(() => cli.close())

const suite = (url?: string): void => {
  let receiver: LogoutReceiver
  let host: Host
  let folder: string
  beforeAll(async () => {
    receiver = await openLogoutReceiver()
    const database = openSharedDatabase(url)
    await createUsers(database, `${database.tablePrefix}people`)
    const other = { client_id: 'other', client_secret: secret, redirect_uris: [callback] }
    host = await startHost({
      database,
      clients: [...clients, { ...other, backchannel_logout_uri: `${receiver.origin}/other` }],
      options: {
        secrets,
        organizations: () => [
          { id: 'acme', name: 'Acme' },
          { id: 'globex', name: 'Globex' },
        ],
      },
    })
    folder = cli.folder({
      'latchkey.config.mjs': `export default {
  issuer: '${issuer}', secrets: ${JSON.stringify(secrets)},
  database: ${JSON.stringify({ knex: database.config, tablePrefix: database.tablePrefix })},
  users: { find: () => undefined, authenticate: () => undefined },
  outbound: { allow: ['${receiver.origin}'] }, storedEvents: true,
}`,
    })
  })
  afterAll(async () => {
    await host.close()
    await receiver.close()
  })
  beforeEach(async () => {
    for (const id of [1, 2]) await host.oauth.users.erase(id)
  })

  const allow = async (as: typeof ada, client = 'web', organization = 'acme'): Promise<TokenAnswer> => {
    const agent = new RawBrowser(host.app)
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: client,
      redirect_uri: callback,
      scope: offline,
      prompt: 'consent',
    })
    const login = await agent.open(`/oauth/authorize?${query}`)
    const page = await agent.signIn(login, as.email, as.password)
    const done = await agent.allowIn(page, organization)
    return answerOf(redeem(host, codeOf(done), { client_id: client }))
  }
  const json = async (...args: string[]) =>
    JSON.parse((await cli.succeed(folder, [...args, '--json'])).stdout)

  test('lists have the pages of oauth.sessions and oauth.authorizations, by user, client and organization', async () => {
    for (const as of [ada, bob]) await allow(as)
    await allow(ada, 'other', 'globex')
    const { sessions, authorizations } = host.oauth
    for (const [words, list] of [
      ['sessions', sessions],
      ['authorizations', authorizations],
    ] as const) {
      for (const filter of [
        {},
        { user: '1' },
        { client: 'other' },
        { organization: 'globex' },
        { user: '9' },
      ]) {
        const args = Object.entries(filter).flatMap(([name, value]) => [`--${name}`, value])
        expect(await json(words, 'list', ...args)).toEqual(await list.list(filter))
      }
      const first = await json(words, 'list', '--limit', '2')
      expect(first.items).toHaveLength(2)
      const second = await json(words, 'list', '--limit', '2', `--after=${first.next}`)
      expect(second.items).toHaveLength(1)
      const { stdout, stderr } = await cli.succeed(folder, [words, 'list', '--limit', '2'])
      expect(stdout).toMatch(/^ID +USER +CLIENT/)
      expect(stderr).toContain(`for the next page, add: --after=${first.next}`)
      expect((await cli.succeed(folder, [words, 'list', '--user', '9'])).stderr).toContain(
        `there are no such ${words}`,
      )
    }
  })

  test('ending a session by id tells its clients before the command returns, and stores the event', async () => {
    await allow(ada, 'other')
    const [session] = (await host.oauth.sessions.list({ user: 1 })).items
    const before = receiver.requests.items.length
    const { stderr } = await cli.succeed(folder, ['sessions', 'end', '--', session!.id])
    expect(stderr).toContain(`the session ${session!.id} has ended`)
    const [logout, ...more] = receiver.requests.items.slice(before)
    expect(more).toEqual([])
    expect(claimsOf(logout!.token)).toMatchObject({ iss: issuer, aud: 'other', sub: '1' })
    expect((await host.oauth.sessions.list({ user: 1 })).items).toEqual([])
    expect(await host.table('events').where({ type: 'login.ended', subject: '1' })).toHaveLength(1)
    expect(await cli.run(folder, ['sessions', 'end', '--', session!.id])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`no active session has the id ${session!.id}`),
    })
  })

  test('a filter shows how many it ends, and ends them with --yes alone', async () => {
    const [shop, notes, bobs] = [await allow(ada, 'other'), await allow(ada), await allow(bob)]
    const end = ['sessions', 'end', '--user', '1']
    expect(await cli.run(folder, end)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('this ends 2 sessions; nothing was changed; to confirm, add --yes'),
    })
    expect((await host.oauth.sessions.list({ user: 1 })).items).toHaveLength(2)
    const before = receiver.requests.items.length
    expect((await cli.succeed(folder, [...end, '--yes'])).stderr).toContain('ended 2 sessions')
    expect(receiver.requests.items.length).toBe(before + 1)
    expect((await host.oauth.sessions.list()).items).toMatchObject([{ subject: '2' }])
    // What was granted with offline_access goes on.
    for (const { refresh_token } of [notes, bobs])
      expect((await refresh(host, refresh_token)).status).toBe(200)
    expect((await refresh(host, shop.refresh_token, { client_id: 'other' })).status).toBe(200)
  })

  test('authorizations end by organization, with all of their tokens', async () => {
    const [inAcme, inGlobex] = [await allow(ada), await allow(ada, 'web', 'globex')]
    const end = ['authorizations', 'end', '--organization', 'acme']
    expect(await cli.run(folder, end)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('this ends 1 authorization;'),
    })
    expect((await userinfo(host, inAcme.access_token)).status).toBe(200)
    expect((await cli.succeed(folder, [...end, '--yes'])).stderr).toContain('ended 1 authorization')
    expect((await userinfo(host, inAcme.access_token)).status).toBe(401)
    expect((await refresh(host, inAcme.refresh_token)).status).toBe(400)
    expect((await userinfo(host, inGlobex.access_token)).status).toBe(200)
    const [authorization] = (await host.oauth.authorizations.list({ user: 1 })).items
    await cli.succeed(folder, ['authorizations', 'end', '--', authorization!.id])
    expect((await userinfo(host, inGlobex.access_token)).status).toBe(401)
  })

  test('a receiver that fails once gets the logout token again, before the process ends', async () => {
    await allow(ada, 'other')
    const before = receiver.requests.items.length
    receiver.answer('/other', (res, count) => res.writeHead(count === before + 1 ? 503 : 200).end())
    const args = ['sessions', 'end', '--client', 'other', '--yes']
    const { code, stderr } = await cli.run(folder, args, { program: [program()] })
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('ended 1 session\n') })
    expect(receiver.requests.items.length).toBe(before + 2)
    expect(stderr).not.toContain('did not receive')
  })
}

describe('on SQLite', () => suite())
describeWith('postgresql', 'on PostgreSQL', () => suite(services.postgresql))

test.each([
  [['sessions', 'end'], 'give ids, or filters such as --user, or --all'],
  [['sessions', 'end', 'id', '--user', '1'], 'give ids, or filters such as --user, or --all'],
  [['authorizations', 'end', '--all', '--client', 'web'], 'give ids, or filters such as --user, or --all'],
  [['authorizations', 'end', '-x'], 'if a value begins with a hyphen, write -- before it'],
  [['authorizations', 'list', '--limit', '101'], '--limit must be a whole number from 1 to 100'],
])('%j is a wrong command line, which says what to write', async (args, message) => {
  expect(await cli.run(cli.folder(), args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(message),
  })
})
