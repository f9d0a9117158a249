import { configuration, openCommandLine, rowsOf, withDatabase } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

test('requests of users are listed, approved and refused as the operator has seen them (L10)', async () => {
  const folder = cli.folder(configuration("features: [features.developers({ allow: () => 'approval' })]"))
  await cli.succeed(folder, ['migrate'])
  const redirect = ['--redirect-uri', 'https://desk.example.com/callback']
  for (const id of ['one', 'two']) {
    await cli.succeed(folder, ['client', 'create', '--id', id, '--name', `Desk ${id}`, ...redirect])
    await cli.succeed(folder, ['client', 'disable', id])
  }
  const about = { subject: 'ada', status: 'waiting', created_at: 0, requested_at: 0, revision: 1 }
  const owners = ['one', 'two'].map((client_id, slot) => ({ client_id, slot, ...about }))
  await withDatabase(folder, (database) => database('latchkey_client_owners').insert(owners))

  const listed = await cli.succeed(folder, ['client', 'requests'])
  expect(listed.stdout).toMatch(/one +1 +Desk one +ada +the client +1970-01-01T00:00:00.000Z\ntwo /)
  // The owner changes the client after the operator has seen it.
  await withDatabase(folder, (database) =>
    database('latchkey_client_owners').where({ client_id: 'one' }).update({ revision: 2 }),
  )
  for (const command of ['approve', 'refuse']) {
    expect(await cli.run(folder, ['client', command, 'one'])).toMatchObject({ code: 2 })
    expect(await cli.run(folder, ['client', command, 'one', 'new'])).toMatchObject({ code: 2 })
    expect(await cli.run(folder, ['client', command, 'one', '1'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('client one was changed at the same time; read it again'),
    })
  }
  expect(await cli.run(folder, ['client', 'enable', 'one'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/client one waits for approval; approve it .* by latchkey client approve/),
  })
  await cli.succeed(folder, ['client', 'approve', 'one', '2', '--by', 'root'])
  await cli.succeed(folder, ['client', 'refuse', 'two', '1', '--by', 'root', '--reason', 'Not yours.'])
  expect(await rowsOf(folder, 'latchkey_client_owners')).toMatchObject([
    { client_id: 'one', status: 'active', decided_by: 'root', reason: null },
    { client_id: 'two', status: 'refused', decided_by: 'root', reason: 'Not yours.' },
  ])
  expect(await rowsOf(folder, 'latchkey_clients')).toMatchObject([
    { client_id: 'one', disabled_at: null },
    { client_id: 'two', disabled_at: expect.any(Number) },
  ])
  expect((await cli.succeed(folder, ['client', 'requests', '--json'])).stdout.trim()).toBe('[]')
  expect(await cli.run(folder, ['client', 'approve', 'two', '2'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('client two does not wait for approval'),
  })
})

test('a plan that removes unlisted clients leaves those of users', async () => {
  const folder = cli.folder({
    ...configuration('features: [features.developers.off()]'),
    'latchkey.clients.mjs': 'export default []',
  })
  await cli.succeed(folder, ['migrate'])
  await cli.succeed(folder, [
    'client',
    'create',
    '--id',
    'desk',
    '--redirect-uri',
    'https://desk.example.com/',
  ])
  const owner = { client_id: 'desk', subject: 'ada', slot: 0, status: 'active', created_at: 0 }
  await withDatabase(folder, (database) =>
    database('latchkey_client_owners').insert({ ...owner, requested_at: 0, approved_at: 0, revision: 1 }),
  )
  const plan = ['clients', 'plan', '--file', 'latchkey.clients.mjs', '--remove']
  const { stdout } = await cli.succeed(folder, plan)
  expect(stdout).toContain('0 to remove')
})
