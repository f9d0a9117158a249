// The app of docs/mcp.md in a process of its own, behind a recorder that sees every request, with a person in Chromium who
// opens what the hosts open.

import { execFile, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { hasLongBeenInFront } from '../support/browser.ts'
import { freePort } from '../support/free-ports.ts'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { createUserTable } from '../support/recipe.ts'
import { filesOf } from '../support/snippets.ts'
import { ada } from '../support/tokens.ts'
import { documents } from './documents.ts'
import { type Models, openModels } from './models.ts'

const root = join(__dirname, '../..')

/** One request of a host, as the recorder saw it. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** The fields of a form, or the members of a JSON body. */
  readonly body: Readonly<Record<string, unknown>>
  readonly status: number
  /** Of an answer that is no stream. */
  readonly answer: string
}

/** What the host needs of this machine. */
export interface Machine {
  /** The folder that the host takes for its user's home. */
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  /** URL of the MCP server. */
  readonly mcp: string
  readonly models: string
}

/** What a host did, and what it printed. */
export interface Run {
  readonly output: string
  readonly seen: readonly Seen[]
}

export interface Lab {
  readonly mcp: string
  readonly models: Models
  /** A user's machine on which the host was never started. */
  machine(): Machine
  /** Runs a program of the host until it ends; what it opens, the person opens, signs in and allows. */
  run(command: Command, machine: Machine): Promise<Run>
  /** Several at once. */
  runAll(commands: readonly Command[], machine: Machine): Promise<Run>
  /** Until every access token has expired. */
  untilExpired(): Promise<void>
  /** Ends the server and starts it again. */
  restart(): Promise<void>
  /** The person removes every client on the page Connected apps. */
  removeConnections(): Promise<void>
  /** The operator deletes every registration. */
  deleteClients(): Promise<void>
  /** Whether its time is over, so that programs were ended before they could finish. */
  isOver(): boolean
  close(): Promise<void>
}

/** A program of a host and what it is given. */
export interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Lines for its standard input. @default it is closed */
  readonly input?: string
  /** In a terminal, for hosts that ask for one. */
  readonly terminal?: boolean
  /** Milliseconds after which it is ended, unless the time of the lab is over before. @default 60,000 */
  readonly timeout?: number
  /** Ends it as soon as this has been seen. */
  readonly until?: (seen: readonly Seen[]) => boolean
}

/** The network of vendors: what the server asks of them comes from the stand-in. */
const network = (port: number): string =>
  `data:text/javascript,${encodeURIComponent(`
    import dns from 'node:dns'
    import http from 'node:http'
    import https from 'node:https'
    dns.promises.lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    https.request = (url, { lookup, headers, ...options }) =>
      http.request(new URL(url.pathname + url.search, 'http://127.0.0.1:${port}'), { ...options, headers: { ...headers, host: url.host } })
  `)}`

const listen = async (server: Server, port = 0, host = '127.0.0.1'): Promise<number> => {
  await new Promise<void>((listening) => server.listen(port, host, listening))
  return (server.address() as AddressInfo).port
}

const bodyOf = (type: string | undefined, text: string): Record<string, unknown> => {
  if (type?.includes('json')) {
    try {
      const body = JSON.parse(text)
      return Array.isArray(body) ? body[0] : body
    } catch {
      return {}
    }
  }
  return Object.fromEntries(new URLSearchParams(text))
}

/** Holds requests until as many have come as are expected, or none has come for a while. */
class Gate {
  #waiting: (() => void)[] = []
  #expected = 1

  expect(count: number): void {
    this.#expected = count
  }

  open(): void {
    this.#expected = 1
    for (const go of this.#waiting.splice(0)) go()
  }

  async pass(): Promise<void> {
    if (this.#waiting.length + 1 >= this.#expected) {
      this.open()
      return
    }
    await new Promise<void>((go) => {
      this.#waiting.push(go)
      // A host whose processes wait for each other sends one only.
      setTimeout(() => this.open(), 1000)
    })
  }
}

/** Sends every request on and keeps what it saw. */
const openRecorder = (inner: () => number, seen: Seen[], gate: Gate): Server =>
  createServer((req: IncomingMessage, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', async () => {
      if (req.method === 'POST' && req.url === '/oauth/token') await gate.pass()
      const sent = Buffer.concat(chunks)
      const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost')
      const note = (status: number, answer: string) =>
        seen.push({
          method: req.method ?? '',
          path: pathname,
          query: Object.fromEntries(searchParams),
          body: bodyOf(req.headers['content-type'], sent.toString()),
          status,
          answer,
        })
      const { method, headers, url: path } = req
      const onward = request({ port: inner(), host: '127.0.0.1', method, path, headers }, (back) => {
        const status = back.statusCode ?? 0
        res.writeHead(status, back.headers)
        const isStream = (back.headers['content-type'] ?? '').includes('event-stream')
        if (isStream) note(status, '')
        let answer = ''
        back.on('data', (chunk: Buffer) => {
          if (!isStream) answer += chunk.toString()
          res.write(chunk)
        })
        back.on('end', () => {
          if (!isStream) note(status, answer)
          res.end()
        })
      })
      onward.on('error', () => {
        note(502, '')
        res.writeHead(502).end()
      })
      res.on('close', () => onward.destroy())
      onward.end(sent)
    })
  })

/** Signs in and allows, as far as either is asked. */
const allow = async (page: Page, url: string): Promise<void> => {
  await page.goto(url)
  if (page.url().includes('/oauth/login')) {
    await page.fill('input[name=username]', ada.email)
    await page.fill('input[name=password]', ada.password)
    await page.locator('form:has(input[name=password]) button[type=submit]').first().click()
    await page.waitForLoadState()
  }
  if (page.url().includes('/oauth/consent')) await page.locator('button[value=allow]').click()
  await page.waitForLoadState()
}

/**
 * @param browser Chromium
 * @param accessTokenLifetime seconds; a login on a slow machine must end before
 * @param limit milliseconds after which every program is ended
 * @param guard the options of the guard, instead of those of the page
 */
export const openLab = async (
  browser: Browser,
  {
    accessTokenLifetime,
    limit,
    guard,
  }: { readonly accessTokenLifetime: number; readonly limit: number; readonly guard?: string },
): Promise<Lab> => {
  const end = Date.now() + limit
  const artifacts = join(root, 'test/.artifacts')
  mkdirSync(artifacts, { recursive: true })
  const bin = mkdtempSync(join(artifacts, 'lab-'))
  const opened = join(bin, 'opened')
  mkdirSync(opened)
  for (const name of ['xdg-open', 'sensible-browser', 'www-browser']) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nfile="${opened}/$$-$(date +%N)"\nprintf '%s' "$1" > "$file.part" && mv "$file.part" "$file.url"\n`,
    )
    chmodSync(join(bin, name), 0o755)
  }
  const { 'mcp.mjs': app = '', 'latchkey.config.mjs': config = '' } = filesOf('docs/mcp.md')
  const optionsOfGuard = "{ resource, ask: 'orders:write' }"
  if (!app.includes(optionsOfGuard)) throw new Error('the guard of docs/mcp.md has other options')
  const seen: Seen[] = []
  let inner = 0
  const gate = new Gate()
  const recorder = openRecorder(() => inner, seen, gate)
  const port = await freePort()
  await listen(recorder, port, 'localhost')
  const origin = `http://localhost:${port}`
  const mcp = `${origin}/mcp`
  const vendors = createServer((req, res) => {
    const body = documents[`https://${req.headers.host}${req.url}`]
    res.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  })
  const vendorsPort = await listen(vendors)
  const models = await openModels()
  const hosts = [...new Set(Object.keys(documents).map((url) => new URL(url).origin))]
  const folder: HostFolder = openHostFolder({
    'mcp.mjs': app.replace(optionsOfGuard, guard ?? optionsOfGuard),
    'page.config.mjs': config,
    'latchkey.config.mjs': `import config from './page.config.mjs'
export { resource } from './page.config.mjs'
export default {
  ...config,
  issuer: '${origin}/oauth',
  lifetimes: { accessToken: ${accessTokenLifetime} },
  limits: false,
  outbound: { allowSelfDescribed: ${JSON.stringify(hosts)} },
}`,
    'clients.mjs': `import { authRouter } from 'latchkey'
import config from './latchkey.config.mjs'
const oauth = authRouter(config)
for (const { client_id } of await oauth.clients.list({ limit: 100 })) await oauth.clients.delete(client_id)
await oauth.close()
await config.database.destroy()`,
  })
  const node = (file: string) =>
    promisify(execFile)(process.execPath, [file], {
      cwd: folder.path,
      env: { ...process.env, NODE_ENV: 'development', MCP_URL: mcp },
      timeout: 60_000,
    })
  await createUserTable(join(folder.path, 'app.sqlite'))
  const start = async (): Promise<void> => {
    inner = await folder.start('mcp.mjs', {
      PORT: '0',
      MCP_URL: mcp,
      NODE_OPTIONS: `--import ${network(vendorsPort)}`,
    })
  }
  await start()
  const context: BrowserContext = await browser.newContext({ locale: 'en-GB' })
  context.setDefaultTimeout(20_000)
  await context.addInitScript(hasLongBeenInFront)
  const homes: string[] = []
  const visited = new Set<string>()

  /** Opens what the programs wrote for a browser, until they end. */
  const attend = async (isOver: () => boolean, output: () => string): Promise<void> => {
    while (!isOver()) {
      const files = readdirSync(opened).filter((name) => name.endsWith('.url'))
      const urls = files.map((name) => {
        const url = readFileSync(join(opened, name), 'utf8')
        rmSync(join(opened, name))
        return url
      })
      const plain = stripVTControlCharacters(output())
      for (const [url] of plain.matchAll(
        new RegExp(`${origin}/oauth/authorize\\?[^\\s"'<>]+state=[^\\s"'<>]+`, 'g'),
      ))
        urls.push(url)
      for (const url of urls) {
        // What is printed and what is opened may be encoded differently.
        const state = new URL(url).searchParams.get('state') ?? url
        if (visited.has(state)) continue
        visited.add(state)
        const page = await context.newPage()
        await allow(page, url).catch((error: Error) => {
          seen.push({ method: 'PERSON', path: url, query: {}, body: {}, status: 0, answer: error.message })
        })
        await page.close()
      }
      await new Promise((later) => setTimeout(later, 100))
    }
  }

  const spawned = (
    { program, args, env = {}, input, terminal = false, timeout = 60_000, until }: Command,
    machine: Machine,
    from: number,
  ) => {
    const quoted = [program, ...args].map((part) => `'${part.replaceAll("'", `'\\''`)}'`).join(' ')
    const [file, parts] = terminal
      ? ['script', ['-qfec', `stty cols 2000 rows 50; ${quoted}`, '/dev/null']]
      : [program, args]
    const child = spawn(file, parts, {
      cwd: machine.home,
      env: { ...machine.env, ...env },
      stdio: [input === undefined && !terminal ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
    })
    let output = ''
    let over = false
    const kill = () => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    if (input !== undefined) child.stdin?.write(input)
    const timer = setTimeout(
      () => {
        output += '\n[ended by the lab after its time]\n'
        kill()
      },
      Math.min(timeout, Math.max(end - Date.now(), 0)),
    )
    const watch = setInterval(() => {
      if (until?.(seen.slice(from))) kill()
    }, 200)
    const ended = new Promise<void>((done) => {
      const close = () => {
        clearTimeout(timer)
        clearInterval(watch)
        kill()
        over = true
        done()
      }
      child.once('exit', close).once('error', (error) => {
        output += error.message
        close()
      })
    })
    return { ended, isOver: () => over, output: () => output }
  }

  const runAll = async (commands: readonly Command[], machine: Machine): Promise<Run> => {
    const from = seen.length
    gate.expect(commands.length)
    const children = commands.map((command) => spawned(command, machine, from))
    const output = () => children.map((child) => child.output()).join('\n---\n')
    await attend(() => children.every((child) => child.isOver()), output)
    await Promise.all(children.map(({ ended }) => ended))
    gate.open()
    return { output: output(), seen: seen.slice(from) }
  }

  return {
    mcp,
    models,
    machine: () => {
      const home = mkdtempSync(join(artifacts, 'home-'))
      homes.push(home)
      const path = [bin, dirname(process.execPath), join(root, 'node_modules/.bin'), '/usr/bin', '/bin']
      const env = {
        HOME: home,
        PATH: path.join(delimiter),
        BROWSER: join(bin, 'xdg-open'),
        DISPLAY: ':99',
        TERM: 'xterm-256color',
        LANG: 'C.UTF-8',
        XDG_CONFIG_HOME: join(home, '.config'),
        NO_PROXY: 'localhost,127.0.0.1',
      }
      return { home, env, mcp, models: models.origin }
    },
    run: (command, machine) => runAll([command], machine),
    runAll,
    untilExpired: () => new Promise((later) => setTimeout(later, (accessTokenLifetime + 1) * 1000)),
    restart: async () => {
      folder.stop()
      await start()
    },
    removeConnections: async () => {
      const page = await context.newPage()
      for (let left = 20; left > 0; left -= 1) {
        await page.goto(`${origin}/oauth/account`)
        const link = page.locator('a[href*="client_id="]').first()
        if ((await link.count()) === 0) break
        await page.goto(new URL((await link.getAttribute('href')) ?? '', page.url()).href)
        await page.locator('main form[method=post] button').first().click()
        await page.waitForLoadState()
      }
      await page.close()
    },
    deleteClients: async () => {
      await node('clients.mjs')
    },
    isOver: () => Date.now() > end,
    close: async () => {
      await context.close()
      folder.remove()
      models.close()
      for (const server of [vendors, recorder]) {
        server.close()
        server.closeAllConnections()
      }
      for (const path of [bin, ...homes]) rmSync(path, { recursive: true, force: true })
    },
  }
}
