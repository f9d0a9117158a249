import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { hash } from '@node-rs/bcrypt'
import { parseSync } from '@swc/core'
import createKnex from 'knex'
import supertest from 'supertest'
import { createEndpoints } from '../lib/endpoints/index.ts'
import { resolveOptions } from '../lib/options/resolve.ts'
import { clientMetadataNames } from '../lib/protocol/client-metadata.ts'
import { errorStatuses } from '../lib/protocol/errors.ts'
import { locationOf, RawBrowser } from './support/raw-browser.ts'

const root = join(__dirname, '..')
const markdownFiles = [
  ...['README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md'],
  ...['example-app/README.md', 'bench/README.md', 'test/CONFORMANCE.md'],
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const fences = /^```(\w*)\n([\s\S]*?)^```$/gm
const snippetsOf = (file: string) =>
  [...read(file).matchAll(fences)].map(([, language = '', code = '']) => ({ language, code }))

/** The file whose name stands in the first line of a snippet of README. */
const snippet = (name: string): string => {
  const found = snippetsOf('README.md').filter(({ code }) => code.startsWith(`// ${name}\n`))
  if (found.length !== 1) throw new Error(`README has ${found.length} snippets called ${name}`)
  return found[0]?.code ?? ''
}

/** The part of a page below a heading, up to the next heading. */
const section = (file: string, heading: string): string => {
  const [, text] =
    new RegExp(`^#+ ${heading}\\n([\\s\\S]*?)(?=^#+ |(?![\\s\\S]))`, 'm').exec(read(file)) ?? []
  if (text === undefined) throw new Error(`${file} has no heading ${heading}`)
  return text
}

/** The first cells of a section's table that name something in code, and the cells beside them. */
const tableOf = (text: string): Map<string, string> =>
  new Map(
    [...text.matchAll(/^\| `(\w+)` \|([^|]*)\|/gm)].map(([, name = '', next = '']) => [name, next.trim()]),
  )

describe('the tables', () => {
  test('docs/options.md lists every option and no other', () => {
    const [, list = ''] = /^const names = \[([\s\S]*?)^\]/m.exec(read('lib/options/resolve.ts')) ?? []
    const names = [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name)
    expect(names).toContain('issuer')
    expect([...tableOf(section('docs/options.md', 'Options')).keys()].sort()).toEqual(names.sort())
  })

  test('docs/options.md shows the defaults of lifetimes and limits', () => {
    const database = { client: 'better-sqlite3', connection: { filename: ':memory:' } }
    const { lifetimes, refreshTokenGracePeriod, throttle } = resolveOptions({
      database,
      secrets: ['a secret of the tests, long enough'],
    })
    const shown = [...tableOf(section('docs/options.md', 'Lifetimes'))].map(([name, value]) => [
      name,
      Number(value),
    ])
    expect(Object.fromEntries(shown)).toEqual(lifetimes)
    expect(tableOf(section('docs/options.md', 'Options')).get('refreshTokenGracePeriod')).toBe(
      `\`${refreshTokenGracePeriod}\``,
    )
    const periods: Readonly<Record<number, string>> = { 60: 'a minute', 900: 'in 15 minutes', 86400: 'a day' }
    const ofEndpoints = Object.values(createEndpoints())
      .flat()
      .map(({ path, limit }) => [path.slice(1), limit] as const)
    const limits = [...Object.entries(throttle?.limits ?? {}), ...ofEndpoints].flatMap(([name, limit]) =>
      limit ? [[name, `${limit.failures} ${periods[limit.seconds]}`]] : [],
    )
    expect(limits.length).toBeGreaterThan(5)
    expect(Object.fromEntries(tableOf(section('docs/options.md', 'Throttle')))).toMatchObject(
      Object.fromEntries(limits),
    )
  })

  test('docs/errors.md lists every error code with its status', () => {
    const rows = [...section('docs/errors.md', 'Codes').matchAll(/^\| (`[^|]+`) \| (\d+) \|/gm)]
    const shown = rows.flatMap(([, codes = '', status]) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => [code, Number(status)]),
    )
    expect(Object.fromEntries(shown)).toEqual(errorStatuses)
  })

  test('docs/clients.md lists every field of a client and no other', () => {
    const shown = [...tableOf(section('docs/clients.md', 'Client metadata')).keys()]
    expect(shown.sort()).toEqual(['client_id', 'client_secret', ...clientMetadataNames].sort())
  })

  test('docs/cli.md lists every command and no other, each with an example', () => {
    const sources = readdirSync(join(root, 'lib/cli')).map((name) => read(`lib/cli/${name}`))
    const names = sources.flatMap((source) =>
      [...source.matchAll(/^ {2}name: '([^']+)',\n {2}summary:/gm)].map(([, name = '']) => name),
    )
    const shown = section('docs/cli.md', 'Command line').matchAll(
      /^\| `latchkey ([a-z-]+(?: [a-z][a-z-]+)?)/gm,
    )
    expect(names).toContain('client create')
    expect([...shown].map(([, name]) => name).sort()).toEqual(names.sort())
    const examples = read('docs/cli.md')
    expect(names.filter((name) => !examples.includes(`\nnpx latchkey ${name}`))).toEqual([])
  })
})

describe.each(markdownFiles)('%s', (file) => {
  test('links and shows only what exists', () => {
    const text = read(file).replaceAll(fences, '')
    const links = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)].map(
      ([, one, other]) => one ?? other ?? '',
    )
    const broken = links
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? file : join(dirname(file), path)
        if (!existsSync(join(root, target))) return true
        return anchor !== undefined && !anchorsOf(target).includes(anchor)
      })
    expect(broken).toEqual([])
  })

  test('shows code that parses', () => {
    for (const { language, code } of snippetsOf(file)) {
      if ((language !== 'js' && language !== 'ts') || code.includes('…')) continue
      expect(() => parseSync(code, { syntax: 'typescript', target: 'es2022' })).not.toThrow()
    }
  })
})

/** Anchors that headings get where Markdown is shown. */
const anchorsOf = (file: string): string[] =>
  [
    ...read(file)
      .replaceAll(fences, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('the three files of README', () => {
  const artifacts = join(__dirname, '.artifacts')
  const person = { email: 'ada@example.com', full_name: 'Ada Lovelace', password: 'correct horse battery' }
  const running: ChildProcess[] = []
  let folder: string
  let host: string
  let client: string
  let hostPort: number

  /** Makes the program send a message as soon as it listens. */
  const announce = `data:text/javascript,${encodeURIComponent(`
    import net from 'node:net'
    const { listen } = net.Server.prototype
    net.Server.prototype.listen = function (...args) {
      this.once('listening', () => process.send?.('listening'))
      return listen.apply(this, args)
    }`)}`

  const environment = (extra: Readonly<Record<string, string>>) => ({
    ...process.env,
    ...extra,
    NODE_ENV: 'development',
    TSX_TSCONFIG_PATH: join(folder, 'tsconfig.json'),
  })

  const start = (file: string, extra: Readonly<Record<string, string>>): Promise<void> => {
    const child = spawn(process.execPath, ['--import', 'tsx', '--import', announce, file], {
      cwd: folder,
      env: environment(extra),
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
      child.on('message', () => resolve())
      child.on('exit', (status) => reject(new Error(`${file} ended with ${status}\n${output}`)))
    })
  }

  const freePort = (): Promise<number> =>
    new Promise((resolve) => {
      const server = createServer().listen(0, 'localhost', () => {
        const address = server.address()
        server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
      })
    })

  const knexfile = {
    client: 'better-sqlite3',
    connection: { filename: 'app.sqlite' },
    useNullAsDefault: true,
  }

  const createUsers = async () => {
    const knex = createKnex({ ...knexfile, connection: { filename: join(folder, 'app.sqlite') } })
    await knex.schema.createTable('users', (table) => {
      table.increments('id')
      table.string('email')
      table.string('password_hash')
      table.string('full_name')
    })
    const { password, ...row } = person
    await knex('users').insert({ ...row, password_hash: await hash(password, { cost: 4 }) })
    await knex.destroy()
  }

  const seed = async (): Promise<string> => {
    const knexCli = join(root, 'node_modules/knex/bin/cli.js')
    // The secret is shown at a terminal only.
    const terminal = 'data:text/javascript,process.stdout.isTTY=true'
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', terminal, '--import', 'tsx', knexCli, 'seed:run'],
      { cwd: folder, env: environment({}) },
    )
    return stdout
  }

  beforeAll(async () => {
    mkdirSync(artifacts, { recursive: true })
    folder = mkdtempSync(join(artifacts, 'readme-'))
    mkdirSync(join(folder, 'seeds'))
    hostPort = await freePort()
    const clientPort = await freePort()
    host = `http://localhost:${hostPort}`
    client = `http://localhost:${clientPort}`
    // Inside the project the name of the package is its source.
    const paths = { latchkey: [join(relative(folder, root), 'lib/index.ts')] }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { allowJs: true, paths } }),
    )
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    writeFileSync(join(folder, 'knexfile.js'), `export default ${JSON.stringify(knexfile)}\n`)
    writeFileSync(join(folder, 'app.js'), snippet('app.js'))
    writeFileSync(
      join(folder, 'seeds/clients.js'),
      snippet('seeds/clients.js').replace(':4000', `:${clientPort}`),
    )
    writeFileSync(join(folder, 'client.js'), snippet('client.js'))
    await createUsers()
    const [secret = ''] = /lk_cs_[\w-]+/.exec(await seed()) ?? []
    await start('app.js', { PORT: String(hostPort) })
    await start('client.js', { PORT: String(clientPort), ISSUER: `${host}/oauth`, SHOP_SECRET: secret })
  }, 60_000)

  afterAll(() => {
    for (const child of running) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  test('README has at most 250 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(251)
  })

  test('app.js has about fifteen lines', () => {
    const lines = snippet('app.js')
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('//'))
    expect(lines.length).toBeLessThanOrEqual(17)
  })

  test('a secret is shown once', async () => {
    expect(await seed()).not.toMatch(/lk_cs_/)
  })

  test('discovery is served in both places, and docs/endpoints.md names every endpoint in it', async () => {
    const inside = await supertest(host).get('/oauth/.well-known/openid-configuration')
    const atRoot = await supertest(host).get('/.well-known/oauth-authorization-server/oauth')
    expect(inside.body).toMatchObject({ issuer: `${host}/oauth` })
    expect(atRoot.body).toEqual(inside.body)
    const endpoints = Object.entries<string>(inside.body)
      .filter(([name]) => name.endsWith('_endpoint') || name === 'jwks_uri')
      .map(([, url]) => url.slice(`${host}/oauth`.length))
    const table = section('docs/endpoints.md', 'Endpoints')
    expect(endpoints.length).toBeGreaterThan(3)
    expect(endpoints.filter((path) => !table.includes(` ${path}\``))).toEqual([])
  })

  test('the API refuses a request without a token', async () => {
    const response = await supertest(host).get('/api/orders')
    expect(response.status).toBe(401)
    expect(response.headers['www-authenticate']).toMatch(/^Bearer /)
  })

  test('a person signs in with the client, allows, and the client reads the orders', async () => {
    const shop = supertest.agent(client)
    const begun = await shop.get('/')
    const browser = new RawBrowser(host, host)
    const login = await browser.open(begun.headers.location ?? '')
    const consent = await browser.signIn(login, person.email, person.password)
    const callback = locationOf(await browser.decide(consent, 'allow'))
    expect(callback.origin).toBe(client)
    const { body } = await shop.get(`${callback.pathname}${callback.search}`)
    expect(body).toMatchObject({
      person: { iss: `${host}/oauth`, aud: 'shop', sub: '1', name: 'Ada Lovelace', email: person.email },
      api: { ordersOf: '1' },
    })
  })
})
