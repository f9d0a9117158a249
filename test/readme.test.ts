import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import supertest from 'supertest'
import { freePort } from './support/free-ports.ts'
import { type HostFolder, openHostFolder } from './support/host-folder.ts'
import { ordersShownBy } from './support/orders-shown.ts'
import { RawBrowser } from './support/raw-browser.ts'
import { createUserTable } from './support/recipe.ts'
import { fileOfFirstPath, filesOf } from './support/snippets.ts'
import { ada } from './support/tokens.ts'

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
test('README shows the configuration and the app of the first path', () => {
  expect(filesOf('README.md')).toEqual({
    'latchkey.config.mjs': fileOfFirstPath('latchkey.config.mjs'),
    'app.mjs': fileOfFirstPath('app.mjs'),
  })
})

test('the configuration in TypeScript is the one in JavaScript, with a type', () => {
  const typed = fileOfFirstPath('src/latchkey.config.ts')
  expect(typed).toContain('} satisfies AuthRouterOptions\n')
  const untyped = typed.replace(/^import type .*\n/m, '').replace(' satisfies AuthRouterOptions', '')
  expect(untyped.replace('src/latchkey.config.ts', 'latchkey.config.mjs')).toBe(
    fileOfFirstPath('latchkey.config.mjs'),
  )
})

describe.each(types)('the files of docs/start/sign-in.md in a package of the type %s', (type) => {
  let folder: HostFolder
  let host: string
  let client: string

  const run = (...args: string[]) => {
    const env = { ...process.env, NODE_ENV: 'development' }
    return promisify(execFile)(process.execPath, args, { cwd: folder.path, env })
  }

  const latchkey = (...args: string[]) => run('node_modules/latchkey/lib/tools/cli/index.js', ...args)

  const register = async (): Promise<string> => {
    const { stdout } = await latchkey('clients', 'apply')
    return stdout
  }

  beforeAll(async () => {
    const [hostPort, clientPort] = [await freePort(), await freePort()]
    host = `http://localhost:${hostPort}`
    client = `http://localhost:${clientPort}`
    const production = filesOf('docs/production.md')
    folder = openHostFolder({
      'package.json': JSON.stringify({ type }),
      'latchkey.config.mjs': fileOfFirstPath('latchkey.config.mjs'),
      'app.mjs': fileOfFirstPath('app.mjs'),
      'app.cjs': fileOfFirstPath('app.cjs'),
      'production.config.mjs': production['latchkey.config.mjs'] ?? '',
      'production.mjs': (production['app.mjs'] ?? '').replace('latchkey.config', 'production.config'),
      'latchkey.clients.mjs': fileOfFirstPath('latchkey.clients.mjs').replace(':4000', `:${clientPort}`),
      'client.mjs': fileOfFirstPath('client.mjs'),
    })
    await createUserTable(join(folder.path, 'app.sqlite'))
    await latchkey('migrate')
    const [secret = ''] = /lk_cs_[\w-]+/.exec(await register()) ?? []
    await folder.start('app.mjs', { PORT: String(hostPort) })
    const env = { ISSUER: `${host}/oauth`, CLIENT_SECRET: secret }
    await folder.start('client.mjs', { PORT: String(clientPort), ...env })
  })

  afterAll(() => folder.remove())

  test('configuration and app together have about twenty lines', () => {
    const lines = `${fileOfFirstPath('latchkey.config.mjs')}${fileOfFirstPath('app.mjs')}`
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('//'))
    expect(lines.length).toBeLessThanOrEqual(20)
  })

  test('the command line beside it works on the same database', async () => {
    const { stdout, stderr } = await latchkey('client', 'list')
    expect(stdout).toMatch(/^shop +Shop /m)
    expect(stderr).toContain('database: app.sqlite (latchkey.config.mjs)\n')
  })

  test.each(['app.cjs', 'production.mjs'])('%s serves the same', async (file) => {
    const port = await freePort()
    // docs/production.md has one configuration for development and production.
    await folder.start(file, { PORT: String(port), DATABASE_URL: '' })
    const { body } = await supertest(`http://localhost:${port}`).get(
      '/oauth/.well-known/openid-configuration',
    )
    expect(body.issuer).toBe(`http://localhost:${port}/oauth`)
  })

  test('a secret is shown once', async () => {
    expect(await register()).not.toMatch(/lk_cs_/)
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
    expect(await ordersShownBy(client, new RawBrowser(host, host))).toMatchObject({
      person: { iss: `${host}/oauth`, aud: 'shop', sub: '1', name: ada.full_name, email: ada.email },
      api: { ordersOf: '1' },
    })
  })
})
