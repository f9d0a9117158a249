import { timeOf } from '../../protocol/explanation.ts'
import type { Database } from '../../storage/database/types.ts'
import { heading, print, printJson, printNote, titledTable } from '../../tools/cli/terminal.ts'
import { type Command, UsageError } from '../../tools/command.ts'
import { endpointsIn } from './option.ts'
import { conditionOf, type EndpointStatus, endpointStatuses } from './status.ts'
import {
  type DeadLetter,
  enableEndpoint,
  lettersPerPage,
  listDeadLetters,
  replayDelivery,
  replayEndpoint,
} from './table.ts'

const when = (time: number | null): string => (time === null ? 'never' : timeOf(time))

const stateOf = (status: EndpointStatus): string => {
  const condition = conditionOf(status)
  if (condition === 'removed') return 'not configured'
  if (condition === 'disabled') return `disabled since ${when(status.disabledAt)}`
  if (condition === 'down') return `down: ${status.failure}`
  return condition === 'refuses' ? `refuses events: ${status.refusal}` : 'ok'
}

const statusRow = (status: EndpointStatus): string[] => [
  status.name,
  status.origin ?? '',
  String(status.backlog),
  when(status.succeededAt),
  stateOf(status),
]

const letterRow = ({ id, endpoint, type, time, attempts, failure }: DeadLetter): string[] => [
  String(id),
  endpoint,
  type ?? 'removed',
  when(time),
  String(attempts),
  failure,
]

/** The newest dead letters, or all. */
const lettersIn = async (database: Database, isAll: boolean): Promise<DeadLetter[]> => {
  const letters = await listDeadLetters(database)
  let last = letters.length
  while (isAll && last === lettersPerPage) {
    const more = await listDeadLetters(database, letters.at(-1))
    letters.push(...more)
    last = more.length
  }
  return letters
}

/** `latchkey webhooks` */
export const webhooksCommand: Command = {
  name: 'webhooks',
  summary: 'lists the receivers of webhooks, and what did not arrive',
  details:
    'Prints each receiver with the number of events that wait for it, its last success and its state, and the newest 100 events\n' +
    'that were given up. See docs/webhooks.md.',
  options: {
    all: { help: 'print all that were given up' },
    json: { help: 'print JSON' },
  },
  example: 'latchkey webhooks',
  async run({ database, options }, invocation) {
    const endpoints = await endpointStatuses(database, endpointsIn(options))
    const deadLetters = await lettersIn(database, invocation.flag('all'))
    if (invocation.flag('json')) return printJson({ endpoints, deadLetters })
    if (endpoints.length === 0 && deadLetters.length === 0)
      return printNote('webhooks are off, and nothing is left to send')
    print(
      ...titledTable([
        ['ENDPOINT', 'ORIGIN', 'BACKLOG', 'LAST SUCCESS', 'STATE'],
        ...endpoints.map(statusRow),
      ]),
    )
    if (deadLetters.length === 0) return printNote('nothing was given up')
    print(
      '',
      heading('Given up'),
      ...titledTable([
        ['ID', 'ENDPOINT', 'EVENT', 'TIME', 'ATTEMPTS', 'REASON'],
        ...deadLetters.map(letterRow),
      ]),
    )
    if (deadLetters.length === lettersPerPage) printNote('there may be older ones; --all prints them, too')
  },
}

const idOf = (text: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError(`${text} is no id of latchkey webhooks`)
  return Number(text)
}

/** `latchkey webhooks replay` */
export const replayWebhooksCommand: Command = {
  name: 'webhooks replay',
  summary: 'sends webhooks again that were given up',
  details:
    'The ids are those of `latchkey webhooks`. The running server sends them within seconds, with the ids and in the order of\n' +
    'their events.',
  rest: 'ID…',
  options: { endpoint: { value: 'NAME', help: 'all that were given up for this receiver' } },
  example: 'latchkey webhooks replay 1024',
  check(invocation) {
    const ids = invocation.arguments.map(idOf)
    if (ids.length > 0 === (invocation.text('endpoint') !== undefined))
      throw new UsageError('give ids or --endpoint')
  },
  async run({ database, now, events }, invocation) {
    const endpoint = invocation.text('endpoint')
    if (endpoint !== undefined) {
      const count = await replayEndpoint(database, { endpoint, now: now() })
      if (count > 0) events.announce('webhook.replayed', undefined, { endpoint, deliveries: String(count) })
      return printNote(`${count} webhooks to ${endpoint} are sent again`)
    }
    for (const id of invocation.arguments) {
      const isDead = await replayDelivery(database, { seq: idOf(id), now: now() })
      if (!isDead) throw new Error(`no webhook that was given up has the id ${id}`)
      events.announce('webhook.replayed', undefined, { deliveries: id })
      printNote(`the webhook ${id} is sent again`)
    }
  },
}

/** `latchkey webhooks enable` */
export const enableWebhooksCommand: Command = {
  name: 'webhooks enable',
  summary: 'sends webhooks again to a receiver that answered 410',
  arguments: ['NAME'],
  options: {},
  example: 'latchkey webhooks enable billing',
  async run({ database, events }, invocation) {
    const [name = ''] = invocation.arguments
    if (!(await enableEndpoint(database, { name }))) throw new Error(`no receiver ${name} is disabled`)
    events.announce('webhook.enabled', undefined, { endpoint: name })
    printNote(`webhooks to ${name} are sent again`)
  },
}
