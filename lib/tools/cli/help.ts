import { type Command, type CommandOption, globalOptions } from '../command.ts'
import { commandsOf, findCommand, refuseCommand } from './command-line.ts'
import { heading, type Line, table } from './terminal.ts'

const optionRow = ([name, { short, value, help, multiple }]: [string, CommandOption]): string[] => [
  `  ${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`,
  `${help}${multiple ? ' (may be repeated)' : ''}`,
]

const commandRows = (commands: readonly Command[]): string[][] =>
  commands.map(({ name, summary }) => [`  ${name}`, summary])

const usageOf = ({ name, arguments: names = [], rest, usage }: Command): string =>
  ['latchkey', name, ...names, rest, usage, '[options]'].filter((part) => part !== undefined).join(' ')

const commandHelp = (command: Command): (string | Line)[] => {
  const { name, summary, details, options, example } = command
  return [
    heading(`latchkey ${name}`, `: ${summary}`),
    '',
    heading('Usage', `  ${usageOf(command)}`),
    ...(details === undefined ? [] : ['', ...details.split('\n')]),
    '',
    heading('Options'),
    ...table([...Object.entries(options), ...Object.entries(globalOptions)].map(optionRow)),
    '',
    heading('Example'),
    ...example.split('\n').map((line) => `  ${line}`),
  ]
}

const overview = (commands: readonly Command[]): (string | Line)[] => [
  heading('latchkey', ': administers the authorization server in your Express app'),
  '',
  heading('Usage', '  latchkey COMMAND [options]'),
  '',
  heading('Commands'),
  ...table([...commandRows(commands), ['  help COMMAND', 'show the options of a command']]),
  '',
  'The configuration is the default export of latchkey.config.{js,mjs,ts} in this directory, or of --config FILE:',
  'the options of authRouter(). Without a file, commands use ./latchkey.sqlite if it exists.',
  '',
  heading('Example'),
  '  latchkey client create --name Shop --redirect-uri https://shop.example.com/callback',
]

/**
 * Returns help for a command, for a group of commands such as `client`, or for all.
 *
 * @throws UsageError for an unknown command
 */
export const helpOn = (commands: readonly Command[], words: readonly string[]): (string | Line)[] => {
  const [first] = words
  if (first === undefined) return overview(commands)
  const command = findCommand(commands, words)
  if (command) return commandHelp(command)
  const group = words.length === 1 ? commandsOf(commands, first) : []
  return group.length > 0
    ? [heading('Commands'), ...table(commandRows(group))]
    : refuseCommand(commands, words)
}
