import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionsError } from '../../options/check.ts'
import { defaultFilename, developmentSecret, type SecretOf, storedSecret } from '../../options/development.ts'
import type { AuthRouterOptions, Options } from '../../options/options.ts'
import { resolveOptions } from '../../options/resolve.ts'
import { problemInWords } from '../../protocol/problem.ts'
import type { Command } from '../command.ts'

const names = ['latchkey.config.js', 'latchkey.config.mjs', 'latchkey.config.ts']

/** Errors of a Node version that cannot load this TypeScript file. */
const needsLoader = new Set(['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'])

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** The command that runs now, with a TypeScript loader. */
const commandWithLoader = (): string => {
  const [, program = '', ...args] = process.argv
  const words = [relative(process.cwd(), realpathSync(program)), ...args]
  return `node --import tsx ${words.map(quoted).join(' ')}`
}

/** The line of a syntax error, which Node tells only when it runs the file itself; undefined if another file has it. */
const lineOfSyntaxError = (file: string): string | undefined => {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' })
  const [first = ''] = stderr.split('\n', 1)
  const line = first.slice(first.lastIndexOf(':') + 1)
  return /^\d+$/.test(line) ? line : undefined
}

/** Why a file could not be loaded. */
const reasonOf = (error: unknown, file: string): string => {
  if (!(error instanceof Error)) return String(error)
  const line = error.name === 'SyntaxError' ? lineOfSyntaxError(file) : undefined
  return line === undefined ? error.message : `${error.message} (line ${line})`
}

const advice = 'MODULE_TYPELESS_PACKAGE_JSON'

/** Node advises to set the type of the package, which would break an app whose other files are CommonJS. */
const withoutAdvice = async <T>(work: () => Promise<T>): Promise<T> => {
  const { emitWarning } = process
  const filtered = (...words: unknown[]): void => {
    const isAdvice = words.some((word) => word === advice || Object(word).code === advice)
    if (!isAdvice) Reflect.apply(emitWarning, process, words)
  }
  process.emitWarning = filtered
  try {
    return await work()
  } finally {
    process.emitWarning = emitWarning
  }
}

const load = async (file: string): Promise<unknown> => {
  try {
    const { href } = pathToFileURL(resolve(file))
    const module: { default?: unknown } = await withoutAdvice(() => import(href))
    return module.default
  } catch (error) {
    if (needsLoader.has(codeOf(error))) {
      throw new Error(
        `this version of Node cannot load ${file}, which is TypeScript; run: ${commandWithLoader()}`,
        {
          cause: error,
        },
      )
    }
    throw new Error(`${file} could not be loaded: ${reasonOf(error, file)}`, { cause: error })
  }
}

/** In a file compiled to CommonJS the default export is one level deeper. */
const defaultIn = (exported: unknown): unknown =>
  typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported
    ? exported.default
    : exported

const noFile = `No configuration file found (${names.join(', ')} in this directory, or --config FILE).`

const withoutConfig = (environment: NodeJS.ProcessEnv, secretOf: SecretOf): Options => {
  try {
    return resolveOptions({}, environment, secretOf)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    throw new OptionsError(`${problemInWords(error)}\n${noFile}`)
  }
}

/** Refuses to guess: the app may use another database than the default one. */
const assertDefaultDatabase = (): void => {
  if (existsSync(defaultFilename)) return
  throw new Error(
    `which database does your app use? ${noFile}\n` +
      `If your app passes options to authRouter(), export the same options from ${names[0]}.\n` +
      `If it passes none, its database is ${defaultFilename}, which does not exist yet: start your app first.`,
  )
}

/** The configuration file: the named one, or that of the current directory. */
export const configFile = (named: string | undefined): string | undefined =>
  named ?? names.find((name) => existsSync(name))

/**
 * Loads the default export of a file.
 *
 * @param meaning what it must be, for the error
 * @throws Error when the file is missing, cannot be loaded or has no default export
 */
export const loadDefaultExport = async (file: string, meaning: string): Promise<unknown> => {
  if (!existsSync(file)) throw new Error(`${file} does not exist`)
  const exported = defaultIn(await load(file))
  if (exported === undefined) throw new Error(`${file} has no default export, which must be ${meaning}`)
  return exported
}

/**
 * Loads the host's options without checking them: the default export of the named file, or of `latchkey.config.*` in the
 * current directory. Returns undefined if there is no such file.
 *
 * @throws Error when the file is missing or cannot be loaded
 */
export const loadHostOptions = async (named: string | undefined): Promise<unknown> => {
  const file = configFile(named)
  return file === undefined ? undefined : loadDefaultExport(file, 'the options of authRouter()')
}

/** Checked options, and the file that they come from. */
export interface LoadedOptions {
  readonly options: Options
  /** Undefined for the defaults of development. */
  readonly file: string | undefined
}

/**
 * Loads and checks the options. Without a file, the development defaults apply, if their database exists.
 *
 * @param environment as the server sees it
 * @throws OptionsError for invalid options, Error when the file is missing or cannot be loaded
 */
export const loadOptions = async (
  named: string | undefined,
  { createsDatabase = false, changesNothing = false }: Pick<Command, 'createsDatabase' | 'changesNothing'>,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<LoadedOptions> => {
  const given = await loadHostOptions(named)
  const file = configFile(named)
  const secretOf = changesNothing ? storedSecret : developmentSecret
  // resolveOptions checks every field.
  if (given !== undefined)
    return {
      options: resolveOptions(given as AuthRouterOptions, environment, secretOf),
      file,
    }
  if (!createsDatabase) assertDefaultDatabase()
  return { options: withoutConfig(environment, secretOf), file }
}
