import { randomBytes } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { findClient } from '../../lib/storage/repositories/clients.ts'
import {
  configuration,
  field,
  openCommandLine,
  program,
  rowsOf,
  stack,
  withDatabase,
} from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

const callback = 'https://shop.example.com/callback'
const { version } = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8'))

/** Every byte of the default database, also what stands in its journal. */
const bytesOf = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.startsWith('latchkey.sqlite'))
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n')

describe('help', () => {
  test('lists the commands, and each explains itself with an example', async () => {
    const folder = cli.folder()
    const { stdout } = await cli.succeed(folder, ['--help'])
    const groups = {
      client: 'create list show update disable enable delete rotate-secret requests approve refuse',
      clients: 'plan apply drift',
      consents: 'list revoke',
      sessions: 'list end',
      authorizations: 'list end',
      token: 'inspect revoke',
      'personal-tokens': 'list revoke',
      user: 'create disable enable unlock',
      keys: 'list rotate revoke',
    }
    const grouped = Object.entries(groups).flatMap(([of, names]) =>
      names.split(' ').map((name) => `${of} ${name}`),
    )
    const commands = [
      'init',
      'migrate',
      'rollback',
      ...grouped,
      'prune',
      'eject-views',
      'preview',
      'doctor',
      'explain',
    ]
    for (const command of commands) expect(stdout).toMatch(new RegExp(`^  ${command} {2,}\\w`, 'm'))
    const helps = await Promise.all(commands.map((name) => cli.run(folder, [...name.split(' '), '--help'])))
    commands.forEach((name, index) => {
      expect(helps[index]).toMatchObject({ code: 0, stderr: '' })
      expect(helps[index]!.stdout).toMatch(new RegExp(`\nExample\n  latchkey ${name}`))
    })
    expect((await cli.run(folder, ['help', 'client', 'create'])).stdout).toBe(helps[3]!.stdout)
    expect((await cli.succeed(folder, ['--version'])).stdout).toBe(`${version}
`)
    expect(readdirSync(folder)).toEqual([])
  })

  test.each([
    [['clinet', 'create'], 'unknown command clinet create; did you mean: latchkey client create'],
    [['migrat'], 'did you mean: latchkey migrate'],
    [
      ['client'],
      'client needs one of: create, list, show, update, disable, enable, delete, rotate-secret, requests, approve, refuse',
    ],
    [['frobnicate'], 'unknown command frobnicate; see: latchkey --help'],
    [['client', 'create', '--redirect-url', callback], 'did you mean --redirect-uri?'],
    [['client', 'create', '--redirect-uri'], '--redirect-uri <value>'],
    [['client', 'create', '--name', 'Shop'], 'client create needs --redirect-uri'],
    [['client', 'create', '--metadata', '{"grant_types":["implicit"]}'], 'create needs --redirect-uri'],
    [['client', 'list', 'shop'], 'unexpected argument shop'],
    [['client', 'rotate-secret'], 'client rotate-secret needs ID'],
    [['user', 'create', '--username', 'ada', '--password', 'pass-phrase'], '--password is not an option'],
    [
      ['keys', 'revoke', '-z9'],
      '-z is not an option of latchkey keys revoke; if a value begins with a hyphen, write -- before it',
    ],
    [['rollback'], 'add --yes'],
    [['client', 'delete', 'shop'], 'add --yes'],
    [['client', 'update', 'shop', '--metadata', '{'], '--metadata must be a JSON object'],
    [['keys', 'rotate', '--alg', 'HS256'], '--alg must be one of RS256, PS256, ES256, EdDSA'],
    [['eject-views', 'logni'], 'unknown template logni; did you mean login?'],
    [['eject-views', 'login'], 'no folder to copy to: set the option pages.views, or add --to DIR'],
    [[], 'see: latchkey --help'],
  ])('%j is a wrong command line', async (args, message) => {
    const folder = cli.folder()
    const { code, stdout, stderr } = await cli.run(folder, args)
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(stack)
    expect(stderr).not.toContain('pass-phrase')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(readdirSync(folder)).toEqual([])
  })
})

/** The line about the default database. */
const place = 'database: ./latchkey.sqlite (default options: this folder has no configuration file)\n'

/** A folder whose default database has its tables. */
const migrated = async (): Promise<string> => {
  const folder = cli.folder()
  await cli.succeed(folder, ['migrate'])
  return folder
}

describe('with the defaults of development', () => {
  test('migrate creates the tables; a second run changes nothing and prints that', async () => {
    const folder = cli.folder()
    const first = await cli.succeed(folder, ['migrate'])
    expect(first.stdout).toMatch(/^001_clients\n002_users\n/)
    expect(await rowsOf(folder, 'latchkey_clients')).toEqual([])
    const second = await cli.run(folder, ['migrate'])
    expect(second).toEqual({ code: 0, stdout: '', stderr: `${place}the tables are up to date\n` })
  })

  test.each([
    ['client', 'list'],
    ['client', 'create', '--redirect-uri', callback],
    ['user', 'create', '--username', 'ada'],
    ['prune'],
  ])('%s %s without a configuration or a database asks for one and creates nothing', async (...args) => {
    const folder = cli.folder()
    const { code, stdout, stderr } = await cli.run(folder, args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/which database does your app use\? .*export the same options from latchkey/s)
    expect(readdirSync(folder)).toEqual([])
  })

  test.each([
    ['client', 'list'],
    ['client', 'create', '--redirect-uri', callback],
  ])('%s %s creates no tables in a database that has none', async (...args) => {
    const folder = cli.folder()
    await withDatabase(folder, ({ schema }) => schema.createTable('people', (table) => table.increments()))
    const { code, stderr } = await cli.run(folder, args)
    expect(code).toBe(1)
    expect(stderr).toContain('run: npx latchkey migrate')
    const tables = await withDatabase(folder, (database) => database('sqlite_master').pluck('name'))
    expect(tables).not.toContain('latchkey_clients')
  })

  test('client create prints the secret once and stores its hash alone; list shows the client', async () => {
    const folder = await migrated()
    const web = ['client', 'create', '--id', 'shop', '--name', 'Shop', '--redirect-uri', callback]
    const created = await cli.succeed(folder, [...web, '--redirect-uri', 'http://127.0.0.1/callback'])
    const secret = field(created.stdout, 'client_secret')
    expect(secret).toMatch(/^lk_cs_[\w-]{43}$/)
    expect(field(created.stdout, 'client_id')).toBe('shop')
    expect((created.stdout + created.stderr).split(secret)).toHaveLength(2)
    expect(await rowsOf(folder, 'latchkey_clients')).toEqual([
      expect.objectContaining({ client_id: 'shop', secret_hash: hashSecret(secret) }),
    ])
    expect(bytesOf(folder)).toContain(hashSecret(secret))
    expect(bytesOf(folder)).not.toContain(secret)

    const native = ['client', 'create', '--public', '--first-party', '--scope', 'openid email']
    const place = ['--redirect-uri', 'com.example.app:/callback', '--json']
    const made = await cli.succeed(folder, [...native, ...place])
    const { client_id, ...rest } = JSON.parse(made.stdout)
    expect(rest).toEqual({})
    const listed = JSON.parse((await cli.succeed(folder, ['client', 'list', '--json'])).stdout)
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
    const { stdout } = await cli.succeed(folder, ['client', 'list'])
    expect(stdout).toMatch(/^shop +Shop +confidential +https:\/\/shop\.example\.com\/callback$/m)
    expect(stdout).toMatch(/^ +http:\/\/127\.0\.0\.1\/callback$/m)
    expect(stdout + JSON.stringify(listed)).not.toContain(hashSecret(secret))
  })

  test('--secret-from-stdin reads the secret from standard input and does not print it', async () => {
    const folder = await migrated()
    const args = ['client', 'create', '--id', 'shop', '--redirect-uri', callback, '--secret-from-stdin']
    const short = await cli.run(folder, args, { input: 'too-short\n' })
    expect(short).toMatchObject({ code: 1, stdout: '' })
    expect(short.stderr).toContain('client_secret must have at least 32 characters')
    const own = 'a-secret-of-the-administrator-with-48-characters'
    const { stdout, stderr } = await cli.succeed(folder, args, { input: `${own}\n` })
    expect(stdout + stderr).not.toContain(own)
    expect(await rowsOf(folder, 'latchkey_clients')).toMatchObject([{ secret_hash: hashSecret(own) }])
  })

  test('invalid clients are refused with the message of seeds, and nothing is written', async () => {
    const folder = await migrated()
    const create = ['client', 'create', '--id', 'shop']
    await cli.succeed(folder, [...create, '--redirect-uri', callback])
    const refusals: [string[], string][] = [
      [['client', 'create', '--redirect-uri', 'http://shop.example.com/callback'], 'redirect_uri must'],
      [['client', 'create', '--redirect-uri', `${callback}#part`], 'redirect_uri must'],
      [['client', 'create', '--redirect-uri', callback, '--scope', 'orders:read'], 'orders:read'],
      [['client', 'create', '--redirect-uri', callback, '--grant-type', 'password'], 'grant_types must'],
      [[...create, '--redirect-uri', 'https://evil.example/'], 'client_id: shop is already registered'],
      [['client', 'rotate-secret', 'unknown-client'], 'client unknown-client is not registered'],
    ]
    const outcomes = await Promise.all(refusals.map(([args]) => cli.run(folder, args)))
    refusals.forEach(([, message], index) => {
      expect(outcomes[index]).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
      expect(outcomes[index]!.stderr).not.toMatch(stack)
    })
    expect(await rowsOf(folder, 'latchkey_clients')).toHaveLength(1)
    expect((await cli.run(folder, ['client', 'show', 'unknown-client', '--debug'])).stderr).toMatch(stack)
  })

  test('disable, enable, update, show and delete change one client and no other', async () => {
    const folder = await migrated()
    const client = (...words: string[]) => cli.succeed(folder, ['client', ...words])
    await client('create', '--id', 'shop', '--redirect-uri', callback)
    await client('create', '--id', 'other', '--redirect-uri', callback)
    const [other] = (await rowsOf(folder, 'latchkey_clients')).filter(
      ({ client_id }) => client_id === 'other',
    )

    expect((await client('disable', 'shop')).stderr).toBe(`${place}client shop is disabled\n`)
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
    expect(await rowsOf(folder, 'latchkey_clients')).toEqual([other])
    expect(await cli.run(folder, ['client', 'show', 'shop'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${place}latchkey: client shop is not registered\n`,
    })
  })

  test('rotate-secret keeps both secrets valid for a while, or ends the old one at once', async () => {
    const folder = await migrated()
    const create = ['client', 'create', '--id', 'shop', '--redirect-uri', callback]
    const created = await cli.succeed(folder, create)
    const first = field(created.stdout, 'client_secret')
    const rotated = await cli.succeed(folder, ['client', 'rotate-secret', 'shop', '--keep', '3600'])
    const second = field(rotated.stdout, 'client_secret')
    const connection = { filename: join(folder, 'latchkey.sqlite') }
    const { database, close } = openDatabase({ client: 'better-sqlite3', connection }, 'latchkey_')
    const validAfter = async (seconds: number) => {
      const now = Math.floor(Date.now() / 1000) + seconds
      return (await findClient(database, { clientId: 'shop', now }))?.secretHashes
    }
    expect(await validAfter(0)).toEqual([hashSecret(second), hashSecret(first)])
    expect(await validAfter(3601)).toEqual([hashSecret(second)])
    const third = await cli.succeed(folder, ['client', 'rotate-secret', 'shop', '--keep', '0', '--json'])
    expect(await validAfter(0)).toEqual([hashSecret(JSON.parse(third.stdout).client_secret)])
    await close()
  })

  test('prune removes expired rows, prints the number for each table, and keeps the others', async () => {
    const folder = await migrated()
    const now = Math.floor(Date.now() / 1000)
    const tokens = (count: number, expires_at: number) =>
      Array.from({ length: count }, () => ({
        hash: randomBytes(32).toString('base64url'),
        client_id: 'shop',
        scopes: '',
        created_at: 1,
        expires_at,
      }))
    const fill = () =>
      withDatabase(folder, async (database) => {
        const rows = [...tokens(230, now - 61), ...tokens(2, now + 3600)]
        await database.batchInsert('latchkey_access_tokens', rows, 50)
        await database('latchkey_replays').insert([
          { hash: randomBytes(9).toString('hex'), expires_at: 1 },
          { hash: randomBytes(9).toString('hex'), expires_at: now + 60 },
        ])
      })
    await fill()
    const { stdout } = await cli.succeed(folder, ['prune'])
    expect(stdout).toBe('TABLE          REMOVED\naccess_tokens  230\nreplays        1\n')
    expect(await rowsOf(folder, 'latchkey_access_tokens')).toHaveLength(2)
    expect(await rowsOf(folder, 'latchkey_replays')).toHaveLength(1)
    expect(await cli.run(folder, ['prune'])).toMatchObject({
      code: 0,
      stderr: `${place}no rows are expired\n`,
    })

    await fill()
    const prune = () => cli.succeed(folder, ['prune', '--json'], { program: [program()] })
    const both = await Promise.all([prune(), prune()])
    const counts = both.map((each): Record<string, number> => JSON.parse(each.stdout))
    const total = (name: string) => counts.reduce((sum, removed) => sum + (removed[name] ?? 0), 0)
    expect([total('access_tokens'), total('replays')]).toEqual([230, 1])
    expect(await rowsOf(folder, 'latchkey_access_tokens')).toHaveLength(4)
  })

  test('user create takes the password from standard input or the environment, and stores its hash', async () => {
    const folder = await migrated()
    const ada = ['user', 'create', '--username', 'ada', '--name', 'Ada Lovelace']
    const created = await cli.succeed(folder, [...ada, '--email', 'ada@example.com', '--email-verified'], {
      input: 'correct horse battery\n',
    })
    const bob = { env: { LATCHKEY_PASSWORD: 'staple of the environment' } }
    await cli.succeed(folder, ['user', 'create', '--username', 'bob'], bob)
    expect(await rowsOf(folder, 'latchkey_users')).toMatchObject([
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
      [['user', 'create', '--username', 'eve'], '', 'the password must have 8 to 1024 characters', 1],
      [['user', 'create', '--username', 'eve'], 'sevenly', 'the password must have 8 to 1024 characters', 1],
      [['user', 'disable', 'eve'], '', 'user eve does not exist', 1],
      [['user', 'create', '--username', ' eve'], 'x', '--username must have', 1],
      [['user', 'create', '--username', 'eve', '--email', 'eve'], 'x', 'must be an e-mail address', 1],
      [['user', 'create', '--username', 'eve', '--email-verified'], 'x', '--email-verified needs --email', 2],
      [['user', 'create'], 'x', 'needs --username', 2],
    ]
    const outcomes = await Promise.all(refusals.map(([args, input]) => cli.run(folder, args, { input })))
    refusals.forEach(([, , message, code], index) => {
      expect(outcomes[index]).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) })
    })
    expect(await rowsOf(folder, 'latchkey_users')).toHaveLength(2)

    const states = async () => (await rowsOf(folder, 'latchkey_users')).map((row) => row.disabled_at !== null)
    const disabled = await cli.succeed(folder, ['user', 'disable', 'ada'])
    expect(disabled.stderr).toBe(`${place}user ada is disabled\n`)
    expect(await states()).toEqual([true, false])
    await cli.succeed(folder, ['user', 'enable', 'ada'])
    expect(await states()).toEqual([false, false])
  })
})

test('migrate --drop removes the tables of a feature that the list no longer has, and of no other', async () => {
  const listed = configuration('features: [features.passkeys.off()]')
  const folder = cli.folder(listed)
  await cli.succeed(folder, ['migrate'])
  await withDatabase(folder, (database) =>
    database('latchkey_passkeys').insert({
      hash: 'h',
      subject: '1',
      credential_id: 'c',
      public_key: 'k',
      counter: 0,
      transports: '[]',
      name: 'P',
      backed_up: 0,
      created_at: 1,
    }),
  )
  const drop = ['migrate', '--drop', 'passkeys']
  expect(await cli.run(folder, [...drop, '--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the option features has passkeys()'),
  })
  const other = cli.folder()
  copyFileSync(join(folder, 'latchkey.sqlite'), join(other, 'latchkey.sqlite'))
  expect(await cli.run(other, ['client', 'list'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('npx latchkey migrate --drop passkeys --yes'),
  })
  expect(await cli.run(other, drop)).toMatchObject({ code: 2 })
  expect(await cli.run(other, ['migrate', '--drop', 'passkey', '--yes'])).toMatchObject({ code: 2 })
  expect((await cli.succeed(other, [...drop, '--yes'])).stdout).toBe('passkeys_001\n')
  await cli.succeed(other, ['client', 'list'])
})
