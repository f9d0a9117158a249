import type { Events } from '../events/events.ts'
import type { ServerSetup } from '../oauth/authorization-server.ts'
import type { Installed } from '../oauth/clients/client-data.ts'
import type { Options } from '../options/options.ts'
import type { TokenBinding } from '../protocol/tokens/token-binding.ts'
import type { OpenedDatabase } from '../storage/database/open.ts'
import type { Counting } from '../users/answer-counters.ts'

/** An option of a command, with its help text. */
export interface CommandOption {
  readonly short?: string
  readonly multiple?: boolean
  /** The placeholder for the value in the help text, such as URI; absent for a flag. */
  readonly value?: string
  readonly help: string
}

/** The arguments and options that follow the command's name. */
export interface Invocation {
  /** The command's arguments in the order of their names, then the rest. */
  readonly arguments: readonly string[]
  text(option: string): string | undefined
  texts(option: string): string[] | undefined
  flag(option: string): boolean
}

/** The context of a command. Its database is closed afterwards. */
export interface CommandContext extends OpenedDatabase {
  readonly options: Options
  /** The features, which may store something about clients and count wrong answers. */
  readonly installed: Installed & Counting
  /** Announces what the command does, so that it is stored with `storedEvents`. */
  readonly events: Pick<Events, 'announce' | 'change'>
  /** The server that the app would run, on the same pool: for commands that act as it does. It is closed afterwards. */
  server(): Promise<ServerSetup>
  /** Resolves at once: the command runs when the schema is ready. */
  ready(): Promise<void>
  /** Epoch seconds. */
  now(): number
}

/** The help texts, arguments and options of a command. */
interface Description {
  /** One or two words. */
  readonly name: string
  readonly summary: string
  /** Longer help. */
  readonly details?: string
  /** Names of the required arguments. */
  readonly arguments?: readonly string[]
  /** Placeholder for any number of further arguments. */
  readonly rest?: string
  /** Required options, as the usage line shows them. */
  readonly usage?: string
  readonly options: Readonly<Record<string, CommandOption>>
  readonly example: string
  /** Whether it may create an SQLite file. @default false, so that no command works on a new, empty database */
  readonly createsDatabase?: boolean
  /** Whether it writes nothing, also no secret of development. @default false */
  readonly changesNothing?: boolean
  /** Whether it runs only if the tables are those of this version. @default true */
  readonly needsSchema?: boolean
  /** Checks the invocation before the database is opened. */
  check?(invocation: Invocation): void
}

/** A command of `latchkey`, which runs with the database or without it. */
export type Command = Description &
  (
    | { run(context: CommandContext, invocation: Invocation): Promise<void> }
    | { runAlone(invocation: Invocation): Promise<void> }
  )

/** Options of every command. */
export const globalOptions: Readonly<Record<string, CommandOption>> = {
  config: { value: 'FILE', help: 'the configuration file, instead of latchkey.config.{js,mjs,ts}' },
  debug: { help: 'print the stack trace of an error' },
  help: { short: 'h', help: 'show this help' },
}

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The user pressed Ctrl-C: exit code 130. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}

/** A token, as far as an operator may know it. */
export interface InspectedToken {
  readonly type: string
  /** `active`, or why it is refused. */
  readonly state: string
  readonly clientId: string
  readonly subject: string | undefined
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly binding: TokenBinding | undefined
  /** Epoch seconds. */
  readonly issuedAt: number | undefined
  /** Epoch seconds. */
  readonly expiresAt: number
  /** The authorization that it belongs to; absent if the client acts for itself. */
  readonly authorizationId?: string
  /** Further lines to print, by their heading. */
  readonly more?: Readonly<Record<string, string>>
}
