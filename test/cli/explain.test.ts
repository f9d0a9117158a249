import { configuration, openCommandLine, withDatabase } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

const recorded = configuration(
  "storedEvents: true, features: [features.connections(), features.developers({ allow: () => 'approval' })]",
)

const refusal = {
  code: 'invalid_request',
  path: '/authorize',
  reason: 'redirect_uri_unregistered',
  description: 'redirect_uri is not registered for this client',
  expected: 'https://shop.example.com/callback',
  received: 'https://shop.example.com/callback/',
}

test('explain prints what was expected and received, by an id in any case, as text or JSON', async () => {
  const folder = cli.folder(recorded)
  await cli.succeed(folder, ['migrate'])
  const event = { type: 'request.refused', request_id: '7F3C-91A2-B4', time: 1_800_000_000 }
  const row = { ...event, id: 'one', details: JSON.stringify(refusal), expires_at: 1_900_000_000 }
  await withDatabase(folder, (database) => database('latchkey_events').insert(row))

  const { stdout } = await cli.succeed(folder, ['explain', '7f3c-91a2-b4'])
  expect(stdout).toBe(
    [
      'request.refused  2027-01-15T08:00:00Z',
      '  code         invalid_request',
      '  path         /authorize',
      '  reason       redirect_uri_unregistered',
      '  description  redirect_uri is not registered for this client',
      '  expected     https://shop.example.com/callback',
      '  received     https://shop.example.com/callback/',
      '  see docs/errors.md#invalid_request',
      'connection  stopped at: Sign-in opened',
      '  The redirect URI is not registered: the client sent https://shop.example.com/callback/, and has https://shop.example.com/callback.',
      '  Register the URI, byte for byte; of a loopback address only the port may differ.',
      '',
    ].join('\n'),
  )
  const json = await cli.succeed(folder, ['explain', '7F3C-91A2-B4', '--json'])
  expect(JSON.parse(json.stdout)).toEqual([
    { type: 'request.refused', requestId: '7F3C-91A2-B4', time: 1_800_000_000, details: refusal },
  ])
  const unknown = await cli.run(folder, ['explain', '0000-0000-00'])
  expect(unknown).toMatchObject({ code: 1, stdout: '' })
  expect(unknown.stderr).toContain('no event of request 0000-0000-00 is stored')
})

test('explain adds no cause of another request of the same client', async () => {
  const folder = cli.folder(recorded)
  await cli.succeed(folder, ['migrate'])
  const refused = (requestId: string, time: number, code: string, description: string) => ({
    id: requestId,
    type: 'api.refused',
    request_id: requestId,
    client_id: 'shop',
    time: 1_800_000_000 + time,
    expires_at: 1_900_000_000,
    details: JSON.stringify({ clientId: 'shop', path: '/token', code, description }),
  })
  await withDatabase(folder, (database) =>
    database('latchkey_events').insert([
      refused('0000-0000-01', 1, 'invalid_client', 'client authentication failed'),
      refused('0000-0000-02', 2, 'invalid_grant', 'refresh_token is unknown'),
    ]),
  )
  const { stdout: first } = await cli.succeed(folder, ['explain', '0000-0000-01'])
  expect(first).toContain('client authentication failed')
  expect(first).not.toMatch(/connection|refresh_token/)
  const { stdout: last } = await cli.succeed(folder, ['explain', '0000-0000-02'])
  expect(last).toContain('connection  stopped at: Token issued\n')
  expect(last).toContain('The token endpoint refused the client: refresh_token is unknown')
  expect(last).not.toContain('latchkey explain')
})

test('explain says that a disabled client waits for approval, and not that it can be enabled', async () => {
  const folder = cli.folder(recorded)
  await cli.succeed(folder, ['migrate'])
  const redirect = ['--redirect-uri', 'https://shop.example.com/callback']
  await cli.succeed(folder, ['client', 'create', '--id', 'shop', ...redirect])
  await cli.succeed(folder, ['client', 'disable', 'shop'])
  const details = {
    ...refusal,
    clientId: 'shop',
    reason: 'client_disabled',
    received: 'shop, which is disabled',
  }
  await withDatabase(folder, async (database) => {
    await database('latchkey_events').insert({
      id: 'one',
      type: 'request.refused',
      request_id: '7F3C-91A2-B4',
      client_id: 'shop',
      time: 1_800_000_000,
      details: JSON.stringify(details),
      expires_at: 1_900_000_000,
    })
  })
  const explained = async () => (await cli.succeed(folder, ['explain', '7F3C-91A2-B4'])).stdout
  expect(await explained()).toContain('The client is disabled.\n  Enable it')
  const owner = { client_id: 'shop', subject: 'ada', slot: 0, status: 'waiting', revision: 1 }
  await withDatabase(folder, (database) =>
    database('latchkey_client_owners').insert({ ...owner, created_at: 0, requested_at: 0 }),
  )
  expect(await explained()).toContain(
    'The client waits for approval.\n  Approve or refuse it on the admin page of requests, or by latchkey client approve.\n',
  )
})

test('connections prints the steps of a client, the one that is missing, and why', async () => {
  const folder = cli.folder(recorded)
  await cli.succeed(folder, ['migrate'])
  const event = (type: string, time: number, more: object, details: object = {}) => ({
    id: `${type}${time}`,
    type,
    request_id: `0000-0000-${time}`,
    time: 1_800_000_000 + time,
    expires_at: 1_900_000_000,
    client_id: 'cursor',
    ...more,
    details: JSON.stringify({ clientId: 'cursor', address: '192.0.2.1', ...details }),
  })
  await withDatabase(folder, (database) =>
    database('latchkey_events').insert([
      event('client.created', 1, {}, { agent: 'cursor/1' }),
      event('authorization.requested', 2, {}),
      event('authorization.issued', 3, { subject: '42' }),
    ]),
  )
  const { stdout } = await cli.succeed(folder, ['connections', '--client', 'cursor'])
  expect(stdout).toContain('cursor for user 42 by cursor/1 from 192.0.2.1')
  expect(stdout).toMatch(/✗ {2}Token issued +missing\n/)
  expect(stdout).toContain('A code was sent, and the client did not redeem it')
  const { stdout: json } = await cli.succeed(folder, ['connections', '--user', '42', '--json'])
  expect(JSON.parse(json)).toMatchObject([{ stopped: { step: 'token', cause: 'not-redeemed' } }])
  const none = await cli.succeed(folder, ['connections', '--client', 'other'])
  expect(none.stderr).toContain('no connection was seen')
  const off = cli.folder()
  await cli.succeed(off, ['migrate'])
  expect(await cli.run(off, ['connections'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('latchkey connections needs connections() in the option features'),
  })
})
