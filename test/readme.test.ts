import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hash } from '@node-rs/bcrypt'
import createKnex from 'knex'
import supertest from 'supertest'
import { freePort } from './support/free-ports.ts'
import { type HostFolder, openHostFolder } from './support/host-folder.ts'
import { locationOf, RawBrowser } from './support/raw-browser.ts'
import { fileOfReadme, filesOf } from './support/snippets.ts'

const root = join(__dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** The part of a page below a heading, up to the next heading. */
const section = (file: string, heading: string): string => {
  const [, text] =
    new RegExp(`^#+ ${heading}\\n([\\s\\S]*?)(?=^#+ |(?![\\s\\S]))`, 'm').exec(read(file)) ?? []
  if (text === undefined) throw new Error(`${file} has no heading ${heading}`)
  return text
}

// `npm init -y` writes "commonjs".
const types = process.env.TEST_ALL === '1' ? ['commonjs', 'module'] : ['commonjs']
describe.each(types)('the four files of README in a package of the type %s', (type) => {
  const person = { email: 'ada@example.com', full_name: 'Ada Lovelace', password: 'correct horse battery' }
  let folder: HostFolder
  let host: string
  let client: string

  const createUsers = async () => {
    const connection = { filename: join(folder.path, 'app.sqlite') }
    const knex = createKnex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
    await knex.schema.createTable('users', (table) => {
      table.increments('id')
      table.string('email')
      table.string('password_hash')
      table.string('full_name')
    })
    const { password, ...row } = person
    await knex('users').insert({ ...row, password_hash: await hash(password, { cost: 4 }) })
    await knex.destroy()
  }

  const run = (...args: string[]) => {
    const env = { ...process.env, NODE_ENV: 'development' }
    return promisify(execFile)(process.execPath, args, { cwd: folder.path, env })
  }

  const seed = async (): Promise<string> => {
    // The secret is shown at a terminal only.
    const terminal = 'data:text/javascript,process.stdout.isTTY=true'
    const { stdout } = await run('--import', terminal, 'seed.mjs')
    return stdout
  }

  beforeAll(async () => {
    const [hostPort, clientPort] = [await freePort(), await freePort()]
    host = `http://localhost:${hostPort}`
    client = `http://localhost:${clientPort}`
    folder = openHostFolder({
      'package.json': JSON.stringify({ type }),
      'latchkey.config.mjs': fileOfReadme('latchkey.config.mjs'),
      'app.mjs': fileOfReadme('app.mjs'),
      'app.cjs': fileOfReadme('app.cjs'),
      'production.cjs': filesOf('docs/production.md')['app.cjs'] ?? '',
      'seed.mjs': fileOfReadme('seed.mjs').replace(':4000', `:${clientPort}`),
      'client.mjs': fileOfReadme('client.mjs'),
    })
    await createUsers()
    const [secret = ''] = /lk_cs_[\w-]+/.exec(await seed()) ?? []
    await folder.start('app.mjs', { PORT: String(hostPort) })
    const env = { ISSUER: `${host}/oauth`, SHOP_SECRET: secret }
    await folder.start('client.mjs', { PORT: String(clientPort), ...env })
  }, 60_000)

  afterAll(() => folder.remove())

  test('configuration and app together have about twenty lines', () => {
    const lines = `${fileOfReadme('latchkey.config.mjs')}${fileOfReadme('app.mjs')}`
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('//'))
    expect(lines.length).toBeLessThanOrEqual(20)
  })

  test('the command line beside it works on the same database', async () => {
    const { stdout, stderr } = await run('node_modules/latchkey/lib/cli/index.js', 'client', 'list')
    expect(stdout).toMatch(/^shop +Shop /m)
    expect(stderr).toContain('database: app.sqlite (latchkey.config.mjs)\n')
  })

  test.each(['app.cjs', 'production.cjs'])('%s serves the same in CommonJS (F6)', async (file) => {
    const port = await freePort()
    await folder.start(file, { PORT: String(port) })
    const { body } = await supertest(`http://localhost:${port}`).get(
      '/oauth/.well-known/openid-configuration',
    )
    expect(body.issuer).toBe(`http://localhost:${port}/oauth`)
  })

  test('a secret is shown once', async () => {
    expect(await seed()).not.toMatch(/lk_cs_/)
  })

  test('discovery is served in both places, and docs/endpoints.md names every endpoint in it', async () => {
    const inside = await supertest(host).get('/oauth/.well-known/openid-configuration')
    const atRoot = await supertest(host).get('/.well-known/oauth-authorization-server/oauth')
    expect(inside.body).toMatchObject({ issuer: `${host}/oauth` })
    expect(atRoot.body).toEqual(inside.body)
    const endpoints = Object.entries<string>(inside.body)
      .filter(([name]) => name.endsWith('_endpoint') || name === 'jwks_uri')
      .map(([, url]) => url.slice(`${host}/oauth`.length))
    const table = section('docs/endpoints.md', 'Endpoints')
    expect(endpoints.length).toBeGreaterThan(3)
    expect(endpoints.filter((path) => !table.includes(` ${path}\``))).toEqual([])
  })

  test('the API refuses a request without a token', async () => {
    const response = await supertest(host).get('/api/orders')
    expect(response.status).toBe(401)
    expect(response.headers['www-authenticate']).toMatch(/^Bearer /)
  })

  test('a person signs in with the client, allows, and the client reads the orders', async () => {
    const shop = supertest.agent(client)
    const begun = await shop.get('/')
    const browser = new RawBrowser(host, host)
    const login = await browser.open(begun.headers.location ?? '')
    const consent = await browser.signIn(login, person.email, person.password)
    const callback = locationOf(await browser.decide(consent, 'allow'))
    expect(callback.origin).toBe(client)
    const { body } = await shop.get(`${callback.pathname}${callback.search}`)
    expect(body).toMatchObject({
      person: { iss: `${host}/oauth`, aud: 'shop', sub: '1', name: 'Ada Lovelace', email: person.email },
      api: { ordersOf: '1' },
    })
  })
})
