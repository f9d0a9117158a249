#!/usr/bin/env node
import { silenceAll } from '../database/internals.ts'
import { openDatabase } from '../database/open.ts'
import { runningVersion } from '../pages/template-version.ts'
import { OAuthError } from '../protocol/errors.ts'
import { createClientCommand, listClientsCommand } from './client.ts'
import { Cancelled, type Command, type Invocation, UsageError } from './command.ts'
import { readCommandLine } from './command-line.ts'
import { loadOptions } from './config.ts'
import { ejectViewsCommand } from './eject-views.ts'
import { helpOn } from './help.ts'
import { listKeysCommand, rotateKeysCommand } from './keys.ts'
import { migrateCommand, rollbackCommand } from './migrate.ts'
import { pruneCommand } from './prune.ts'
import { rotateSecretCommand } from './rotate-secret.ts'
import { print, printError } from './terminal.ts'
import { createUserCommand } from './user.ts'

const commands: readonly Command[] = [
  migrateCommand,
  rollbackCommand,
  createClientCommand,
  listClientsCommand,
  rotateSecretCommand,
  createUserCommand,
  listKeysCommand,
  rotateKeysCommand,
  pruneCommand,
  ejectViewsCommand,
]

/** Runs a command and closes the pool, also one that the host opened, because the process ends afterwards. */
const perform = async (command: Command, invocation: Invocation): Promise<void> => {
  command.check?.(invocation)
  if ('runAlone' in command) return command.runAlone(invocation)
  const options = await loadOptions(invocation.text('config'))
  const opened = openDatabase(options.database, options.tablePrefix, options)
  // Knex logs each failed connection with its stack; the final error contains the same information.
  if (!invocation.flag('debug')) silenceAll(opened.hostKnex)
  try {
    await command.run({ ...opened, options }, invocation)
  } finally {
    await opened.hostKnex.destroy()
  }
}

const answer = async (args: string[]): Promise<void> => {
  const line = readCommandLine(args, commands)
  if (line.wants === 'version') return print(runningVersion())
  if (line.wants === 'help') return print(helpOn(commands, line.words))
  await perform(line.command, line.invocation)
}

/** The reason of an error. Some drivers put it in the code, or in the errors of an AggregateError. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return 'code' in error ? String(error.code) : error.name
}

/** The message with its cause, which only the administrator may see, such as why the database is unavailable. */
const messageOf = (error: unknown): string => {
  const message = reasonOf(error).replace(/^latchkey: /, '')
  const isFault = error instanceof OAuthError && error.status >= 500 && error.cause !== undefined
  return isFault ? `${message}: ${reasonOf(error.cause)}` : message
}

const exitCodeOf = (error: unknown): number => {
  if (error instanceof Cancelled) return 130
  return error instanceof UsageError ? 2 : 1
}

const main = async (args: string[]): Promise<number> => {
  try {
    await answer(args)
    return 0
  } catch (error) {
    printError(messageOf(error))
    if (args.includes('--debug')) console.error(error)
    return exitCodeOf(error)
  }
}

// Output of the host's configuration must not appear among the results.
Object.assign(console, { log: console.error, info: console.error, debug: console.error })

// A reader such as `head` may close the pipe early.
process.stdout.on('error', () => process.exit(0))

// Timers and connections of the host's configuration could keep the process alive.
main(process.argv.slice(2)).then((code) => process.stdout.write('', () => process.exit(code)))
