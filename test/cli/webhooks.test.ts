import { configuration, openCommandLine, rowsOf, withDatabase } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

test('webhooks lists the newest hundred that were given up, or all', async () => {
  const folder = cli.folder({
    ...configuration('storedEvents: true, features: [features.webhooks.off()]'),
  })
  await cli.succeed(folder, ['migrate'])
  await withDatabase(folder, async (database) => {
    for (let dead_at = 1; dead_at <= 130; dead_at += 1)
      await database('latchkey_webhook_deliveries').insert({
        endpoint: 'billing',
        event_id: 'one',
        lane: 'subject:1',
        attempts: 10,
        failure: 'timeout',
        dead_at,
        expires_at: 1_900_000_000,
      })
  })
  const listed = async (...more: string[]) =>
    JSON.parse((await cli.succeed(folder, ['webhooks', '--json', ...more])).stdout).deadLetters
  expect(await listed()).toHaveLength(100)
  const all = (await listed('--all')).map(({ id }: { id: number }) => id)
  expect(all).toEqual(Array.from({ length: 130 }, (_, index) => 130 - index))
  expect((await cli.succeed(folder, ['webhooks'])).stderr).toContain('--all')
})

test('webhooks lists what was given up, replay lets it be sent again, and enable undoes a 410', async () => {
  const folder = cli.folder({
    ...configuration('storedEvents: true, features: [features.webhooks.off()]'),
  })
  await cli.succeed(folder, ['migrate'])
  const dead = { endpoint: 'billing', event_id: 'one', lane: 'subject:1', attempts: 10, failure: 'timeout' }
  await withDatabase(folder, async (database) => {
    await database('latchkey_webhook_endpoints').insert({ name: 'billing', disabled_at: 1 })
    await database('latchkey_webhook_deliveries').insert({
      ...dead,
      dead_at: 1_800_000_000,
      expires_at: 1_900_000_000,
    })
  })
  const { stdout } = await cli.succeed(folder, ['webhooks', '--json'])
  expect(JSON.parse(stdout).deadLetters).toMatchObject([{ id: 1, endpoint: 'billing', failure: 'timeout' }])
  expect((await cli.succeed(folder, ['webhooks'])).stdout).toMatch(/^1 +billing +removed .* 10 +timeout$/m)

  expect(await cli.run(folder, ['webhooks', 'replay'])).toMatchObject({ code: 2 })
  expect(await cli.run(folder, ['webhooks', 'replay', '2'])).toMatchObject({ code: 1 })
  await cli.succeed(folder, ['webhooks', 'replay', '1'])
  expect(await cli.run(folder, ['webhooks', 'replay', '1'])).toMatchObject({ code: 1 })
  await cli.succeed(folder, ['webhooks', 'enable', 'billing'])
  const [row, endpoint] = await withDatabase(folder, async (database) => [
    await database('latchkey_webhook_deliveries').first(),
    await database('latchkey_webhook_endpoints').first(),
  ])
  expect(row).toMatchObject({ attempts: 0, dead_at: null })
  expect(row.attempt_at).toBeGreaterThan(0)
  expect(endpoint).toMatchObject({ disabled_at: null })
  expect(await rowsOf(folder, 'latchkey_events')).toMatchObject([
    { type: 'webhook.replayed', details: JSON.stringify({ deliveries: '1' }) },
    { type: 'webhook.enabled', details: JSON.stringify({ endpoint: 'billing' }) },
  ])
})
