import { existsSync, realpathSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionsError } from '../options/check.ts'
import type { AuthRouterOptions } from '../options/options.ts'
import { type Options, resolveOptions } from '../options/resolve.ts'

const names = ['latchkey.config.js', 'latchkey.config.mjs', 'latchkey.config.ts']

/** TypeScript that this Node does not read by itself, or not all of. */
const needsLoader = new Set(['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'])

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** The same command once more, through a loader of TypeScript. */
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
        `${file} is TypeScript, which this Node cannot load by itself; run: ${commandWithLoader()}`,
        {
          cause: error,
        },
      )
    }
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${file} could not be loaded: ${reason}`, { cause: error })
  }
}

/** A file compiled to CommonJS holds its default export one level deeper. */
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
      `${error.message}\nThere is no ${names.join(', ')} here, and no --config FILE was given.`,
    )
  }
}

/**
 * What the host says to the router, not checked yet: the default export of the file that was named, else of
 * `latchkey.config.*` in the current directory; undefined where there is none.
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
 * The options of the router, by {@link loadHostOptions}; without a file the defaults of development.
 *
 * @throws OptionsError as the router does · Error when the file is missing or cannot be loaded
 */
export const loadOptions = async (named: string | undefined): Promise<Options> => {
  const options = await loadHostOptions(named)
  // Every field is checked by the rules that the router itself applies.
  return options === undefined ? withoutConfig() : resolveOptions(options as AuthRouterOptions)
}
