import { readdirSync, readFileSync } from 'node:fs'
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

test.each([
  [['--users', 'people'], 1, 'no table people; name yours with --users'],
  [['--database', 'absent.sqlite'], 1, 'absent.sqlite does not exist'],
  [['--database', 'mssql://db/shop'], 2, '--database must be an SQLite file, or a URL'],
  [['--redirect-uri', 'nonsense'], 2, 'init needs --redirect-uri'],
])('%j is refused, and nothing is written', async (more, code, message) => {
  const folder = await folderWith('users', ['id', 'nickname'])
  const outcome = await init(folder, ...more)
  expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) })
  expect(readdirSync(folder)).toEqual(['app.sqlite'])
})

test('a table without a login name or password is refused with its columns', async () => {
  const { code, stderr } = await init(await folderWith('users', ['id', 'email', 'secret']))
  expect({ code, names: stderr.includes('the hash of the password: id, email, secret') }).toEqual({
    code: 1,
    names: true,
  })
})
