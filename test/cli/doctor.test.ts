import { openCommandLine, withDatabase } from '../support/command-line.ts'

const cli = openCommandLine()
afterAll(() => cli.close())

const nowhere = 'http://127.0.0.1:1/oauth'

test('a mistake is printed with its fix, as text or JSON, and an error has exit code 1', async () => {
  const folder = cli.folder({ 'latchkey.config.mjs': "export default { pages: { name: 'Acme' } }" })
  await cli.succeed(folder, ['migrate'])
  await cli.succeed(folder, ['client', 'create', '--id', 'shop', '--redirect-uri', 'https://a.ngrok.app/cb'])
  const warned = await cli.succeed(folder, ['doctor'])
  expect(warned.stdout).toBe(
    'warning  redirect URI https://a.ngrok.app/cb of client shop is on a host that others may have tomorrow (redirect-uris)\n' +
      '  fix: run: npx latchkey client update shop --redirect-uri https://…\n',
  )
  expect(warned.stderr).toContain('without a running server, only the configuration was checked')

  const metadata = JSON.stringify({ redirect_uris: ['http://shop.example.com/cb'] })
  await withDatabase(folder, (database) => database('oauth_clients').update({ metadata }))
  const failed = await cli.run(folder, ['doctor', '--json'])
  expect(JSON.parse(failed.stdout)).toEqual([
    expect.objectContaining({ check: 'redirect-uris', level: 'error' }),
  ])
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('1 error was found') })
})

test.each([
  ['a configuration that cannot be loaded', ['--config', 'missing.js'], 'missing.js does not exist'],
  ['a URL where nothing answers', [nowhere], `${nowhere} cannot be reached`],
  ['what is no URL', ['app.example.com'], 'URL must begin with https://'],
])('%s has exit code 2', async (_, args, message) => {
  const folder = cli.folder()
  await cli.succeed(folder, ['migrate'])
  const { code, stderr } = await cli.run(folder, ['doctor', ...args])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
})
