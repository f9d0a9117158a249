import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Knex } from 'knex'
import { isLoopbackHost } from '../protocol/clients/redirect-uri.ts'
import { refuse } from './check.ts'
import type { Logger } from './server.ts'

const isLoopback = (issuer: unknown): boolean =>
  typeof issuer === 'string' && URL.canParse(issuer) && isLoopbackHost(new URL(issuer).hostname)

/**
 * Whether the rules of production apply: with NODE_ENV=production, and with any name that Latchkey does not know, such as
 * `staging`, unless the issuer is on this machine.
 */
export const isProduction = ({ NODE_ENV = '' }: NodeJS.ProcessEnv, issuer: unknown): boolean =>
  NODE_ENV === 'production' || !(['', 'development', 'test'].includes(NODE_ENV) || isLoopback(issuer))

/** The name of the rules that apply. */
export const rulesName = (production: boolean): string => (production ? 'production' : 'development')

/**
 * Which rules apply, and why.
 *
 * @example describeRules({}, { production: false }) // 'development (NODE_ENV is not set)'
 */
export const describeRules = (
  { NODE_ENV = '' }: NodeJS.ProcessEnv,
  { production }: { readonly production: boolean },
): string => `${rulesName(production)} (${NODE_ENV === '' ? 'NODE_ENV is not set' : `NODE_ENV=${NODE_ENV}`})`

/** The warning for what is probably a server, although NODE_ENV is not set. */
export const environmentWarning = (
  { NODE_ENV = '' }: NodeJS.ProcessEnv,
  issuer: string,
): string | undefined =>
  NODE_ENV === '' && !isLoopback(issuer)
    ? 'latchkey: NODE_ENV is not set, so the rules of development apply: error pages show details, and tables are created without asking; on a server set NODE_ENV=production'
    : undefined

/** The default issuer in development. A PORT that is not a number is ignored. */
export const developmentIssuer = ({ PORT = '' }: NodeJS.ProcessEnv): string => {
  const guess = `http://localhost:${PORT}/oauth`
  return /^[0-9]+$/.test(PORT) && URL.canParse(guess) ? new URL(guess).href : 'http://localhost:3000/oauth'
}

/** The SQLite file of development. */
export const defaultFilename = './latchkey.sqlite'

/** The default database in development: an SQLite file in the current directory. */
export const developmentDatabase = (): Knex.Config => ({
  client: 'better-sqlite3',
  connection: { filename: defaultFilename },
  useNullAsDefault: true,
})

/** The development secret is stored beside the SQLite file, if the database is one. */
const secretFile = (database: Knex | Knex.Config): string => {
  const connection = 'connection' in database ? database.connection : undefined
  const filename =
    typeof connection === 'object' && connection !== null && 'filename' in connection
      ? connection.filename
      : undefined
  const folder = typeof filename === 'string' && filename !== ':memory:' ? dirname(filename) : '.'
  return join(folder, '.latchkey-secret')
}

/** The secret of development beside the database, and its file; undefined if there is none that can be read. */
export const leftSecret = (
  database: Knex | Knex.Config,
): { readonly file: string; readonly secret: string } | undefined => {
  const file = secretFile(database)
  try {
    return { file, secret: readFileSync(file, 'utf8').trim() }
  } catch {
    return undefined
  }
}

/**
 * Reads a secret that only its owner may read. Windows has no such modes.
 *
 * @throws OptionsError if others may read it, because they may have done so
 */
const readSecret = (file: string): string => {
  const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
  if (isOpen) {
    refuse(`other users of this machine may read ${file}`, `delete it, or keep it with: chmod 600 ${file}`)
  }
  return readFileSync(file, 'utf8').trim()
}

/** Where the secret of development comes from. */
export type SecretOf = (database: Knex | Knex.Config, logger: Pick<Logger, 'info'>) => string

/** The development secret, or one for this process alone if there is no file: nothing is written. */
export const storedSecret: SecretOf = (database) => {
  const file = secretFile(database)
  return existsSync(file) ? readSecret(file) : randomBytes(32).toString('base64url')
}

/** Whether `.gitignore` beside the file names it. */
const isIgnored = (file: string): boolean => {
  const list = join(dirname(file), '.gitignore')
  return existsSync(list) && /^\/?\.latchkey-secret\s*$/m.test(readFileSync(list, 'utf8'))
}

/**
 * Reads the development secret, or writes it once, readable by the file's owner only, and logs where. `link` creates the complete file
 * in one step and fails if it exists, so that two processes that start together use the same secret.
 *
 * @throws OptionsError if other users of the machine may read the file, or it cannot be written
 */
export const developmentSecret: SecretOf = (database, logger) => {
  const file = secretFile(database)
  if (existsSync(file)) return readSecret(file)
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    refuse(`${file} cannot be written (${code})`, 'set the option secrets')
  }
  try {
    linkSync(draft, file)
    logger.info(
      `latchkey: wrote a secret for development to ${file}${isIgnored(file) ? '' : '; add this file to .gitignore'}`,
    )
  } catch (error) {
    // `instanceof Error` fails under jest, where errors from Node's modules belong to another realm.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readSecret(file)
}
