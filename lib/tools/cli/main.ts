import { inspect } from 'node:util'
import { changeSilently } from '../../events/events.ts'
import { everyFeature } from '../../features/every.ts'
import { definitionsOf, type FeatureDefinition } from '../../features/feature.ts'
import { assertSchema, type ServerSetup } from '../../oauth/authorization-server.ts'
import { plainLogger } from '../../options/logger.ts'
import type { Options } from '../../options/options.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { silenceAll } from '../../storage/database/driver.ts'
import { reasonOf } from '../../storage/database/errors.ts'
import { databaseLocation, lacksFile } from '../../storage/database/location.ts'
import { type OpenedDatabase, openDatabase } from '../../storage/database/open.ts'
import { assertListed, migrationsOf } from '../../storage/schema.ts'
import { runningVersion } from '../../web/pages/template-version.ts'
import { Cancelled, type Command, type CommandContext, type Invocation, UsageError } from '../command.ts'
import { readCommandLine } from './command-line.ts'
import { createClientCommand, updateClientCommand } from './commands/client.ts'
import { listClientsCommand, showClientCommand } from './commands/client-list.ts'
import { deleteClientCommand, disableClientCommand, enableClientCommand } from './commands/client-state.ts'
import { applyClientsCommand, driftOfClientsCommand, planClientsCommand } from './commands/clients.ts'
import { listConsentsCommand, revokeConsentCommand } from './commands/consents.ts'
import { doctorCommand } from './commands/doctor.ts'
import { ejectViewsCommand } from './commands/eject-views.ts'
import { explainCommand } from './commands/explain.ts'
import { importCommand } from './commands/import.ts'
import { initCommand } from './commands/init.ts'
import { listKeysCommand, revokeKeyCommand, rotateKeysCommand } from './commands/keys.ts'
import { migrateCommand, rollbackCommand } from './commands/migrate.ts'
import { previewCommand } from './commands/preview.ts'
import { pruneCommand } from './commands/prune.ts'
import { reportCommand } from './commands/report.ts'
import { rotateSecretCommand } from './commands/rotate-secret.ts'
import {
  endAuthorizationsCommand,
  endSessionsCommand,
  listAuthorizationsCommand,
  listSessionsCommand,
} from './commands/sessions-and-authorizations.ts'
import { inspectTokenCommand, revokeTokenCommand } from './commands/token.ts'
import { createUserCommand } from './commands/user.ts'
import { disableUserCommand, enableUserCommand } from './commands/user-state.ts'
import { unlockUserCommand } from './commands/user-unlock.ts'
import { loadOptions } from './config.ts'
import { helpOn } from './help.ts'
import { print, printError, printNote } from './terminal.ts'
import { functionsOf, loadTools } from './tools.ts'

/** The commands of the core. */
const own: readonly Command[] = [
  initCommand,
  migrateCommand,
  rollbackCommand,
  createClientCommand,
  listClientsCommand,
  showClientCommand,
  updateClientCommand,
  disableClientCommand,
  enableClientCommand,
  deleteClientCommand,
  rotateSecretCommand,
  planClientsCommand,
  applyClientsCommand,
  driftOfClientsCommand,
  importCommand,
  listConsentsCommand,
  revokeConsentCommand,
  listSessionsCommand,
  endSessionsCommand,
  listAuthorizationsCommand,
  endAuthorizationsCommand,
  inspectTokenCommand,
  revokeTokenCommand,
  createUserCommand,
  disableUserCommand,
  enableUserCommand,
  unlockUserCommand,
  listKeysCommand,
  rotateKeysCommand,
  revokeKeyCommand,
  pruneCommand,
  ejectViewsCommand,
  previewCommand,
  doctorCommand,
  explainCommand,
  reportCommand,
]

const now = (): number => Math.floor(Date.now() / 1000)

/** The server of a command. Only a few commands need Express and all that the router mounts. */
const lazyServer = (options: Options, { hostKnex }: OpenedDatabase) => {
  let composed: Promise<ServerSetup> | undefined
  const server: CommandContext['server'] = () => {
    const onSamePool = { ...options, database: { ...options.database, knex: hostKnex } }
    composed ??= import('../../router.ts').then(({ compose }) => compose(onSamePool).server)
    return composed
  }
  const events: CommandContext['events'] = {
    announce: (...event) => {
      if (!options.storedEvents) return
      // close() reports a failure.
      server()
        .then(({ events }) => events.announce(...event))
        .catch(() => {})
    },
    change: async (database, work) => {
      if (!options.storedEvents) return changeSilently(database, work)
      return (await server()).events.change(database, work)
    },
  }
  /** Waits until the events are stored. */
  const close = async (): Promise<void> => (await composed)?.close()
  return { server, events, close }
}

/** @param owner the feature that has the command; undefined for one of the core */
const perform = async (
  command: Command,
  invocation: Invocation,
  owner: FeatureDefinition | undefined,
): Promise<void> => {
  command.check?.(invocation)
  if ('runAlone' in command) return command.runAlone(invocation)
  const { options: given, file } = await loadOptions(invocation.text('config'), command)
  const options = { ...given, logger: plainLogger(given.logger) }
  const installed = definitionsOf(options)
  if (owner && !installed.some(({ name }) => name === owner.name)) {
    throw new Error(
      `latchkey ${command.name} needs ${functionsOf(owner).join(' or ')} in the option features`,
    )
  }
  const opened = openDatabase(options.database.knex, options.database.tablePrefix, options.database)
  // Knex logs each failed connection with its stack; the final error has the same message.
  if (!invocation.flag('debug')) silenceAll(opened.hostKnex)
  try {
    const location = databaseLocation(opened.hostKnex)
    printNote(`database: ${location} (${file ?? 'default options: this folder has no configuration file'})`)
    if (!command.createsDatabase && lacksFile(opened.hostKnex)) {
      throw new Error(`${location} does not exist; start your app first, or run: npx latchkey migrate`)
    }
    if (command.needsSchema !== false)
      await assertListed(opened.database, await assertSchema(opened.database, migrationsOf(installed)))
    const { server, events, close } = lazyServer(options, opened)
    const context = { ...opened, options, installed, now, events, server, ready: async () => {} }
    try {
      await command.run(context, invocation)
    } finally {
      await close()
    }
  } finally {
    // Even if the configuration opened the pool: the process ends here.
    await opened.hostKnex.destroy()
  }
}

const answer = async (args: string[]): Promise<void> => {
  const owners = new Map<Command, FeatureDefinition>()
  for (const feature of everyFeature.keys())
    for (const { commands = [] } of await loadTools([feature]))
      for (const command of commands) owners.set(command, feature)
  const commands = [...own, ...owners.keys()]
  const line = readCommandLine(args, commands)
  if (line.wants === 'version') return print(runningVersion())
  if (line.wants === 'help') return print(...helpOn(commands, line.words))
  await perform(line.command, line.invocation, owners.get(line.command))
}

/** Shows the cause of a 503, such as why the database is unavailable. Clients never see it. */
const messageOf = (error: unknown): string => {
  const isFault = error instanceof OAuthError && error.status >= 500 && error.cause !== undefined
  return isFault ? `${error.message}: ${reasonOf(error.cause)}` : reasonOf(error)
}

const exitCodeOf = (error: unknown): number => {
  if (error instanceof Cancelled) return 130
  return error instanceof UsageError ? 2 : 1
}

/** Runs the command that the arguments name, prints its result or its error, and returns the exit code. */
export const main = async (args: string[]): Promise<number> => {
  try {
    await answer(args)
    return 0
  } catch (error) {
    printError(messageOf(error))
    if (args.includes('--debug')) printNote(...inspect(error).split('\n'))
    return exitCodeOf(error)
  }
}
