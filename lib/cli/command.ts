import type { OpenedDatabase } from '../database/open.ts'
import type { Options } from '../options/resolve.ts'

/** An option of a command, with what help says of it. */
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** What help shows for the value, such as URI. */
  readonly value?: string
  readonly help: string
}

/** What somebody typed after a command's name. */
export interface Invocation {
  /** Values of the command's arguments, in the order of their names, then the rest. */
  readonly arguments: readonly string[]
  text(option: string): string | undefined
  texts(option: string): string[] | undefined
  flag(option: string): boolean
}

/** What a command works with; the database is closed after it. */
export interface CommandContext extends OpenedDatabase {
  readonly options: Options
}

/** What is said of a command. */
interface Description {
  /** One word or two. */
  readonly name: string
  readonly summary: string
  /** What one must know before using it. */
  readonly details?: string
  /** Names of what follows the command; all are required. */
  readonly arguments?: readonly string[]
  /** What may follow them, as usage shows it: any number of words, or none. */
  readonly rest?: string
  /** Options without which it makes no sense, as usage shows them. */
  readonly usage?: string
  readonly options: Readonly<Record<string, CommandOption>>
  readonly example: string
  /** What can be refused before anything is opened. */
  check?(invocation: Invocation): void
}

/** One command of `latchkey`: with the database, or with nothing but what was typed. */
export type Command = Description &
  (
    | { run(context: CommandContext, invocation: Invocation): Promise<void> }
    | { runAlone(invocation: Invocation): Promise<void> }
  )

/** What every command takes. */
export const globalOptions: Readonly<Record<string, CommandOption>> = {
  config: {
    type: 'string',
    value: 'FILE',
    help: 'the configuration, instead of latchkey.config.{js,mjs,ts}',
  },
  debug: { type: 'boolean', help: 'show where an error comes from' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
}

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The person at the terminal pressed Ctrl-C: exit code 130. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}
