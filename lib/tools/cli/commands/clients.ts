import { existsSync } from 'node:fs'
import {
  applyClients,
  type ClientDifference,
  type ClientSeed,
  checkedClient,
  planClients,
} from '../../../oauth/clients/plan.ts'
import type { CheckedRegistration } from '../../../oauth/clients/register.ts'
import { registrableOf } from '../../../options/registrable.ts'
import { OAuthError } from '../../../protocol/errors.ts'
import { countUsageOfClient, maxCounted } from '../../../storage/repositories/client-usage.ts'
import { type Command, type CommandContext, type Invocation, UsageError } from '../../command.ts'
import { loadDefaultExport } from '../config.ts'
import { withProgress } from '../progress.ts'
import { secondsOption } from '../seconds.ts'
import { print, printJson, printNote } from '../terminal.ts'
import { printCredentials } from './client.ts'

const names = ['latchkey.clients.js', 'latchkey.clients.mjs', 'latchkey.clients.ts']

const clientFile = (invocation: Invocation): string => {
  const file = invocation.text('file') ?? names.find((name) => existsSync(name))
  if (file !== undefined) return file
  throw new Error(`no file with clients found (${names.join(', ')} in this directory, or --file FILE)`)
}

/** The clients of a file. One that breaks a rule is refused before anything is read or written. */
const clientsIn = async (file: string, { options }: CommandContext): Promise<CheckedRegistration[]> => {
  const meaning = "a list of clients, each with its client_id, such as [{ client_id: 'shop' }]"
  const clients = await loadDefaultExport(file, meaning)
  const isClient = (client: unknown): client is ClientSeed => typeof client === 'object' && client !== null
  if (!Array.isArray(clients) || !clients.every(isClient)) {
    throw new Error(`the default export of ${file} must be ${meaning}`)
  }
  const [registrations, reasons]: [CheckedRegistration[], string[]] = [[], []]
  for (const client of clients) {
    try {
      registrations.push(checkedClient(client, registrableOf(options)))
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      reasons.push(error.message)
    }
  }
  // All at once, so that a list is corrected once.
  if (reasons.length > 0) throw new Error(reasons.join('\n'))
  return registrations
}

const signs = { create: '+ create', update: '~ update', remove: '- remove', keep: '  keep' } as const

const shown = (value: unknown): string => (value === undefined ? 'none' : JSON.stringify(value))

/** The losses of a client that is removed. */
interface Losses {
  readonly users: number
  readonly authorizations: number
}

interface ShownDifference extends ClientDifference {
  /** Present if the client is removed. */
  readonly loses?: Losses
}

const withLosses = ({ database }: CommandContext, differences: readonly ClientDifference[]) =>
  Promise.all(
    differences.map(async (each): Promise<ShownDifference> => {
      if (each.action !== 'remove') return each
      return { ...each, loses: await countUsageOfClient(database, { clientId: each.client_id }) }
    }),
  )

const counted = (count: number, one: string, many: string): string =>
  `${count}${count === maxCounted ? ' or more' : ''} ${count === 1 ? one : many}`

const lost = ({ users, authorizations }: Losses): string =>
  `, with the consents of ${counted(users, 'user', 'users')} and the tokens of ${counted(authorizations, 'authorization', 'authorizations')}`

const notListed = ', which the file does not list; --remove deletes it'

const described = ({ client_id, action, fields, loses }: ShownDifference): string[] => [
  `${signs[action]} ${client_id}${action === 'keep' ? notListed : ''}${loses ? lost(loses) : ''}`,
  ...fields.map(({ name, from, to }) =>
    action === 'create' ? `    ${name}: ${shown(to)}` : `    ${name}: ${shown(from)} → ${shown(to)}`,
  ),
]

const countsOf = (differences: readonly ClientDifference[]): string =>
  (['create', 'update', 'remove'] as const)
    .map((action) => `${differences.filter((each) => each.action === action).length} to ${action}`)
    .join(', ')

/** Prints a line for each client that differs and one for each of its fields, and counts them. */
export const printDifferences = (differences: readonly ShownDifference[]): void => {
  for (const line of differences.flatMap(described)) print(line)
  print(countsOf(differences))
}

/** As JSON if wanted, else as lines. */
const report = (differences: readonly ShownDifference[], invocation: Invocation): void => {
  if (invocation.flag('json')) printJson({ clients: differences })
  else printDifferences(differences)
}

/** The file, its clients, and what happens to clients that it does not list. */
const read = async (context: CommandContext, invocation: Invocation) => {
  const file = clientFile(invocation)
  const registrations = await clientsIn(file, context)
  const unlisted = invocation.flag('remove') ? 'remove' : 'keep'
  return { file, registrations, unlisted } as const
}

const options: Command['options'] = {
  file: { value: 'FILE', help: 'the file with the clients, instead of latchkey.clients.{js,mjs,ts}' },
  remove: { help: 'remove clients that the file does not list, with their consents and tokens' },
  json: { help: 'print JSON' },
}

const details =
  'The default export of the file is a list of clients, as seedClients() takes it. Clients that registered themselves\n' +
  'are not touched. No secret is printed or compared as text.'

/** `latchkey clients plan` */
export const planClientsCommand: Command = {
  name: 'clients plan',
  summary: 'prints how the clients of a file differ from the database',
  details,
  options,
  example: 'latchkey clients plan',
  changesNothing: true,
  async run(context, invocation) {
    const { registrations, unlisted } = await read(context, invocation)
    report(await withLosses(context, await planClients(context, registrations, { unlisted })), invocation)
  },
}

/**
 * Counts what would be removed, before it is gone.
 *
 * @throws UsageError unless the invocation confirms it, and Error for an empty list: a broken file would remove everything
 */
const confirmedLosses = async (
  context: CommandContext,
  { file, registrations, unlisted }: Awaited<ReturnType<typeof read>>,
  invocation: Invocation,
): Promise<ReadonlyMap<string, Losses>> => {
  if (unlisted !== 'remove') return new Map()
  if (registrations.length === 0)
    throw new Error(
      `${file} lists no client, so --remove would remove all of them; use: latchkey client delete ID --yes`,
    )
  const planned = await withLosses(context, await planClients(context, registrations, { unlisted }))
  const removed = planned.filter(({ action }) => action === 'remove')
  if (removed.length > 0 && !invocation.flag('yes')) {
    for (const line of removed.flatMap(described)) printNote(line)
    throw new UsageError(
      `clients apply --remove removes ${counted(removed.length, 'client', 'clients')} with consents and tokens; nothing was changed; to confirm, add --yes`,
    )
  }
  return new Map(removed.flatMap(({ client_id, loses }) => (loses ? [[client_id, loses] as const] : [])))
}

/** `latchkey clients apply` */
export const applyClientsCommand: Command = {
  name: 'clients apply',
  summary: 'stores the clients of a file, in one transaction',
  details: `${details}\nA secret that is created is printed once. One that is replaced stays valid for a while.\nWith --remove it first says what would be lost; --yes confirms that.`,
  options: {
    ...options,
    yes: { help: 'confirm that clients are removed with their consents and tokens' },
    keep: { value: 'SECONDS', help: 'how long a replaced secret stays valid; 86400 by default' },
  },
  example: 'latchkey clients apply',
  check: (invocation) => void secondsOption(invocation, 'keep'),
  async run(context, invocation) {
    const asked = await read(context, invocation)
    const { registrations } = asked
    const losses = await confirmedLosses(context, asked, invocation)
    // Clients that were created meanwhile were not confirmed.
    const unlisted = losses.size > 0 ? 'remove' : 'keep'
    const keepPreviousFor = secondsOption(invocation, 'keep')
    const { differences, credentials } = await withProgress((say) =>
      applyClients(context, registrations, {
        unlisted,
        keepPreviousFor,
        progress: (done) => say(`stored ${done} of ${registrations.length} clients`),
      }),
    )
    const secrets = credentials.filter((each) => each.client_secret !== undefined)
    const shown = differences.map((each): ShownDifference => {
      const loses = losses.get(each.client_id)
      return { ...each, ...(loses && { loses }) }
    })
    if (invocation.flag('json')) return printJson({ clients: shown, secrets })
    printDifferences(shown)
    for (const created of secrets) printCredentials(created, invocation)
  },
}

/** `latchkey clients drift` */
export const driftOfClientsCommand: Command = {
  name: 'clients drift',
  summary: 'fails if the database differs from the clients of a file',
  details: `${details}\nThe exit code is 1 if a client differs; with --remove also if the file does not list one.`,
  options,
  example: 'latchkey clients drift --json',
  changesNothing: true,
  async run(context, invocation) {
    const { file, registrations, unlisted } = await read(context, invocation)
    const differences = await planClients(context, registrations, { unlisted })
    const changes = differences.filter(({ action }) => action !== 'keep')
    report(await withLosses(context, differences), invocation)
    if (changes.length > 0) throw new Error(`the database differs from ${file}: ${countsOf(changes)}`)
    printNote(`the database has the clients of ${file}`)
  },
}
