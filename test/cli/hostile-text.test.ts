import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import knex from 'knex'
import { configuration, openCommandLine, program, withDatabase } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

/** Clears the screen, sets the title of the window, turns text around, forges a line, and is no text at all. */
const hostile =
  'Shop\u001b[2J\u001b]0;owned\u0007\u009b31m\r\nlatchkey: no mistakes\u2028\u202egnp.exe\u0000\u200b\ud800'
/** Whatever a terminal obeys or does not show. Lines end with a line break. */
const unseen = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const shown = String.raw`Shop\u001b[2J\u001b]0;owned\u0007\u009b31m\u000d\u000alatchkey: no mistakes\u2028\u202egnp.exe\u0000\u200b\ud800`

const id = `-x'; touch canary; '$(touch canary)\`touch canary\``
const uri = `com.example.app:/cb?';touch$IFS'canary';'$(touch\${IFS}canary)\`touch\${IFS}canary\`&touch\${IFS}canary|touch\${IFS}canary`

/** A folder whose database holds such clients, events and tokens, however they came there. */
const hostileFolder = async (): Promise<string> => {
  const folder = cli.folder(
    configuration('storedEvents: true, features: [features.connections(), features.developers.off()]'),
  )
  await cli.succeed(folder, ['migrate'])
  for (const name of ['shop', 'app'])
    await cli.succeed(folder, [
      'client',
      'create',
      '--id',
      name,
      '--redirect-uri',
      'https://shop.example.com/cb',
    ])
  await withDatabase(folder, async (database) => {
    const change = (client_id: string, to: string, metadata: object) =>
      database('latchkey_clients')
        .where({ client_id })
        .update({ client_id: to, metadata: JSON.stringify(metadata) })
    await change('shop', 'shop', {
      client_name: hostile,
      redirect_uris: [`https://a.ngrok.app/${hostile}`],
      scope: `openid ${hostile}`,
    })
    await change('app', id, {
      redirect_uris: [uri, 'http://shop.example.com/cb'],
      scope: 'unknown$(touch canary)',
    })
    await database('latchkey_events').insert({
      id: 'one',
      type: 'request.refused',
      request_id: '7F3C-91A2-B4',
      time: 1_800_000_000,
      subject: hostile,
      details: JSON.stringify({ reason: hostile, received: [hostile] }),
      expires_at: 1_900_000_000,
    })
    const login = { sid: 'sid', subject: hostile, auth_time: 1, amr: '["pwd"]', expires_at: 9_000_000_000 }
    await database('latchkey_logins').insert({ ...login, address: hostile })
    await database('latchkey_authorizations').insert({
      id: hostile,
      client_id: hostile,
      subject: hostile,
      sid: 'sid',
      scopes: JSON.stringify([hostile]),
      offline: 0,
      code_hash: 'hash',
      code_expires_at: 9_000_000_000,
      created_at: 1,
      expires_at: 9_000_000_000,
      request: JSON.stringify({ organization: hostile }),
    })
    await database('latchkey_client_owners').insert({
      client_id: 'shop',
      subject: hostile,
      slot: 1,
      status: 'waiting',
      created_at: 1,
      requested_at: 1,
      revision: 1,
    })
  })
  return folder
}

/** The database of another server, whose clients have such names. */
const hostileSource = async (folder: string): Promise<string> => {
  const filename = join(folder, 'other.sqlite')
  const database = knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true })
  await database.schema.createTable('oauth_clients', (table) => {
    for (const name of ['client_id', 'client_secret', 'redirect_uris', 'grants', 'name']) table.string(name)
  })
  const secret = 'a-client-secret-of-more-than-32-characters'
  await database('oauth_clients').insert([
    {
      client_id: 'plain',
      client_secret: secret,
      redirect_uris: hostile,
      grants: 'authorization_code',
      name: hostile,
    },
    {
      client_id: hostile,
      client_secret: secret,
      redirect_uris: 'https://a.example/cb',
      grants: hostile,
      name: 'A',
    },
  ])
  await database.destroy()
  return filename
}

test.each<[string, (folder: string) => Promise<string[]> | string[], string | undefined]>([
  ['client show', () => ['client', 'show', 'shop'], shown],
  ['client show as JSON', () => ['client', 'show', 'shop', '--json'], shown.slice(4, 20)],
  ['client list', () => ['client', 'list'], shown],
  ['sessions list', () => ['sessions', 'list'], shown.slice(0, -6)],
  ['authorizations list', () => ['authorizations', 'list'], shown.slice(0, -6)],
  ['authorizations list as JSON', () => ['authorizations', 'list', '--json'], shown.slice(4, 20)],
  ['client requests', () => ['client', 'requests'], shown],
  ['explain', () => ['explain', '7F3C-91A2-B4'], shown],
  ['doctor', () => ['doctor'], shown],
  ['doctor as JSON', () => ['doctor', '--json'], shown.slice(4, 20)],
  [
    'import',
    async (folder) => ['import', 'oauth2-server', '--from', await hostileSource(folder)],
    shown.slice(0, -6),
  ],
  ['an error', () => ['client', 'show', hostile.replace('\0', '')], String.raw`Shop\u001b[2J`],
])('%s shows control characters, and obeys none of them (L16)', async (_, args, visible) => {
  const folder = await hostileFolder()
  const { stdout, stderr } = await cli.run(folder, await args(folder))
  expect(stdout + stderr).toContain(visible)
  expect({ stdout: unseen.exec(stdout), stderr: unseen.exec(stderr) }).toEqual({ stdout: null, stderr: null })
  // What looks like a line of ours is not at the beginning of one.
  expect(stdout + stderr).not.toMatch(/^latchkey: no mistakes/m)
})

test('the stack of an error shows control characters, and obeys none of them (L16)', async () => {
  const folder = await hostileFolder()
  const args = ['client', 'show', '\u001b[2J\u202e', '--debug']
  const { stderr } = await cli.run(folder, args, { program: [program()] })
  expect(stderr).toMatch(/^\s+at /m)
  expect(unseen.exec(stderr)).toBeNull()
})

test('JSON reads as what is stored (L16)', async () => {
  const folder = await hostileFolder()
  const { stdout } = await cli.succeed(folder, ['client', 'show', 'shop', '--json'])
  expect(JSON.parse(stdout)).toMatchObject({ client_name: hostile })
})

test('a command that doctor prints is safe to paste into a shell, whatever a client registered', async () => {
  const folder = await hostileFolder()
  const { stdout } = await cli.run(folder, ['doctor'])
  const commands = [...stdout.matchAll(/npx latchkey (.*?)(?:, or add the scope.*)?$/gm)].map(
    ([, args]) => args,
  )
  expect(commands.length).toBeGreaterThan(4)
  // Stands for npx, and says which words the shell gave it.
  writeFileSync(
    join(folder, 'npx'),
    `#!${process.execPath}
require('node:fs').appendFileSync('said.jsonl', JSON.stringify(process.argv.slice(2)) + '\\n')`,
  )
  chmodSync(join(folder, 'npx'), 0o755)
  for (const command of commands) {
    const options = { cwd: folder, env: { PATH: `${folder}:${process.env.PATH}` } }
    await promisify(execFile)('/bin/sh', ['-c', `npx latchkey ${command}`], options)
  }
  expect(existsSync(join(folder, 'canary'))).toBe(false)
  const said = readFileSync(join(folder, 'said.jsonl'), 'utf8').trim().split('\n')
  expect(said).toHaveLength(commands.length)
  const words = said.map((line) => JSON.parse(line))
  expect(words).toContainEqual(['latchkey', 'client', 'create', '--public', '--redirect-uri', uri])
  expect(words).toContainEqual(['latchkey', 'client', 'update', id, '--redirect-uri', 'https://…'])
})
