import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, cpSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import knex from 'knex'
import { rollback } from '../../lib/storage/schema.ts'
import { openCommandLine, program, rowsOf, stack } from '../support/command-line.ts'
import { compiledPackage } from '../support/compiled.ts'
import { kept } from '../support/features.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

const callback = 'https://shop.example.com/callback'

test.each([
  ['connection: process.env.NOT_SET', 'connection'],
  ['connection: { connectionString: process.env.NOT_SET, ssl: false }', 'connection.connectionString'],
  ['connection: { host: process.env.NOT_SET, user: process.env.NOT_SET }', 'connection'],
])('a database with %s is refused before anything is written', async (connection, option) => {
  const folder = cli.folder({
    'latchkey.config.mjs': `export default { database: { client: 'pg', ${connection} } }`,
  })
  const { code, stderr } = await cli.run(folder, ['migrate'])
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(`the option database has no ${option}: is a variable`),
  })
  expect(stderr).toContain('.env')
  expect(readdirSync(folder)).toEqual(['latchkey.config.mjs'])
})

test('a configuration in a CommonJS package brings no advice of Node to change the package', async () => {
  const folder = cli.folder({
    'latchkey.config.js': 'export default {}',
    'package.json': '{ "name": "shop" }',
  })
  const { stderr } = await cli.succeed(folder, ['migrate'], { program: [program()] })
  expect(stderr).not.toMatch(/module/i)
})

describe('a process ends with an error', () => {
  const ended = (cwd: string, args: readonly string[], stdout: number | 'pipe' = 'pipe') => {
    const { NODE_ENV: _, ...env } = process.env
    const { status, stderr } = spawnSync(process.execPath, [program(), ...args], {
      cwd,
      env: { ...env, NODE_ENV: 'development' },
      encoding: 'utf8',
      stdio: ['ignore', stdout, 'pipe'],
    })
    return { status, stderr }
  }

  const testWithFullDevice = existsSync('/dev/full') ? test : test.skip
  testWithFullDevice('if its result cannot be written, and says so', async () => {
    const folder = cli.folder()
    await cli.succeed(folder, ['migrate'])
    const create = `client create --json --name Shop --scope openid --redirect-uri ${callback}`
    const { stdout } = await cli.succeed(folder, create.split(' '))
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = ended(folder, ['client', 'rotate-secret', JSON.parse(stdout).client_id], full)
    closeSync(full)
    expect(status).toBe(1)
    expect(stderr).toMatch(/the result is lost, but not what was done: ENOSPC/)
  })

  test.each([
    ['its configuration never settles', 'await new Promise(() => {})\nexport default {}'],
    ['a function of its configuration never answers', 'export default new Promise(() => {})'],
  ])('if %s', (_case, text) => {
    const { status, stderr } = ended(cli.folder({ 'latchkey.config.mjs': text }), ['migrate'])
    expect(status).toBe(1)
    expect(stderr).toContain('the command did not end: it waits for something that never happens')
  })
})

describe('with a configuration', () => {
  const url = process.env.DATABASE_URL
  const prefix = `t${randomBytes(4).toString('hex')}_`
  const sqlite = { client: 'better-sqlite3', connection: { filename: 'host.sqlite' }, useNullAsDefault: true }
  const settings =
    url === undefined ? sqlite : { client: url.startsWith('postgres') ? 'pg' : 'mysql2', connection: url }
  const common = `
    issuer: 'https://app.example.com/oauth',
    secrets: ['a secret of the tests that is long enough'],
    scopes: { 'orders:read': 'See your orders' },`
  // Latchkey's tables are gone when the test below passes; Knex keeps its own bookkeeping.
  afterAll(async () => {
    if (url === undefined) return
    const host = knex(settings)
    await rollback(host, { features: kept, database: { tablePrefix: prefix } })
    await host.schema.dropTableIfExists(`${prefix}migrations`).dropTableIfExists(`${prefix}migrations_lock`)
    await host.destroy()
  })

  // The timer keeps the process alive, as a host's connection would.
  const instance = `import knex from 'knex'
console.log('the configuration is loaded')
setInterval(() => {}, 60_000)
export default {${common}
  database: { knex: knex(${JSON.stringify(settings)}), tablePrefix: '${prefix}' },
}
`
  const typescript = `import type { AuthRouterOptions } from 'latchkey'
enum Scope { Orders = 'orders:read' }
export default {
  scopes: { [Scope.Orders]: 'See your orders' },
} satisfies AuthRouterOptions
`

  test('with a Knex instance production asks for migrate and then works, and rollback clears all', async () => {
    const config = { 'latchkey.config.mjs': instance }
    const env = { NODE_ENV: 'production' }
    const create = ['client', 'create', '--redirect-uri', callback, '--scope', 'openid orders:read']
    if (url === undefined) {
      const folder = cli.folder(config)
      const early = await cli.run(folder, ['client', 'list'], { env })
      expect(early.stderr).toContain('database: host.sqlite (latchkey.config.mjs)\n')
      expect(early.stderr).toContain('host.sqlite does not exist; start your app first')
      expect(readdirSync(folder)).toEqual(['latchkey.config.mjs'])
    }
    // An empty database of SQLite.
    const files = { ...config, 'host.sqlite': '' }
    const refused = await cli.run(cli.folder(files), create, { env })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(/the database has no tables of Latchkey yet; run: npx latchkey migrate$/m)
    // Each a process: the configuration opens a pool, prints a line and leaves a timer.
    const production = { env, program: [program()] }
    const folder = cli.folder(files)
    await cli.succeed(folder, ['migrate'], production)
    await cli.succeed(folder, create, production)
    const { stdout } = await cli.succeed(folder, ['rollback', '--yes'], production)
    expect(stdout).toMatch(/001_clients\n$/)
  })

  test('the built command names one that loads TypeScript, which works in both types of packages', async () => {
    const folder = cli.folder()
    await cli.succeed(folder, ['migrate'])
    writeFileSync(join(folder, 'latchkey.config.ts'), typescript)
    cpSync(compiledPackage(), join(folder, 'dist'), { recursive: true })
    const args = ['client', 'create', '--name', 'A & B', '--redirect-uri', callback]
    const refused = await cli.run(folder, args, { program: ['dist/lib/tools/cli/index.js'] })
    const command = `--import tsx dist/lib/tools/cli/index.js client create --name 'A & B' --redirect-uri ${callback}`
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain(`run: node ${command}\n`)
    const loading = { program: ['--import', 'tsx', 'dist/lib/tools/cli/index.js'] }
    for (const type of ['commonjs', 'module']) {
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }))
      await cli.succeed(folder, [...args, '--scope', 'openid orders:read'], loading)
    }
    expect(await rowsOf(folder, 'latchkey_clients')).toHaveLength(2)
  })

  test('--config names another file; its errors are printed without a stack', async () => {
    const users = `{ table: 'people', columns: { id: 'id', username: 'email', password: 'hash' } }`
    const folder = cli.folder({
      'host.mjs': `export default { users: ${users} }`,
      'wrong.mjs': `export default { isuer: 'https://app.example.com' }`,
      'empty.mjs': `export const options = {}`,
      'broken.mjs': `throw new Error('DATABASE_URL is not set')`,
      'away.mjs': `export default { database: { client: 'pg', connection: 'postgres://u:pass@127.0.0.1:1/x' } }`,
    })
    await cli.succeed(folder, ['migrate', '--config', 'host.mjs'])
    const list = ['client', 'list', '--config']
    const refusals: [string[], string][] = [
      [['user', 'create', '--username', 'ada', '--config', 'host.mjs'], 'table people; create them there'],
      [['user', 'disable', 'ada', '--config', 'host.mjs'], 'in your table people; disable them there'],
      [[...list, 'wrong.mjs'], 'isuer is not an option; did you mean issuer?'],
      [[...list, 'empty.mjs'], 'empty.mjs has no default export'],
      [[...list, 'broken.mjs'], 'broken.mjs could not be loaded: DATABASE_URL is not set'],
      [[...list, 'away.mjs'], 'ECONNREFUSED'],
      [[...list, 'away.mjs'], 'database: 127.0.0.1:1/x (away.mjs)\n'],
      [[...list, 'absent.mjs'], 'absent.mjs does not exist'],
    ]
    const outcomes = await Promise.all(refusals.map(([args]) => cli.run(folder, args, { input: 'pw\n' })))
    refusals.forEach(([, message], index) => {
      expect(outcomes[index]).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
      expect(outcomes[index]!.stderr).not.toMatch(stack)
      expect(outcomes[index]!.stderr).not.toContain('u:pass')
    })
  })

  test('production refuses the defaults of development and writes no file', async () => {
    const folder = cli.folder()
    const refused = await cli.run(folder, ['migrate'], { env: { NODE_ENV: 'production' } })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('issuer is required in production')
    expect(refused.stderr).toContain('No configuration file found (latchkey.config.js')
    expect(readdirSync(folder)).toEqual([])
  })
})

test('a syntax error is told with its line (F17)', async () => {
  const folder = cli.folder({ 'wrong.mjs': 'export default {\n  a: 1,\n  b c\n}\n' })
  const { stderr } = await cli.run(folder, ['client', 'list', '--config', 'wrong.mjs'])
  expect(stderr).toMatch(/wrong\.mjs could not be loaded: .* \(line 3\)/)
})
