// A feature in a host's own file, as docs/feature-of-your-own.md has it, run and compiled as a host does.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defineFeature, type FeatureDefinition, passkeys } from '../../lib/features/index.ts'
import type { Feature } from '../../lib/index.ts'
import { openOnFile, openOnServer, type SharedDatabase } from '../support/database.ts'
import { freePort } from '../support/free-ports.ts'
import { startHost } from '../support/host.ts'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import { describeWith, services } from '../support/services.ts'
import { hostFiles } from './own-host.ts'

const run = promisify(execFile)
const root = join(__dirname, '../..')

const describeOn = (open: () => SharedDatabase): void => {
  let folder: HostFolder
  let database: SharedDatabase
  beforeAll(() => {
    folder = openHostFolder(hostFiles)
    database = open()
  })
  afterAll(async () => {
    folder?.remove()
    await database?.close()
  })

  const start = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const port = `${await freePort()}`
    const origin = `http://127.0.0.1:${port}`
    const { config, tablePrefix } = database
    const DATABASE = JSON.stringify({ ...config, tablePrefix })
    await folder.start('app.mjs', { PORT: port, ISSUER: `${origin}/oauth`, DATABASE, ...env })
    return origin
  }
  const host = async (origin: string): Promise<object> => (await fetch(`${origin}/host`)).json()

  test('a user accepts the terms on an account page; the host, the event and the export show it', async () => {
    const origin = await start()
    const browser = new RawBrowser(origin, origin)
    const page = `${origin}/oauth/account/terms`
    const shown = await browser.signIn(await browser.open(page), 'ada', 'secret')
    expect(textOf(shown)).toMatch(/Connected apps Devices Terms Terms Read version 2 I accept/)
    expect(await host(origin)).toEqual({ events: [], acceptedTerms: [], acceptedBy: [] })

    const accepted = await browser.submit(shown, 'name="decision"')
    expect([accepted.status, textOf(accepted).includes('I accept')]).toEqual([200, false])
    // Again, in a window that still shows the form.
    await browser.submit(shown, 'name="decision"')
    const events = [{ subject: '1', version: '2' }]
    expect(await host(origin)).toEqual({ events, acceptedTerms: ['2'], acceptedBy: ['2'] })
    expect(await database.table('accepted_terms').select()).toMatchObject(events)
  })

  test('programs read its endpoint and what it publishes', async () => {
    const origin = await start()
    const read = async (path: string) => (await fetch(`${origin}/oauth${path}`)).json()
    expect(await read('/terms')).toEqual({ url: 'https://app.example.com/terms', version: '2' })
    expect(await read('/.well-known/openid-configuration')).toMatchObject({
      op_tos_uri: 'https://app.example.com/terms',
    })
    expect((await fetch(`${origin}/oauth/terms`, { method: 'POST' })).status).toBe(405)
  })

  test('after off() the rows are still exported and erased, and nothing is served', async () => {
    await database.table('accepted_terms').delete()
    await database.table('accepted_terms').insert({ subject: '1', version: '1' })
    const origin = await start({ IS_OFF: '1' })
    expect((await fetch(`${origin}/oauth/terms`)).status).toBe(404)
    expect(await host(origin)).toEqual({ events: [], acceptedTerms: ['1'] })
    await fetch(`${origin}/host/erase`, { method: 'POST' })
    expect(await database.table('accepted_terms').select()).toEqual([])
  })
}

describe('on SQLite', () => describeOn(openOnFile))
describeWith('postgresql', 'on PostgreSQL', () => describeOn(() => openOnServer(services.postgresql, 5)))

/** Compiles a host that uses the feature, and returns the errors. */
const errorsOf = async (host: string): Promise<string[]> => {
  const tsconfig = JSON.stringify({ extends: join(root, 'tsconfig.json'), include: [], files: ['host.ts'] })
  const folder = openHostFolder({ ...hostFiles, 'tsconfig.json': tsconfig, 'host.ts': host })
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', folder.path]).catch(
    (error: { stdout: string }) => error,
  )
  folder.remove()
  return [...stdout.matchAll(/(\w+\.ts)\((\d+),\d+\): error (TS\d+)/g)].map(
    ([, file, line, code]) => `${file} ${line}: ${code}`,
  )
}

test('TypeScript knows what it adds, and refuses what is wrong or not exported', async () => {
  const host = `import { authRouter } from 'latchkey'
import { terms } from './terms.ts'
const oauth = authRouter({ features: [terms({ version: '2', url: 'https://app.example.com/terms' })] })
oauth.terms.acceptedBy('1') satisfies Promise<readonly string[]>
oauth.events.on('terms.accepted', ({ version }) => version satisfies string)
terms({ version: 2, url: 'https://app.example.com/terms' })
terms({ version: '2' })
oauth.events.on('terms.accepted', ({ other }) => other)
import { defineFeature } from 'latchkey/lib/features/feature.ts'
import { accountPage } from 'latchkey/dist/lib/features/own.js'
console.info(defineFeature, accountPage)
`
  expect(await errorsOf(host)).toEqual([
    'host.ts 6: TS2322',
    'host.ts 7: TS2345',
    'host.ts 8: TS2339',
    'host.ts 9: TS2307',
    'host.ts 10: TS2307',
  ])
})

describe('a list is refused at once', () => {
  const made = (name: string, definition: Partial<FeatureDefinition>, added: object = {}) =>
    defineFeature({ name, ...definition }, { name, members: {}, activate: () => ({ api: () => added }) })()
  const listed = (...features: Feature[]) => startHost({ options: { features } })

  test.each(['users', 'get', 'passkeys'])(
    'if a feature adds oauth.%s, which is there already',
    async (name) => {
      const message = `features: oauth.${name} is there already; a feature must add another name`
      await expect(listed(passkeys(), made('own', {}, { [name]: {} }))).rejects.toThrow(message)
    },
  )

  test('if two features with different tables have one name', async () => {
    const storage = { migrations: new Map(), users: undefined, clients: undefined, expired: [] }
    const own = made('passkeys', { storage })
    const named = Object.assign({}, own, { name: 'own' })
    await expect(listed(passkeys(), named)).rejects.toThrow('features: two features have the name passkeys')
  })
})
