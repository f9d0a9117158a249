import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import knex from 'knex'
import * as openid from 'openid-client'
import { rollback } from '../lib/database/migrate.ts'
import { openDatabase } from '../lib/database/open.ts'
import { hashSecret } from '../lib/keys/secrets.ts'
import { findClient } from '../lib/repositories/clients.ts'
import { type CompiledServers, compileServers } from './support/fault-compile.ts'
import { locationOf, RawBrowser } from './support/raw-browser.ts'

// Each test runs processes, some of them many.
jest.setTimeout(180_000)

const root = join(__dirname, '..')
const loader = ['--import', pathToFileURL(require.resolve('tsx')).href]

let compiled: CompiledServers
beforeAll(() => {
  compiled = compileServers()
})
afterAll(() => compiled.remove())
const callback = 'https://shop.example.com/callback'
const stack = /^\s+at /m

let parent: string
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'latchkey-cli-'))
  symlinkSync(join(root, 'node_modules'), join(parent, 'node_modules'))
})
afterAll(() => rmSync(parent, { recursive: true, force: true }))

let folders = 0
/** An empty folder below which Node finds the packages that a host has. */
const emptyFolder = (files: Readonly<Record<string, string>> = {}): string => {
  folders += 1
  const folder = join(parent, `app-${folders}`)
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** The package as it is published, but for what tests do not need. */
const buildTo = async (folder: string): Promise<void> => {
  const build = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(folder, 'dist')]
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), build)
  const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const exports = { './package.json': './package.json' }
  writeFileSync(join(folder, 'dist/package.json'), JSON.stringify({ name, version, type, exports }))
}

interface Surroundings {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  /** The program, where it is not the one of lib/. */
  readonly program?: readonly string[]
}

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const environment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => {
  const { LATCHKEY_PASSWORD: _, FORCE_COLOR: __, ...inherited } = process.env
  return { ...inherited, NODE_ENV: 'development', ...more }
}

/** Runs the CLI as a process with its input piped. */
const latchkey = (
  folder: string,
  args: readonly string[],
  surroundings: Surroundings = {},
): Promise<Outcome> =>
  new Promise((resolve) => {
    const { input = '', env, program = [compiled.cli] } = surroundings
    const settings = { cwd: folder, env: environment(env), timeout: 150_000 }
    const child = execFile(process.execPath, [...program, ...args], settings, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
    child.stdin?.end(input)
  })

const succeeding = async (...call: Parameters<typeof latchkey>): Promise<Outcome> => {
  const outcome = await latchkey(...call)
  expect(outcome).toMatchObject({ code: 0 })
  return outcome
}

/** All rows of a table in the default database of a folder. */
const rowsOf = async (folder: string, table: string): Promise<Record<string, unknown>[]> => {
  const connection = { filename: join(folder, 'latchkey.sqlite') }
  const database = knex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
  try {
    return await database(table).select()
  } finally {
    await database.destroy()
  }
}

/** Every byte of the default database, also what stands in its journal. */
const bytesOf = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.startsWith('latchkey.sqlite'))
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n')

const field = (output: string, name: string): string =>
  new RegExp(`^${name} +(\\S+)$`, 'm').exec(output)?.[1] ?? ''

describe('help', () => {
  test('lists the commands, each of which explains itself with an example', async () => {
    const folder = emptyFolder()
    const { stdout } = await succeeding(folder, ['--help'])
    const commands = [
      'migrate',
      'rollback',
      'client create',
      'client list',
      'client show',
      'client update',
      'client disable',
      'client enable',
      'client delete',
      'client rotate-secret',
      'user create',
      'keys list',
      'keys rotate',
      'prune',
      'eject-views',
    ]
    for (const command of commands) expect(stdout).toMatch(new RegExp(`^  ${command} {2,}\\w`, 'm'))
    const helps = await Promise.all(commands.map((name) => latchkey(folder, [...name.split(' '), '--help'])))
    commands.forEach((name, index) => {
      expect(helps[index]).toMatchObject({ code: 0, stderr: '' })
      expect(helps[index]!.stdout).toMatch(new RegExp(`\nExample\n  latchkey ${name}`))
    })
    expect((await latchkey(folder, ['help', 'client', 'create'])).stdout).toBe(helps[2]!.stdout)
    expect(readdirSync(folder)).toEqual([])
  })

  test('--version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect((await succeeding(emptyFolder(), ['--version'])).stdout).toBe(`${version}\n`)
  })

  test.each([
    [['clinet', 'create'], 'unknown command clinet create; did you mean: latchkey client create'],
    [['migrat'], 'did you mean: latchkey migrate'],
    [['client'], 'client needs one of: create, list, show, update, disable, enable, delete, rotate-secret'],
    [['frobnicate'], 'unknown command frobnicate; see: latchkey --help'],
    [['client', 'create', '--redirect-url', callback], 'did you mean --redirect-uri?'],
    [['client', 'create', '--redirect-uri'], '--redirect-uri <value>'],
    [['client', 'list', 'shop'], 'unexpected argument shop'],
    [['client', 'rotate-secret'], 'client rotate-secret needs ID'],
    [['user', 'create', '--username', 'ada', '--password', 'pass-phrase'], '--password is not an option'],
    [['rollback'], 'add --yes'],
    [['client', 'delete', 'shop'], 'add --yes'],
    [['client', 'update', 'shop', '--metadata', '{'], '--metadata must be a JSON object'],
    [['eject-views', 'logni'], 'unknown template logni; did you mean login?'],
    [['eject-views', 'xyz'], 'unknown template xyz; the templates are: account-sign-in.eta, account.eta, '],
    [['eject-views', 'login'], 'no folder to copy to: set the option views, or add --to DIR'],
    [[], 'see: latchkey --help'],
  ])('%j is a wrong command line', async (args, message) => {
    const folder = emptyFolder()
    const { code, stdout, stderr } = await latchkey(folder, args)
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(stack)
    expect(stderr).not.toContain('pass-phrase')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('with the defaults of development', () => {
  test('migrate creates the tables, and the second time says that nothing is to do', async () => {
    const folder = emptyFolder()
    const first = await succeeding(folder, ['migrate'])
    expect(first.stdout).toMatch(/^001_clients\n002_users\n/)
    expect(await rowsOf(folder, 'oauth_clients')).toEqual([])
    expect(await latchkey(folder, ['migrate'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'the tables are up to date\n',
    })
  })

  test('client create prints the secret once and stores its hash alone; list shows the client', async () => {
    const folder = emptyFolder()
    const web = [...['client', 'create', '--id', 'shop', '--name', 'Shop'], '--redirect-uri', callback]
    const created = await succeeding(folder, [...web, '--redirect-uri', 'http://127.0.0.1/callback'])
    const secret = field(created.stdout, 'client_secret')
    expect(secret).toMatch(/^lk_cs_[\w-]{43}$/)
    expect(field(created.stdout, 'client_id')).toBe('shop')
    expect((created.stdout + created.stderr).split(secret)).toHaveLength(2)
    expect(await rowsOf(folder, 'oauth_clients')).toEqual([
      expect.objectContaining({ client_id: 'shop', secret_hash: hashSecret(secret) }),
    ])
    expect(bytesOf(folder)).toContain(hashSecret(secret))
    expect(bytesOf(folder)).not.toContain(secret)

    const native = ['client', 'create', '--public', '--first-party', '--scope', 'openid email']
    const made = await succeeding(folder, [
      ...native,
      '--redirect-uri',
      'com.example.app:/callback',
      '--json',
    ])
    const { client_id, ...rest } = JSON.parse(made.stdout)
    expect(rest).toEqual({})
    const listed = JSON.parse((await succeeding(folder, ['client', 'list', '--json'])).stdout)
    expect(listed).toHaveLength(2)
    expect(listed).toContainEqual(
      expect.objectContaining({
        client_id,
        token_endpoint_auth_method: 'none',
        first_party: true,
        scope: 'openid email',
        redirect_uris: ['com.example.app:/callback'],
      }),
    )
    const { stdout } = await succeeding(folder, ['client', 'list'])
    expect(stdout).toMatch(/^shop +Shop +confidential +https:\/\/shop\.example\.com\/callback$/m)
    expect(stdout).toMatch(/^ +http:\/\/127\.0\.0\.1\/callback$/m)
    expect(stdout + JSON.stringify(listed)).not.toContain(hashSecret(secret))
  })

  test('a secret brought along is read from standard input and not printed', async () => {
    const folder = emptyFolder()
    const args = ['client', 'create', '--id', 'shop', '--redirect-uri', callback, '--secret-from-stdin']
    const short = await latchkey(folder, args, { input: 'too-short\n' })
    expect(short).toMatchObject({ code: 1, stdout: '' })
    expect(short.stderr).toContain('client_secret must have at least 32 characters')
    const own = 'a-secret-of-the-administrator-with-48-characters'
    const { stdout, stderr } = await succeeding(folder, args, { input: `${own}\n` })
    expect(stdout + stderr).not.toContain(own)
    expect(await rowsOf(folder, 'oauth_clients')).toMatchObject([{ secret_hash: hashSecret(own) }])
  })

  test('what the rules of seeds refuse is refused with their sentence, and nothing is written', async () => {
    const folder = emptyFolder()
    const create = ['client', 'create', '--id', 'shop']
    await succeeding(folder, [...create, '--redirect-uri', callback])
    const refusals: [string[], string][] = [
      [['client', 'create', '--redirect-uri', 'http://shop.example.com/callback'], 'redirect_uri must'],
      [['client', 'create', '--redirect-uri', `${callback}#part`], 'redirect_uri must'],
      [['client', 'create', '--redirect-uri', callback, '--scope', 'orders:read'], 'orders:read'],
      [
        ['client', 'create', '--redirect-uri', callback, '--grant-type', 'password'],
        'grant_types must be one of',
      ],
      [['client', 'create'], 'redirect_uris is required'],
      [[...create, '--redirect-uri', 'https://evil.example/'], 'client_id: shop is already registered'],
      [['client', 'rotate-secret', 'nobody'], 'client nobody is not registered'],
    ]
    const outcomes = await Promise.all(refusals.map(([args]) => latchkey(folder, args)))
    refusals.forEach(([, message], index) => {
      expect(outcomes[index]).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
      expect(outcomes[index]!.stderr).not.toMatch(stack)
    })
    expect(await rowsOf(folder, 'oauth_clients')).toHaveLength(1)
    expect((await latchkey(folder, ['client', 'create', '--debug'])).stderr).toMatch(stack)
  })

  test('disable, enable, update, show and delete change one client and no other', async () => {
    const folder = emptyFolder()
    const client = (...words: string[]) => succeeding(folder, ['client', ...words])
    await client('create', '--id', 'shop', '--redirect-uri', callback)
    await client('create', '--id', 'other', '--redirect-uri', callback)
    const [other] = (await rowsOf(folder, 'oauth_clients')).filter(({ client_id }) => client_id === 'other')

    expect((await client('disable', 'shop')).stderr).toBe('client shop is disabled\n')
    expect((await client('list')).stdout).toMatch(/^shop +shop +confidential, disabled /m)
    await client('enable', 'shop')
    const change = ['--name', 'Shop', '--metadata', '{"client_uri":"https://shop.example.com"}']
    expect((await client('update', 'shop', ...change)).stdout).toBe('client_id  shop\n')
    expect(JSON.parse((await client('show', 'shop', '--json')).stdout)).toMatchObject({
      disabled: false,
      client_name: 'Shop',
      client_uri: 'https://shop.example.com',
      redirect_uris: [callback],
    })
    await client('delete', 'shop', '--yes')
    expect(await rowsOf(folder, 'oauth_clients')).toEqual([other])
    expect(await latchkey(folder, ['client', 'show', 'shop'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'latchkey: client shop is not registered\n',
    })
  })

  test('rotate-secret lets both secrets stand for a while, or ends the old one at once', async () => {
    const folder = emptyFolder()
    const created = await succeeding(folder, ['client', 'create', '--id', 'shop', '--redirect-uri', callback])
    const first = field(created.stdout, 'client_secret')
    const rotated = await succeeding(folder, ['client', 'rotate-secret', 'shop', '--keep', '3600'])
    const second = field(rotated.stdout, 'client_secret')
    const connection = { filename: join(folder, 'latchkey.sqlite') }
    const { database, close } = openDatabase({ client: 'better-sqlite3', connection }, 'oauth_')
    const validAfter = async (seconds: number) => {
      const now = Math.floor(Date.now() / 1000) + seconds
      return (await findClient(database, { clientId: 'shop', now }))?.secretHashes
    }
    expect(await validAfter(0)).toEqual([hashSecret(second), hashSecret(first)])
    expect(await validAfter(3601)).toEqual([hashSecret(second)])
    const third = await succeeding(folder, ['client', 'rotate-secret', 'shop', '--keep', '0', '--json'])
    expect(await validAfter(0)).toEqual([hashSecret(JSON.parse(third.stdout).client_secret)])
    await close()
  })

  test('prune removes expired rows, says how many of each table, and leaves the others', async () => {
    const folder = emptyFolder()
    await succeeding(folder, ['migrate'])
    const now = Math.floor(Date.now() / 1000)
    const tokens = (count: number, expires_at: number) =>
      Array.from({ length: count }, () => ({
        ...{ hash: randomBytes(32).toString('base64url'), client_id: 'shop', scopes: '' },
        ...{ created_at: 1, expires_at },
      }))
    const fill = async () => {
      const connection = { filename: join(folder, 'latchkey.sqlite') }
      const database = knex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
      await database.batchInsert(
        'oauth_access_tokens',
        [...tokens(230, now - 61), ...tokens(2, now + 3600)],
        50,
      )
      await database('oauth_replays').insert([
        { hash: randomBytes(9).toString('hex'), expires_at: 1 },
        { hash: randomBytes(9).toString('hex'), expires_at: now + 60 },
      ])
      await database.destroy()
    }
    await fill()
    const { stdout } = await succeeding(folder, ['prune'])
    expect(stdout).toBe('TABLE          REMOVED\naccess_tokens  230\nreplays        1\n')
    expect(await rowsOf(folder, 'oauth_access_tokens')).toHaveLength(2)
    expect(await rowsOf(folder, 'oauth_replays')).toHaveLength(1)
    expect(await latchkey(folder, ['prune'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'no rows are expired\n',
    })

    await fill()
    const both = await Promise.all([1, 2].map(() => succeeding(folder, ['prune', '--json'])))
    const counts = both.map((each): Record<string, number> => JSON.parse(each.stdout))
    const total = (name: string) => counts.reduce((sum, removed) => sum + (removed[name] ?? 0), 0)
    expect([total('access_tokens'), total('replays')]).toEqual([230, 1])
    expect(await rowsOf(folder, 'oauth_access_tokens')).toHaveLength(4)
  })

  test('user create takes the password from standard input or the environment, and stores its hash', async () => {
    const folder = emptyFolder()
    const ada = ['user', 'create', '--username', 'ada', '--name', 'Ada Lovelace']
    const created = await succeeding(folder, [...ada, '--email', 'ada@example.com', '--email-verified'], {
      input: 'correct horse battery\n',
    })
    const bob = { env: { LATCHKEY_PASSWORD: 'staple of the environment' } }
    await succeeding(folder, ['user', 'create', '--username', 'bob'], bob)
    expect(await rowsOf(folder, 'oauth_users')).toMatchObject([
      {
        id: field(created.stdout, 'subject'),
        username: 'ada',
        name: 'Ada Lovelace',
        email: 'ada@example.com',
        email_verified: 1,
        password_hash: expect.stringMatching(/^\$argon2id\$/),
      },
      { username: 'bob', email: null, email_verified: 0 },
    ])
    expect(bytesOf(folder)).not.toMatch(/correct horse|staple of/)
    expect(created.stdout + created.stderr).not.toContain('correct horse')
    const refusals: [string[], string, string, number][] = [
      [ada, 'another password', 'user ada already exists', 1],
      [['user', 'create', '--username', 'eve'], '', 'the password must have 1 to 1024 characters', 1],
      [['user', 'create', '--username', ' eve'], 'x', '--username must have', 1],
      [['user', 'create', '--username', 'eve', '--email', 'eve'], 'x', 'must be an e-mail address', 1],
      [['user', 'create', '--username', 'eve', '--email-verified'], 'x', '--email-verified needs --email', 2],
      [['user', 'create'], 'x', 'needs --username', 2],
    ]
    const outcomes = await Promise.all(refusals.map(([args, input]) => latchkey(folder, args, { input })))
    refusals.forEach(([, , message, code], index) => {
      expect(outcomes[index]).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) })
    })
    expect(await rowsOf(folder, 'oauth_users')).toHaveLength(2)
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
    tablePrefix: '${prefix}',
    scopes: { 'orders:read': 'See your orders' },`
  // The kit's tables are gone when the test below passes; Knex keeps its own bookkeeping.
  afterAll(async () => {
    if (url === undefined) return
    const host = knex(settings)
    await rollback(host, { tablePrefix: prefix })
    await host.schema.dropTableIfExists(`${prefix}migrations`).dropTableIfExists(`${prefix}migrations_lock`)
    await host.destroy()
  })

  // The timer keeps the process alive, as a host's connection would.
  const instance = `import knex from 'knex'
console.log('the configuration is loaded')
setInterval(() => {}, 60_000)
export default {${common}
  database: knex(${JSON.stringify(settings)}),
}
`
  const typescript = `import type { AuthRouterOptions } from 'latchkey'
enum Scope { Orders = 'orders:read' }
export default {
  scopes: { [Scope.Orders]: 'See your orders' },
} satisfies AuthRouterOptions
`

  test('a Knex instance in latchkey.config.mjs: production asks for migrate, then all works, rollback clears', async () => {
    const folder = emptyFolder({ 'latchkey.config.mjs': instance })
    const production = { env: { NODE_ENV: 'production' } }
    const create = [
      'client',
      'create',
      '--id',
      'desk',
      '--redirect-uri',
      callback,
      '--scope',
      'openid orders:read',
    ]
    const refused = await latchkey(folder, create, production)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(/the database lacks 001_clients, .*; run: npx latchkey migrate$/m)
    await succeeding(folder, ['migrate'], production)
    await succeeding(folder, create, production)
    const [client] = JSON.parse((await succeeding(folder, ['client', 'list', '--json'], production)).stdout)
    expect(client).toMatchObject({ client_id: 'desk', scope: 'openid orders:read' })
    const { stdout } = await succeeding(folder, ['rollback', '--yes'], production)
    expect(stdout).toMatch(/001_clients\n$/)
    const after = await latchkey(folder, ['client', 'list'], production)
    expect(after.stderr).toContain('run: npx latchkey migrate')
  })

  test.each([['commonjs'], ['module']])(
    'latchkey.config.ts in a %s package, through a loader',
    async (type) => {
      const folder = emptyFolder({
        'latchkey.config.ts': typescript,
        'package.json': JSON.stringify({ type }),
      })
      const create = ['client', 'create', '--id', 'desk', '--redirect-uri', callback]
      const program = [...loader, join(root, 'lib/cli/index.ts')]
      await succeeding(folder, [...create, '--scope', 'openid orders:read'], { program })
      expect(await rowsOf(folder, 'oauth_clients')).toHaveLength(1)
    },
  )

  test('the built command says how to load TypeScript, and that works', async () => {
    const folder = emptyFolder({ 'latchkey.config.ts': typescript })
    await buildTo(folder)
    const args = ['client', 'create', '--name', 'A & B', '--redirect-uri', callback]
    const refused = await latchkey(folder, args, { program: ['dist/lib/cli/index.js'] })
    const command = `--import tsx dist/lib/cli/index.js client create --name 'A & B' --redirect-uri ${callback}`
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain(`run: node ${command}\n`)
    await succeeding(folder, args, { program: ['--import', 'tsx', 'dist/lib/cli/index.js'] })
    expect(await rowsOf(folder, 'oauth_clients')).toHaveLength(1)
  })

  test('--config names another file; what is wrong with one is said', async () => {
    const users = `{ table: 'people', columns: { id: 'id', username: 'email', password: 'hash' } }`
    const folder = emptyFolder({
      'host.mjs': `export default { users: ${users} }`,
      'wrong.mjs': `export default { isuer: 'https://app.example.com' }`,
      'empty.mjs': `export const options = {}`,
      'broken.mjs': `throw new Error('DATABASE_URL is not set')`,
      'away.mjs': `export default { database: { client: 'pg', connection: 'postgres://127.0.0.1:1/x' } }`,
    })
    const list = ['client', 'list', '--config']
    const refusals: [string[], string][] = [
      [['user', 'create', '--username', 'ada', '--config', 'host.mjs'], 'in your table people'],
      [[...list, 'wrong.mjs'], 'isuer is not an option; did you mean issuer?'],
      [[...list, 'empty.mjs'], 'empty.mjs has no default export'],
      [[...list, 'broken.mjs'], 'broken.mjs could not be loaded: DATABASE_URL is not set'],
      [[...list, 'away.mjs'], 'ECONNREFUSED'],
      [[...list, 'absent.mjs'], 'absent.mjs does not exist'],
    ]
    const outcomes = await Promise.all(refusals.map(([args]) => latchkey(folder, args, { input: 'pw\n' })))
    refusals.forEach(([, message], index) => {
      expect(outcomes[index]).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
      expect(outcomes[index]!.stderr).not.toMatch(stack)
    })
  })

  test('production refuses the defaults of development and writes no file', async () => {
    const folder = emptyFolder()
    const refused = await latchkey(folder, ['migrate'], { env: { NODE_ENV: 'production' } })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(
      /issuer is required in production[\s\S]*No configuration file found \(latchkey\.config\.js/,
    )
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('eject-views', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const own = (name: string): string => readFileSync(join(root, 'views', name), 'utf8')
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.\w+$/.test(name))
      .sort()

  test('copies the templates named to the folder of the configuration, which need not be there yet', async () => {
    const config = `export default { issuer: 7, views: './pages/oauth' }`
    const folder = emptyFolder({ 'latchkey.config.mjs': config })
    const { stdout, stderr } = await succeeding(folder, ['eject-views', 'login', 'footer', 'style.css'])
    const names = ['login.eta', 'partials/footer.eta', 'assets/style.css']
    expect(stdout).toBe(names.map((name) => `pages/oauth/${name}\n`).join(''))
    expect(stderr).toBe('')
    expect(filesIn(join(folder, 'pages/oauth'))).toEqual(names.toSorted())
    for (const name of names) {
      const [first = '', ...lines] = readFileSync(join(folder, 'pages/oauth', name), 'utf8').split('\n')
      expect(first).toMatch(/^(<%)?\/\* From Latchkey \S+ \([0-9a-f]{12}\) \*\/(%>)?$/)
      expect(first).toContain(` ${version} `)
      expect(lines.join('\n')).toBe(own(name))
    }
    expect(readdirSync(folder).sort()).toEqual(['latchkey.config.mjs', 'pages'])
  })

  test('copies all of them where none is named, leaves what was changed, and brings the rest up to date', async () => {
    const folder = emptyFolder()
    const eject = (...args: string[]) => succeeding(folder, ['eject-views', '--to', 'views', ...args])
    const first = await eject()
    const templates = filesIn(join(root, 'views')).filter((name) => name.endsWith('.eta'))
    const all = [...templates, 'assets/style.css'].sort()
    expect(filesIn(join(folder, 'views'))).toEqual(all)
    expect(first.stdout.trim().split('\n').sort()).toEqual(all.map((name) => `views/${name}`))
    expect(await eject()).toEqual({ code: 0, stdout: '', stderr: '' })

    const path = (name: string) => join(folder, 'views', name)
    const copied = readFileSync(path('error.eta'), 'utf8')
    writeFileSync(path('login.eta'), `${readFileSync(path('login.eta'), 'utf8')}<p>Mine</p>\n`)
    writeFileSync(path('layout.eta'), '<p>Mine alone</p>\n')
    writeFileSync(path('consent.eta'), own('consent.eta'))
    writeFileSync(path('return.eta'), readFileSync(path('return.eta'), 'utf8').replaceAll('\n', '\r\n'))
    // As an earlier version would have copied it.
    const hash = createHash('sha256').update('<p>Old</p>\n').digest('hex').slice(0, 12)
    writeFileSync(path('error.eta'), `<%/* From Latchkey 0.0.9 (${hash}) */%>\n<p>Old</p>\n`)
    const second = await eject()
    expect(second.stdout).toBe('views/consent.eta\nviews/error.eta\nviews/return.eta\n')
    expect(second.stderr).toContain('views/layout.eta, views/login.eta')
    expect(second.stderr).toContain('--force')
    expect(readFileSync(path('login.eta'), 'utf8')).toContain('<p>Mine</p>')
    expect(readFileSync(path('layout.eta'), 'utf8')).toBe('<p>Mine alone</p>\n')
    expect(readFileSync(path('error.eta'), 'utf8')).toBe(copied)

    const third = await eject('login', '--force')
    expect(third).toMatchObject({ stdout: 'views/login.eta\n', stderr: '' })
    expect(readFileSync(path('login.eta'), 'utf8')).not.toContain('Mine')
    expect(readFileSync(path('layout.eta'), 'utf8')).toContain('Mine')
  })

  test('copies from the built package as from its sources', async () => {
    const folder = emptyFolder()
    await buildTo(folder)
    cpSync(join(root, 'views'), join(folder, 'dist/views'), { recursive: true })
    const program = ['dist/lib/cli/index.js']
    await succeeding(folder, ['eject-views', 'login', '--to', 'built'], { program })
    await succeeding(folder, ['eject-views', 'login', '--to', 'sources'])
    const [built, sources] = ['built', 'sources'].map((name) =>
      readFileSync(join(folder, name, 'login.eta'), 'utf8'),
    )
    expect(built).toBe(sources)
  })
})

describe('authRouter() with no argument, in an empty app', () => {
  const app = `import express from 'express'
import { authRouter } from 'latchkey'

const app = express()
app.use('/oauth', authRouter())
app.listen(process.env.PORT, () => console.log('listening'))
`
  let server: ChildProcess | undefined
  afterAll(async () => {
    if (server === undefined || server.exitCode !== null) return
    server.kill()
    await once(server, 'exit')
  })

  const freePort = async (): Promise<number> => {
    const probe = createServer().listen(0)
    await once(probe, 'listening')
    const address = probe.address()
    probe.close()
    await once(probe, 'close')
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  const start = async (folder: string, port: number): Promise<ChildProcess> => {
    const env = environment({ PORT: String(port) })
    const child = spawn(process.execPath, [...loader, 'app.ts'], { cwd: folder, env })
    let output = ''
    await new Promise<void>((resolve, reject) => {
      const hear = (chunk: Buffer): void => {
        output += chunk.toString()
        if (output.includes('listening')) resolve()
      }
      child.stdout.on('data', hear)
      child.stderr.on('data', hear)
      child.once('exit', () => reject(new Error(`the app ended: ${output}`)))
    })
    return child
  }

  test('an account and a client from the command line, and openid-client signs in', async () => {
    const folder = emptyFolder({
      'app.ts': app,
      'package.json': JSON.stringify({ type: 'module' }),
      'tsconfig.json': JSON.stringify({
        compilerOptions: { paths: { latchkey: [join(root, 'lib/index.ts')] } },
      }),
    })
    const port = await freePort()
    server = await start(folder, port)
    const person = [
      '--username',
      'ada',
      '--name',
      'Ada Lovelace',
      '--email',
      'ada@example.com',
      '--email-verified',
    ]
    const user = await succeeding(folder, ['user', 'create', ...person], { input: 'correct horse battery' })
    const shop = ['--name', 'Shop', '--redirect-uri', callback]
    const { stdout } = await succeeding(folder, ['client', 'create', ...shop])

    const origin = `http://localhost:${port}`
    const config = await openid.discovery(
      new URL(`${origin}/oauth`),
      field(stdout, 'client_id'),
      field(stdout, 'client_secret'),
      undefined,
      { execute: [openid.allowInsecureRequests] },
    )
    const verifier = openid.randomPKCECodeVerifier()
    const [state, nonce] = [openid.randomState(), openid.randomNonce()]
    const authorizationUrl = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'openid profile email',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    const browser = new RawBrowser(origin, origin)
    const login = await browser.open(authorizationUrl.href)
    const consent = await browser.signIn(login, 'ada', 'correct horse battery')
    const back = locationOf(await browser.decide(consent, 'allow'))
    expect(back.href.startsWith(`${callback}?`)).toBe(true)

    const tokens = await openid.authorizationCodeGrant(config, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    })
    const subject = field(user.stdout, 'subject')
    const claims = { sub: subject, name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true }
    expect(tokens.claims()).toMatchObject({
      ...claims,
      iss: `${origin}/oauth`,
      aud: field(stdout, 'client_id'),
      nonce,
      auth_time: expect.any(Number),
      at_hash: expect.any(String),
    })
    expect(await openid.fetchUserInfo(config, tokens.access_token, subject)).toMatchObject(claims)
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(refreshed.access_token).not.toBe(tokens.access_token)
  })
})
