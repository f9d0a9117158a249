import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { hash } from '@node-rs/bcrypt'
import { callback, clients } from './support/host.ts'
import { RawBrowser } from './support/raw-browser.ts'
import { ada, type Start } from './support/stock-client.ts'
import { describeOauth4webapi } from './support/stock-client-oauth4webapi.ts'
import { describeOpenidClient } from './support/stock-client-openid-client.ts'

const root = join(__dirname, '..')
const modules = join(root, 'node_modules')

/** A host as a team would write it; only the way it imports differs between the module systems. */
const host = (imports: string) => `${imports}
const { clients, person } = JSON.parse(process.env.HOST)
const main = async () => {
  const mount = process.argv[2]
  const connection = { filename: 'host-' + process.pid + '.sqlite' }
  const database = knex({ client: 'better-sqlite3', connection, useNullAsDefault: true })
  await database.schema.createTable('people', (table) => {
    table.increments('id')
    for (const name of ['email', 'password_hash', 'full_name', 'confirmed_at']) table.string(name)
  })
  await database('people').insert(person)
  await migrate(database)
  const app = express()
  const server = app.listen(0, '127.0.0.1', async () => {
    const origin = 'http://127.0.0.1:' + server.address().port
    const options = {
      issuer: mount === '/' ? origin : origin + mount,
      database,
      users: {
        table: 'people',
        columns: { id: 'id', username: 'email', password: 'password_hash' },
        claims: { name: 'full_name', email: 'email', email_verified: (row) => row.confirmed_at !== null },
      },
      scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Write notes for you' },
    }
    await seedClients(database, clients, options)
    const oauth = authRouter(options)
    app.use(mount, oauth)
    app.use(oauth.wellKnown)
    app.get('/api/notes', oauth.requireToken('notes:read'), (req, res) =>
      res.json({ subject: req.auth.subject ?? null }),
    )
    await oauth.ready()
    process.send({ origin })
  })
}
process.on('disconnect', () => process.exit())
main()
`
const esm = host(`import express from 'express'
import knex from 'knex'
import { authRouter, migrate, seedClients } from 'latchkey'
import { attack } from 'latchkey/testing'
if (typeof attack !== 'function') throw new Error('latchkey/testing has no attack')`)
const commonJs = host(`const express = require('express')
const knex = require('knex')
const { authRouter, migrate, seedClients } = require('latchkey')
if (typeof require('latchkey/testing').attack !== 'function') throw new Error('latchkey/testing has no attack')`)

const consumer = `import express from 'express'
import { type AuthRouterOptions, authRouter, OAuthError, seedClients } from 'latchkey'
import { actingAs, type AttackReport, attack } from 'latchkey/testing'

const options = { issuer: 'https://app.example.com/oauth', lifetimes: { code: 30 } } satisfies AuthRouterOptions
const oauth = authRouter(options)
const app = express()
app.use('/oauth', oauth)
app.use(oauth.wellKnown)
app.get('/orders', oauth.requireToken('orders:read'), (req, res) => {
  res.json({ subject: req.auth.subject })
})
// @ts-expect-error the issuer is a text
authRouter({ issuer: 7 })
export const report: Promise<AttackReport> = attack(app, {
  issuer: options.issuer,
  client: { client_id: 'shop', redirect_uri: 'https://shop.example.com/callback' },
  user: { username: 'ada', password: 'secret' },
})
export const acting = actingAs(oauth, 1, 'orders:read')
export const seeds: typeof seedClients = seedClients
export const refused: Error = new OAuthError('invalid_grant', 'code is expired')
`

const execute = promisify(execFile)

/** Runs a program and gives what it printed; a failure shows that as well, since tsc explains itself there. */
const run = async (cwd: string, program: string, ...args: string[]): Promise<string> => {
  const { stdout } = await execute(program, args, { cwd }).catch((error) => {
    throw new Error(`${error.message}\n${error.stdout}`)
  })
  return stdout
}

let folder: string
let unpacked: string
const running: ChildProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'latchkey-package-'))
  await run(root, 'npm', 'pack', '--foreground-scripts', '--pack-destination', folder)
  const { version } = manifest(root)
  await run(folder, 'tar', '-xzf', `latchkey-${version}.tgz`)
  unpacked = join(folder, 'package')
}, 120_000)

afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const manifest = (of: string) => JSON.parse(readFileSync(join(of, 'package.json'), 'utf8'))

/**
 * A folder with the unpacked package and, beside it, nothing but what its manifest declares: an import that
 * is not declared fails here. `links` puts other packages of ours under the names a host knows them by.
 */
function hostFolder(name: string, links: Readonly<Record<string, string>> = {}): string {
  const path = join(folder, name)
  const { dependencies, peerDependencies } = manifest(unpacked)
  const declared = Object.keys({ ...dependencies, ...peerDependencies }).map((each) => [each, each])
  const packages = { ...Object.fromEntries(declared), ...links }
  cpSync(unpacked, join(path, 'node_modules/latchkey'), { recursive: true })
  for (const [as, of] of Object.entries<string>(packages)) {
    const link = join(path, 'node_modules', as)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(modules, of), link)
  }
  return path
}

/** Starts a host and gives its origin as soon as it can serve; rejects with its output when it ends before. */
async function startHost(path: string, file: string, mount = '/oauth'): Promise<string> {
  const { email, full_name, confirmed_at, password } = ada
  const person = { email, full_name, confirmed_at, password_hash: await hash(password, { cost: 4 }) }
  const child = spawn(process.execPath, [file, mount], {
    cwd: path,
    env: { ...process.env, NODE_ENV: 'development', HOST: JSON.stringify({ clients, person }) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  running.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk
    })
  }
  return new Promise((resolve, reject) => {
    child.on('message', (message) => resolve((message as { origin: string }).origin))
    child.on('exit', (status) => reject(new Error(`${file} ended with ${status}\n${output}`)))
  })
}

test('the tarball holds what a host needs and nothing else', async () => {
  const listing = await run(folder, 'tar', '-tzf', `latchkey-${manifest(root).version}.tgz`)
  const files = listing.trim().split('\n')
  const published =
    /^package\/((dist|lib|migrations|views)\/.+|(README|CHANGELOG|SECURITY)\.md|LICENSE|package\.json)$/
  const unwanted =
    /\.test\.|(^|\/)(test|example-app|bench|\.ci)\/|secret$|\.sqlite|\.env|\.pem$|\.key$|\.tsbuildinfo$/
  expect(files.filter((file) => !published.test(file) || unwanted.test(file))).toEqual([])
  expect(files).toEqual(
    expect.arrayContaining([
      'package/dist/lib/index.js',
      'package/dist/lib/index.d.ts',
      'package/dist/lib/index.d.ts.map',
      'package/dist/lib/cli/index.js',
      'package/dist/migrations/index.js',
      'package/LICENSE',
      'package/README.md',
    ]),
  )
})

test('every entry point of the manifest is in the tarball', () => {
  const { exports, bin } = manifest(unpacked)
  const targets = [exports, bin].flatMap(texts).map((target) => target.replace('*', 'index'))
  expect(targets).toContain('./dist/lib/index.js')
  expect(targets.filter((target) => !existsSync(join(unpacked, target)))).toEqual([])
})

/** Every text in a tree of objects. */
const texts = (tree: unknown): string[] =>
  typeof tree === 'string' ? [tree] : Object.values(tree ?? {}).flatMap(texts)

describe.each([
  ['ECMAScript modules', 'Express 5', 'host.mjs', esm, {}],
  ['CommonJS', 'Express 5', 'host.cjs', commonJs, {}],
  ['ECMAScript modules', 'Express 4', 'host.mjs', esm, { express: 'express-4' }],
  ['CommonJS', 'Express 4', 'host.cjs', commonJs, { express: 'express-4' }],
])('a host in %s with %s', (system, express, file, source, links) => {
  let path: string
  let origin: string

  beforeAll(async () => {
    path = hostFolder(`${system} ${express}`, links)
    writeFileSync(join(path, file), source)
    expect(manifest(join(path, 'node_modules/express')).version).toMatch(`${express.slice(-1)}.`)
    origin = await startHost(path, file)
  }, 30_000)

  const start: Start = async ({ mount }) => {
    const at = await startHost(path, file, mount)
    return {
      issuer: mount === '/' ? at : at + mount,
      browser: () => new RawBrowser(at, at),
      close: async () => {},
    }
  }
  describeOpenidClient(express, start)
  describeOauth4webapi(express, start)

  test('publishes its issuer', async () => {
    const response = await fetch(`${origin}/oauth/.well-known/openid-configuration`)
    expect(response.headers.get('content-type')).toMatch('application/json')
    expect(await response.json()).toMatchObject({
      issuer: `${origin}/oauth`,
      token_endpoint: `${origin}/oauth/token`,
    })
  })

  test('sends a person who is not signed in to a page with its stylesheet', async () => {
    const request = new URLSearchParams({
      response_type: 'code',
      client_id: 'web',
      redirect_uri: callback,
      scope: 'openid',
      state: 'before',
    })
    const response = await fetch(`${origin}/oauth/authorize?${request}`, { redirect: 'manual' })
    expect(response.status).toBe(303)
    const login = new URL(response.headers.get('location') ?? '', response.url)
    expect(`${login.origin}${login.pathname}`).toBe(`${origin}/oauth/login`)

    const cookie = response.headers.getSetCookie().map((each) => each.split(';')[0])
    const page = await fetch(login, { headers: { cookie: cookie.join('; ') } })
    expect(page.status).toBe(200)
    const html = await page.text()
    expect(html).toMatch(/<input[^>]+type="password"/)

    const href = /<link[^>]+href="([^"]+\.css[^"]*)"/.exec(html)?.[1] ?? ''
    const stylesheet = await fetch(new URL(href, page.url))
    expect(stylesheet.status).toBe(200)
    expect(stylesheet.headers.get('content-type')).toMatch('text/css')
  })
})

test('a consumer in TypeScript compiles against the shipped types, which are checked as well', async () => {
  const path = hostFolder('consumer', {
    '@types/express': '@types/express',
    '@types/express-session': '@types/express-session',
    '@types/node': '@types/node',
  })
  writeFileSync(join(path, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(path, 'consumer.ts'), consumer)
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
  await run(path, join(modules, '.bin/tsc'), ...flags, '--skipLibCheck', 'false', 'consumer.ts')
}, 60_000)
