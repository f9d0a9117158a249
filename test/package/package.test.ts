import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { hash } from '@node-rs/bcrypt'
import knex from 'knex'
import * as openid from 'openid-client'
import { featureFiles, hostFiles } from '../features/own-host.ts'
import { describeOauth4webapi } from '../interop/oauth4webapi.ts'
import { describeOpenidClient } from '../interop/openid-client.ts'
import { freePort } from '../support/free-ports.ts'
import { authorizeUrl, callback, pkce, secret } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { sampleOf, testsAll } from '../support/sample.ts'
import { describeWith, services } from '../support/services.ts'
import { answer, type Start } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'
import {
  describeVersions,
  fileOfVersion,
  type HostSettings,
  manifestIn,
  modules,
  type PackedPackage,
  packPackage,
  root,
  run,
} from './packed-package.ts'
import { describePaths } from './packed-paths.ts'

/** A host as a team would write it; only the imports differ between the module systems. */
const host = (imports: string) => `${imports}
const { clients, person, database: config } = JSON.parse(process.env.HOST)
const main = async () => {
  const mount = process.argv[2]
  const sqlite = { client: 'better-sqlite3', connection: { filename: 'host-' + process.pid + '.sqlite' } }
  const database = knex({ useNullAsDefault: true, ...(config ?? sqlite) })
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
    app.get('/api/notes', oauth.requireToken('notes:read', { user: false }), (req, res) =>
      res.json({ subject: req.auth.subject ?? null }),
    )
    await oauth.ready()
    process.send({ origin, node: process.version })
  })
}
process.on('disconnect', () => process.exit())
main()
`
const esm = host(`import express from 'express'
import knex from 'knex'
import { authRouter, migrate, seedClients } from 'latchkey'
import { resourceServer } from 'latchkey/guard'
import { attack } from 'latchkey/testing'
if (typeof resourceServer !== 'function') throw new Error('latchkey/guard has no resourceServer')
if (typeof attack !== 'function') throw new Error('latchkey/testing has no attack')`)
const commonJs = host(`const express = require('express')
const knex = require('knex')
const { authRouter, migrate, seedClients } = require('latchkey')
if (typeof require('latchkey/guard').resourceServer !== 'function') throw new Error('latchkey/guard has no resourceServer')
if (typeof require('latchkey/testing').attack !== 'function') throw new Error('latchkey/testing has no attack')`)

const systems = [
  ['ECMAScript modules', 'host.mjs', esm],
  ['CommonJS', 'host.cjs', commonJs],
] as const

let packed: PackedPackage
beforeAll(async () => {
  packed = await packPackage()
})
afterAll(() => packed?.remove())

test('the tarball holds what a host needs and nothing else', () => {
  const published =
    /^package\/((dist|docs)\/.+|lib\/web\/pages\/(page-models|i18n\/locales\/en)\.ts|lib\/.+\/models\.ts|(README|AGENTS|CHANGELOG|CONTRIBUTING|SECURITY|THIRD-PARTY|bench\/README|example-app\/README|test\/(CONFORMANCE|CONFORMANCE-HOST|FAPI2))\.md|LICENSE|package\.json)$/
  const unwanted =
    /\.test\.|\.map$|^package\/docs\/pictures\/|(^|\/)(test|example-app|bench|\.ci)\/(?![\w-]+\.md$)|secret$|\.sqlite|\.env|\.pem$|\.key$|\.tsbuildinfo$/
  expect(packed.files.filter((file) => !published.test(file) || unwanted.test(file))).toEqual([])
  expect(packed.files).toEqual(
    expect.arrayContaining([
      'package/dist/lib/index.js',
      'package/dist/lib/index.d.ts',
      'package/dist/lib/index.d.cts',
      'package/dist/lib/tools/cli/index.js',
      'package/dist/migrations/index.js',
      'package/LICENSE',
      'package/README.md',
    ]),
  )
})

test('the package has at most 3.7 MB unpacked', () => {
  const sizes = packed.files
    .filter((file) => !file.endsWith('/'))
    .map((file) => statSync(join(packed.path, '..', file)).size)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(3_700_000)
})

test('npm publishes the package without a warning', async () => {
  const { stderr } = await promisify(execFile)(
    'npm',
    ['publish', '--dry-run', '--ignore-scripts', '--tag', 'next'],
    {
      cwd: packed.path,
    },
  )
  // A setting of this machine and the missing login say nothing about the package.
  const warnings = stderr
    .split('\n')
    .filter((line) => /^npm warn publish/.test(line) && !line.includes('logged in'))
  expect(warnings).toEqual([])
})

test('README and docs can be read in the tarball: each file that they link to is there', () => {
  const pages = packed.files.filter((file) => /^package\/(README|docs\/\w+)\.md$/.test(file))
  expect(pages.length).toBeGreaterThan(10)
  const missing = pages.flatMap((page) => {
    const path = join(packed.path, '..', page)
    const links = readFileSync(path, 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)|(?:src|srcset)="([^"]+)"/g)
    return (
      [...links]
        .map(([, link, source]) => link ?? source ?? '')
        // Pictures would be a quarter of the package.
        .filter((link) => !/^https?:|(^|\/)pictures\//.test(link) && !existsSync(join(path, '..', link)))
        .map((link) => `${page}: ${link}`)
    )
  })
  expect(missing).toEqual([])
})

test('every entry point of the manifest is in the tarball', () => {
  const { exports, main, types, typesVersions, bin } = manifestIn(packed.path)
  const targets = [exports, main, types, typesVersions, bin].flatMap(strings)
  const files = targets.map((target) => target.replace('*', 'index'))
  expect(files).toContain('./dist/lib/index.js')
  expect(files.filter((file) => !existsSync(join(packed.path, file)))).toEqual([])
})

/** The files that a module loads when it is loaded, itself included; not those that it loads later. */
const loadedFrom = (module: string): string[] => {
  const loaded = new Set([module])
  for (const file of loaded)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(
      /^(?:im|ex)port[^'"]*['"](\.[^'"]+)['"]/gm,
    ))
      loaded.add(join(file, '..', name))
  return [...loaded]
}

test('hosts load a few bundled files with one copy of each class', () => {
  const lib = join(packed.path, 'dist/lib')
  const files = readdirSync(lib, { recursive: true, encoding: 'utf8' })
  const modules = files.filter((file) => file.endsWith('.js'))
  expect(loadedFrom(join(lib, 'index.js')).length).toBeLessThan(24)
  const code = modules.map((file) => readFileSync(join(lib, file), 'utf8')).join('\n')
  expect(code.match(/\bOAuthError\w* = class|class OAuthError\w* /g)).toHaveLength(1)
})

/** Every string in a tree of objects. */
const strings = (tree: unknown): string[] =>
  typeof tree === 'string' ? [tree] : Object.values(tree ?? {}).flatMap(strings)

/** Ada signs in and the client calls the host's API in her name. */
const expectSignIn = async (origin: string): Promise<void> => {
  const { verifier, challenge } = pkce()
  const request = authorizeUrl({
    client_id: 'web',
    scope: 'openid notes:read',
    state: 'before',
    nonce: 'once',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })
  const back = await answer(new RawBrowser(origin, origin), request)
  const response = await fetch(`${origin}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      redirect_uri: callback,
      code_verifier: verifier,
      client_id: 'web',
      client_secret: secret,
    }),
  })
  expect(response.status).toBe(200)
  const { access_token } = (await response.json()) as { access_token: string }
  const notes = await fetch(`${origin}/api/notes`, { headers: { authorization: `Bearer ${access_token}` } })
  expect(await notes.json()).toEqual({ subject: '1' })
}

const frameworks = [
  ['Express 5', {}],
  ['Express 4', { express: 'express-4' }],
] as const

describe.each(systems)('a host in %s', (system, file, source) => {
  // Each system with one version of Express, unless everything is asked for.
  const tried = frameworks.filter(([name]) => testsAll || (name === 'Express 5') === (file === 'host.mjs'))
  describe.each(tried)('with %s', (express, links) => {
    let path: string
    let origin: string

    beforeAll(async () => {
      path = packed.hostFolder(`${system} ${express}`, links)
      writeFileSync(join(path, file), source)
      expect(manifestIn(join(path, 'node_modules/express')).version).toMatch(`${express.slice(-1)}.`)
      origin = await packed.startHost(path, { file })
    })

    test('signs a user in and guards an API', () => expectSignIn(origin))

    test('sends a user who is not signed in to a page with its stylesheet', async () => {
      const request = authorizeUrl({ client_id: 'web', scope: 'openid', state: 'before' })
      const response = await fetch(`${origin}${request}`, { redirect: 'manual' })
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

    // The stock clients see only HTTP, and test/interop runs them against the sources.
    if (file !== 'host.mjs' || !testsAll) return
    const start: Start = async ({ mount }) => {
      const at = await packed.startHost(path, { file, mount })
      return {
        issuer: mount === '/' ? at : at + mount,
        browser: () => new RawBrowser(at, at),
        close: async () => {},
      }
    }
    describeOpenidClient(express, start)
    describeOauth4webapi(express, start)
  })
})

test('Jest loads a CommonJS app with the flag of docs/testing.md', async () => {
  const path = packed.hostFolder('under Jest', { jest: 'jest' })
  writeFileSync(join(path, 'package.json'), '{ "type": "commonjs", "jest": {} }')
  writeFileSync(
    join(path, 'app.test.js'),
    `const { createServer } = require('node:http')
    const { authRouter } = require('latchkey')
    const { attack } = require('latchkey/testing')
    test('serves', async () => {
      const connection = { filename: ':memory:' }
      const database = { knex: require('knex')({ client: 'better-sqlite3', connection, useNullAsDefault: true }) }
      const server = createServer()
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      const issuer = 'http://127.0.0.1:' + server.address().port + '/oauth'
      const oauth = authRouter({ issuer, database, secrets: ['of the test, and as long as it has to be'] })
      server.on('request', oauth.handler)
      try {
        const { status } = await fetch(issuer + '/jwks')
        expect([status, typeof attack]).toEqual([200, 'function'])
      } finally {
        server.close()
        await oauth.close()
        await database.knex.destroy()
      }
    })`,
  )
  const [, command = ''] =
    /^NODE_OPTIONS=(\S+) npx jest$/m.exec(readFileSync(join(root, 'docs/testing.md'), 'utf8')) ?? []
  await run(path, process.execPath, command, join(modules, 'jest/bin/jest.js'), '--forceExit')
})

/** An app that knows nothing of Latchkey yet. */
const emptyApp = `import express from 'express'

const app = express()
app.listen(process.env.PORT, () => process.send({ origin: 'http://localhost:' + process.env.PORT }))
`

test('a newcomer with a user table has a login after 4 commands and at most 15 lines', async () => {
  const path = packed.hostFolder('newcomer')
  writeFileSync(join(path, 'package.json'), '{ "type": "module" }')
  const filename = join(path, 'app.sqlite')
  const database = knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true })
  await database.schema.createTable('users', (table) => {
    table.increments('id')
    for (const name of ['email', 'full_name', 'password_hash']) table.string(name)
  })
  await database('users').insert({
    email: ada.email,
    full_name: 'Ada Lovelace',
    password_hash: await hash(ada.password, { cost: 4 }),
  })
  await database.destroy()

  const latchkey = (...args: string[]): Promise<string> =>
    run(path, process.execPath, 'node_modules/latchkey/dist/lib/tools/cli/index.js', ...args)
  // The first command was npm install.
  const printed = await latchkey('init', '--database', 'app.sqlite', '--redirect-uri', callback)
  await latchkey('migrate')
  const { secrets } = JSON.parse(await latchkey('clients', 'apply', '--json'))

  const added = printed.trim().split('\n').slice(1)
  expect(added.length).toBeLessThanOrEqual(15)
  writeFileSync(
    join(path, 'app.js'),
    emptyApp.replace('= express()\n', (line) => `${line}${added.join('\n')}\n`),
  )
  const origin = await packed.startHost(path, { file: 'app.js', env: { PORT: String(await freePort()) } })

  const [{ client_id, client_secret }] = secrets
  const execute = [openid.allowInsecureRequests]
  const config = await openid.discovery(new URL(`${origin}/oauth`), client_id, client_secret, undefined, {
    execute,
  })
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const request = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid profile email',
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const back = await answer(new RawBrowser(origin, origin), request.href)
  const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier })
  expect(tokens.claims()).toMatchObject({ sub: '1', name: 'Ada Lovelace', email: ada.email })
})

describeVersions('on every supported version of Node', () => {
  const startOn = async (version: string, settings: HostSettings, source: string): Promise<string> => {
    const folder = packed.hostFolder(`node ${version} ${settings.file}`, { pg: 'pg' })
    writeFileSync(join(folder, settings.file), source)
    return packed.startHost(folder, { ...settings, node: fileOfVersion(version, 'bin/node') })
  }

  // CommonJS needs more of Node: it requires an ECMAScript module.
  const sampledSystems = testsAll ? systems : systems.slice(1)

  describe.each(sampleOf(['node-22', 'node-26'], 1))('%s with better-sqlite3', (version) => {
    test.each(sampledSystems)('a host in %s', async (_system, file, source) => {
      await expectSignIn(await startOn(version, { file }, source))
    })
  })

  test('a better-sqlite3 that crashes this Node is refused with the command that helps', async () => {
    const source = `import { authRouter } from 'latchkey'
      const database = { client: 'better-sqlite3', connection: { filename: ':memory:' } }
      await authRouter({ database }).ready()`
    const starting = startOn('node-20.19', { file: 'refused.mjs' }, source)
    await expect(starting).rejects.toThrow(/crashes Node 20; run: npm install better-sqlite3@12/)
  })

  // better-sqlite3 for Node 20 would have to be compiled.
  describeWith('postgresql', 'node-20.19 with PostgreSQL', () => {
    const name = `latchkey_package_${randomBytes(4).toString('hex')}`
    const admin = knex({ client: 'pg', connection: services.postgresql })
    const databases = systems.map((_, index) => `${name}_${index}`)
    beforeAll(async () => {
      for (const database of databases) await admin.raw(`CREATE DATABASE ${database}`)
    })
    afterAll(async () => {
      for (const database of databases) await admin.raw(`DROP DATABASE ${database} WITH (FORCE)`)
      await admin.destroy()
    })

    test.each(sampledSystems)('a host in %s', async (_system, file, source) => {
      const connection = new URL(services.postgresql)
      connection.pathname = `/${databases[file === 'host.mjs' ? 0 : 1]}`
      const database = { client: 'pg', connection: connection.href }
      await expectSignIn(await startOn('node-20.19', { file, database }, source))
    })
  })
})

/** Compiles test/types against the tarball's declarations, which are checked as well. */
const compile = async (
  name: string,
  { compiler, nodeTypes = '@types/node' }: { readonly compiler: string; readonly nodeTypes?: string },
  module: string,
  resolution: string,
  ...flags: string[]
) => {
  const path = packed.hostFolder(name, {
    '@types/express': '@types/express',
    '@types/express-serve-static-core': '@types/express-serve-static-core',
    '@types/node': nodeTypes,
  })
  // A host needs no optional package to compile.
  for (const optional of Object.keys(manifestIn(packed.path).peerDependenciesMeta))
    rmSync(join(path, 'node_modules', optional), { force: true })
  const endings = module.startsWith('node') ? ['mts', 'cts'] : ['ts']
  const files = ['host', 'features'].flatMap((source) =>
    endings.map((ending) => {
      copyFileSync(join(root, `test/types/${source}.ts`), join(path, `${source}.${ending}`))
      return `${source}.${ending}`
    }),
  )
  // Only an ECMAScript module knows where its templates are.
  if (module !== 'commonjs') {
    const name = `terms.${endings[0]}`
    writeFileSync(join(path, name), featureFiles['terms.ts'] ?? '')
    files.push(name)
  }
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--esModuleInterop', '--types', 'node']
  options.push('--skipLibCheck', 'false', '--module', module, '--moduleResolution', resolution, ...flags)
  await run(path, process.execPath, join(compiler, 'bin/tsc'), ...options, ...files)
}

/** `module` and `moduleResolution`; TypeScript 7 no longer has node10. */
const modes = [
  ['commonjs', 'node10'],
  ['node16', 'node16'],
  ['nodenext', 'nodenext'],
  ['es2022', 'bundler'],
] as const

test('a feature in a host’s own file runs from the tarball', async () => {
  const path = packed.hostFolder('own feature')
  for (const [name, text] of Object.entries(hostFiles)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  const database = { client: 'better-sqlite3', connection: { filename: 'own.sqlite' } }
  const PORT = `${await freePort()}`
  const env = { PORT, ISSUER: `http://127.0.0.1:${PORT}/oauth`, DATABASE: JSON.stringify(database) }
  const origin = await packed.startHost(path, { file: 'app.mjs', env })
  const browser = new RawBrowser(origin, origin)
  const page = await browser.signIn(await browser.open(`${origin}/oauth/account/terms`), 'ada', 'secret')
  await browser.submit(page, 'name="decision"')
  expect(await (await fetch(`${origin}/host`)).json()).toMatchObject({ acceptedBy: ['2'] })
})

describe('a host in TypeScript compiles, and so do the declarations', () => {
  const modesOfNewest = [['commonjs', 'bundler'], ...modes.slice(1)] as const
  test.each(sampleOf(modesOfNewest, 1))('TypeScript 7, module %s, resolution %s', (module, resolution) =>
    compile(`7 ${module}`, { compiler: join(modules, 'typescript') }, module, resolution),
  )

  // The oldest in the mode that only older ones have; TEST_ALL tries all versions in all modes.
  describeVersions('with other versions', () => {
    test('the newest types of Node', () => {
      const versions = {
        compiler: join(modules, 'typescript'),
        nodeTypes: fileOfVersion('types-node-26', ''),
      }
      return compile('types of Node', versions, 'nodenext', 'nodenext')
    })

    describe.each(testsAll ? ['5.4', '5.9', '6'] : ['5.4'])('TypeScript %s', (version) => {
      test.each(testsAll ? modes : modes.slice(0, 1))(
        'module %s, resolution %s',
        (module, resolution) => {
          const flags = version === '6' && resolution === 'node10' ? ['--ignoreDeprecations', '6.0'] : []
          const compiler = fileOfVersion(`typescript-${version}`, '')
          return compile(`${version} ${module}`, { compiler }, module, resolution, ...flags)
        },
        120_000,
      )
    })
  })
})

describePaths(() => packed)
