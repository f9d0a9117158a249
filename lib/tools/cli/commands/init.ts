import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import knex, { type Knex } from 'knex'
import { assertRedirectUriOf, assertRegistrableRedirectUri } from '../../../protocol/clients/redirect-uri.ts'
import { databaseLocation } from '../../../storage/database/location.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { loadDefaultExport } from '../config.ts'
import { type NamedDatabase, namedDatabase } from '../named-database.ts'
import { heading, print, printNote } from '../terminal.ts'
import { type ActiveValue, findUserTable, type UserTable } from './user-table.ts'

const defaultConfigFile = 'latchkey.config.mjs'
const clientFile = 'latchkey.clients.mjs'
const secretFile = '.latchkey-secret'

const isTypeScript = (file: string): boolean => /\.[cm]?ts$/.test(file)

/** The source of an object whose values are sources. */
const objectSource = (values: Readonly<Record<string, string>>): string => {
  const fields = Object.entries(values).map(([name, value]) => `${name}: ${value}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

const textsSource = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]))

const packageFile = (): { readonly name?: string; readonly type?: string } =>
  existsSync('package.json') ? JSON.parse(readFileSync('package.json', 'utf8')) : {}

/** The name of the app as people may know it: `@acme/order-desk` is “Order desk”. */
const productName = (): string => {
  const words = (packageFile().name ?? '')
    .replace(/^@.*\//, '')
    .replace(/[-_.]+/g, ' ')
    .trim()
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}` || 'My app'
}

/** The option `users` for a table. */
const tableSource = ({
  table,
  columns,
  claims,
  isActive,
  emailVerified,
  hasOtherHashes,
}: UserTable): string => `{
    table: ${JSON.stringify(table)},
    columns: ${objectSource(textsSource({ ...columns }))},
    claims: ${objectSource({
      ...textsSource(claims),
      ...(emailVerified !== undefined && { email_verified: `(row) => ${emailVerified}` }),
    })},${
      isActive === undefined
        ? ''
        : `
    // Users for whom this is false cannot sign in, and their tokens end.
    isActive: (row) => ${isActive},`
    }${
      hasOtherHashes
        ? `
    // Some hashes are of a kind that Latchkey does not know. Compare the password with row[${JSON.stringify(columns.password)}] here.
    verify: (row, { password }) => {
      throw new Error('users.verify is not written yet')
    },`
        : ''
    }
  }`

/** The option `users` for an app that has no table of users. */
const functionsSource = `{
    // Return the user with this id, or undefined if there is none or it must not sign in: { id, name, email, … }
    find: async (id) => {
      throw new Error('users.find is not written yet')
    },
    // Return the user if the password is right, else undefined. Let unknown users take as long as wrong passwords.
    authenticate: async ({ username, password, req }) => {
      throw new Error('users.authenticate is not written yet')
    },
    claims: (user) => ({ name: user.name, email: user.email }),
  }`

const configSource = (
  { source }: NamedDatabase,
  users: string,
  hasTypes: boolean,
): string => `import knex from 'knex'
${hasTypes ? "import type { AuthRouterOptions } from 'latchkey'\n" : ''}
export default {
  database: knex(${source}),
  users: ${users},
  // The name that users see.
  pages: { name: ${JSON.stringify(productName())} },
  // Production also needs these:
  // issuer: 'https://example.com/oauth',
  // secrets: process.env.LATCHKEY_SECRET?.split(','), // from: openssl rand -base64 32
}${hasTypes ? ' satisfies AuthRouterOptions' : ''}
`

const clientSource = (redirectUri: string): string => `export default [
  {
    client_id: 'app',
    client_name: 'My app',
    redirect_uris: [${JSON.stringify(redirectUri)}],
    scope: 'openid profile email offline_access',
  },
]
`

/** Writes a file, unless it exists. */
const writeNew = (file: string, source: string): void => {
  const isNew = !existsSync(file)
  if (isNew) writeFileSync(file, source, { flag: 'wx' })
  printNote(isNew ? `wrote ${file}` : `${file} exists and stays as it is`)
}

/** Keeps the secret of development out of the repository. */
const ignoreSecret = (): void => {
  const ignored = existsSync('.gitignore') ? readFileSync('.gitignore', 'utf8') : ''
  if (ignored.split('\n').includes(secretFile)) return
  appendFileSync('.gitignore', `${ignored === '' || ignored.endsWith('\n') ? '' : '\n'}${secretFile}\n`)
  printNote(`added ${secretFile} to .gitignore`)
}

/**
 * The lines that import the configuration; in TypeScript from beside the file that has it, under its compiled name. Programs that run
 * sources of a CommonJS package, such as ts-node, find them only without `.js`.
 */
const importLines = (configFile: string): string[] => {
  const hasTypes = isTypeScript(configFile)
  const isModule = packageFile().type === 'module'
  const compiled = basename(configFile)
    .replace(/\.ts$/, isModule ? '.js' : '')
    .replace(/\.([mc])ts$/, '.$1js')
  const path = `./${hasTypes ? compiled : configFile}`
  return hasTypes || isModule
    ? [`import { authRouter } from 'latchkey'`, `import config from '${path}'`]
    : [`const { authRouter } = require('latchkey')`, `const config = require('${path}').default`]
}

const redirectUriOf = (invocation: Invocation): string => {
  const uri = invocation.text('redirect-uri') ?? ''
  if (uri === '') {
    throw new UsageError('init needs --redirect-uri URI: where the client receives users after the login')
  }
  try {
    assertRegistrableRedirectUri(uri)
    assertRedirectUriOf(uri, { isPublic: false })
    return uri
  } catch (error) {
    throw new UsageError(`--redirect-uri: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The redirect URIs of the clients in a file; undefined if it cannot be read. */
const registeredUris = async (file: string): Promise<readonly string[] | undefined> => {
  const clients = await loadDefaultExport(file, 'a list of clients').catch(() => undefined)
  if (!Array.isArray(clients)) return undefined
  return clients.flatMap((client) => Object(client).redirect_uris ?? []).map(String)
}

/** @throws Error if the file was there before and has another URI */
const assertHasUri = async (uri: string): Promise<void> => {
  const uris = await registeredUris(clientFile)
  if (uris === undefined || uris.includes(uri)) return
  throw new Error(
    `${clientFile} stays as it is and has other redirect URIs: ${uris.join(', ') || 'none'}; add ${uri} to redirect_uris`,
  )
}

const activeOf = (invocation: Invocation): ActiveValue | undefined => {
  const text = invocation.text('active')
  if (text === undefined) return undefined
  const [, column = '', value = ''] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (column !== '') return { column, value }
  throw new UsageError('--active must be COLUMN=VALUE, such as status=active')
}

const databaseOf = (invocation: Invocation): NamedDatabase => {
  const given = invocation.text('database') ?? process.env.DATABASE_URL
  if (given !== undefined && given !== '') return namedDatabase(given, '--database')
  throw new UsageError(
    'init needs --database: the SQLite file or the URL of the database of your app. It also takes the variable DATABASE_URL, but does not read .env',
  )
}

const tableUsers = async (connection: Knex, invocation: Invocation): Promise<string> => {
  const table = await findUserTable(connection, invocation.text('users') ?? 'users', activeOf(invocation))
  if (table.hasOtherHashes) {
    printNote(
      `Latchkey cannot verify the hashes in ${table.table}.${table.columns.password}: write users.verify`,
    )
  }
  if (table.secondFactors.length > 0) {
    printNote(
      `${table.table} has ${table.secondFactors.join(', ')}, but the login page asks for a password only: set secondFactor() or login.url`,
    )
  }
  return tableSource(table)
}

/** `latchkey init` */
export const initCommand: Command = {
  name: 'init',
  summary: 'writes a configuration for your user table, and prints the lines to add to your app',
  usage: '--database FILE|URL --redirect-uri URI',
  details:
    `Reads the columns of your user table and writes ${defaultConfigFile}, ${clientFile} and a line of .gitignore.\n` +
    'In TypeScript name a file among your sources instead: --config src/latchkey.config.ts\n' +
    'Files that exist stay as they are. Nothing is written to the database. A URL may also come from DATABASE_URL.',
  options: {
    database: { value: 'FILE|URL', help: 'the SQLite file or the URL of your database' },
    functions: { help: 'write a skeleton of functions, for users that are in no table' },
    users: { value: 'TABLE', help: 'your user table; users by default' },
    active: {
      value: 'COLUMN=VALUE',
      help: 'the value of an active user, for a column such as status',
    },
    'redirect-uri': { value: 'URI', help: 'where the first client receives users' },
  },
  example: 'latchkey init --database app.sqlite --redirect-uri http://localhost:4000/callback',
  check(invocation) {
    databaseOf(invocation)
    redirectUriOf(invocation)
  },
  async runAlone(invocation) {
    const database = databaseOf(invocation)
    const named = invocation.text('config')
    const configFile = named ?? defaultConfigFile
    const { filename } = Object(database.settings.connection)
    if (filename !== undefined && !existsSync(filename)) throw new Error(`${filename} does not exist`)
    const connection = knex(database.settings)
    printNote(`database: ${databaseLocation(connection)}`)
    try {
      const users = invocation.flag('functions') ? functionsSource : await tableUsers(connection, invocation)
      writeNew(configFile, configSource(database, users, isTypeScript(configFile)))
    } finally {
      await connection.destroy()
    }
    writeNew(clientFile, clientSource(redirectUriOf(invocation)))
    ignoreSecret()
    print(heading('Add to your app:'))
    for (const line of importLines(configFile)) print(line)
    print(
      '// below cookies, sessions and Passport, above CSRF protection, rate limiters and routes such as app.get("*")',
      'const oauth = authRouter(config)',
      "app.use('/oauth', oauth)",
      'app.use(oauth.wellKnown)',
    )
    const option = named === undefined ? '' : ` --config ${named}`
    printNote('', 'Then run:', `  npx latchkey migrate${option}`, `  npx latchkey clients apply${option}`)
    await assertHasUri(redirectUriOf(invocation))
  },
}
