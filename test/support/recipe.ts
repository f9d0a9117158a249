import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { hash } from '@node-rs/bcrypt'
import createKnex, { type Knex } from 'knex'
import { type ClientSeed, migrate, seedClients } from '../../lib/index.ts'
import { sqliteAt } from './database.ts'
import { freePort } from './free-ports.ts'
import { callback, secret } from './host.ts'
import { type HostFolder, openHostFolder } from './host-folder.ts'
import { locationOf, RawBrowser } from './raw-browser.ts'
import { fileOfFirstPath, filesOf } from './snippets.ts'
import { ada } from './tokens.ts'

const root = join(__dirname, '../..')

/** A client that is registered beside those of a recipe. */
const web: ClientSeed = {
  client_id: 'web',
  client_secret: secret,
  redirect_uris: [callback],
  scope: 'openid profile email orders:read',
}

/** A recipe in a folder of its own, whose app runs on a database with Ada in it. */
export interface Recipe {
  readonly folder: HostFolder
  readonly origin: string
  readonly issuer: string
  browser(): RawBrowser
  /** Runs a file of the folder to its end, and returns what it wrote. */
  run(file: string | readonly string[], env?: Readonly<Record<string, string>>): Promise<string>
}

const databaseFile = `import knex from 'knex'
export const database = knex({ client: 'better-sqlite3', connection: { filename: 'app.sqlite' }, useNullAsDefault: true })
`

/** The table of users that README describes, with Ada in it, in a new SQLite file or an empty database. */
export const createUserTable = async (database: string | Knex.Config): Promise<void> => {
  const knex = createKnex(typeof database === 'string' ? sqliteAt(database) : database)
  await knex.schema.createTable('users', (table) => {
    table.increments('id')
    for (const name of ['email', 'password_hash', 'full_name']) table.string(name)
  })
  const password_hash = await hash(ada.password, { cost: 4 })
  await knex('users').insert({ email: ada.email, full_name: ada.full_name, password_hash })
  await knex.destroy()
}

const fill = async (path: string): Promise<void> => {
  const filename = join(path, 'app.sqlite')
  await createUserTable(filename)
  const knex = createKnex(sqliteAt(filename))
  await migrate(knex)
  await seedClients(knex, [web], { scopes: { 'orders:read': 'See your orders' } })
  await knex.destroy()
}

/**
 * Checks the types of the TypeScript in a folder, and compiles it, with decorators as Nest uses them.
 *
 * @returns where the folder's files are then, in the folder
 * @throws Error with what tsc says
 */
export const compileFolder = ({ path }: HostFolder): string => {
  const compilerOptions = {
    rootDir: root,
    outDir: 'dist',
    noEmit: false,
    allowJs: true,
    verbatimModuleSyntax: false,
    erasableSyntaxOnly: false,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
  }
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions,
    include: ['**/*.ts', join(root, 'lib/**/*.d.ts')],
    exclude: ['dist'],
  }
  writeFileSync(join(path, 'tsconfig.json'), JSON.stringify(project))
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', path],
    {
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(stdout)
  return `dist/${relative(root, path)}`
}

/** Runs a program to its end. */
const runIn =
  (folder: HostFolder, issuer: string) =>
  async (file: string | readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [file].flat(), {
      cwd: folder.path,
      env: { ...process.env, NODE_ENV: 'development', ISSUER: issuer, ...env },
    })
    return stdout
  }

/**
 * Writes files into a folder, beside a database with Ada in it, and starts their app on a free port.
 *
 * @param main does what is to be done before, and says which file is the app
 */
const startFiles = async (
  files: Readonly<Record<string, string>>,
  main: (folder: HostFolder, run: Recipe['run']) => string | Promise<string>,
  env: Readonly<Record<string, string>> = {},
): Promise<Recipe> => {
  const port = await freePort()
  const folder = openHostFolder(files)
  const [origin, issuer] = [`http://localhost:${port}`, `http://localhost:${port}/oauth`]
  const run = runIn(folder, issuer)
  try {
    await fill(folder.path)
    await folder.start(await main(folder, run), { PORT: String(port), ...env })
  } catch (error) {
    folder.remove()
    throw error
  }
  return { folder, origin, issuer, browser: () => new RawBrowser(origin, origin), run }
}

/**
 * Writes the files of a page, and starts its `app.mjs` on a free port.
 *
 * @param main another file, which may be compiled first
 * @param changed the files as the test needs them, by their text on the page
 */
export const startRecipe = (
  page: string,
  {
    main = (_folder: HostFolder): string => 'app.mjs',
    changed = (files: Record<string, string>) => files,
  } = {},
): Promise<Recipe> => {
  const files = changed({ 'database.mjs': databaseFile, ...filesOf(page) })
  return startFiles(files, main, { SESSION_SECRET: secret, COOKIE_SECRET: secret })
}

/**
 * Writes the files of pages about clients beside the app of README, to which the pages may add code, registers the
 * clients of their `latchkey.clients.mjs`, and starts the app.
 */
export const startClientRecipes = (
  pages: readonly string[],
  {
    add = (app: string) => app,
    changed = (files: Record<string, string>) => files,
    before = async (_run: Recipe['run']): Promise<unknown> => undefined,
    env = {} as Readonly<Record<string, string>>,
  } = {},
): Promise<Recipe> => {
  const files: Record<string, string> = {
    'latchkey.config.mjs': fileOfFirstPath('latchkey.config.mjs'),
    'app.mjs': add(fileOfFirstPath('app.mjs')),
  }
  const lists: string[] = []
  for (const [index, page] of pages.entries()) {
    const { 'latchkey.clients.mjs': list = 'export default []\n', ...others } = filesOf(page)
    lists.push(`import list${index} from './list${index}.mjs'`)
    Object.assign(files, others, { [`list${index}.mjs`]: list })
  }
  const all = lists.map((_, index) => `...list${index}`).join(', ')
  files['latchkey.clients.mjs'] = `${lists.join('\n')}\nexport default [${all}]\n`
  return startFiles(changed(files), async (_folder, run) => {
    await before(run)
    await run(['node_modules/latchkey/lib/tools/cli/index.js', 'clients', 'apply'], env)
    return 'app.mjs'
  })
}

/** The authorization response for `web`, after Ada signed in and allowed as far as she was asked. */
export const grantedTo = async (
  { issuer }: Recipe,
  browser: RawBrowser,
  parameters: Readonly<Record<string, string>> = {},
): Promise<URL> => locationOf(await browser.grant(authorizeAt(issuer, parameters), ada.email, ada.password))

/** The tokens of `web` for an authorization response. */
export const redeemed = async (
  { issuer }: Pick<Recipe, 'issuer'>,
  response: URL,
): Promise<Record<string, string>> => {
  const parameters = { grant_type: 'authorization_code', code: response.searchParams.get('code') ?? '' }
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...parameters,
      redirect_uri: callback,
      client_id: 'web',
      client_secret: secret,
    }),
  })
  return answer.json()
}

/** An authorization request of `web`. */
export const authorizeAt = (issuer: string, parameters: Readonly<Record<string, string>> = {}): string =>
  `${issuer}/authorize?${new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: callback,
    scope: 'openid',
    ...parameters,
  })}`
