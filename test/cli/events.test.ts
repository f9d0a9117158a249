import { configuration, openCommandLine, rowsOf, withDatabase } from '../support/command-line.ts'

// What a person with a shell does is in the audit trail, as the same act in code is.

const cli = openCommandLine()
afterAll(() => cli.close())

const folderWith = async (storedEvents: boolean): Promise<string> => {
  const folder = cli.folder({
    ...configuration(`storedEvents: ${storedEvents}, features: [features.developers.off()]`),
    'clients.mjs': `export default [
  { client_id: 'shop', client_name: 'Shop', redirect_uris: ['https://shop.example.com/'] },
  { client_id: 'desk', client_name: 'Desk', redirect_uris: ['https://desk.example.com/'] },
]`,
  })
  await cli.succeed(folder, ['migrate'])
  return folder
}

/** The events that a command stores, each with its details. */
const eventsOf = async (folder: string, ...args: string[]): Promise<unknown[]> => {
  await withDatabase(folder, (database) => database('latchkey_events').delete())
  await cli.succeed(folder, args)
  const rows = await withDatabase(folder, (database) => database('latchkey_events').orderBy('rowid'))
  return rows.map(({ type, subject, details }) => [
    type,
    { ...JSON.parse(details), ...(subject && { subject }) },
  ])
}

test('commands store the events of the same acts in code before they exit', async () => {
  const folder = await folderWith(true)
  const run = (...args: string[]) => eventsOf(folder, ...args)
  const shop = { clientId: 'shop' }

  const redirect = ['--redirect-uri', 'https://shop.example.com/callback']
  expect(await run('client', 'create', '--id', 'shop', ...redirect)).toEqual([['client.created', shop]])
  expect(await run('client', 'update', 'shop', '--name', 'Shop 2')).toEqual([['client.updated', shop]])
  expect(await run('client', 'rotate-secret', 'shop')).toEqual([['client.secret_rotated', shop]])
  expect(await run('client', 'disable', 'shop')).toEqual([['client.disabled', shop]])
  expect(await run('client', 'enable', 'shop')).toEqual([['client.enabled', shop]])
  await withDatabase(folder, (database) =>
    database('latchkey_clients').update({ client_id: 'old' }).where({ client_id: 'shop' }),
  )
  await run('client', 'create', '--id', 'shop', ...redirect)
  expect(await run('clients', 'apply', '--file', 'clients.mjs', '--remove', '--yes')).toEqual([
    ['client.updated', shop],
    ['client.created', { clientId: 'desk' }],
    ['client.deleted', { clientId: 'old' }],
  ])
  expect(await run('clients', 'apply', '--file', 'clients.mjs')).toEqual([])
  expect(await run('client', 'delete', 'shop', '--yes')).toEqual([['client.deleted', shop]])

  await withDatabase(folder, async (database) => {
    const about = { subject: 'ada', slot: 0, status: 'waiting', created_at: 0, requested_at: 0, revision: 1 }
    await database('latchkey_client_owners').insert({ client_id: 'desk', ...about })
    const consent = { subject: 'ada', client_id: 'desk', scopes: 'openid', terms: '' }
    await database('latchkey_consents').insert({ ...consent, created_at: 0, updated_at: 0 })
  })
  expect(await run('client', 'approve', 'desk', '1', '--by', 'root')).toEqual([
    ['client.approved', { clientId: 'desk', subject: 'ada', actor: 'root' }],
  ])
  expect(await run('consents', 'revoke', 'ada', 'desk')).toEqual([
    ['consent.removed', { clientId: 'desk', subject: 'ada' }],
  ])
})

test('commands for keys store which keys were published and withdrawn', async () => {
  const folder = await folderWith(true)
  const rotate = ['keys', 'rotate', '--alg', 'RS256']
  const kids = async () => (await rowsOf(folder, 'latchkey_signing_keys')).map(({ kid }) => kid)
  const published = (keyId: unknown) => [
    'key.published',
    { keyId, algorithm: 'RS256', signsFrom: expect.any(Number) },
  ]
  const revoked = (keyId: unknown) => ['key.revoked', { keyId, algorithm: 'RS256' }]

  const first = await eventsOf(folder, ...rotate)
  const [oldest] = await kids()
  expect(first).toEqual([published(oldest)])
  const replaced = await eventsOf(folder, ...rotate, '--now')
  const [newer] = await kids()
  expect(replaced).toEqual([published(newer), revoked(oldest)])
  const withdrawn = await eventsOf(folder, 'keys', 'revoke', '--no-wait', '--', String(newer))
  const [newest] = await kids()
  expect(withdrawn).toEqual([published(newest), revoked(newer)])
})

test('keys rotate --now makes the first keys of a database that has none', async () => {
  const folder = await folderWith(false)
  await cli.succeed(folder, ['keys', 'rotate', '--now', '--alg', 'RS256'])
  expect(await rowsOf(folder, 'latchkey_signing_keys')).toMatchObject([{ algorithm: 'RS256', generation: 1 }])
})

test('commands store no event while storedEvents is off', async () => {
  const folder = await folderWith(false)
  expect(
    await eventsOf(folder, 'client', 'create', '--id', 'shop', '--redirect-uri', 'https://a.example.com/'),
  ).toEqual([])
})
