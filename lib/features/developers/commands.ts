import { print, printJson, printNote, titledTable } from '../../tools/cli/terminal.ts'
import { type Command, type CommandContext, type Invocation, UsageError } from '../../tools/command.ts'
import {
  type DeveloperAdministration,
  type DeveloperClient,
  developerAdministration,
} from './administration.ts'
import { developerOptionIn } from './option.ts'

/** The administration of `oauth.developers`, without a running server. */
const developersOf = (context: CommandContext): DeveloperAdministration =>
  developerAdministration({ ...context, option: developerOptionIn(context.options) })

const headings = ['CLIENT ID', 'REVISION', 'NAME', 'OWNER', 'ASKS FOR', 'SINCE']

const rowOf = ({ client, subject, changes, requestedAt, revision }: DeveloperClient): string[] => [
  client.client_id,
  String(revision),
  client.client_name ?? client.client_id,
  subject,
  changes ? Object.keys(changes).join(' ') : 'the client',
  new Date(requestedAt * 1000).toISOString(),
]

const everyRequest = async (developers: DeveloperAdministration): Promise<DeveloperClient[]> => {
  const found: DeveloperClient[] = []
  let page: DeveloperClient[]
  do {
    page = await developers.list({ status: 'waiting', after: found.at(-1)?.client.client_id ?? '' })
    found.push(...page)
  } while (page.length > 0)
  return found
}

/** `latchkey client requests` */
export const clientRequestsCommand: Command = {
  name: 'client requests',
  summary: 'lists the clients of users that wait for approval',
  options: { json: { help: 'print JSON with all metadata' } },
  example: 'latchkey client requests --json',
  async run(context, invocation) {
    const waiting = await everyRequest(developersOf(context))
    if (invocation.flag('json')) return printJson(waiting)
    if (waiting.length === 0) return printNote('no client waits for approval')
    print(...titledTable([headings, ...waiting.map(rowOf)]))
  },
}

/** The revision that `client requests` showed. The owner may have changed the client since. */
const revisionOf = ({ arguments: [, given = ''] }: Invocation): number => {
  if (!/^[0-9]{1,15}$/.test(given))
    throw new UsageError('REVISION must be the number that `latchkey client requests` shows')
  return Number(given)
}

const by: Command['options'][string] = { value: 'NAME', help: 'who decides, for later questions' }

/** `latchkey client approve` */
export const approveClientCommand: Command = {
  name: 'client approve',
  summary: 'approves a client of a user, or the change of one',
  arguments: ['ID', 'REVISION'],
  details:
    'REVISION is that of `latchkey client requests`. The command fails if the owner has changed the client since.',
  options: { by },
  example: 'latchkey client approve 6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11 1 --by ada',
  check: (invocation) => void revisionOf(invocation),
  async run(context, invocation) {
    const [clientId = ''] = invocation.arguments
    await developersOf(context).approve(clientId, {
      by: invocation.text('by'),
      revision: revisionOf(invocation),
    })
    printNote(`client ${clientId} is approved`)
  },
}

/** `latchkey client refuse` */
export const refuseClientCommand: Command = {
  name: 'client refuse',
  summary: 'refuses a client of a user, or the change of one',
  arguments: ['ID', 'REVISION'],
  details:
    'REVISION is that of `latchkey client requests`. The command fails if the owner has changed the client since.\n' +
    'The owner sees the reason and can send the client again.',
  options: { by, reason: { value: 'TEXT', help: 'what the owner reads' } },
  example: "latchkey client refuse 6b1f0c1e-8a53-4a1e-9d5c-0c7f3a3f2b11 1 --reason 'The name is ours.'",
  check: (invocation) => void revisionOf(invocation),
  async run(context, invocation) {
    const [clientId = ''] = invocation.arguments
    const decision = {
      by: invocation.text('by'),
      reason: invocation.text('reason'),
      revision: revisionOf(invocation),
    }
    await developersOf(context).refuse(clientId, decision)
    printNote(`client ${clientId} is refused`)
  },
}
