import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { openCommandLine, rowsOf, withDatabase } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

const redirect_uris = ['https://shop.example.com/callback']
const secret = (letter: string): string => `${letter}7Qm2xV9kLp4Rz8Wt3Yb6Nc1Hd5Jf0Gs`

/** A folder with a schema and a file of clients. */
const folderWith = async (clients: unknown): Promise<string> => {
  const folder = cli.folder()
  await cli.succeed(folder, ['migrate'])
  write(folder, clients)
  return folder
}

/** Under a new name each time, because Node keeps a module that it has loaded. */
let files = 0
const write = (folder: string, clients: unknown): void => {
  files += 1
  writeFileSync(join(folder, `clients-${files}.mjs`), `export default ${JSON.stringify(clients)}\n`)
}
const run = (folder: string, command: string, ...more: string[]) =>
  cli.run(folder, ['clients', command, '--file', `clients-${files}.mjs`, ...more])

const clientsIn = (folder: string) => rowsOf(folder, 'latchkey_clients')

test('plan, apply and drift agree: what is applied is no difference any more', async () => {
  const folder = await folderWith([
    { client_id: 'shop', redirect_uris, client_name: 'Shop' },
    { client_id: 'phone', redirect_uris: ['com.example.shop:/callback'], token_endpoint_auth_method: 'none' },
  ])
  const planned = await run(folder, 'plan')
  expect(planned).toMatchObject({ code: 0 })
  expect(planned.stdout).toMatch(
    /^\+ create shop\n(.*\n)*\+ create phone\n(.*\n)*2 to create, 0 to update, 0 to remove$/m,
  )
  expect(await clientsIn(folder)).toEqual([])

  const applied = await run(folder, 'apply')
  const [, created = ''] = /^client_secret +(\S+)$/m.exec(applied.stdout) ?? []
  expect(await clientsIn(folder)).toMatchObject([
    { client_id: 'shop', secret_hash: hashSecret(created) },
    { client_id: 'phone', secret_hash: null },
  ])
  // A write would set the time.
  await withDatabase(folder, (database) => database('latchkey_clients').update({ updated_at: 1 }))
  const before = await clientsIn(folder)
  const again = await run(folder, 'apply')
  expect(again.stdout).toBe('0 to create, 0 to update, 0 to remove\n')
  expect(await clientsIn(folder)).toEqual(before)
  expect(await run(folder, 'drift')).toMatchObject({ code: 0 })

  write(folder, [
    { client_id: 'shop', redirect_uris, client_name: 'Shop 2', policy_uri: 'https://shop.example.com/p' },
  ])
  const drift = await run(folder, 'drift', '--json')
  expect(drift.code).toBe(1)
  expect(JSON.parse(drift.stdout)).toEqual({
    clients: [
      {
        client_id: 'shop',
        action: 'update',
        fields: [
          { name: 'client_name', from: 'Shop', to: 'Shop 2' },
          { name: 'policy_uri', to: 'https://shop.example.com/p' },
        ],
      },
      { client_id: 'phone', action: 'keep', fields: [] },
    ],
  })
  await run(folder, 'apply')
  expect(await run(folder, 'drift')).toMatchObject({ code: 0 })
  expect(await run(folder, 'drift', '--remove')).toMatchObject({ code: 1 })
  expect((await run(folder, 'apply', '--remove', '--yes')).stdout).toContain('- remove phone')
  expect((await clientsIn(folder)).map(({ client_id }) => client_id)).toEqual(['shop'])
})

describe('clients that the file does not list', () => {
  const [shop, phone] = ['shop', 'phone'].map((client_id) => ({ client_id, redirect_uris }))
  let folder: string
  beforeEach(async () => {
    folder = await folderWith([shop, phone])
    await run(folder, 'apply')
    const consent = { client_id: 'phone', scopes: 'openid', terms: '{}', created_at: 0, updated_at: 0 }
    const rows = ['1', '2'].map((subject) => ({ ...consent, subject }))
    await withDatabase(folder, (database) => database('latchkey_consents').insert(rows))
  })
  const names = async () => (await clientsIn(folder)).map(({ client_id }) => client_id)
  const loss = '- remove phone, with the consents of 2 users and the tokens of 0 authorizations'

  test('are removed with --yes only; without it the command says what would be lost', async () => {
    write(folder, [shop])
    const refused = await run(folder, 'apply', '--remove')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain(loss)
    expect(refused.stderr).toContain('to confirm, add --yes')
    expect(await names()).toEqual(['shop', 'phone'])
    expect((await run(folder, 'plan', '--remove')).stdout).toContain(loss)
    expect((await run(folder, 'apply', '--remove', '--yes')).stdout).toContain(loss)
    expect(await names()).toEqual(['shop'])
    // There is nothing to confirm any more.
    expect(await run(folder, 'apply', '--remove')).toMatchObject({ code: 0 })
  })

  test('stay if the file lists none at all, whatever is confirmed', async () => {
    write(folder, [])
    const refused = await run(folder, 'apply', '--remove', '--yes')
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('lists no client, so --remove would remove all of them')
    expect(await names()).toEqual(['shop', 'phone'])
  })
})

test('a replaced secret stays valid for a while, and no command prints it', async () => {
  const shop = { client_id: 'shop', redirect_uris }
  const folder = await folderWith([{ ...shop, client_secret: secret('a') }])
  await run(folder, 'apply')
  write(folder, [{ ...shop, client_secret: secret('b') }])
  const outcomes = [await run(folder, 'plan'), await run(folder, 'apply', '--keep', '60')]
  for (const { code, stdout, stderr } of outcomes) {
    expect({
      code,
      change: stdout.includes('client_secret: "the stored secret" → "the secret of the file"'),
    }).toEqual({ code: 0, change: true })
    for (const text of [secret('a'), secret('b'), hashSecret(secret('a'))])
      expect(stdout + stderr).not.toContain(text)
  }
  const [row] = await clientsIn(folder)
  expect(row).toMatchObject({
    secret_hash: hashSecret(secret('b')),
    previous_secret_hash: hashSecret(secret('a')),
    previous_secret_expires_at: Number(row?.updated_at) + 60,
  })
})

test.each([
  [
    'an invalid client after a valid one',
    [
      { client_id: 'shop', redirect_uris },
      { client_id: 'x', redirect_uris: ['nonsense'] },
    ],
    'client x: redirect_uri must be',
  ],
  [
    'a client twice',
    [
      { client_id: 'shop', redirect_uris },
      { client_id: 'shop', redirect_uris },
    ],
    'client shop is listed twice',
  ],
  ['a client without an id', [{ redirect_uris }], 'client_id is missing'],
  [
    'a client with a misspelled id (F17)',
    [{ clientId: 'shop', redirect_uris }],
    'clientId is not client metadata; did you mean client_id?',
  ],
  [
    'the second of two wrong clients, which is told with the first (F17)',
    [
      { client_id: 'a', redirect_uri: 'x' },
      { client_id: 'b', redirect_uris: ['http://b.example.com/cb'] },
    ],
    'client b: redirect_uri must use https beyond loopback, unlike http://b.example.com',
  ],
  ['an object', { client_id: 'shop' }, 'must be a list of clients'],
])('%s is refused, and nothing is stored', async (_, clients, message) => {
  const folder = await folderWith(clients)
  for (const command of ['plan', 'apply', 'drift']) {
    const { code, stdout, stderr } = await run(folder, command, '--remove')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
  }
  expect(await clientsIn(folder)).toEqual([])
})

test('a client that registered itself is neither listed nor removed', async () => {
  const folder = await folderWith([{ client_id: 'shop', redirect_uris }])
  await cli.succeed(folder, ['client', 'create', '--id', 'guest', '--redirect-uri', redirect_uris[0]!])
  const [guest] = await clientsIn(folder)
  const metadata = JSON.stringify({ ...JSON.parse(String(guest?.metadata)), self_described: 'registration' })
  await withDatabase(folder, (database) => database('latchkey_clients').update({ metadata }))
  const { stdout } = await run(folder, 'apply', '--remove')
  expect(stdout).not.toContain('guest')
  expect((await clientsIn(folder)).map(({ client_id }) => client_id)).toEqual(
    expect.arrayContaining(['guest', 'shop']),
  )
})
