/**
 * What a host loads with different lists of features: files, their size, tables, routes, and the processor time from the first
 * import to the mounted router. Run it after `npm run build`:
 *
 *   node --import tsx bench/features.ts
 */
import { execFileSync } from 'node:child_process'
import { thisCheckout } from './compile.ts'
import { table } from './table.ts'

const resource = `resources: { 'https://app.example.com/mcp': { scopes: ['notes:read'] } }, scopes: { 'notes:read': 'Read your notes' }`

/** Options by name, as a host writes them. */
const hosts: readonly (readonly [name: string, options: string])[] = [
  ['an empty list', ''],
  ['MCP only', `features: [registration(), clientMetadataDocuments()], ${resource}`],
  [
    'sign in with us',
    'features: [passkeys(), authenticatorApps(), developers({ allow: () => true }), admin({ allow: () => false })]',
  ],
]

/** Loads the package and mounts the router. It prints the processor time, or what was loaded if COUNT is set. */
const program = (options: string): string => `
import { registerHooks } from 'node:module'
import { statSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
const own = pathToFileURL(process.cwd() + '/dist/').href
const files = new Set()
const isCounted = process.env.COUNT !== undefined
if (isCounted)
  registerHooks({ load: (url, context, next) => (url.startsWith(own) && files.add(url), next(url, context)) })
const { default: express } = await import('express')
const { default: knex } = await import('knex')
const database = knex({ client: 'better-sqlite3', connection: { filename: ':memory:' }, useNullAsDefault: true })
const before = process.cpuUsage()
const { authRouter } = await import('latchkey')
const { ${options ? [...options.matchAll(/(\w+)\(/g)].map(([, name]) => name).join(', ') : ''} } = ${options ? "await import('latchkey/features')" : '{}'}
const users = { find: () => undefined, authenticate: () => undefined }
const logger = { info() {}, warn() {}, error() {} }
const oauth = authRouter({ database, users, logger, secrets: ['a secret of 32 random characters or more'], ${options} })
express().use('/oauth', oauth)
const { user, system } = process.cpuUsage(before)
const milliseconds = (user + system) / 1000
const size = [...files].reduce((sum, url) => sum + statSync(fileURLToPath(url)).size, 0)
await oauth.ready()
const tables = await database('sqlite_master').where('name', 'like', 'latchkey_%').where({ type: 'table' })
const routes = new Set(oauth.stack.flatMap(({ route }) => route?.path ?? [])).size
await oauth.close()
await database.destroy()
console.log(JSON.stringify({ milliseconds, files: files.size, size, tables: tables.length, routes }))
`

interface Loaded {
  readonly milliseconds: number
  readonly files: number
  readonly size: number
  readonly tables: number
  readonly routes: number
}

const load = (options: string, env: Readonly<Record<string, string>> = {}): Loaded =>
  JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program(options)], {
      cwd: thisCheckout,
      encoding: 'utf8',
      env: { ...process.env, NODE_ENV: 'development', ...env },
    }),
  )

/** In turns, so that each host meets the same load of the machine. */
const rounds = Array.from({ length: 11 }, () => hosts.map(([, options]) => load(options).milliseconds))

const rows = hosts.map(([name, options], place) => {
  const { files, size, tables, routes } = load(options, { COUNT: '1' })
  // The least, because everything else on the machine only adds to it.
  const least = Math.min(...rounds.map((times) => times[place] ?? Number.NaN))
  return [name, ...[files, size / 1000, tables, routes, least].map((each) => each.toFixed(0))]
})
console.info(table(['', 'files', 'kB', 'tables', 'routes', 'ms'], rows))
