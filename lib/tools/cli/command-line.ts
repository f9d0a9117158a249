import { type ParseArgsConfig, parseArgs } from 'node:util'
import { closest, distance } from 'fastest-levenshtein'
import { type Command, globalOptions, type Invocation, UsageError } from '../command.ts'

/** A parsed command line. */
export type CommandLine =
  | { readonly wants: 'version' }
  | { readonly wants: 'help'; readonly words: readonly string[] }
  | { readonly wants: 'run'; readonly command: Command; readonly invocation: Invocation }

type ParseOptions = NonNullable<ParseArgsConfig['options']>

const parseOptions = (options: Command['options']): ParseOptions =>
  Object.fromEntries(
    Object.entries(options).map(([name, { value, short, multiple = false }]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string', multiple, ...(short && { short }) },
    ]),
  )

/** The nearest name: one that begins with the given one, or one that differs little. */
export const suggest = (given: string, names: readonly string[]): string | undefined => {
  const nearest = names.find((name) => name.startsWith(given)) ?? closest(given, names)
  return nearest.startsWith(given) || distance(given, nearest) * 2 <= nearest.length ? nearest : undefined
}

/** The command whose name these words begin with. */
export const findCommand = (commands: readonly Command[], words: readonly string[]): Command | undefined =>
  commands.find(({ name }) => name.split(' ').every((word, index) => word === words[index]))

/** Commands of two words whose first word is this. */
export const commandsOf = (commands: readonly Command[], group: string): readonly Command[] =>
  commands.filter(({ name }) => name.startsWith(`${group} `))

/** @throws UsageError always, with the nearest command */
export const refuseCommand = (commands: readonly Command[], words: readonly string[]): never => {
  const names = commands.map(({ name }) => name)
  const [first = '', second] = words
  const group = commandsOf(commands, first)
  const given = group.length > 0 && second === undefined ? first : words.slice(0, 2).join(' ')
  if (given === first && group.length > 0) {
    throw new UsageError(
      `${first} needs one of: ${group.map(({ name }) => name.slice(first.length + 1)).join(', ')}`,
    )
  }
  const nearest = suggest(given, names) ?? suggest(first, [...names, 'help'])
  throw new UsageError(
    `unknown command ${given}; ${nearest ? `did you mean: latchkey ${nearest}` : 'see: latchkey --help'}`,
  )
}

const strictly = ({ name, options, arguments: names = [], rest }: Command, args: string[]): Invocation => {
  const own = { ...options, ...globalOptions }
  const { values, positionals } = parsed(args, own)
  const given = positionals.slice(name.split(' ').length)
  if (given.length > names.length && rest === undefined) {
    throw new UsageError(`unexpected argument ${given[names.length]}; see: latchkey ${name} --help`)
  }
  if (given.length < names.length) {
    throw new UsageError(
      `${name} needs ${names.slice(given.length).join(', ')}; see: latchkey ${name} --help`,
    )
  }
  const value = (option: string) => values[option]
  const list = (option: string) => [value(option) ?? []].flat().filter((item) => typeof item === 'string')
  return {
    arguments: given,
    text: (option) => list(option).at(-1),
    texts: (option) => (value(option) === undefined ? undefined : list(option)),
    flag: (option) => value(option) === true,
  }
}

const parsed = (args: string[], options: Command['options']) => {
  try {
    return parseArgs({ args, options: parseOptions(options), allowPositionals: true })
  } catch (error) {
    // Node's message names the option and never its value.
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/**
 * Parses the command line. The words of the command and the options may come in any order.
 *
 * @throws UsageError for an unknown command or option, with the nearest known one
 */
export const readCommandLine = (args: string[], commands: readonly Command[]): CommandLine => {
  const top = { ...globalOptions, version: { short: 'v', help: '' } }
  const every = Object.assign({}, ...commands.map(({ options }) => options), top)
  const { values, positionals, tokens } = parseArgs({
    args,
    options: parseOptions(every),
    strict: false,
    tokens: true,
  })
  const command = findCommand(commands, positionals)
  const own: Command['options'] = command ? { ...command.options, ...globalOptions } : top
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(own, token.name)) continue
    const nearest = suggest(token.name, Object.keys(own))
    const place = command ? `latchkey ${command.name}` : 'latchkey'
    if ((command?.arguments || command?.rest) && token.rawName !== `--${token.name}`) {
      throw new UsageError(
        `${token.rawName} is not an option of ${place}; if a value begins with a hyphen, write -- before it`,
      )
    }
    throw new UsageError(
      `${token.rawName} is not an option of ${place}; ${nearest ? `did you mean --${nearest}?` : `see: ${place} --help`}`,
    )
  }
  if (values.help) return { wants: 'help', words: positionals }
  if (positionals[0] === 'help') return { wants: 'help', words: positionals.slice(1) }
  if (values.version) return { wants: 'version' }
  if (positionals.length === 0) throw new UsageError('a command is missing; see: latchkey --help')
  if (!command) return refuseCommand(commands, positionals)
  return { wants: 'run', command, invocation: strictly(command, args) }
}
