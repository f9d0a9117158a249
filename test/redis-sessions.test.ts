import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import createKnex, { type Knex } from 'knex'
import { createClient } from 'redis'
import { migrate, seedClients } from '../lib/index.ts'
import { type FaultProxy, openFaultProxy } from './support/fault-proxy.ts'
import { authorizeUrl, callback, secret } from './support/host.ts'
import { type HostFolder, openHostFolder } from './support/host-folder.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from './support/outcomes.ts'
import { RawBrowser } from './support/raw-browser.ts'
import { describeWith, services } from './support/services.ts'
import { ada } from './support/tokens.ts'

// The snippet of docs/users.md as it stands there, in two processes on one Redis.

const root = join(__dirname, '..')
const [, snippet = ''] =
  /^### Redis$[\s\S]*?^```js\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, 'docs/users.md'), 'utf8')) ?? []

/** What the page takes for granted around it. */
const programOf = (code: string): string => `
import express from 'express'
import knex from 'knex'
import { authRouter } from 'latchkey'

const app = express()
const database = knex({ client: 'better-sqlite3', connection: { filename: 'app.sqlite' }, useNullAsDefault: true })
const users = { table: 'users', columns: { id: 'id', username: 'email', password: 'password_hash' } }
${code}
app.listen(0, '127.0.0.1')
`

/** The other form that the page tells of. */
const asMiddleware = snippet
  .replace('app.use(sessions)\n', '')
  .replace("session: 'host'", 'session: sessions')

const silent = authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' })
const cookie = 'connect.sid'
const idOf = (agent: RawBrowser): string =>
  /^s:([\w-]+)\./.exec(decodeURIComponent(agent.cookies.get(cookie) ?? ''))?.[1] ?? 'no session'

describeWith('redis', 'sessions in Redis', () => {
  const redis = createClient({ url: services.redis })
  const ids = new Set<string>()
  let folder: HostFolder
  let database: Knex
  let proxy: FaultProxy

  /** One process; its Redis is behind the proxy. */
  const start = async (form: string): Promise<string> => {
    const env = { PORT: '3000', REDIS_URL: proxy.url, SESSION_SECRET: 'of the tests' }
    return `http://127.0.0.1:${await folder.start(`${form}.js`, env)}`
  }

  beforeAll(async () => {
    await redis.connect()
    proxy = await openFaultProxy(services.redis, 6379)
    folder = openHostFolder({ 'host.js': programOf(snippet), 'sessions.js': programOf(asMiddleware) })
    database = createKnex({
      client: 'better-sqlite3',
      connection: { filename: join(folder.path, 'app.sqlite') },
      useNullAsDefault: true,
    })
    await database.schema.createTable('users', (table) => {
      table.increments('id')
      table.string('email')
      table.string('password_hash')
    })
    await database('users').insert({ email: ada.email, password_hash: await hash(ada.password, { cost: 4 }) })
    await migrate(database)
    const web = { client_id: 'web', client_secret: secret, redirect_uris: [callback] }
    await seedClients(database, [web], { logger: { info: () => {}, warn: () => {}, error: () => {} } })
  })

  afterAll(async () => {
    folder.remove()
    for (const id of ids) await redis.del(`sess:${id}`)
    await redis.close()
    await database.destroy()
    await proxy.close()
  })

  const forms = [
    ["session: 'host'", snippet, 'host'],
    ['session: sessions', asMiddleware, 'sessions'],
  ] as const

  test('the page has the snippet for both forms', () => {
    for (const [form, code] of forms) expect(code).toContain(form)
    expect(asMiddleware).not.toContain('app.use(sessions)')
  })

  describe.each(forms)('%s', (form, _code, program) => {
    let one: string
    let other: string
    beforeAll(async () => {
      // The first writes the secret of development, which the second reads.
      one = await start(program)
      other = await start(program)
    })
    beforeEach(() => proxy.heal())

    const at = (origin: string, agent?: RawBrowser): RawBrowser => {
      const browser = new RawBrowser(origin)
      for (const [name, value] of agent?.cookies ?? []) browser.cookies.set(name, value)
      return browser
    }
    const signedIn = async (): Promise<RawBrowser> => {
      const agent = at(one)
      codeOf(await agent.grant(authorizeUrl({ client_id: 'web', scope: 'openid' })))
      ids.add(idOf(agent))
      return agent
    }
    const isKept = (id: string): Promise<number> => redis.exists(`sess:${id}`)
    const expectNobody = async (agent: RawBrowser): Promise<void> =>
      expectErrorRedirect(await agent.get(silent), 'login_required')

    test('a login at one process is known to the other, and the pages have no other session', async () => {
      const agent = await signedIn()
      expect([...agent.cookies.keys()].filter((name) => name.endsWith('_session'))).toEqual([])
      expect(await isKept(idOf(agent))).toBe(1)
      codeOf(await at(other, agent).get(silent))
    })

    test('each login creates a new id, and the previous one is invalid', async () => {
      const agent = await signedIn()
      const before = at(one, agent)
      const again = authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'login' })
      codeOf(await agent.signIn(await agent.open(again)))
      ids.add(idOf(agent))
      expect(idOf(agent)).not.toBe(idOf(before))
      expect(await isKept(idOf(before))).toBe(0)
      await expectNobody(before)
    })

    test('signing out at one process ends the login at the other', async () => {
      const agent = await signedIn()
      const thief = at(one, agent)
      const there = at(other, agent)
      await there.submit(await there.open('/oauth/logout'), 'csrf_token')
      expect(await isKept(idOf(thief))).toBe(0)
      await expectNobody(thief)
    })

    test('a visit renews the expiry in Redis, after which no user is signed in', async () => {
      const agent = await signedIn()
      const key = `sess:${idOf(agent)}`
      await redis.expire(key, 100)
      codeOf(await agent.get(silent))
      let left = await redis.ttl(key)
      // A redirect may be out before Redis has heard of it.
      for (let look = 0; left <= 100 && look < 500; look += 1) left = await redis.ttl(key)
      expect(left).toBeGreaterThan(86_000)
      expect(left).toBeLessThanOrEqual(86_400)
      await redis.expire(key, 0)
      await expectNobody(agent)
    })

    test('while Redis is unavailable requests fail at once, and logins are valid afterwards', async () => {
      const agent = await signedIn()
      proxy.refuse()
      const answer = await agent.get(silent)
      if (form === "session: 'host'") expect(answer.status).toBe(500)
      else expectErrorPage(answer, 503)
      expect(answer.setCookies).toEqual([])
      proxy.heal()
      // The client comes back by itself, after a pause.
      for (let status = answer.status; status >= 500; ) status = (await agent.get(silent)).status
      codeOf(await agent.get(silent))
    })
  })
})
