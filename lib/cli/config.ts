import { existsSync, realpathSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionsError } from '../options/check.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { type Options, resolveOptions } from '../options/resolve.ts'

const names = ['latchkey.config.js', 'latchkey.config.mjs', 'latchkey.config.ts']

/** Errors of Node versions that cannot load this TypeScript. */
const needsLoader = new Set(['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'])

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** The same command with a TypeScript loader. */
const commandWithLoader = (): string => {
  const [, program = '', ...args] = process.argv
  const words = [relative(process.cwd(), realpathSync(program)), ...args]
  return `node --import tsx ${words.map(quoted).join(' ')}`
}

const load = async (file: string): Promise<unknown> => {
  try {
    const module: { default?: unknown } = await import(pathToFileURL(resolve(file)).href)
    return module.default
  } catch (error) {
    if (needsLoader.has(codeOf(error))) {
      throw new Error(
        `${file} is TypeScript, which this version of Node cannot load; run: ${commandWithLoader()}`,
        {
          cause: error,
        },
      )
    }
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${file} could not be loaded: ${reason}`, { cause: error })
  }
}

/** The default export; a file compiled to CommonJS has it one level deeper. */
const optionsIn = (exported: unknown): unknown =>
  typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported
    ? exported.default
    : exported

const withoutConfig = (): Options => {
  try {
    return resolveOptions()
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    throw new OptionsError(
      `${error.message}\nThis directory has no ${names.join(', ')}, and --config FILE was not given.`,
    )
  }
}

/**
 * The host's options, not checked yet: the default export of the given file, or of `latchkey.config.*` in the current
 * directory; undefined without such a file.
 *
 * @throws Error when the file is missing or cannot be loaded
 */
export const loadHostOptions = async (named: string | undefined): Promise<unknown> => {
  const file = named ?? names.find((name) => existsSync(name))
  if (file === undefined) return undefined
  if (!existsSync(file)) throw new Error(`${file} does not exist`)
  const options = optionsIn(await load(file))
  if (options === undefined)
    throw new Error(`${file} has no default export; it should be the options of authRouter()`)
  return options
}

/**
 * The options of the router, from {@link loadHostOptions}; without a file the development defaults.
 *
 * @throws OptionsError as the router does · Error when the file is missing or cannot be loaded
 */
export const loadOptions = async (named: string | undefined): Promise<Options> => {
  const options = await loadHostOptions(named)
  // The router's own rules check every field.
  return options === undefined ? withoutConfig() : resolveOptions(options as AuthRouterOptions)
}
