import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { migrate, seedClients, seedUsers } from '../../lib/index.ts'
import { compiledPackage } from '../support/compiled.ts'
import { openSharedDatabase, type SharedDatabase } from '../support/database.ts'
import { authorizeUrl, clients } from '../support/host.ts'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, guarded, redeem, refresh, userinfo } from '../support/tokens.ts'

// Two processes, of the previous version and of this one, on one database, as during a deployment.

/**
 * The package that was released before, which test/versions installs under this name, or that a variable names. Until there
 * is one, both processes run this version.
 */
const installed = join(__dirname, '../versions/node_modules/latchkey-previous')
const previous = process.env.PREVIOUS_PACKAGE ?? (existsSync(installed) ? installed : compiledPackage())

const program = `import express from 'express'
import knex from 'knex'
import { authRouter } from 'latchkey'
const { config, tablePrefix } = JSON.parse(process.env.SHARED)
const oauth = authRouter({
  issuer: 'http://localhost:3000/oauth',
  database: { knex: knex(config), tablePrefix, prune: false },
  secrets: ['a secret of the tests that is long enough'],
  scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Write notes for you' },
})
const app = express()
app.use('/oauth', oauth)
app.get('/api/notes', oauth.requireToken('notes:read'), (req, res) => res.json({ subject: req.auth.subject }))
await oauth.ready()
app.listen(0, '127.0.0.1')
`
const person = { username: 'ada@example.com', password: 'a password of two versions' }
const scope = 'openid offline_access notes:read'

let database: SharedDatabase
const folders: HostFolder[] = []
/** Where each version listens, as tests name a host. */
const hosts: Record<'old' | 'new', { app: never }> = { old: { app: '' as never }, new: { app: '' as never } }

beforeAll(async () => {
  database = openSharedDatabase()
  const { knex, tablePrefix, config } = database
  if (database.folder) await knex.raw('PRAGMA journal_mode = WAL')
  const options = { database: { tablePrefix } }
  await migrate(knex, options)
  await seedUsers(knex, [person], options)
  const scopes = { 'notes:read': '', 'notes:write': '' }
  await seedClients(knex, clients, { ...options, scopes, logger: { info() {}, warn() {}, error() {} } })
  for (const [name, path] of [
    ['old', previous],
    ['new', compiledPackage()],
  ] as const) {
    const folder = openHostFolder({ 'host.mjs': program }, path)
    folders.push(folder)
    const port = await folder.start('host.mjs', { SHARED: JSON.stringify({ config, tablePrefix }) })
    hosts[name] = { app: `http://127.0.0.1:${port}` as never }
  }
})
afterAll(async () => {
  for (const folder of folders) folder.remove()
  await database.close()
})

const browserOn = (name: 'old' | 'new', from?: RawBrowser): RawBrowser => {
  const browser = new RawBrowser(hosts[name].app as string)
  for (const [cookie, value] of from?.cookies ?? []) browser.cookies.set(cookie, value)
  return browser
}

describe.each([
  ['old', 'new'],
  ['new', 'old'],
] as const)('what the %s version begins, the %s one goes on with', (first, then) => {
  test('a sign-in page, a login and a code', async () => {
    const begun = browserOn(first)
    const login = await begun.open(authorizeUrl({ client_id: 'web', scope, prompt: 'consent' }))
    const other = browserOn(then, begun)
    const asking = await other.signIn(await other.open(login.url.href), person.username, person.password)
    const code = codeOf(await browserOn(first, other).decide(asking, 'allow'))
    const tokens = await answerOf(redeem(hosts[then], code))
    await userinfo(hosts[first], tokens.access_token).expect(200)
    const silent = authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' })
    expect(codeOf(await browserOn(first, other).open(silent))).toMatch(/^lk_ac_/)
  })

  test('tokens, until the user ends them', async () => {
    const browser = browserOn(first)
    const request = authorizeUrl({ client_id: 'web', scope, prompt: 'consent' })
    const code = codeOf(await browser.grant(request, person.username, person.password))
    const tokens = await answerOf(redeem(hosts[first], code))
    await guarded(hosts[then], tokens.access_token).expect(200)
    const next = await answerOf(refresh(hosts[then], tokens.refresh_token))
    const last = await answerOf(refresh(hosts[first], next.refresh_token))
    await guarded(hosts[then], last.access_token).expect(200)

    const other = browserOn(then, browser)
    const account = await other.open('/oauth/account')
    expect(textOf(account)).toContain('Web client')
    const [, removal = ''] = account.html.match(/button secondary" href="([^"]+)"/) ?? []
    await other.submit(await other.open(removal), 'csrf_token')
    await guarded(hosts[first], last.access_token).expect(401)
    expect((await refresh(hosts[first], last.refresh_token)).body).toMatchObject({ error: 'invalid_grant' })
  })
})
