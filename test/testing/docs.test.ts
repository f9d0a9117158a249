import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import { transformSync } from '@swc/core'
import { attacks } from '../../lib/tools/testing/attacks/index.ts'
import { type Host, secret, startHost } from '../support/host.ts'

const read = (file: string): string => readFileSync(join(__dirname, '../..', file), 'utf8')
const page = read('docs/testing.md')

const fences = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => ({
  language,
  code,
}))

type Test = [title: string, body: () => Promise<void>]

/** The tests of the snippet whose first line is this file name, beside an `./app.js` with these exports. */
const testsIn = (name: string, app: object): Test[] => {
  const source = fences.find(({ language, code }) => language === 'js' && code.startsWith(`// ${name}\n`))
  if (source === undefined) throw new Error(`docs/testing.md has no ${name}`)
  const { code } = transformSync(source.code, { jsc: { target: 'es2022' }, module: { type: 'commonjs' } })
  const tests: Test[] = []
  const modules: Record<string, unknown> = {
    'node:test': (...test: Test) => tests.push(test),
    './app.js': app,
  }
  new Function('require', 'exports', code)((name: string) => modules[name] ?? require(name), {})
  return tests
}

let host: Host
let server: Server
let origin: string
beforeAll(async () => {
  process.env.SHOP_SECRET = secret
  const shop = {
    client_id: 'shop',
    client_secret: secret,
    redirect_uris: ['http://localhost:4000/callback'],
    scope: 'openid offline_access orders:read',
  }
  const reports = {
    client_id: 'reports',
    client_secret: `reports-${secret}`,
    grant_types: ['client_credentials' as const],
    scope: 'orders:read',
  }
  host = await startHost({
    clients: [shop, reports],
    options: { scopes: { 'orders:read': 'See your orders' } },
  })
  const { database, usersTable, app, oauth } = host
  const password_hash = await hash('correct horse battery', { cost: 4 })
  await database.knex(usersTable).where({ id: 1 }).update({ password_hash })
  app.get(
    '/api/orders',
    oauth.requireToken('orders:read', { user: false }),
    (req, res) => void res.json({ ordersOf: req.auth.subject }),
  )
  server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  delete process.env.SHOP_SECRET
  server.close()
  server.closeAllConnections()
  await host.close()
})

test('the test of the sign-in that docs/testing.md shows passes', async () => {
  const [[, body] = []] = testsIn('security.test.js', { app: host.app })
  await body?.()
  expect(body).toBeDefined()
})

test('and fails, with the report as its message, where something is found', async () => {
  const [[, body] = []] = testsIn('security.test.js', {
    app: (req: { method: string }, res: unknown) => {
      if (req.method === 'HEAD') req.method = 'GET'
      Reflect.apply(host.app, undefined, [req, res])
    },
  })
  await expect(body?.()).rejects.toThrow(
    /1 finding; \d+ attacks.*\n\n1\. a code with HEAD, PUT or DELETE\n {3}expected/,
  )
})

test('the tests of the API that it shows pass', async () => {
  const tests = testsIn('orders.test.js', { oauth: host.oauth, origin })
  expect(tests.map(([title]) => title)).toHaveLength(2)
  for (const [, body] of tests) await body()
})

test('the example of a report is as a report is written', () => {
  const example = fences.find(({ language }) => language === '')?.code ?? ''
  for (const line of example.trim().split('\n').filter(Boolean).slice(1)) {
    expect(line).toMatch(/^\d+\. |^ {3}(?:expected|actual|source|remedy) +\S|^skipped: /)
  }
  const skipped = [...example.matchAll(/^skipped: (.*?): /gm)].map(([, attack]) => attack)
  expect(attacks.map((attack) => attack.name)).toEqual(expect.arrayContaining(skipped))
  const [findings = 0, passed = 0, untried = 0] = (/^.*$/m.exec(example)?.[0].match(/\d+/g) ?? []).map(Number)
  expect([untried, findings + passed + untried]).toEqual([skipped.length, attacks.length])
  const [, name = ''] = /^1\. (.*)$/m.exec(example) ?? []
  const shown = attacks.find((attack) => attack.name === name)
  for (const text of [shown?.expected, shown?.source, shown?.remedy]) expect(example).toContain(text)
})
