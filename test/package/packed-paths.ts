// The four paths of README, followed as they stand: the commands and files of the pages, in an empty
// folder, with the packed package, by plain Node. Only the ports differ, because tests run side by side.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createMcpApp } from '../interop/mcp-client.ts'
import { until } from '../support/fault-programs.ts'
import { freePorts } from '../support/free-ports.ts'
import { ordersShownBy } from '../support/orders-shown.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { createUserTable } from '../support/recipe.ts'
import { sampleOf } from '../support/sample.ts'
import { filesOf, partFor, snippetsOf } from '../support/snippets.ts'
import { ada } from '../support/tokens.ts'
import { describeVersions, fileOfVersion, modules, type PackedPackage } from './packed-package.ts'

const nodes = { 'Node 22': fileOfVersion('node-22', 'bin'), 'Node 24': join(modules, 'node/bin') }

/** The commands of the pages, which are those of npm, for each package manager. */
const managers = {
  npm: (command: string) => command,
  pnpm: (command: string) => command.replaceAll('npm install ', 'pnpm add ').replaceAll('npx ', 'pnpm exec '),
}

const combinations = (['commonjs', 'module'] as const).flatMap((type) =>
  (['npm', 'pnpm'] as const).flatMap((manager) =>
    (['Node 22', 'Node 24'] as const).map((node) => ({ type, manager, node })),
  ),
)
type Combination = (typeof combinations)[number]

const tried = sampleOf(combinations, 1)

type Files = Readonly<Record<string, string>>

/** A folder of someone who follows the pages. */
const openFolder = async (tarball: string, { type, manager, node }: Combination) => {
  const cwd = mkdtempSync(join(tmpdir(), 'latchkey-paths-'))
  const ports = await freePorts(4)
  const [app = '', client = '', billing = '', wiki = ''] = ports.map((port) => `http://localhost:${port}`)
  /** The ports of the pages in the same order. */
  const shown = ['3000', '4000', '4001', '4002']
  const here = (text: string): string =>
    managers[manager](text).replace(/\b(3000|400[012])\b/g, (port) => `${ports[shown.indexOf(port)]}`)
  const { NODE_ENV: _, NODE_OPTIONS: __, ...inherited } = process.env
  const PATH = [nodes[node], fileOfVersion('.bin', ''), process.env.PATH].join(delimiter)
  const env = { ...inherited, PATH }
  const running: ChildProcess[] = []
  const write = (files: Files): void => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(cwd, file)), { recursive: true })
      writeFileSync(join(cwd, file), here(text))
    }
  }

  /** Runs commands to their end, and returns what they print. */
  const run = async (commands: string, more: Files = {}): Promise<string> => {
    const options = { cwd, env: { ...env, ...more } }
    return (await promisify(execFile)('bash', ['-ec', here(commands)], options)).stdout
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
  const remove = (): void => {
    stop()
    rmSync(cwd, { recursive: true, force: true })
  }
  /** The app as it is before Latchkey: a database with users. */
  const begin = async (): Promise<void> => {
    for (const suffix of ['', '-shm', '-wal']) rmSync(join(cwd, `app.sqlite${suffix}`), { force: true })
    await createUserTable(join(cwd, 'app.sqlite'))
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

/** At a terminal secrets are shown, and nowhere else. */
const atTerminal = { NODE_OPTIONS: '--import=data:text/javascript,process.stdout.isTTY=true' }

const describeCombination = (packed: () => PackedPackage, combination: Combination): void => {
  const main = combination.type === 'module' ? 'app.mjs' : 'app.cjs'
  const signIn = 'docs/start/sign-in.md'
  const { [main]: app = '', 'latchkey.config.mjs': config = '', ...clients } = filesOf(signIn)
  const ownApps = 'docs/start/own-apps.md'
  const partners = 'docs/start/partners.md'
  let folder: Awaited<ReturnType<typeof openFolder>>

  beforeAll(async () => {
    folder = await openFolder(packed().tarball, combination)
    expect(await folder.run('node --version')).toMatch(combination.node.replace('Node ', 'v'))
    for (const command of [signIn, 'docs/mcp.md', ownApps].flatMap(linesOf).filter(isInstall))
      await folder.run(command)
  }, 180_000)
  beforeEach(async () => {
    await folder.begin()
    folder.write({ [main]: app, 'latchkey.config.mjs': config, ...clients })
  })
  afterEach(() => folder?.stop())
  afterAll(() => folder?.remove())

  const person = (): RawBrowser => new RawBrowser(folder.app, folder.app)
  const startApp = (file = main): Promise<void> => folder.start(`node ${file}`, folder.app)

  /** Seeds the client, starts it, and signs in with it. */
  const signInWithShop = async (): Promise<unknown> => {
    const [secret = ''] =
      /lk_cs_[\w-]+/.exec(await folder.run(commandOf(signIn, 'seed.mjs'), atTerminal)) ?? []
    await folder.start(commandOf(signIn, 'client.mjs').replace('=SECRET', `=${secret}`), folder.client)
    return ordersShownBy(folder.client, person())
  }
  const shown = { person: { sub: '1', name: ada.full_name, email: ada.email }, api: { ordersOf: '1' } }

  test('sign in with your product, with the configuration of the page', async () => {
    await startApp()
    expect(await signInWithShop()).toMatchObject(shown)
  })

  test('sign in with your product, with the configuration that latchkey init writes', async () => {
    const written = folder.pathOf('latchkey.config.mjs')
    rmSync(written)
    await folder.run(commandOf('docs/cli.md', 'latchkey init'))
    const [scopes = ''] = /^ {2}scopes:.*\n/m.exec(config) ?? []
    writeFileSync(written, readFileSync(written, 'utf8').replace(/^}\n$/m, `${scopes}}\n`))
    await startApp()
    expect(await signInWithShop()).toMatchObject(shown)
  })

  test('an API for other people’s apps', async () => {
    const { code } = partFor(partners, 'app.mjs')
    const listening = combination.type === 'module' ? 'app.listen(' : 'oauth.ready('
    folder.write({ ...filesOf(partners), [main]: app.replace(listening, `${code}${listening}`) })
    await startApp()

    const developer = person()
    const portal = `${folder.app}/oauth/developer`
    await developer.signIn(await developer.open(portal), ada.email, ada.password)
    const { html } = await developer.submit(await developer.open(`${portal}/new`), 'name="decision"', {
      client_name: 'Order Desk',
      redirect_uris: `${folder.client}/callback`,
      'scopes:orders:read': 'on',
      'scopes:profile': 'on',
      'scopes:email': 'on',
    })
    const [secret = ''] = /lk_cs_[\w-]+/.exec(html) ?? []
    const waiting = await folder.run(commandOf(partners, 'client requests'))
    const [, id = '', revision = ''] = /^([\w-]{20,}) +(\d+) /m.exec(waiting) ?? []
    const start = commandOf(partners, 'client.mjs')
      .replace('=CLIENT-ID', `=${id}`)
      .replace('=SECRET', `=${secret}`)
    await folder.start(start, folder.client)
    const user = person()
    await expect(ordersShownBy(folder.client, user)).rejects.toThrow('400')
    await folder.run(
      commandOf(partners, 'client approve').replace('CLIENT-ID', id).replace('REVISION', revision),
    )
    expect(await ordersShownBy(folder.client, user)).toMatchObject(shown)

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
    const [, added = ''] =
      /as before\n([\s\S]*?)^}\n/m.exec(filesOf('docs/mcp.md')['latchkey.config.mjs'] ?? '') ?? []
    folder.write({
      ...filesOf('docs/mcp.md'),
      'latchkey.config.mjs': config.replace(/^ {2}scopes:.*\n/m, added),
    })
    await folder.start(commandOf('docs/mcp.md', 'mcp.mjs'), folder.app)
    const client = '@modelcontextprotocol/client 2'
    const { use } = createMcpApp({ mcp: `${folder.app}/mcp`, browser: person(), client })
    expect((await use('list_orders')).said).toBe('orders of 1')
    expect((await use('cancel_order')).said).toBe('cancelled')
  })

  test('one sign-in for your own apps', async () => {
    folder.write(filesOf(ownApps))
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

/** Follows the paths, with one combination a day, or with all. */
export const describePaths = (packed: () => PackedPackage): void =>
  describeVersions('the paths of README', () => {
    jest.setTimeout(60_000)
    describe.each(tried)('in a package of the type $type, with $manager, on $node', (combination) =>
      describeCombination(packed, combination),
    )
  })
