import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express from 'express'
import knex from 'knex'
import { authRouter } from '../../lib/index.ts'
import { openCommandLine, program, withDatabase } from '../support/command-line.ts'
import { describeWith, services } from '../support/services.ts'

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
  await withDatabase(folder, (database) => database('latchkey_clients').update({ metadata }))
  const failed = await cli.run(folder, ['doctor', '--json'])
  expect(JSON.parse(failed.stdout)).toEqual([
    expect.objectContaining({ check: 'redirect-uris', level: 'error' }),
  ])
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('1 error was found') })
})

/** A configuration with a database of its own, which Latchkey does not open. */
const ownDatabase = (more = '') => `import knex from 'knex'
export default {
  pages: { name: 'Acme' },
  database: knex({ client: 'better-sqlite3', connection: { filename: 'app.sqlite' }, useNullAsDefault: true }),
  ${more}
}`

test('it says under which rules it runs', async () => {
  const folder = cli.folder({ 'latchkey.config.mjs': ownDatabase() })
  await cli.succeed(folder, ['migrate'], { program: [program()] })
  const { stderr } = await cli.succeed(folder, ['doctor'], { program: [program()] })
  expect(stderr).toContain('rules: development (NODE_ENV=development)')
  const unset = await cli.run(folder, ['doctor'], { program: [program()], env: { NODE_ENV: '' } })
  expect(unset.stderr).toContain('rules: development (NODE_ENV is not set)')
})

test('secrets that do not open the database are an error, which names .latchkey-secret (F4)', async () => {
  const folder = cli.folder({
    'latchkey.config.mjs': ownDatabase(
      "secrets: process.env.OTHER ? ['b'.repeat(9) + 'Zk3qW8vX1mN5tR7yU2pL0sD4'] : undefined,",
    ),
  })
  await cli.succeed(folder, ['migrate'], { program: [program()] })
  await cli.succeed(folder, ['keys', 'rotate'], { program: [program()] })
  const found = await cli.run(folder, ['doctor'], { program: [program()], env: { OTHER: '1' } })
  expect(found).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('none of the option secrets decrypts the signing key'),
  })
  expect(found.stdout).toContain('it was encrypted with the secret in .latchkey-secret')
})

test('a server with another secret than this command is told apart from a broken database (F4)', async () => {
  const folder = cli.folder({ 'latchkey.config.mjs': ownDatabase() })
  await cli.succeed(folder, ['migrate'], { program: [program()] })
  await cli.succeed(folder, ['keys', 'rotate'], { program: [program()] })
  const app = express()
  const server = createServer(app).listen(0)
  const { port } = server.address() as AddressInfo
  const issuer = `http://localhost:${port}/oauth`
  const connection = { filename: join(folder, 'app.sqlite') }
  const database = knex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
  const logger = { info: () => {}, warn: () => {}, error: () => {} }
  const oauth = authRouter({ issuer, database, logger, secrets: ['another secret that is long enough'] })
  app.use('/oauth', oauth)

  const found = await cli.run(folder, ['doctor', issuer, '--json'], { program: [program()] })
  server.close()
  await oauth.close()
  await database.destroy()
  expect(JSON.parse(found.stdout)).toEqual([
    {
      check: 'available',
      level: 'error',
      message: expect.any(String),
      fix: expect.stringContaining('secrets and DATABASE_URL with those of the server'),
    },
  ])
})

test('a server without TLS at an https issuer is an error, not a server that does not run (F4)', async () => {
  const plain = createServer((_req, res) => res.end('hello')).listen(0)
  const { port } = plain.address() as AddressInfo
  const issuer = `https://localhost:${port}/oauth`
  const config = `export default { issuer: '${issuer}', pages: { name: 'Acme' } }`
  const folder = cli.folder({ 'latchkey.config.mjs': config })
  await cli.succeed(folder, ['migrate'])
  const found = await cli.run(folder, ['doctor'])
  plain.close()
  expect(found).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^error {2}https:\/\/localhost:\d+ answers without TLS.*\(tls\)$/m),
  })
})

test('a server whose port comes from a file .env has no other issuer than the configuration', async () => {
  const server = createServer((_req, res) => {
    const { port } = server.address() as AddressInfo
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify({ issuer: `http://localhost:${port}/oauth` }))
  }).listen(0)
  const folder = cli.folder({ 'latchkey.config.mjs': ownDatabase() })
  await cli.succeed(folder, ['migrate'])
  const { port } = server.address() as AddressInfo
  const found = await cli.run(folder, ['doctor', `http://localhost:${port}/oauth`, '--json'])
  server.close()
  const checks = (JSON.parse(found.stdout) as { check: string }[]).map(({ check }) => check)
  // What this server lacks shows that its answers were looked at.
  expect(checks).toContain('forms')
  expect(checks).not.toContain('mount')
})

test('doctor writes no secret of development (F17)', async () => {
  const folder = cli.folder({ 'latchkey.config.mjs': ownDatabase() })
  await cli.run(folder, ['doctor'])
  expect(readdirSync(folder)).not.toContain('.latchkey-secret')
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

describeWith('postgresql', 'on PostgreSQL', () => {
  test('a user table in a schema that the connection does not search is found there', async () => {
    const name = `app_${randomBytes(4).toString('hex')}`
    const server = knex({ client: 'pg', connection: services.postgresql })
    const folder = cli.folder({
      'latchkey.config.mjs': `export default {
        pages: { name: 'Acme' },
        database: { client: 'pg', connection: '${services.postgresql}?schema=${name}' },
        users: {
          table: '${name}_users',
          columns: { id: 'id', username: 'email', password: 'hash' },
          claims: { email: 'email' },
        },
      }`,
    })
    try {
      await server.schema.createSchema(name)
      await server.schema.withSchema(name).createTable(`${name}_users`, (table) => table.increments('id'))
      const { stdout } = await cli.run(folder, ['doctor', '--json'])
      expect(JSON.parse(stdout).filter(({ level }: { level: string }) => level === 'error')).toEqual([
        {
          check: 'users',
          level: 'error',
          message: `users.table is ${name}_users, a table of the schema ${name}, which the connection does not search`,
          fix: `set searchPath: ['${name}'] beside client and connection, in the configuration of Knex`,
        },
      ])
    } finally {
      await server.raw('drop schema if exists ?? cascade', [name])
      await server.destroy()
    }
  })
})
