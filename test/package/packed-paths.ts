// The four paths of README, followed as they stand: the commands and files of the pages, in an empty
// folder, with the packed package, by plain Node, on both kinds of databases. Only the ports differ, because tests run side
// by side.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import createKnex from 'knex'
import { createMcpApp } from '../interop/mcp-client.ts'
import { until } from '../support/fault-programs.ts'
import { freePorts } from '../support/free-ports.ts'
import { ordersShownBy } from '../support/orders-shown.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { createUserTable } from '../support/recipe.ts'
import { testsAll } from '../support/sample.ts'
import { describeWith, services } from '../support/services.ts'
import { filesOf, partFor, snippetsOf } from '../support/snippets.ts'
import { ada } from '../support/tokens.ts'
import { describeVersions, fileOfVersion, modules, type PackedPackage, root } from './packed-package.ts'

const nodes = { 'Node 22': fileOfVersion('node-22', 'bin'), 'Node 24': join(modules, 'node/bin') }

/** The commands of the pages, which are those of npm, for each package manager. */
const managers = {
  npm: (command: string) => command,
  pnpm: (command: string) => command.replaceAll('npm install ', 'pnpm add ').replaceAll('npx ', 'pnpm exec '),
}

const combinations = (['commonjs', 'module'] as const).flatMap((type) =>
  (['npm', 'pnpm'] as const).flatMap((manager) =>
    (['Node 22', 'Node 24'] as const).flatMap((node) =>
      (['SQLite', 'PostgreSQL'] as const).map((database) => ({ type, manager, node, database })),
    ),
  ),
)
type Combination = (typeof combinations)[number]

/** The first and the last one differ in everything. */
const tried = testsAll
  ? combinations
  : combinations.filter((_, index) => index % (combinations.length - 1) === 0)

type Files = Readonly<Record<string, string>>

/** A database of its own on the server. */
const createDatabase = async () => {
  const name = `paths_${randomBytes(4).toString('hex')}`
  const on = async (connection: string, ...statements: readonly string[]): Promise<void> => {
    const knex = createKnex({ client: 'pg', connection })
    for (const statement of statements) await knex.raw(statement)
    await knex.destroy()
  }
  await on(services.postgresql, `CREATE DATABASE ${name}`)
  const url = Object.assign(new URL(services.postgresql), { pathname: name }).href
  const empty = async () => {
    await on(url, 'DROP SCHEMA public CASCADE', 'CREATE SCHEMA public')
    return { client: 'pg', connection: url }
  }
  return { url, empty, drop: () => on(services.postgresql, `DROP DATABASE ${name} WITH (FORCE)`) }
}

/** A folder of someone who follows the pages. */
const openFolder = async (tarball: string, { type, manager, node, database }: Combination) => {
  const cwd = mkdtempSync(join(tmpdir(), 'latchkey-paths-'))
  const ports = await freePorts(4)
  const [app = '', client = '', billing = '', wiki = ''] = ports.map((port) => `http://localhost:${port}`)
  /** The ports of the pages in the same order. */
  const shown = ['3000', '4000', '4001', '4002']
  const here = (text: string): string =>
    managers[manager](text).replace(/\b(3000|400[012])\b/g, (port) => `${ports[shown.indexOf(port)]}`)
  const { NODE_ENV: _, NODE_OPTIONS: __, ...inherited } = process.env
  const postgres = database === 'PostgreSQL' ? await createDatabase() : undefined
  const PATH = [nodes[node], fileOfVersion('.bin', ''), process.env.PATH].join(delimiter)
  const env = { ...inherited, PATH, ...(postgres && { DATABASE_URL: postgres.url }) }
  const running: ChildProcess[] = []
  const write = (files: Files): void => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(cwd, file)), { recursive: true })
      writeFileSync(join(cwd, file), here(text))
    }
  }

  /** Runs commands to their end, and returns what they print. */
  const run = async (commands: string): Promise<string> => {
    const options = { cwd, env }
    const { stdout } = await promisify(execFile)('bash', ['-ec', here(commands)], options).catch((error) => {
      throw new Error(`${error.message}\n${error.stdout}`)
    })
    return stdout
  }

  /** Runs commands that start servers, and resolves when each of these answers. */
  const start = async (commands: string, ...origins: readonly string[]): Promise<void> => {
    const { port } = new URL(origins[0] ?? '')
    const options = { cwd, env: { ...env, PORT: port }, detached: true }
    const child = spawn('bash', ['-ec', here(commands)], options)
    running.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk
      })
    const answers = (origin: string): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`${commands} ended with ${child.exitCode}\n${output}`)
      const request = fetch(origin, { redirect: 'manual' })
      return request.then(
        () => true,
        () => false,
      )
    }
    for (const origin of origins) await until(`${origin} answers`, () => answers(origin))
  }

  const stop = (): void => {
    for (const child of running.splice(0))
      if (child.exitCode === null) process.kill(-Number(child.pid), 'SIGKILL')
  }
  const remove = async (): Promise<void> => {
    stop()
    rmSync(cwd, { recursive: true, force: true })
    await postgres?.drop()
  }
  /** The app as it is before Latchkey: a database with users. */
  const begin = async (): Promise<void> => {
    for (const suffix of ['', '-shm', '-wal']) rmSync(join(cwd, `app.sqlite${suffix}`), { force: true })
    await createUserTable((await postgres?.empty()) ?? join(cwd, 'app.sqlite'))
  }

  write({ 'package.json': JSON.stringify({ name: 'order-desk', type }) })
  copyFileSync(tarball, join(cwd, basename(tarball)))
  const pathOf = (file: string): string => join(cwd, file)
  return { app, client, billing, wiki, pathOf, begin, write, run, start, stop, remove }
}

/** The commands of a page, by snippet. */
const commandsOf = (page: string): string[] =>
  snippetsOf(page).flatMap(({ language, code }) => (language === 'sh' ? [code] : []))

const linesOf = (page: string): string[] => commandsOf(page).flatMap((code) => code.trim().split('\n'))

const isInstall = (line: string): boolean => line.startsWith('npm install ')

/** The first command of a page with this text. */
const commandOf = (page: string, text: string): string => {
  const line = linesOf(page).find((each) => each.includes(text))
  if (line === undefined) throw new Error(`${page} has no command with ${text}`)
  return line
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const unescaped = (html: string): string =>
  html.replace(/&(#?\w+);/g, (all, name: string) => entities[name] ?? all)

const signIn = 'docs/start/sign-in.md'
const partners = 'docs/start/partners.md'
const ownApps = 'docs/start/own-apps.md'
const mcp = 'docs/mcp.md'

/** The line with the database that the page has for this one. */
const lineOfDatabase = (database: Combination['database']): string => {
  const [, line = ''] =
    /`(database: knex\(\{ client: 'pg'.*?,)`/.exec(readFileSync(join(root, signIn), 'utf8')) ?? []
  return database === 'PostgreSQL' ? `  ${line}` : '$&'
}

/** A program in CommonJS, by what the page has instead of its imports and its last line. */
const inCommonJs = (app: string): string =>
  app
    .replace(/(^import .*\n)+/m, partFor(partners, 'app.cjs').code)
    .replace(/^(app\.listen\(.*\))$/m, 'oauth.ready().then(() => $1)')

/** A configuration in TypeScript, as the pages say it. */
const inTypeScript = (config: string): string =>
  config
    .replace(/^import /m, "import type { AuthRouterOptions } from 'latchkey'\nimport ")
    .replace(/^}\n$/m, '} satisfies AuthRouterOptions\n')

const describeCombination = (packed: () => PackedPackage, combination: Combination): void => {
  const main = combination.type === 'module' ? 'app.mjs' : 'app.cjs'
  const { [main]: app = '', 'latchkey.config.mjs': shown = '', ...clients } = filesOf(signIn)
  const config = shown.replace(/^ {2}database:.*$/m, lineOfDatabase(combination.database))
  let folder: Awaited<ReturnType<typeof openFolder>>

  beforeAll(async () => {
    folder = await openFolder(packed().tarball, combination)
    expect(await folder.run('node --version')).toMatch(combination.node.replace('Node ', 'v'))
    const commands = [signIn, partners, mcp, ownApps].flatMap(linesOf).map((line) => line.trim())
    for (const command of new Set(commands.filter(isInstall))) await folder.run(command)
  }, 240_000)
  beforeEach(async () => {
    await folder.begin()
    folder.write({ [main]: app, 'latchkey.config.mjs': config, ...clients })
  })
  afterEach(() => folder?.stop())
  afterAll(() => folder?.remove())

  const person = (): RawBrowser => new RawBrowser(folder.app, folder.app)
  const startApp = (file = main): Promise<void> => folder.start(`node ${file}`, folder.app)

  /** Registers the client, starts it, and signs in with it. */
  const signInWithShop = async (): Promise<unknown> => {
    const [secret = ''] = /lk_cs_[\w-]+/.exec(await folder.run(commandOf(signIn, 'clients apply'))) ?? []
    await folder.start(commandOf(signIn, 'client.mjs').replace('=SECRET', `=${secret}`), folder.client)
    return ordersShownBy(folder.client, person())
  }
  const orders = { person: { sub: '1', name: ada.full_name, email: ada.email }, api: { ordersOf: '1' } }

  test('sign in with your product, with the configuration of the page', async () => {
    await startApp()
    expect(await signInWithShop()).toMatchObject(orders)
  })

  test('sign in with your product, with the configuration that latchkey init writes', async () => {
    const written = folder.pathOf('latchkey.config.mjs')
    rmSync(written)
    const init = commandOf('docs/cli.md', 'latchkey init')
    await folder.run(combination.database === 'SQLite' ? init : init.replace('--database app.sqlite ', ''))
    const [scopes = ''] = /^ {2}scopes:.*\n/m.exec(config) ?? []
    writeFileSync(written, readFileSync(written, 'utf8').replace(/^}\n$/m, `${scopes}}\n`))
    await startApp()
    expect(await signInWithShop()).toMatchObject(orders)
  })

  test('an API for other people’s apps', async () => {
    const { 'app.mjs': program = '', ...files } = filesOf(partners)
    folder.write({ ...files, [main]: combination.type === 'module' ? program : inCommonJs(program) })
    await startApp()

    const developer = person()
    const portal = `${folder.app}/oauth/developer`
    await developer.signIn(await developer.open(portal), ada.email, ada.password)
    const { html } = await developer.submit(await developer.open(`${portal}/new`), 'name="decision"', {
      client_name: 'Order Desk',
      redirect_uris: `${folder.client}/callback`,
      'scopes:orders:read': 'on',
    })
    const [secret = ''] = /lk_cs_[\w-]+/.exec(html) ?? []
    const waiting = await folder.run(commandOf(partners, 'client requests'))
    const [, id = '', revision = ''] = /^([\w-]{20,}) +(\d+) /m.exec(waiting) ?? []
    const code = await developer.open(`${portal}/code?client_id=${id}&library=openid-client`)
    const [, source = ''] = /<pre id="source"[^>]*>([\s\S]*?)<\/pre>/.exec(code.html) ?? []
    folder.write({ 'client.mjs': unescaped(source) })
    await folder.start(commandOf(partners, 'client.mjs').replace('=SECRET', `=${secret}`), folder.client)
    const user = person()
    /** What the partner's program shows at the end of a sign-in. */
    const greeted = async (): Promise<string> => {
      const program = new RawBrowser(folder.client, folder.client)
      const callback = locationOf(
        await user.grant(locationOf(await program.get('/login')).href, ada.email, ada.password),
      )
      return (await program.get(callback.href)).html
    }
    await expect(greeted()).rejects.toThrow('400')
    await folder.run(
      commandOf(partners, 'client approve').replace('CLIENT-ID', id).replace('REVISION', revision),
    )
    expect(await greeted()).toBe('Hello, 1')

    const redirect_uri = `${folder.client}/callback`
    const request = { client_id: id, response_type: 'code', redirect_uri, scope: 'openid orders:read' }
    const back = await user.grant(`${folder.app}/oauth/authorize?${new URLSearchParams(request)}`)
    const token = await fetch(`${folder.app}/oauth/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: locationOf(back).searchParams.get('code') ?? '',
        redirect_uri,
      }),
    })
    const headers = { Authorization: `Bearer ${(await token.json()).access_token}` }
    const call = (method: string) => fetch(`${folder.app}/api/orders`, { method, headers })
    const refused = await call('POST')
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('scope="orders:write"')

    expect((await call('GET')).status).toBe(200)
    const account = await user.open(`${folder.app}/oauth/account`)
    const [, remove = ''] = /href="([^"]*client_id=[^"]*)"/.exec(account.html) ?? []
    await user.submit(await user.open(remove.replaceAll('&amp;', '&')), 'csrf')
    expect((await call('GET')).status).toBe(401)
  })

  test('an MCP server', async () => {
    // The client announces what it retries.
    jest.spyOn(console, 'warn').mockImplementation(() => {})
    folder.write(filesOf(mcp))
    await folder.start(commandOf(mcp, 'node mcp.mjs'), folder.app)
    const client = '@modelcontextprotocol/client 2'
    const { use } = createMcpApp({ mcp: `${folder.app}/mcp`, browser: person(), client })
    expect((await use('list_orders')).said).toBe('orders of 1')
    expect((await use('cancel_order')).said).toBe('cancelled')
  })

  test('sign in with your product and an MCP server in TypeScript', async () => {
    const { 'latchkey.config.mjs': mcpConfig = '', 'src/mcp.ts': withMcp = '' } = filesOf(mcp)
    const { 'app.mjs': esm = '' } = filesOf(signIn)
    folder.write({
      'src/latchkey.config.ts': inTypeScript(config),
      'src/app.ts': esm.replace('./latchkey.config.mjs', './latchkey.config.js'),
      'mcp/latchkey.config.ts': inTypeScript(mcpConfig),
      'mcp/mcp.ts': withMcp,
    })
    await folder.run('npm install --save-dev typescript @types/express @types/node')
    const tsc = 'npx tsc --strict --module nodenext --target es2022 --types node --skipLibCheck'
    await folder.run(`${tsc} --outDir dist --rootDir . src/app.ts mcp/mcp.ts`)
    await startApp('dist/src/app.js')
    expect(await signInWithShop()).toMatchObject(orders)
  }, 180_000)

  test('one sign-in for your own apps', async () => {
    const { code } = partFor(ownApps, 'latchkey.config.mjs')
    folder.write({
      ...filesOf(ownApps),
      'latchkey.config.mjs': config.replace(/^}\n$/m, `  ${code.trim()},\n}\n`),
    })
    await startApp()
    // In one shell, because the first lines export what the last ones use; those run side by side.
    const lines = linesOf(ownApps).filter((line) => !isInstall(line))
    const commands = lines.map((line) => (line.endsWith('own-app.mjs') ? `${line} &` : line))
    await folder.start(`${commands.join('\n')}\nwait`, folder.billing, folder.wiki)

    const user = person()
    const atBilling = new RawBrowser(folder.billing, folder.billing)
    const atWiki = new RawBrowser(folder.wiki, folder.wiki)
    /** Opens an app, and returns where Latchkey sends the browser or which page it shows. */
    const askedBy = async (at: RawBrowser) => {
      expect(locationOf(await at.get('/')).pathname).toBe('/login')
      return user.open(locationOf(await at.get('/login')).href)
    }
    const answer = await user.signIn(await askedBy(atBilling), ada.email, ada.password)
    await atBilling.open(locationOf(answer).href)
    expect((await atBilling.get('/')).html).toBe(`billing: ${ada.email}`)

    await atWiki.open(locationOf(await askedBy(atWiki)).href)
    expect((await atWiki.get('/')).html).toBe(`wiki: ${ada.email}`)

    const signedOut = await user.open(locationOf(await atBilling.get('/logout')).href)
    expect(locationOf(signedOut).href).toBe(`${folder.billing}/signed-out`)
    // The notice arrives in the background.
    await until('the wiki has ended its session', async () => (await atWiki.get('/')).status === 302)
    for (const at of [atBilling, atWiki]) expect((await askedBy(at)).html).toContain('type="password"')
  })
}

/** Follows the paths, with two combinations a run, or with all. */
export const describePaths = (packed: () => PackedPackage): void =>
  describeVersions('the paths of README', () => {
    for (const combination of tried) {
      const { type, manager, node, database } = combination
      const needed = database === 'PostgreSQL' ? ['postgresql' as const] : []
      describeWith(
        needed,
        `in a package of the type ${type}, with ${manager}, on ${node} and ${database}`,
        () => describeCombination(packed, combination),
      )
    }
  })
