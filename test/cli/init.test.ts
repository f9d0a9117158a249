import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import knex from 'knex'
import { openCommandLine } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

const callback = 'http://localhost:4000/callback'

/** A folder with a database whose table has these columns. */
const folderWith = async (table: string, columns: string[], files = {}): Promise<string> => {
  const folder = cli.folder(files)
  const connection = { filename: join(folder, 'app.sqlite') }
  const database = knex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
  await database.schema.createTable(table, (made) => {
    for (const column of columns) made.string(column)
  })
  await database.destroy()
  return folder
}

const withApp = async (folder: string, work: (database: knex.Knex) => Promise<unknown>): Promise<void> => {
  const connection = { filename: join(folder, 'app.sqlite') }
  const database = knex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
  await work(database)
  await database.destroy()
}

const init = (folder: string, ...more: string[]) =>
  cli.run(folder, ['init', '--database', 'app.sqlite', '--redirect-uri', callback, ...more])

test('the columns of the user table are found, whatever their usual names', async () => {
  const folder = await folderWith('people', [
    'uuid',
    'login',
    'encrypted_password',
    'display_name',
    'email_address',
  ])
  const { code, stdout } = await init(folder, '--users', 'people')
  expect({ code, isCommonJs: stdout.includes("require('latchkey')") }).toEqual({ code: 0, isCommonJs: true })
  expect(readFileSync(join(folder, 'latchkey.config.mjs'), 'utf8')).toMatch(
    /table: "people",\s+columns: \{ id: "uuid", username: "login", password: "encrypted_password" \},\s+claims: \{ name: "display_name", email: "email_address" \}/,
  )
  expect(readFileSync(join(folder, 'latchkey.clients.mjs'), 'utf8')).toContain(callback)
  expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('.latchkey-secret\n')
})

test.each([
  ['@acme/order-desk', 'Order desk'],
  ['notes', 'Notes'],
  [undefined, 'My app'],
])('users see the name of the app %s as %s', async (name, expected) => {
  const folder = await folderWith('users', ['id', 'email', 'password'], {
    'package.json': JSON.stringify({ name }),
  })
  await init(folder)
  const config = readFileSync(join(folder, 'latchkey.config.mjs'), 'utf8')
  expect(config).toContain(`pages: { name: ${JSON.stringify(expected)} }`)
})

test('files that exist stay as they are; a second run adds nothing', async () => {
  const files = { 'latchkey.config.mjs': '// mine\n', '.gitignore': 'node_modules' }
  const folder = await folderWith('users', ['id', 'email', 'password'], files)
  await init(folder)
  const contents = () =>
    readdirSync(folder)
      .filter((name) => !name.endsWith('.sqlite'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')])
  const before = contents()
  expect(Object.fromEntries(before)).toMatchObject({
    'latchkey.config.mjs': '// mine\n',
    '.gitignore': 'node_modules\n.latchkey-secret\n',
  })
  const { stderr } = await init(folder)
  expect(stderr).toContain('latchkey.clients.mjs exists and stays as it is')
  expect(stderr).toContain('database: app.sqlite')
  expect(contents()).toEqual(before)
})

test.each([
  ['module', './latchkey.config.js'],
  // ts-node finds a source of a CommonJS package only without an ending.
  ['commonjs', './latchkey.config'],
])(
  'in TypeScript the configuration stands among the sources, with its type (package: %s)',
  async (type, path) => {
    const packageFile = { 'package.json': JSON.stringify({ type }) }
    const folder = await folderWith('users', ['id', 'email', 'password', 'banned'], packageFile)
    mkdirSync(join(folder, 'src'))
    const file = 'src/latchkey.config.ts'
    const { code, stdout, stderr } = await init(folder, '--config', file)
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringContaining(`import config from '${path}'`),
      stderr: expect.stringContaining(`npx latchkey clients apply --config ${file}`),
    })
    const source = readFileSync(join(folder, file), 'utf8')
    expect(source).toContain("import type { AuthRouterOptions } from 'latchkey'\n")
    expect(source).toContain('isActive: (row) => !row["banned"],')
    expect(source).toMatch(/\} satisfies AuthRouterOptions\n$/)
    expect(readdirSync(folder)).not.toContain('latchkey.config.mjs')
  },
)

test('a URL is not written to a file, because it may contain a password', async () => {
  const folder = cli.folder()
  const url = 'postgres://shop:hunter-2@127.0.0.1:1/shop'
  const { code, stdout, stderr } = await cli.run(folder, [
    'init',
    '--database',
    url,
    '--redirect-uri',
    callback,
  ])
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).not.toContain('hunter-2')
  expect(readdirSync(folder)).toEqual([])
})

test('a database is named without a port, if its URL has none', async () => {
  const url = 'postgres://shop@127.0.0.1/latchkey-has-no-such-database'
  const { stderr } = await cli.run(cli.folder(), ['init', '--database', url, '--redirect-uri', callback])
  expect(stderr).toContain('database: 127.0.0.1/latchkey-has-no-such-database\n')
})

test.each([
  [['--users', 'people'], 1, 'no table people; name yours with --users'],
  [['--database', 'absent.sqlite'], 1, 'absent.sqlite does not exist'],
  [['--database', 'mssql://db/shop'], 2, '--database must be an SQLite file, or a URL'],
  [['--redirect-uri', 'nonsense'], 2, '--redirect-uri: redirect_uri must be an absolute URI'],
  [['--redirect-uri', 'http://shop.example.com/cb'], 2, 'must use https beyond loopback, unlike http://shop'],
  [['--users', 'people'], 1, 'It has users.'],
])('%j is refused, and nothing is written', async (more, code, message) => {
  const folder = await folderWith('users', ['id', 'nickname'])
  const outcome = await init(folder, ...more)
  expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) })
  expect(readdirSync(folder)).toEqual(['app.sqlite'])
})

test.each([
  ['emailAddress', 'passwd'],
  ['user_email', 'hash'],
  ['emailAddress', 'user_pass'],
])('a table with %s and %s is recognized, with picture and locale (F16)', async (username, password) => {
  const folder = await folderWith('users', ['id', username, password, 'avatar_url', 'locale'])
  expect((await init(folder)).code).toBe(0)
  const config = readFileSync(join(folder, 'latchkey.config.mjs'), 'utf8')
  expect(config).toContain(`username: "${username}", password: "${password}"`)
  expect(config).toContain('picture: "avatar_url", locale: "locale"')
})

test('hashes that Latchkey does not know are asked for (F16)', async () => {
  const folder = await folderWith('users', ['id', 'email', 'password'])
  await withApp(folder, (database) =>
    database('users').insert({ id: '1', password: '$P$BphpassOfWordPress' }),
  )
  const { stderr } = await init(folder)
  expect(stderr).toContain('cannot verify the hashes in users.password: write users.verify')
  expect(readFileSync(join(folder, 'latchkey.config.mjs'), 'utf8')).toContain('verify: (row, { password })')
})

test('columns of a second factor are named, because the login page asks for a password only (F1)', async () => {
  const { stderr } = await init(await folderWith('users', ['id', 'email', 'password', 'totp_secret']))
  expect(stderr).toContain('users has totp_secret, but the login page asks for a password only')
  const without = await init(await folderWith('users', ['id', 'email', 'password']))
  expect(without.stderr).not.toContain('asks for a password only')
})

test('a second run with another redirect URI fails and says what differs (F16)', async () => {
  const folder = await folderWith('users', ['id', 'email', 'password'])
  await init(folder)
  const { code, stderr } = await init(folder, '--redirect-uri', 'https://shop.example.com/cb')
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(
      `has other redirect URIs: ${callback}; add https://shop.example.com/cb to redirect_uris`,
    ),
  })
})

test('an app without a table of users gets functions to write, which the options accept (F16)', async () => {
  const folder = await folderWith('objects', ['key'])
  const { code, stdout } = await init(folder, '--functions')
  expect({ code, where: stdout.includes('// below cookies, sessions and Passport') }).toEqual({
    code: 0,
    where: true,
  })
  await cli.succeed(folder, ['migrate'])
})

test('a table without a login name or password is refused with its columns', async () => {
  const { code, stderr } = await init(await folderWith('users', ['id', 'email', 'secret']))
  expect({ code, names: stderr.includes('the hash of the password: id, email, secret') }).toEqual({
    code: 1,
    names: true,
  })
})
