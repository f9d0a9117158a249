import type { OpenedDatabase } from '../database/open.ts'
import type { Options } from '../options/resolve.ts'

/** An option of a command, with its help text. */
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** The name of the value in the help, such as URI. */
  readonly value?: string
  readonly help: string
}

/** The arguments and options that were typed after a command's name. */
export interface Invocation {
  /** Values of the command's arguments, in the order of their names, then the rest. */
  readonly arguments: readonly string[]
  text(option: string): string | undefined
  texts(option: string): string[] | undefined
  flag(option: string): boolean
}

/** What a command works with. The database is closed afterwards. */
export interface CommandContext extends OpenedDatabase {
  readonly options: Options
}

/** The name, help and checks of a command. */
interface Description {
  /** One word or two. */
  readonly name: string
  readonly summary: string
  /** A longer description. */
  readonly details?: string
  /** Names of the required arguments. */
  readonly arguments?: readonly string[]
  /** The optional arguments after them, as the usage line shows them. */
  readonly rest?: string
  /** The required options, as the usage line shows them. */
  readonly usage?: string
  readonly options: Readonly<Record<string, CommandOption>>
  readonly example: string
  /** Checks the command line before the database is opened. */
  check?(invocation: Invocation): void
}

/** A command of `latchkey`, with or without a database. */
export type Command = Description &
  (
    | { run(context: CommandContext, invocation: Invocation): Promise<void> }
    | { runAlone(invocation: Invocation): Promise<void> }
  )

/** The options of every command. */
export const globalOptions: Readonly<Record<string, CommandOption>> = {
  config: {
    type: 'string',
    value: 'FILE',
    help: 'use this configuration instead of latchkey.config.{js,mjs,ts}',
  },
  debug: { type: 'boolean', help: 'show where an error comes from' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
}

/** A wrong command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The user pressed Ctrl-C: exit code 130. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}
